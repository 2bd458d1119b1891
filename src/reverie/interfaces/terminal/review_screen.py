"""`reverie review` at a terminal: one card after the other, by single keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.core import clock
from reverie.core.errors import BadInput, Conflict, NotFound
from reverie.interfaces.terminal.inline_screen import InlineScreen
from reverie.interfaces.terminal.key_reading import Key
from reverie.interfaces.terminal.line_edit import LineEdit, type_key
from reverie.interfaces.terminal.review_view import (
    ANSWER_KEYS,
    ReviewState,
    draw_review,
    explain_shown_card,
    find_draft_cursor,
    move_card,
    replace_cards,
    toggle_selected,
)
from reverie.runtime.review_queue import EDIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reverie.runtime.mind import Mind
    from reverie.runtime.review_queue import ReviewCard

# What an agent may do meanwhile is seen within this time, in seconds.
SECONDS_BETWEEN_LOOKS = 2.0
DECIDED_ELSEWHERE = "it does not wait any more"
CARDS = 20  # at most, unless somebody asks for more


def run_review(mind: Mind, space: str, limit: int) -> int:
    """Show the cards until somebody leaves; how many are decided. Ctrl-C is raised."""
    with InlineScreen() as screen:
        # In a large home the cards take longer than anybody should look at nothing.
        screen.draw([f"Looking what waits in {space} …"])
        return ReviewLoop(mind, space, limit, screen).run()


class ReviewLoop:
    """The loop of keys."""

    def __init__(self, mind: Mind, space: str, limit: int, screen: InlineScreen) -> None:
        self._mind = mind
        self._space = space
        self._limit = limit
        self._screen = screen
        self._state = ReviewState(self._load_cards())
        self._done: list[list[int]] = []  # the events of each decision, the last decision last
        self._seen = mind.store.last_event()

    def run(self) -> int:
        """Until somebody leaves."""
        while True:
            columns, rows = self._screen.size
            lines = draw_review(self._state, columns, rows, clock.now())
            self._screen.draw(lines, find_draft_cursor(self._state, columns))
            card = self._state.card
            is_unexplained = card is not None and not card.why
            # A key that was pressed comes before the reason of a card that may be gone then.
            key = self._screen.wait_key(0.0 if is_unexplained else SECONDS_BETWEEN_LOOKS)
            if key is None and is_unexplained:
                self._explain()
            elif key is None:
                self._look_again()
            elif self._state.draft is not None:
                self._type(key)
            elif key.name == "escape" or key.text == "q":
                return self._state.decided
            else:
                self._press(key)

    def _load_cards(self) -> Sequence[ReviewCard]:
        return self._mind.review.queue(space=self._space, limit=self._limit, explained=False)

    def _explain(self) -> None:
        """Have the card that is looked at say why it waits: judging a pair takes longer than all
        else, and most are never looked at.
        """
        card = self._state.card
        assert card is not None
        explained = self._mind.review.explain_card(card)
        if not explained.why:  # somebody has decided it: the next look is without it
            explained = explained._replace(why=DECIDED_ELSEWHERE)
        self._state = explain_shown_card(self._state, explained)

    def _look_again(self) -> None:
        """Take in what somebody else did meanwhile."""
        last = self._mind.store.last_event()
        if last != self._seen and self._state.draft is None:
            self._reload()

    def _reload(self) -> None:
        self._seen = self._mind.store.last_event()
        self._state = replace_cards(self._state, self._load_cards())

    def _press(self, key: Key) -> None:
        name = key.text or key.name
        if name in ("j", "down"):
            self._state = move_card(self._state, 1)
        elif name in ("k", "up"):
            self._state = move_card(self._state, -1)
        elif name == "x":
            self._state = toggle_selected(self._state)
        elif name == "u":
            self._undo()
        elif name in ANSWER_KEYS and self._state.card is not None:
            self._choose(ANSWER_KEYS[name])

    def _choose(self, answer: str) -> None:
        """Give an answer to what is selected, or else to the card; an edit asks for the text."""
        card = self._state.card
        assert card is not None
        if answer == EDIT:
            self._begin_edit()
            return
        keys = [one.key for one in self._state.cards if one.key in self._state.selected]
        if not keys and answer not in card.answers:
            self._say("This card takes no such answer.")
            return
        self._decide(keys or [card.key], answer)

    def _begin_edit(self) -> None:
        card = self._state.card
        assert card is not None
        if EDIT not in card.answers:
            self._say("This card takes no such answer.")
            return
        # Of two versions what holds comes second, and is where merging by hand begins.
        text = card.memories[-1 if card.sides else 0].text if card.memories else ""
        if "\n" in text:
            self._say(f"It has several lines: reverie edit {card.memories[0].id}")
            return
        self._state = self._state._replace(draft=LineEdit(text, len(text)), message="")

    def _type(self, key: Key) -> None:
        draft, card = self._state.draft, self._state.card
        assert draft is not None
        assert card is not None
        if key.name == "escape":
            self._state = self._state._replace(draft=None)
        elif key.name == "enter":
            self._state = self._state._replace(draft=None)
            if draft.text.strip():
                self._decide([card.key], EDIT, draft.text)
        else:
            self._state = self._state._replace(draft=type_key(draft, key))

    def _decide(self, keys: list[str], answer: str, text: str = "") -> None:
        """Answer the cards; what somebody has decided meanwhile is left as it is."""
        events: list[int] = []
        missed = ""
        decided = 0
        for key in keys:
            try:
                events += self._mind.review.answer(key, answer, text=text, space=self._space)
                decided += 1
            except (BadInput, Conflict, NotFound) as err:
                missed = str(err)
        if events:
            self._done.append(events)
        count = self._state.decided + decided
        self._state = self._state._replace(decided=count, selected=frozenset())
        self._reload()
        said = f"Decided {decided}: {answer}. u takes it back." if decided else ""
        self._say(f"{said} {missed}".strip())

    def _undo(self) -> None:
        """Take back the last decision that was made here."""
        if not self._done:
            self._say("Nothing was decided here.")
            return
        events = self._done.pop()
        try:
            for event in reversed(events):
                self._mind.undo(event)
        except (Conflict, NotFound) as err:
            self._say(str(err))
            return
        self._state = self._state._replace(decided=max(0, self._state.decided - 1))
        self._reload()
        self._say("Taken back.")

    def _say(self, message: str) -> None:
        self._state = self._state._replace(message=message)
