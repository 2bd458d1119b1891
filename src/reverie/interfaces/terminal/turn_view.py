"""Turns of agents as lines: what was said, what memory gave and why, what it kept back."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reverie.interfaces.cli.terminal_output import one_line
from reverie.interfaces.terminal.line_edit import fold_hanging
from reverie.memory.history_text import format_moment
from reverie.memory.short_ids import shorten_id

if TYPE_CHECKING:
    from reverie.activity.turn_feed import FedTurn, GivenMemory
    from reverie.injection.gate_report import GateVerdict

TURNS = 5  # that are told, unless somebody asks for more
MAX_LINE_CHARS = 200
MAX_STOPPED = 5


def tell_turns(told: Sequence[tuple[FedTurn, Sequence[GateVerdict]]]) -> Iterator[str]:
    """The lines of turns, folded where somebody reads them at a terminal."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for turn, stopped in told:
        for line in tell_turn(turn, stopped):
            yield from fold_hanging(line, columns) if columns else [line]


def tell_turn(turn: FedTurn, stopped: Sequence[GateVerdict] = ()) -> Iterator[str]:
    """The lines of a turn; `stopped` is what a gate would keep back if it were said now."""
    session = f" · {one_line(turn.session, 24)}" if turn.session else ""
    yield f"{format_moment(turn.at)} UTC · {one_line(turn.space)}{session}"
    for message in turn.said:
        if message.text.strip():
            yield f"  {one_line(message.role)}: {one_line(message.text, MAX_LINE_CHARS)}"
    for given in turn.given:
        yield from tell_given(given, "+")
    for kept in turn.withheld:
        yield from tell_given(kept, "-")
    for verdict in [one for one in stopped if not one.is_given][:MAX_STOPPED]:
        memory = verdict.hit.memory
        yield f"  - {one_line(memory.text, MAX_LINE_CHARS)} [{shorten_id(memory.id)}]"
        yield f"    {verdict.gate}: {one_line(verdict.why)}"
    yield f"  {sum_up_turn(turn)}"


def tell_given(given: GivenMemory, mark: str) -> Iterator[str]:
    """A memory that was given (+) or kept back (-), and why."""
    text = "erased since" if given.memory is None else given.memory.text
    yield f"  {mark} {one_line(text, MAX_LINE_CHARS)} [{shorten_id(given.id)}]"
    why = [reason for reason in given.why if not is_told(reason, given.why)]
    if why:
        yield f"    {one_line(' · '.join(why), MAX_LINE_CHARS)}"


def is_told(reason: str, others: Sequence[str]) -> bool:
    """True if another reason says the same and more: "deny: trigger …" beside "trigger …"."""
    return any(other != reason and other.endswith(f": {reason}") for other in others)


def sum_up_turn(turn: FedTurn) -> str:
    """How much was given, and how long the agent waited for it."""
    parts = [
        f"gave {len(turn.given)}, about {turn.tokens:,} tokens" if turn.given else "gave nothing"
    ]
    if turn.waited:
        parts.append(f"waited {turn.waited * 1_000:,.0f} ms")
    return " · ".join(parts)
