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
from reverie.core.model import Event
from reverie.core.privacy_policy import Policy
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
    policy: Policy,
) -> list[Event | None]:
    """Write turns in one transaction; returns the event of each.

    None for a turn whose `id()` is in `off` (memory is switched off there: only its reminders are
    marked), and for one that only names evicted messages.
    """
    # Redacting is the slow part, so it is done before the transaction.
    events = to_turn_events(
        [None if id(turn) in off else turn for turn in turns],
        policy,
    )
    with_more = [
        turn for turn in turns if turn.given_reminders or (turn.evicted and id(turn) not in off)
    ]
    with store.transaction() if with_more else nullcontext():
        store.append([event for event in events if event])
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
        **judged,
    }
    session = conversation.attention.session
    store.append([Event("prepared", conversation.space, at, session, payload)])
