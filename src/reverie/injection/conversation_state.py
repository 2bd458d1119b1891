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
from reverie.context_window.conversation_summary import CondensedEpisode
from reverie.context_window.evicted_excerpts import EvictedPart
from reverie.context_window.injection_history import FRESH_SECONDS, InjectionHistory
from reverie.core.clock import new_id
from reverie.core.model import Event, Memory
from reverie.core.privacy_policy import Policy
from reverie.injection.prepare_block import WINDOW_MESSAGES
from reverie.pipeline.model_change import EmbeddedQuestion
from reverie.privacy.known_secrets import KnownSecrets
from reverie.privacy.message_redaction import redact_and_shorten, redact_messages
from reverie.text.host_messages import HostMessage, SeenMessages


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """What `turn` hands over: the new messages, and what the agent was given with them."""

    session: ConversationState
    messages: tuple[HostMessage, ...]
    first: int  # index of the first of them in the conversation
    given_ids: tuple[str, ...]
    dropped_block: Block  # a block that was too old to give
    at: float
    given_reminders: tuple[Memory, ...] = ()  # reminders among what was given
    is_end: bool = False  # nothing new: the conversation is over
    evicted: tuple[EvictedPart, ...] = ()  # nothing new: this has left the context
    evicted_summary: CondensedEpisode | None = None  # what that was about, where it was condensed
    is_redacted: bool = False  # by the process that handed the messages over
    given_why: Sequence[Sequence[str]] = ()  # reasons for each of `given_ids`
    withheld_ids: tuple[str, ...] = ()  # what a conversation that is held out was not given
    waited: float = 0.0  # seconds that the agent waited for what it was given, if measured


@dataclass(slots=True, eq=False)
class ConversationState:
    """The state of one conversation.

    `slot`, `told_reminders` and `heard` belong to the caller, the rest to the background thread.
    """

    space: str
    has_own_space: bool  # the space is the conversation's own, below a project
    attention: InjectionHistory
    slot: deque[Block] = field(default_factory=lambda: deque(maxlen=1))
    withdrawn: deque[Block] = field(default_factory=deque)  # blocks that were taken out of the slot
    heard: SeenMessages = field(default_factory=SeenMessages)
    window: deque[HostMessage] = field(default_factory=lambda: deque(maxlen=WINDOW_MESSAGES))
    embedded: EmbeddedQuestion | None = None  # the last context
    # reminders given lately, as they were, and when
    told_reminders: list[tuple[Memory, float]] = field(default_factory=list)
    # whether it is held out, as it is written down; None: nothing is written of that
    noted_trial: bool | None = None
    is_off: bool = False  # nothing of it is kept or given
    known_secrets: KnownSecrets = field(default_factory=KnownSecrets)  # that it gave away
    # of the claims on reminders
    holder: str = field(default_factory=partial(new_id, "conversation"))


def is_recently_told(
    conversation: ConversationState,
    due: Sequence[Memory],
    now: float,
) -> bool:
    """True if one of these was given a moment ago: a block can be prepared while the one before is
    given.
    """
    return any(
        one.id == other.id and one.details == other.details and 0 <= now - at < FRESH_SECONDS
        for one in due
        for other, at in conversation.told_reminders
    )


def note_told_reminders(
    conversation: ConversationState,
    due: Sequence[Memory],
    now: float,
) -> None:
    """Note that these are given now, and forget what was given too long ago to matter."""
    if due:
        told = conversation.told_reminders
        lately = [(one, at) for one, at in told if 0 <= now - at < FRESH_SECONDS]
        conversation.told_reminders = [*lately, *((one, now) for one in due)]


def to_turn_events(
    turns: Sequence[ConversationTurn | None],
    policy: Policy,
) -> list[Event | None]:
    """Turns as they are written down; None for none, and for one that tells what left a context."""
    before: dict[ConversationState, tuple[HostMessage, ...]] = {}
    events: list[Event | None] = []
    for turn in turns:
        if turn is None or turn.evicted:
            events.append(None)
        elif turn.is_end:
            events.append(make_conversation_event(turn, "session_end", {}))
        else:
            # Secrets may span messages: each turn is read with those before it.
            earlier = before.get(turn.session) or tuple(turn.session.window)
            events.append(to_turn_event(turn, policy, earlier))
            before[turn.session] = (*earlier, *turn.messages)[-WINDOW_MESSAGES:]
    return events


def to_turn_event(
    turn: ConversationTurn,
    policy: Policy,
    before: Sequence[HostMessage] = (),
) -> Event:
    """A turn as it is written down, without secrets; `before` are the messages before it."""
    payload: dict[str, Any] = {
        "messages": redact_messages(
            turn.messages,
            policy.within(turn.session.space),
            before,
            is_redacted=turn.is_redacted,
            known=turn.session.known_secrets,
        ),
        "first": turn.first,
    }
    places = [message.place for message in turn.messages]
    if places != list(range(turn.first, turn.first + len(places))):
        payload["places"] = places  # a message that held what a tool answered is two
    if turn.given_ids:
        payload |= to_given_payload(turn.given_ids, turn.given_why)
    if turn.given_ids and turn.waited:
        payload["waited"] = turn.waited
    if turn.withheld_ids:
        payload["withheld"] = list(turn.withheld_ids)
    return make_conversation_event(turn, "turn", payload)


def to_given_payload(
    ids: Sequence[str],
    why: Sequence[Sequence[str]],
) -> dict[str, Any]:
    """What an agent was given and for which reasons, as the event of a turn keeps it: a list of
    reasons for each id. Events of earlier versions have no "why".
    """
    return {"given": list(ids), "why": [list(reasons) for reasons in why]}


def to_compact_event(turn: ConversationTurn) -> Event:
    """The event that records that a conversation's context was shortened."""
    return make_conversation_event(turn, "compact", {})


def make_conversation_event(
    turn: ConversationTurn,
    verb: str,
    payload: dict[str, Any],
) -> Event:
    """An event of a turn's conversation; `own` in the payload says that the space is its own."""
    conversation = turn.session
    if conversation.has_own_space:
        payload["own"] = True
    return Event(verb, conversation.space, turn.at, conversation.attention.session, payload)


def read_written_messages(
    turn: ConversationTurn,
    event: Event,
    policy: Policy,
) -> list[HostMessage]:
    """The messages of a turn as they were written down, with their long commands: also without
    secrets.
    """
    messages = []
    policy = policy.within(event.space)
    for written, said in zip(
        event.payload["messages"],
        turn.messages,
        strict=True,
    ):
        commands = tuple(
            (tool, redact_and_shorten(text, policy, turn.session.known_secrets))
            for tool, text in said.long_commands
        )
        messages.append(HostMessage(written["role"], written["text"], long_commands=commands))
    return messages


def withdraw_block(conversation: ConversationState, ids: frozenset[str]) -> bool:
    """Take the waiting block out of its slot if it holds one of these memories; True if it did."""
    try:
        block = conversation.slot.pop()
    except IndexError:
        return False
    if ids.isdisjoint(block.ids):
        conversation.slot.append(block)
        return False
    conversation.withdrawn.append(block)
    return True
