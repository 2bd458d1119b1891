"""One conversation as the non-blocking side sees it: its state, a turn that is handed over, how
both are written down.

Always true: what is written down holds no secret; a block that waits is given once, to whoever
takes it first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reverie.context_window import Block
from reverie.context_window.conversation_summary import Told
from reverie.context_window.evicted_excerpts import Gone
from reverie.context_window.injection_history import FRESH_FOR, Attention
from reverie.core.clock import new_id
from reverie.core.model import Event, Memory
from reverie.core.privacy_policy import Policy
from reverie.injection.prepare_block import WINDOW_MESSAGES
from reverie.privacy.message_redaction import redacted, shortened
from reverie.text.host_messages import Heard, Said


@dataclass(frozen=True, slots=True)
class Turn:
    """What `turn` hands over: the new messages, and what the agent was given with them."""

    session: Conversation
    said: tuple[Said, ...]
    first: int  # index of the first of them in the conversation
    given: tuple[str, ...]
    dropped: Block  # a block that was too old to give
    at: float
    due: tuple[Memory, ...] = ()  # reminders among what was given
    ends: bool = False  # nothing new: the conversation is over
    left: tuple[Gone, ...] = ()  # nothing new: this has left the context
    told: Told | None = None  # what that was about, where it was condensed


@dataclass(slots=True, eq=False)
class Conversation:
    """One conversation's state. `slot`, `told` and `heard` belong to the caller, the rest to the
    background.
    """

    space: str
    own: bool  # the space is the conversation's own, below a project
    attention: Attention
    slot: deque[Block] = field(default_factory=lambda: deque(maxlen=1))
    withdrawn: deque[Block] = field(default_factory=deque)  # blocks that were taken out of the slot
    heard: Heard = field(default_factory=Heard)
    window: deque[Said] = field(default_factory=lambda: deque(maxlen=WINDOW_MESSAGES))
    vector: Any = None  # of the last context
    # reminders given lately, as they were, and when
    told: list[tuple[Memory, float]] = field(default_factory=list)
    off: bool = False  # nothing of it is kept or given
    # of the claims on reminders
    holder: str = field(default_factory=partial(new_id, "conversation"))


def told_lately(conversation: Conversation, due: Sequence[Memory], now: float) -> bool:
    """Whether one of these was given a moment ago: a block can be prepared while the one before it
    is being given.
    """
    return any(
        one.id == other.id and one.details == other.details and 0 <= now - at < FRESH_FOR
        for one in due
        for other, at in conversation.told
    )


def tell(conversation: Conversation, due: Sequence[Memory], now: float) -> None:
    """These are given now."""
    if due:
        lately = [(one, at) for one, at in conversation.told if 0 <= now - at < FRESH_FOR]
        conversation.told = [*lately, *((one, now) for one in due)]


def events_of(turns: Sequence[Turn | None], policy: Policy) -> list[Event | None]:
    """Turns as they are written down; None for none, and for one that tells what left a context."""
    before: dict[Conversation, tuple[Said, ...]] = {}
    events: list[Event | None] = []
    for turn in turns:
        if turn is None or turn.left:
            events.append(None)
        elif turn.ends:
            events.append(end_of(turn))
        else:
            earlier = before.get(turn.session) or tuple(turn.session.window)
            events.append(event_of(turn, policy, earlier))
            before[turn.session] = (*earlier, *turn.said)[-WINDOW_MESSAGES:]
    return events


def event_of(turn: Turn, policy: Policy, before: Sequence[Said] = ()) -> Event:
    """A turn as it is written down: without secrets. `before` are the messages before it."""
    conversation = turn.session
    payload: dict[str, Any] = {"messages": redacted(turn.said, policy, before), "first": turn.first}
    places = [message.place for message in turn.said]
    if places != list(range(turn.first, turn.first + len(places))):
        payload["places"] = places  # a message that held what a tool answered is two
    if turn.given:
        payload["given"] = list(turn.given)
    if conversation.own:
        payload["own"] = True
    return Event(
        verb="turn",
        space=conversation.space,
        session=conversation.attention.session,
        at=turn.at,
        payload=payload,
    )


def heard_in(turn: Turn, event: Event, policy: Policy) -> list[Said]:
    """The messages of a turn as they were written down, with their long commands: without secrets
    too.
    """
    return [
        Said(
            written["role"],
            written["text"],
            ran=tuple((tool, shortened(command, policy)) for tool, command in said.ran),
        )
        for written, said in zip(event.payload["messages"], turn.said, strict=True)
    ]


def end_of(turn: Turn, verb: str = "session_end") -> Event:
    """The end of a conversation, as it is written down."""
    conversation = turn.session
    return Event(
        verb=verb,
        space=conversation.space,
        session=conversation.attention.session,
        at=turn.at,
        payload={"own": True} if conversation.own else {},
    )


def compact_of(turn: Turn) -> Event:
    """That a conversation's context was shortened, as it is written down."""
    return end_of(turn, "compact")


def take_back(conversation: Conversation, ids: frozenset[str]) -> bool:
    """Take the waiting block out of its slot if it holds one of these; whether it did."""
    try:
        block = conversation.slot.pop()
    except IndexError:
        return False
    if ids.isdisjoint(block.ids):
        conversation.slot.append(block)
        return False
    conversation.withdrawn.append(block)
    return True
