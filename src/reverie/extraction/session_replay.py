"""A past conversation step by step: what was said, what memory gave, what it learned from it. Pure.

A step begins with each message of the user and goes on to the next one. What was given stands in
the events of turns, what was learned in the memories: in which messages they were said, or, where
that is not known, when they were written down.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reverie.activity.turn_feed import TURN, GivenMemory, build_turn
from reverie.core.model import Event, Memory
from reverie.extraction.past_conversations import PastMessage, collect_messages
from reverie.pipeline.conversation_events import iterate_messages

USER = "user"


class ReplayStep(NamedTuple):
    """One message of the user with everything up to the next one."""

    number: int  # of its first message in the conversation
    at: float
    messages: Sequence[PastMessage]
    given: Sequence[GivenMemory]
    withheld: Sequence[GivenMemory]
    learned: Sequence[Memory]
    event: int  # the turn's event in the log; 0 if it was read from a transcript
    waited: float  # seconds that the agent waited for what it was given; 0: not measured

    @property
    def words(self) -> str:
        """What the user said."""
        return next((one.text for one in self.messages if one.role == USER), "")


def build_replay(
    events: Sequence[Event], learned: Iterable[Memory], mentioned: Mapping[str, Memory]
) -> list[ReplayStep]:
    """The steps of the conversation in these events, in order; `learned` are the memories that came
    of it, `mentioned` those that its turns speak of, by id.
    """
    steps = split_steps(collect_messages(events))
    if not steps:
        return []
    numbers = [step.number for step in steps]
    for event in events:
        if event.verb == TURN:
            place = find_step(numbers, first_number(event))
            turn = build_turn(event, mentioned)
            old = steps[place]
            steps[place] = old._replace(
                given=[*old.given, *turn.given],
                withheld=[*old.withheld, *turn.withheld],
                event=old.event or event.seq,
                waited=old.waited + turn.waited,
            )
    for memory in learned:
        place = find_learning_step(steps, numbers, memory)
        steps[place] = steps[place]._replace(learned=[*steps[place].learned, memory])
    return steps


def split_steps(messages: Sequence[PastMessage]) -> list[ReplayStep]:
    """The messages by steps; what stands before the first message of the user is one, too."""
    groups: list[list[PastMessage]] = []
    for message in messages:
        if message.role == USER or not groups:
            groups.append([])
        groups[-1].append(message)
    return [
        ReplayStep(group[0].number, group[0].at, tuple(group), (), (), (), 0, 0.0)
        for group in groups
    ]


def first_number(event: Event) -> int:
    """The number of an event's first message."""
    return min((row[0] for row in iterate_messages(event)), default=0)


def find_step(numbers: Sequence[int], number: int) -> int:
    """The place of the step that a message belongs to."""
    return max(0, bisect_right(numbers, number) - 1)


def find_learning_step(steps: Sequence[ReplayStep], numbers: Sequence[int], memory: Memory) -> int:
    """The place of the step from which a memory came."""
    if memory.messages is not None:
        return find_step(numbers, memory.messages[1])
    earlier = [place for place, step in enumerate(steps) if step.at <= memory.created_at]
    return earlier[-1] if earlier else 0
