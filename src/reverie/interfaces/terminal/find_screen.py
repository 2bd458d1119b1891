"""`reverie find`: type, see what is remembered, take one."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING

from reverie.core import clock
from reverie.interfaces.cli.terminal_output import print_line
from reverie.interfaces.terminal.find_view import (
    FindState,
    draw_find,
    find_cursor,
    move_choice,
    show_hits,
)
from reverie.interfaces.terminal.inline_screen import InlineScreen
from reverie.interfaces.terminal.key_reading import Key
from reverie.interfaces.terminal.line_edit import LineEdit, type_key
from reverie.interfaces.terminal.typed_search import Answer, Question, TypedSearch, next_scope

if TYPE_CHECKING:
    from typing import TextIO

    from reverie.core.config import Settings
    from reverie.core.model import Memory

MOVES = {"up": -1, "ctrl p": -1, "down": 1, "ctrl n": 1, "page up": -5, "page down": 5}
LIMIT = 10


def run_find(
    settings: Settings,
    space: str,
    query: str = "",
    *,
    print_id: bool = False,
    out: TextIO | None = None,
) -> int:
    """Show the screen on `out` until somebody takes a memory, which is printed, or leaves.

    The exit code: 0, or 1 where nothing was taken. Ctrl-C is raised.
    """
    answers: deque[Answer] = deque()
    screen = InlineScreen(out)

    def take_answer(answer: Answer) -> None:
        answers.append(answer)
        screen.wake()

    search = TypedSearch(settings, space, take_answer)
    try:
        with screen:
            taken = FindLoop(screen, search, answers, space, query).run()
        if taken is None:
            return 1
        print_line(taken.id if print_id else taken.text)
        sys.stdout.flush()
        search.stop()
        search.count_use(taken)
        return 0
    finally:
        search.close()


class FindLoop:
    """The loop of keys and answers."""

    def __init__(
        self,
        screen: InlineScreen,
        search: TypedSearch,
        answers: deque[Answer],
        space: str,
        query: str,
    ) -> None:
        self._screen = screen
        self._search = search
        self._answers = answers
        self._space = space
        self._state = FindState(LineEdit(query, len(query)))

    def run(self) -> Memory | None:
        """Until a memory is taken, or none."""
        self._ask()
        while True:
            self._draw()
            key = self._screen.wait_key()
            self._take_answers()
            if key is None:
                continue
            if key.name == "enter":
                if self._state.hit is not None:
                    return self._state.hit.memory
            elif key.name == "escape":
                if not self._state.story:
                    return None
                self._hide_story()
            else:
                self._press(key)

    def _press(self, key: Key) -> None:
        state = self._state
        if key.name in MOVES:
            self._state = move_choice(state, MOVES[key.name])
        elif key.name == "ctrl e":
            self._explain()
        elif key.name == "tab":
            self._state = state._replace(scope=next_scope(state.scope), story=())
            self._ask()
        else:
            line = type_key(state.line, key)
            is_other = line.text != state.line.text
            self._state = state._replace(line=line, story=() if is_other else state.story)
            if is_other:
                self._ask()

    def _explain(self) -> None:
        """Have the story of the chosen memory told, or hide it."""
        state = self._state
        if state.story:
            self._hide_story()
        elif state.hit is not None:
            self._search.ask(Question(state.line.text, state.scope, LIMIT, state.hit.memory.id))

    def _hide_story(self) -> None:
        """Go back to the hits; what had not been found when the story was asked for is now."""
        self._state = self._state._replace(story=())
        self._ask()

    def _ask(self) -> None:
        self._state = self._state._replace(is_searching=True, note="")
        self._search.ask(Question(self._state.line.text, self._state.scope, LIMIT))

    def _take_answers(self) -> None:
        while self._answers:
            answer = self._answers.popleft()
            if self._search.trouble is not None:
                raise self._search.trouble
            asked = answer.question
            if (asked.text, asked.scope) != (self._state.line.text, self._state.scope):
                continue
            if asked.explained:
                self._state = self._state._replace(story=answer.story, is_searching=False)
            else:
                self._state = show_hits(self._state, answer.hits, answer.is_final, answer.note)

    def _draw(self) -> None:
        columns, rows = self._screen.size
        lines = draw_find(self._state, self._space, columns, rows, clock.now())
        self._screen.draw(lines, find_cursor(self._state, columns))
