"""Workflows: commands that are run one after the other again and again, candidates for procedures.

Commands are compared without what changes from time to time: quoted texts, paths, numbers, hashes.
What only looks (`ls`, `git status`) is passed over. A sequence of two to six different commands
that occurs in at least three pieces of work (tasks, or conversations) is a workflow; one that is
part of a longer one, as often, is not listed by itself. Pure.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reverie.activity import TOOL
from reverie.activity.activity_events import (
    get_event_task,
    get_run_command,
    list_file_payloads,
    sort_events,
)
from reverie.activity.error_lessons import is_read_command, strip_command_noise
from reverie.activity.failure_signature import normalize_error_line
from reverie.core.model import Event
from reverie.memory.episodes import read_success

# Pieces of work (tasks, or conversations) in which commands must have recurred.
MIN_OCCASIONS = 3
MIN_STEPS, MAX_STEPS = 2, 6
MAX_COMMAND_CHARS = 160
# in the details of a procedure that a workflow became: the commands without what changes
SHAPE_DETAIL = "workflow"

QUOTED_ARGUMENT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")


# Commands without what changes from time to time.
Shape = tuple[str, ...]
# A piece of work: a task and its conversation, either of which may be empty.
Work = tuple[str, str]


class CommandStep(NamedTuple):
    """A command of a piece of work."""

    shape: str  # without what changes from time to time
    command: str
    at: float


class CommandWorkflow(NamedTuple):
    """Commands in their order."""

    steps: tuple[str, ...]  # as they were last run
    occasions: int  # pieces of work in which they were
    last_at: float
    shape: Shape


def normalize_step(command: str) -> str:
    """A command without what changes from time to time."""
    return normalize_error_line(QUOTED_ARGUMENT.sub("…", command))


def find_workflows(events: Iterable[Event]) -> list[CommandWorkflow]:
    """Sequences that recur, the most frequent first, the longer of two that are as frequent."""
    found: dict[Shape, dict[Work, Sequence[CommandStep]]] = defaultdict(dict)
    for work, steps in collect_steps(events).items():
        for run in iterate_step_runs(steps):
            shape = tuple(step.shape for step in run)
            found[shape][work] = run
    often = {shape: runs for shape, runs in found.items() if len(runs) >= MIN_OCCASIONS}
    whole = [shape for shape in often if not is_part_of_longer(shape, often)]
    workflows = [make_workflow(shape, often[shape]) for shape in whole]
    return sorted(
        workflows,
        key=lambda one: (-one.occasions, -len(one.steps), one.steps),
    )


def collect_steps(events: Iterable[Event]) -> dict[Work, list[CommandStep]]:
    """For each piece of work the commands that went well and did something, repetitions once."""
    works: dict[Work, list[CommandStep]] = defaultdict(list)
    for event in sort_events(events):
        command = strip_command_noise(get_run_command(event))
        # Two conversations may call their tasks the same.
        work = (get_event_task(event), event.session)
        if event.verb != TOOL or list_file_payloads(event.payload):
            continue
        if not any(work) or not command or is_read_command(command):
            continue
        if read_success(event.payload) is False:
            continue
        step = CommandStep(normalize_step(command), command[:MAX_COMMAND_CHARS], event.at)
        if not works[work] or works[work][-1].shape != step.shape:
            works[work].append(step)
    return works


def is_part_of_longer(
    shape: Shape, often: Mapping[Shape, Mapping[Work, Sequence[CommandStep]]]
) -> bool:
    """True if a sequence is part of a longer one that occurs as often."""
    longer = [other for other in often if len(other) > len(shape)]
    as_often = [other for other in longer if len(often[other]) >= len(often[shape])]
    return any(is_subsequence(shape, other) for other in as_often)


def iterate_step_runs(steps: Sequence[CommandStep]) -> Iterator[Sequence[CommandStep]]:
    """Every stretch of different commands."""
    for length in range(MIN_STEPS, MAX_STEPS + 1):
        for first in range(len(steps) - length + 1):
            run = steps[first : first + length]
            if len({step.shape for step in run}) == length:
                yield run


def is_subsequence(part: Shape, whole: Shape) -> bool:
    """True if a sequence is a stretch of another."""
    starts = range(len(whole) - len(part) + 1)
    return any(whole[first : first + len(part)] == part for first in starts)


def make_workflow(shape: Shape, runs: Mapping[Work, Sequence[CommandStep]]) -> CommandWorkflow:
    """A workflow as it was last run; `runs` are its steps in each piece of work."""
    # As it was last run: paths and options change with the times.
    last = sorted(
        runs.values(),
        key=lambda run: run[-1].at,
    )[-1]
    return CommandWorkflow(
        tuple(step.command for step in last),
        len(runs),
        last[-1].at,
        shape,
    )
