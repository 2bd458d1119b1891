"""After a retrieval: what was given together is tied together, what a judge looked at is believed
more or less, words in common become suggested tags (B73–B84). All of it in settle, one transaction
for each event; nobody waits for it.

Read are `prepared` (a block was made: `ids`; `asked`, the beginning of what was searched for; where
a judge looked at it, `verified` and `rejected`) and `feedback` (the user found a memory helpful: it
belongs to what helped shortly before in the same conversation).

Clusters are due every fifty retrievals; `clusters_due` counts them in the log, from the cursor
CLUSTERS on, which whoever finds clusters anew moves: `bedtime.nap` asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.model import Change, Event, Memory
from reverie.memory.memory_changes import record_use
from reverie.memory.usage_signals import MAX_CONTEXT_CHARS, link_used_together, suggest_tags
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.storage import Store

RETRIEVALS = ("prepared",)
CLUSTERS_CURSOR = "clusters"  # the cursor up to which retrievals have been clustered
CLUSTERS_EVERY = 50  # retrievals after which clusters are due (CONSTANTS: cluster cadence; B83)
VERDICT_SECONDS = (
    3_600.0  # seconds between two verdicts of one conversation that are taken together
)


def decide_feedback_changes(work: WorkContext, event: Event) -> ReaderDecision:
    """What one retrieval or one verdict teaches."""
    if work.settings.is_off(event.space, event.session):
        return ReaderDecision()
    ids = (
        list_recent_helpful_ids(work.store, event)
        if event.verb == "feedback"
        else list_payload_ids(event, "ids")
    )
    rejected = list_payload_ids(event, "rejected")
    memories = [
        memory for memory in work.store.get([*dict.fromkeys((*ids, *rejected))]) if memory.active
    ]
    given = [memory for memory in memories if memory.id in ids and memory.id not in rejected]
    verified = list_payload_ids(event, "verified")
    judged = [
        memory
        for memory in memories
        if memory.id in rejected or (memory in given and memory.id in verified)
    ]
    changes = link_retrieved_together(work.store, given)
    changes += [
        record_use(memory, work.now, helpful=memory in given, by="judge", at=event.at)
        for memory in judged
    ]
    changes += suggest_tags(given, str(event.payload.get("asked", "")), work.now)
    return ReaderDecision(changes, memories)


def link_retrieved_together(store: Store, memories: Sequence[Memory]) -> list[Change]:
    """Links between these, new or stronger."""
    if len(memories) < 2:
        return []
    return link_used_together(
        memories, store.edges([memory.id for memory in memories], ("relates_to",))
    )


def list_recent_helpful_ids(store: Store, event: Event) -> tuple[str, ...]:
    """What this verdict is about, and what helped last before it in the same conversation; of a bad
    one nothing.
    """
    if not event.payload.get("helpful") or not event.session:
        return ()
    lately = store.events(verbs=("feedback",), session=event.session, newest=True, limit=200)
    seqs = [
        one.seq
        for one in lately
        if one.payload.get("helpful")
        and one.seq <= event.seq
        and event.at - one.at <= VERDICT_SECONDS
    ]
    return tuple(
        dict.fromkeys(record.memory_id for seq in seqs[:2] for record in store.changes_of(seq))
    )


def list_payload_ids(event: Event, name: str) -> tuple[str, ...]:
    """A list of ids in an event; what a purge has blanked is left out."""
    value = event.payload.get(name, ())
    return (
        tuple(id for id in value if isinstance(id, str)) if isinstance(value, (list, tuple)) else ()
    )


def is_clustering_due(store: Store) -> bool:
    """Whether fifty retrievals have gone by since clusters were last renewed (B83)."""
    since = store.events(
        after=store.cursor(CLUSTERS_CURSOR), verbs=RETRIEVALS, limit=CLUSTERS_EVERY
    )
    return len(since) >= CLUSTERS_EVERY


def make_query_snippet(text: str) -> str:
    """What an event keeps of the text that was searched for: the beginning, on one line."""
    return " ".join(text[: 4 * MAX_CONTEXT_CHARS].split())[:MAX_CONTEXT_CHARS]


READER = EventReader(
    name="maintain",
    verbs=(*RETRIEVALS, "feedback"),
    verb="maintain",
    decide=decide_feedback_changes,
)
