"""The turns of agents as somebody who looks on wants to see them: what was said, what memory gave
and why, what it kept back. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.model import Event, Memory
from reverie.text.token_counts import QuarterEstimate

TURN = "turn"
# Of a message in a list of turns.
MAX_SAID_CHARS = 600


class SaidMessage(NamedTuple):
    """A message of a turn, shortened."""

    role: str
    text: str


class GivenMemory(NamedTuple):
    """A memory that an agent was given, and why."""

    id: str
    memory: Memory | None  # None: it was erased since
    why: Sequence[str]


class FedTurn(NamedTuple):
    """One turn."""

    event: int
    at: float
    session: str
    space: str
    said: Sequence[SaidMessage]
    given: Sequence[GivenMemory]
    withheld: Sequence[GivenMemory]  # what a conversation that is held out was not given
    tokens: int  # of what was given, estimated
    waited: float  # seconds that the agent waited for it; 0: not measured


def list_mentioned_ids(events: Sequence[Event]) -> list[str]:
    """The ids of the memories that some turns speak of."""
    named = [
        id for event in events for name in ("given", "withheld") for id in read_ids(event, name)
    ]
    return list(dict.fromkeys(named))


def build_turn(event: Event, memories: Mapping[str, Memory]) -> FedTurn:
    """A turn from its event; `memories` are those that it speaks of, by id."""
    given = read_given(event, memories)
    texts = [one.memory.text for one in given if one.memory is not None]
    counter = QuarterEstimate()
    return FedTurn(
        event.seq,
        event.at,
        event.session,
        event.space,
        read_said(event.payload),
        given,
        [
            GivenMemory(id, memories.get(id), ("this conversation is held out, for comparison",))
            for id in read_ids(event, "withheld")
        ],
        sum(counter.count(text) for text in texts),
        read_seconds(event.payload.get("waited")),
    )


def read_seconds(value: object) -> float:
    """A number of seconds; 0 for anything else."""
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0


def read_given(event: Event, memories: Mapping[str, Memory]) -> list[GivenMemory]:
    """What a turn's event says was given; events of earlier versions have no reasons."""
    reasons = event.payload.get("why") or ()
    given = []
    for place, id in enumerate(read_ids(event, "given")):
        why = reasons[place] if place < len(reasons) else ()
        given.append(GivenMemory(id, memories.get(id), tuple(map(str, why))))
    return given


def read_ids(event: Event, name: str) -> list[str]:
    """Ids in an event's payload."""
    found = event.payload.get(name) or ()
    return [str(id) for id in found] if isinstance(found, list | tuple) else []


def read_said(payload: Mapping[str, Any]) -> list[SaidMessage]:
    """The messages of a turn, shortened."""
    said = []
    for message in payload.get("messages") or ():
        if isinstance(message, Mapping):
            text = str(message.get("text", "")).strip()
            more = " …" if len(text) > MAX_SAID_CHARS else ""
            said.append(SaidMessage(str(message.get("role", "")), text[:MAX_SAID_CHARS] + more))
    return said
