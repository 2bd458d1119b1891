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
from reverie.memory.memory_changes import used
from reverie.memory.usage_signals import SNIPPET, suggested, together
from reverie.pipeline.event_reader import Decision, Reader, Work
from reverie.storage import Store

RETRIEVALS = ("prepared",)
CLUSTERS = "clusters"  # the cursor up to which retrievals have been clustered
CLUSTERS_EVERY = 50  # retrievals after which clusters are due (CONSTANTS: cluster cadence; B83)
SHORTLY = 3_600.0  # seconds between two verdicts of one conversation that are taken together


def taught(work: Work, event: Event) -> Decision:
    """What one retrieval or one verdict teaches."""
    if work.settings.is_off(event.space, event.session):
        return Decision()
    ids = helpful_lately(work.store, event) if event.verb == "feedback" else listed(event, "ids")
    rejected = listed(event, "rejected")
    memories = [
        memory for memory in work.store.get([*dict.fromkeys((*ids, *rejected))]) if memory.active
    ]
    given = [memory for memory in memories if memory.id in ids and memory.id not in rejected]
    verified = listed(event, "verified")
    judged = [
        memory
        for memory in memories
        if memory.id in rejected or (memory in given and memory.id in verified)
    ]
    changes = tied(work.store, given)
    changes += [
        used(memory, work.now, helpful=memory in given, by="judge", at=event.at)
        for memory in judged
    ]
    changes += suggested(given, str(event.payload.get("asked", "")), work.now)
    return Decision(changes, memories)


def tied(store: Store, memories: Sequence[Memory]) -> list[Change]:
    """Links between these, new or stronger."""
    if len(memories) < 2:
        return []
    return together(memories, store.edges([memory.id for memory in memories], ("relates_to",)))


def helpful_lately(store: Store, event: Event) -> tuple[str, ...]:
    """What this verdict is about, and what helped last before it in the same conversation; of a bad
    one nothing.
    """
    if not event.payload.get("helpful") or not event.session:
        return ()
    lately = store.events(verbs=("feedback",), session=event.session, newest=True, limit=200)
    seqs = [
        one.seq
        for one in lately
        if one.payload.get("helpful") and one.seq <= event.seq and event.at - one.at <= SHORTLY
    ]
    return tuple(
        dict.fromkeys(record.memory_id for seq in seqs[:2] for record in store.changes_of(seq))
    )


def listed(event: Event, name: str) -> tuple[str, ...]:
    """A list of ids in an event; what a purge has blanked is left out."""
    value = event.payload.get(name, ())
    return (
        tuple(id for id in value if isinstance(id, str)) if isinstance(value, (list, tuple)) else ()
    )


def clusters_due(store: Store) -> bool:
    """Whether fifty retrievals have gone by since clusters were last renewed (B83)."""
    since = store.events(after=store.cursor(CLUSTERS), verbs=RETRIEVALS, limit=CLUSTERS_EVERY)
    return len(since) >= CLUSTERS_EVERY


def snippet(text: str) -> str:
    """What an event keeps of the text that was searched for: the beginning, on one line."""
    return " ".join(text[: 4 * SNIPPET].split())[:SNIPPET]


READER = Reader(name="maintain", verbs=(*RETRIEVALS, "feedback"), verb="maintain", decide=taught)
