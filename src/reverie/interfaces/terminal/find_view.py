"""What `reverie find` draws. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.context_window import format_time_ago
from reverie.core.model import Hit
from reverie.interfaces.cli.terminal_output import escape_controls
from reverie.interfaces.terminal.inline_screen import Line, Span
from reverie.interfaces.terminal.line_edit import (
    LineEdit,
    cut_columns,
    cut_start,
    fold_columns,
    measure_columns,
)
from reverie.interfaces.terminal.typed_search import SCOPES

PROMPT = "find> "
MAX_ROWS = 10
KEYS = ("Enter prints", "^E explains", "Tab scope", "Esc leaves")
ABOVE_ROWS = 2  # lines above the results: the question, the scope


class FindState(NamedTuple):
    """What is seen."""

    line: LineEdit
    scope: str = SCOPES[0]
    hits: Sequence[Hit] = ()
    chosen: int = 0
    is_searching: bool = True
    note: str = ""
    story: Sequence[str] = ()  # of the chosen memory, while it is explained

    @property
    def hit(self) -> Hit | None:
        """The hit that is chosen."""
        return self.hits[self.chosen] if self.chosen < len(self.hits) else None


def move_choice(state: FindState, steps: int) -> FindState:
    """The state with another hit chosen, as far as there is one."""
    last = max(0, len(state.hits) - 1)
    return state._replace(chosen=min(last, max(0, state.chosen + steps)), story=())


def show_hits(state: FindState, hits: Sequence[Hit], is_final: bool, note: str = "") -> FindState:
    """The state with an answer. Who has moved to a hit stays on it, wherever it stands now."""
    places = [place for place, hit in enumerate(hits) if state.hit and same(hit, state.hit)]
    chosen = places[0] if places and state.chosen else 0
    story = state.story if places else ()
    return state._replace(
        hits=hits, chosen=chosen, is_searching=not is_final, note=note, story=story
    )


def same(one: Hit, other: Hit) -> bool:
    """True of two hits of one memory."""
    return one.memory.id == other.memory.id


def draw_find(state: FindState, space: str, columns: int, rows: int, now: float) -> list[Line]:
    """The lines: what is typed, where it is looked for, what was found."""
    shown = max(1, min(MAX_ROWS, rows - ABOVE_ROWS - 2))
    lines: list[Line] = [draw_prompt(state, columns), draw_scope(state, space, columns)]
    if state.story:
        told = [part for line in state.story for part in fold_columns(line, columns - 3)]
        return [*lines, *([Span(f"  {line}")] for line in told[: max(1, rows - ABOVE_ROWS - 1)])]
    if not state.hits:
        lines.append([Span(f"  {describe_emptiness(state, space)}", "dim")])
        return lines
    first = max(0, min(state.chosen - shown + 1, len(state.hits) - shown))
    for place, hit in enumerate(state.hits[first : first + shown], start=first):
        lines.append(draw_hit(hit, place == state.chosen, columns, now))
    if state.hit is not None:
        about = describe_hit(state.hit, now)
        lines.append([Span(f"  {about}", "dim")])
    return lines


def draw_prompt(state: FindState, columns: int) -> Line:
    """The line in which somebody types; of a long text what stands around the cursor."""
    room = columns - 2 - len(PROMPT)
    before = cut_start(escape_controls(state.line.before), room)
    behind = cut_columns(state.line.behind, room - measure_columns(before))
    return [Span(PROMPT, "accent"), Span(before + behind)]


def find_cursor(state: FindState, columns: int) -> int:
    """The column of the cursor in that line."""
    room = columns - 2 - len(PROMPT)
    return len(PROMPT) + measure_columns(cut_start(escape_controls(state.line.before), room))


def draw_scope(state: FindState, space: str, columns: int) -> Line:
    """Where it is looked for, and as many of the keys as there is room for."""
    where = {"space": space, "project": "/".join(space.split("/")[:2])}.get(state.scope, "")
    left = f"{state.scope} {where}".strip() + (" …" if state.is_searching else "")
    keys: list[str] = []
    for key in KEYS:
        if measure_columns(" · ".join((left, *keys, key))) < columns:
            keys.append(key)
    return [Span(left, "bold"), Span("".join(f" · {key}" for key in keys), "dim")]


def draw_hit(hit: Hit, is_chosen: bool, columns: int, now: float) -> Line:
    """A memory on one line."""
    text = " ".join(hit.memory.text.split())
    age = format_time_ago(now - hit.memory.at)
    room = columns - 3
    if room - len(age) > 40:
        shown = cut_columns(escape_controls(text), room - len(age) - 2)
        gap = " " * (room - len(age) - measure_columns(shown))
        tail = [Span(gap), Span(age, "dim")]
    else:
        shown, tail = cut_columns(escape_controls(text), room), []
    mark = Span("▸ " if is_chosen else "  ", "accent")
    return [mark, Span(shown, "chosen" if is_chosen else ""), *tail]


def describe_hit(hit: Hit, now: float) -> str:
    """What the chosen memory is, and why it was found."""
    memory = hit.memory
    parts = (memory.kind, memory.space, format_time_ago(now - memory.at), *hit.why)
    return " · ".join(" ".join(part.split()) for part in parts if part)


def describe_emptiness(state: FindState, space: str) -> str:
    """Why there is nothing to be seen."""
    if state.note:
        return state.note
    if state.is_searching:
        return ""
    if state.line.text.strip():
        wider = " Tab looks further." if state.scope != SCOPES[-1] else ""
        return f"Nothing found.{wider}"
    return f"Nothing is kept in {space} so far."
