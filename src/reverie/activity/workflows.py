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
from reverie.activity.activity_events import get_event_task, get_run_command
from reverie.activity.error_lessons import is_read_command, strip_command_noise
from reverie.activity.failure_signature import normalize_error_line
from reverie.core.model import Event
from reverie.memory.episodes import read_success

MIN_OCCASIONS = 3  # pieces of work
MIN_STEPS, MAX_STEPS = 2, 6
MAX_COMMAND_CHARS = 160
# in the details of a procedure that a workflow became: the commands without what changes
SHAPE_DETAIL = "workflow"

QUOTED_TEXT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")


class CommandWorkflow(NamedTuple):
    """Commands in their order."""

    steps: tuple[str, ...]  # as they were last run
    occasions: int  # pieces of work in which they were
    last_at: float
    shape: tuple[str, ...]  # without what changes


def normalize_step(command: str) -> str:
    """A command without what changes from time to time."""
    return normalize_error_line(QUOTED_TEXT.sub("…", command))


def find_workflows(events: Iterable[Event], least: int = MIN_OCCASIONS) -> list[CommandWorkflow]:
    """Sequences that recur, the most frequent first, the longer of two that are as frequent."""
    works: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for event in sorted(events, key=lambda event: (event.at, event.seq)):
        command = strip_command_noise(get_run_command(event))
        work = get_event_task(event) or event.session
        if (
            event.verb == TOOL
            and work
            and command
            and read_success(event.payload) is not False
            and not is_read_command(command)
        ):
            step = (normalize_step(command), command[:MAX_COMMAND_CHARS], event.at)
            if not works[work] or works[work][-1][0] != step[0]:
                works[work].append(step)
    where: dict[tuple[str, ...], dict[str, Sequence[tuple[str, str, float]]]] = defaultdict(dict)
    for work, steps in works.items():
        for run in iterate_step_runs(steps):
            where[tuple(step[0] for step in run)][work] = run
    often = {key: some for key, some in where.items() if len(some) >= least}
    found = [
        make_workflow(key, some)
        for key, some in often.items()
        if not any(
            len(other) > len(key) and len(often[other]) >= len(some) and is_subsequence(key, other)
            for other in often
        )
    ]
    return sorted(found, key=lambda one: (-one.occasions, -len(one.steps), one.steps))


def iterate_step_runs(
    steps: Sequence[tuple[str, str, float]],
) -> Iterable[Sequence[tuple[str, str, float]]]:
    """Every stretch of different commands."""
    for length in range(MIN_STEPS, MAX_STEPS + 1):
        for first in range(len(steps) - length + 1):
            run = steps[first : first + length]
            if len({step[0] for step in run}) == length:
                yield run


def is_subsequence(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether a sequence is a stretch of another."""
    return any(
        whole[first : first + len(part)] == part for first in range(len(whole) - len(part) + 1)
    )


def make_workflow(
    key: tuple[str, ...], some: dict[str, Sequence[tuple[str, str, float]]]
) -> CommandWorkflow:
    """A workflow as it was last run."""
    last = sorted(some.values(), key=lambda run: run[-1][2])[-1]
    return CommandWorkflow(tuple(step[1] for step in last), len(some), last[-1][2], key)
