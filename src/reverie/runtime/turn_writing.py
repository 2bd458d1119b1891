"""How the background thread writes to the event log: turns, with the reminders that were given and
the messages that left the context, and prepared blocks.

Always true: a batch is written as one transaction, so a reminder counts as given if and only if
its turn is in the log.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import nullcontext

from reverie.context_window import Block
from reverie.context_window.conversation_summary import record_episode
from reverie.context_window.evicted_excerpts import ExcerptTarget, store_evicted_parts
from reverie.core.config import Settings
from reverie.core.model import Event
from reverie.extraction.retrieval_feedback import make_query_snippet
from reverie.injection.conversation_state import (
    ConversationState,
    ConversationTurn,
    to_compact_event,
    to_turn_events,
)
from reverie.injection.due_reminders import fire_reminders, release_reminders
from reverie.injection.prepare_block import find_focus
from reverie.storage import Store


def write_turns(
    store: Store,
    turns: Sequence[ConversationTurn],
    off: Container[int],
    settings: Settings,
) -> list[Event | None]:
    """Write turns in one transaction; returns the event of each.

    None for a turn whose `id()` is in `off` (memory is switched off there: only its reminders are
    marked), and for one that only names evicted messages.
    """
    policy = settings.policy
    trials = make_trial_events(
        [turn for turn in turns if id(turn) not in off and turn.messages], settings
    )
    # Redacting is the slow part, so it is done before the transaction.
    events = to_turn_events(
        [None if id(turn) in off else turn for turn in turns],
        policy,
    )
    with_more = [
        turn for turn in turns if turn.given_reminders or (turn.evicted and id(turn) not in off)
    ]
    with store.transaction() if with_more else nullcontext():
        store.append([*trials, *(event for event in events if event)])
        for turn in with_more:
            conversation = turn.session
            session = conversation.attention.session
            # Also where memory is off: what the user was told must not be told again.
            fire_reminders(store, turn.given_reminders, turn.at, session)
            release_reminders(store, turn.given_reminders, conversation.holder)
            target = ExcerptTarget(conversation.space, session, policy)
            store_evicted_parts(store, turn.evicted, target, turn.at)
            if turn.evicted_summary and id(turn) not in off:
                record_episode(store, turn.evicted_summary, to_compact_event(turn), policy)
    return events


def make_trial_events(turns: Sequence[ConversationTurn], settings: Settings) -> list[Event]:
    """The events that say on which side of the comparison conversations are, once for each;
    none where nothing is held out.
    """
    events = []
    for turn in turns if settings.holdout else ():
        conversation, session = turn.session, turn.session.attention.session
        held_out = settings.is_held_out(session)
        if session and conversation.noted_trial != held_out:
            conversation.noted_trial = held_out
            payload = {"held_out": held_out, "share": settings.holdout}
            events.append(Event("trial", conversation.space, turn.at, session, payload))
    return events


def record_prepared_block(
    store: Store,
    conversation: ConversationState,
    block: Block,
    at: float,
    judged: Mapping[str, object],
) -> None:
    """Write the event of a prepared block, with what the judge said of its candidates."""
    payload = {
        "ids": list(block.ids),
        "why": [list(reasons) for reasons in block.why],
        "asked": make_query_snippet(find_focus(tuple(conversation.window)).text),
        **({"withheld": list(block.withheld)} if block.withheld else {}),
        **judged,
    }
    session = conversation.attention.session
    store.append([Event("prepared", conversation.space, at, session, payload)])
