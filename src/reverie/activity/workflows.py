"""Commands that are run one after the other again and again: candidates for procedures. Pure.

Commands are compared without what changes from time to time: quoted texts, paths, numbers, hashes.
What only looks (`ls`, `git status`) is passed over. A sequence of two to six different commands
that occurs in at least three pieces of work (tasks, or conversations) is a workflow; one that is
part of a longer one, as often, is not told by itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.activity import TOOL
from reverie.activity.activity_events import command_of, task_of
from reverie.activity.error_lessons import looks, one_command
from reverie.activity.failure_signature import normal
from reverie.core.model import Event
from reverie.memory.episodes import went

LEAST = 3  # pieces of work
SHORTEST, LONGEST = 2, 6
MOST_COMMAND = 160
# in the details of a procedure that a workflow became: the commands without what changes
SHAPE = "workflow"

QUOTES = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")


class Workflow(NamedTuple):
    """Commands in their order."""

    steps: tuple[str, ...]  # as they were last run
    occasions: int  # pieces of work in which they were
    last_at: float
    shape: tuple[str, ...]  # without what changes


def shape(command: str) -> str:
    """A command without what changes from time to time."""
    return normal(QUOTES.sub("…", command))


def workflows(events: Iterable[Event], least: int = LEAST) -> list[Workflow]:
    """Sequences that recur, the most frequent first, the longer of two that are as frequent."""
    works: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for event in sorted(events, key=lambda event: (event.at, event.seq)):
        command = one_command(command_of(event))
        work = task_of(event) or event.session
        if (
            event.verb == TOOL
            and work
            and command
            and went(event.payload) is not False
            and not looks(command)
        ):
            step = (shape(command), command[:MOST_COMMAND], event.at)
            if not works[work] or works[work][-1][0] != step[0]:
                works[work].append(step)
    where: dict[tuple[str, ...], dict[str, Sequence[tuple[str, str, float]]]] = defaultdict(dict)
    for work, steps in works.items():
        for run in runs(steps):
            where[tuple(step[0] for step in run)][work] = run
    often = {key: some for key, some in where.items() if len(some) >= least}
    found = [
        told(key, some)
        for key, some in often.items()
        if not any(
            len(other) > len(key) and len(often[other]) >= len(some) and within(key, other)
            for other in often
        )
    ]
    return sorted(found, key=lambda one: (-one.occasions, -len(one.steps), one.steps))


def runs(steps: Sequence[tuple[str, str, float]]) -> Iterable[Sequence[tuple[str, str, float]]]:
    """Every stretch of different commands."""
    for length in range(SHORTEST, LONGEST + 1):
        for first in range(len(steps) - length + 1):
            run = steps[first : first + length]
            if len({step[0] for step in run}) == length:
                yield run


def within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether a sequence is a stretch of another."""
    return any(
        whole[first : first + len(part)] == part for first in range(len(whole) - len(part) + 1)
    )


def told(key: tuple[str, ...], some: dict[str, Sequence[tuple[str, str, float]]]) -> Workflow:
    """A workflow as it was last run."""
    last = sorted(some.values(), key=lambda run: run[-1][2])[-1]
    return Workflow(tuple(step[1] for step in last), len(some), last[-1][2], key)
