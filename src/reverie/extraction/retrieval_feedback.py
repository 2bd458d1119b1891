"""What a retrieval teaches: links between memories given together, use and disuse, suggested tags.

The reader runs in the background, one transaction for each event. It reads `prepared` (a block was
made: `ids`; `asked`, the beginning of what was searched for; where a judge looked at it, `verified`
and `rejected`, and `related`, the pairs that it said belong together or contradict each other) and
`feedback` (the user found a memory helpful: it is linked with what helped shortly before in the
same conversation).

Clusters are due every fifty retrievals. `is_clustering_due` counts these in the log from the cursor
CLUSTERS_CURSOR on; whoever finds clusters anew moves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.core.model import MEMORY_RELATIONS, Change, Event, Link, Memory, index_memories
from reverie.memory.memory_changes import record_use
from reverie.memory.usage_signals import MAX_CONTEXT_CHARS, link_used_together, suggest_tags
from reverie.pipeline.conversation_events import list_payload_ids
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.storage import Store

if TYPE_CHECKING:
    from reverie.reconciliation.pass_view import PairInView, PassStep

RETRIEVALS = ("prepared",)
# the cursor up to which retrievals have been clustered
CLUSTERS_CURSOR = "clusters"
# retrievals after which clusters are due
CLUSTERS_EVERY = 50
# seconds between two verdicts of one conversation that are taken together
VERDICT_SECONDS = 3_600.0


# verdicts of a conversation that are looked at
MAX_VERDICTS = 200


def decide_feedback_changes(work: WorkContext, event: Event) -> ReaderDecision:
    """The links, uses and tag suggestions that follow from one retrieval or one verdict."""
    if work.settings.is_off(event.space, event.session):
        return ReaderDecision()
    # A verdict is about what helped in a row, a retrieval about what was given at once.
    if event.verb == "feedback":
        ids = list_recent_helpful_ids(work.store, event)
    else:
        ids = list_payload_ids(event, "ids")
    rejected = list_payload_ids(event, "rejected")
    verified = list_payload_ids(event, "verified")
    found = work.store.get([*dict.fromkeys((*ids, *rejected))])
    memories = [memory for memory in found if memory.active]
    given = [memory for memory in memories if memory.id in ids and memory.id not in rejected]
    changes: list[Change] = []
    if len(given) > 1:
        edges = work.store.edges(
            [memory.id for memory in given],
            ("relates_to",),
        )
        changes += link_used_together(given, edges)
    for memory in memories:
        helpful = memory in given
        if memory.id in rejected or (helpful and memory.id in verified):
            changes.append(
                record_use(
                    memory,
                    work.now,
                    helpful=helpful,
                    by="judge",
                    at=event.at,
                )
            )
    changes += suggest_tags(
        given,
        str(event.payload.get("asked", "")),
        work.now,
    )
    if not event.payload.get("related"):
        return ReaderDecision(changes, memories)
    tied, noticed = tie_noticed_pairs(work, event, changes)
    return ReaderDecision([*changes, *tied], list(index_memories([*memories, *noticed]).values()))


def tie_noticed_pairs(
    work: WorkContext, event: Event, made: Sequence[Change]
) -> tuple[list[Change], list[Memory]]:
    """What follows from the pairs that a judge named, and the memories it rests on.

    A pair that belongs together is tied, one that contradicts itself is put before a person; none
    that is tied already, by `made` too, that no reader sees together, or that somebody decided.
    """
    from reverie.pipeline.decided_pairs import load_settled_pairs
    from reverie.reconciliation.pair_passes import is_tied_or_unseen, tie_pair
    from reverie.reconciliation.pass_view import ClosePair, PassView, index_edges, visit_pairs

    rows = [row for row in event.payload["related"] if is_pair_row(row)]
    relation_of = {frozenset(row[:2]): row[2] for row in rows}
    found = work.store.get([*{id for row in rows for id in row[:2]}])
    memories = index_memories(memory for memory in found if not work.settings.is_off(memory.space))
    edges = index_edges(work.store.edges([*memories], MEMORY_RELATIONS))
    edges.update(index_edges(change.edge for change in made if isinstance(change, Link)))
    pairs = [ClosePair(one, other, 0.0) for one, other, _ in rows]
    view = PassView(work.now, memories, edges, pairs, settled=load_settled_pairs(work.store))

    def tie(pair: PairInView) -> PassStep | None:
        relation = relation_of[frozenset((pair.one.id, pair.other.id))]
        return None if is_tied_or_unseen(pair) else tie_pair(pair, relation, "a judge said so")

    steps = visit_pairs(view, tie)
    return [change for step in steps for change in step.changes], found


def is_pair_row(row: object) -> bool:
    """True for two ids and a relation; a purge may have blanked them."""
    return isinstance(row, list) and len(row) == 3 and all(isinstance(one, str) for one in row)


def list_recent_helpful_ids(store: Store, event: Event) -> tuple[str, ...]:
    """The memories of this verdict and of the helpful one before it in the same conversation.

    Empty for a bad verdict.
    """
    if not event.payload.get("helpful") or not event.session:
        return ()
    verdicts = store.events(
        verbs=("feedback",),
        session=event.session,
        newest=True,
        limit=MAX_VERDICTS,
    )
    helpful = [
        verdict.seq
        for verdict in verdicts
        if verdict.payload.get("helpful")
        and verdict.seq <= event.seq
        and event.at - verdict.at <= VERDICT_SECONDS
    ]
    changes = [record for seq in helpful[:2] for record in store.changes_of(seq)]
    return tuple(dict.fromkeys(record.memory_id for record in changes))


def is_clustering_due(store: Store) -> bool:
    """True if CLUSTERS_EVERY retrievals have gone by since clusters were last found."""
    since = store.events(
        after=store.cursor(CLUSTERS_CURSOR),
        verbs=RETRIEVALS,
        limit=CLUSTERS_EVERY,
    )
    return len(since) >= CLUSTERS_EVERY


def make_query_snippet(text: str) -> str:
    """The beginning of a query on one line, as events keep it."""
    return " ".join(text[: 4 * MAX_CONTEXT_CHARS].split())[:MAX_CONTEXT_CHARS]


READER = EventReader(
    name="maintain",
    verbs=(*RETRIEVALS, "feedback"),
    verb="maintain",
    decide=decide_feedback_changes,
)
