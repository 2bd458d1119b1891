"""What `reverie review` draws: one card. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reverie.context_window import format_time_ago
from reverie.core.model import Memory
from reverie.interfaces.cli.terminal_output import escape_controls
from reverie.interfaces.terminal.inline_screen import Line, Span
from reverie.interfaces.terminal.line_edit import (
    LineEdit,
    cut_columns,
    cut_start,
    fold_columns,
    measure_columns,
)
from reverie.runtime.review_queue import ACCEPT, BOTH, EDIT, MERGE, REJECT, ReviewCard
from reverie.text.word_diff import GONE, NEW, diff_words

# The same keys as on the page.
ANSWER_KEYS: Mapping[str, str] = {"a": ACCEPT, "r": REJECT, "b": BOTH, "m": MERGE, "e": EDIT}
EDIT_PROMPT = "new text> "
MORE_KEYS = "j next · k back · x select · u undo · q leave"
MAX_TEXT_LINES = 6
REASON_FOLLOWS = "Comparing the two …"


class ReviewState(NamedTuple):
    """What is seen."""

    cards: Sequence[ReviewCard]
    place: int = 0
    selected: frozenset[str] = frozenset()
    draft: LineEdit | None = None  # while a new text is typed
    message: str = ""
    decided: int = 0

    @property
    def card(self) -> ReviewCard | None:
        """The card that is looked at."""
        return self.cards[self.place] if self.place < len(self.cards) else None


def move_card(state: ReviewState, steps: int) -> ReviewState:
    """The state at another card, as far as there is one."""
    last = max(0, len(state.cards) - 1)
    return state._replace(place=min(last, max(0, state.place + steps)), message="")


def toggle_selected(state: ReviewState) -> ReviewState:
    """The state with the card selected, or no longer, and the next card looked at."""
    if state.card is None:
        return state
    selected = state.selected ^ {state.card.key}
    return move_card(state._replace(selected=selected), 1)


def explain_shown_card(state: ReviewState, card: ReviewCard) -> ReviewState:
    """The state with the card that is looked at as it is with its reason."""
    cards = [*state.cards[: state.place], card, *state.cards[state.place + 1 :]]
    return state._replace(cards=cards)


def replace_cards(state: ReviewState, cards: Sequence[ReviewCard]) -> ReviewState:
    """The state with the queue as it is now; who looked at a card that still waits still does."""
    keys = [card.key for card in cards]
    key = state.card.key if state.card else ""
    place = keys.index(key) if key in keys else min(state.place, max(0, len(cards) - 1))
    return state._replace(cards=cards, place=place, selected=state.selected & set(keys))


def draw_review(state: ReviewState, columns: int, rows: int, now: float) -> list[Line]:
    """The lines of a card; the first is the one that is typed in, or says where one is."""
    card = state.card
    if card is None:
        done = state.message or "Nothing waits for a decision."
        return [[Span(done)], [Span("u undo · q leave", "dim")]]
    head = draw_draft(state.draft, columns) if state.draft is not None else draw_head(state, now)
    footer: list[Line] = [
        [Span(line, "dim")]
        for line in fold_columns(f"{list_answers(card)} · {MORE_KEYS}", columns - 2)
    ]
    if state.message:
        footer.append([Span(state.message, "good")])
    room = max(1, rows - len(footer) - 2)
    return [head, *list(draw_card(card, columns, now))[:room], *footer]


def draw_head(state: ReviewState, now: float) -> Line:
    """Which card this is, of how many, and how long it has waited."""
    card = state.card
    assert card is not None
    mark = "[x] " if card.key in state.selected else ""
    chosen = f" · {len(state.selected)} selected" if state.selected else ""
    where = f"{mark}{state.place + 1} of {len(state.cards)} · {card.kind}"
    return [Span(where, "bold"), Span(f" · {format_time_ago(now - card.since)}{chosen}", "dim")]


def draw_draft(draft: LineEdit, columns: int) -> Line:
    """The line in which a new text is typed."""
    room = columns - 2 - len(EDIT_PROMPT)
    before = cut_start(escape_controls(draft.before), room)
    behind = cut_columns(draft.behind, room - measure_columns(before))
    return [Span(EDIT_PROMPT, "accent"), Span(before + behind)]


def find_draft_cursor(state: ReviewState, columns: int) -> int:
    """The column of the cursor; 0 where nothing is typed."""
    if state.draft is None:
        return 0
    room = columns - 2 - len(EDIT_PROMPT)
    return len(EDIT_PROMPT) + measure_columns(cut_start(escape_controls(state.draft.before), room))


def draw_card(card: ReviewCard, columns: int, now: float) -> list[Line]:
    """Why it waits, and the texts that it is about."""
    why = card.why or REASON_FOLLOWS
    lines: list[Line] = [[Span(line, "dim")] for line in fold_columns(why, columns - 2)]
    if card.asked:
        lines += [[Span(line)] for line in fold_columns(f"? {card.asked}", columns - 2, 3)]
    for name, memory in zip(name_sides(card, now), card.memories, strict=False):
        lines += draw_memory(memory, name, columns, now)
    if card.sides:
        lines += draw_difference(card.memories[0].text, card.memories[1].text, columns)
    return lines


def name_sides(card: ReviewCard, now: float) -> Sequence[str]:
    """What each memory of a card is."""
    if card.sides:
        return [
            f"{side.name.lower()}: {side.by}, {format_time_ago(now - side.at)}"
            for side in card.sides
        ]
    return ("older", "newer") if len(card.memories) == 2 else ("",)


def draw_difference(before: str, after: str, columns: int) -> list[Line]:
    """What went and what came between two texts, marked without colour."""
    marks = {GONE: "[-{}-]", NEW: "{{+{}+}}"}
    parts = diff_words(before, after)
    shown = "".join(marks.get(part.what, "{}").format(part.text) for part in parts)
    folded = fold_columns(escape_controls(shown), columns - 4, MAX_TEXT_LINES)
    return [[Span(f"  {line}")] for line in folded] if len(parts) > 1 else []


def draw_memory(memory: Memory, name: str, columns: int, now: float) -> list[Line]:
    """One of the texts, and what it is."""
    parts = (name, memory.kind, memory.space, memory.speaker, format_time_ago(now - memory.at))
    about = " · ".join(" ".join(part.split()) for part in parts if part)
    text = fold_columns(escape_controls(memory.text), columns - 4, MAX_TEXT_LINES)
    return [*([Span(f"  {line}", "bold")] for line in text), [Span(f"  {about}", "dim")]]


def list_answers(card: ReviewCard) -> str:
    """The keys that decide, with what each does."""
    return " · ".join(
        f"{key} {card.answers[answer]}"
        for key, answer in ANSWER_KEYS.items()
        if answer in card.answers
    )
