"""The reader that reconciles new memories: merges duplicates, decides or flags contradictions.

Reads the events that add memories or give them another text. An event is ready when its memories
have vectors. Where there is no embedder, or it has not answered for PATIENCE_SECONDS, or nothing
may be fetched, words decide: repetitions in the same words are still found, others are left to
consolidation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reverie.core.model import UNDECIDED_RELATIONS, Event, Memory, index_memories
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.reconciliation.merge_rules import (
    MAX_RELATIVES,
    MIN_COSINE,
    Neighbour,
    is_reconcilable,
    resolve_merged,
)
from reverie.reconciliation.reconciliation_plan import ReconciliationPlan

if TYPE_CHECKING:
    from reverie.storage import Store

ADDING_VERBS = ("remember", "learn", "gather", "extract", "answer", "revise", "mirror")
# Relatives that share words but lie farther than MIN_COSINE.
MAX_WORD_RELATIVES = 5
# How long an event waits for an embedder that does not answer.
PATIENCE_SECONDS = 3_600.0
# Merges into merges that are followed.
MAX_MERGE_DEPTH = 100


def is_ready(work: WorkContext, event: Event) -> bool:
    """True if an event can be reconciled: its memories have vectors, or none are to be waited
    for.
    """
    waited = bool(work.embedder_error) and work.now - event.at > PATIENCE_SECONDS
    if work.embedder is None or work.embedder_unavailable or waited:
        return True
    if not work.store.unembedded_texts(1, work.embedding_model):
        return True
    ids = [memory.id for memory in list_fresh_memories(work, event)]
    return len(work.store.vectors(work.embedding_model, ids)) == len(ids)


def list_fresh_memories(work: WorkContext, event: Event) -> list[Memory]:
    """The reconcilable memories that this event added or gave another text or space."""
    ids = [
        record.memory_id
        for record in work.store.changes_of(event.seq)
        if record.op == "add" or not {"text", "space"}.isdisjoint(record.after)
    ]
    memories = work.store.get(list(dict.fromkeys(ids)))
    return [memory for memory in memories if is_reconcilable(memory, work.now)]


def reconcile_event(work: WorkContext, event: Event) -> ReaderDecision:
    """The changes to an event's memories and their relatives."""
    fresh = [
        memory
        for memory in list_fresh_memories(work, event)
        if not work.settings.is_off(memory.space)
    ]
    if not fresh:
        return ReaderDecision()
    from reverie.reconciliation.neighbour_lookup import find_neighbours

    # What was revised may be older than its relatives: it meets those that came after it, too.
    neighbours = find_neighbours(work, fresh, older=event.verb not in ("revise", "mirror"))
    ids = [neighbour.id for found in neighbours.values() for neighbour in found]
    known = load_merge_families(
        work.store,
        [*fresh, *work.store.get(ids)],
    )
    relatives = {
        id: select_relatives(
            found,
            known,
            work.now,
        )
        for id, found in neighbours.items()
    }
    if not any(relatives.values()):
        return ReaderDecision()
    plan = start_plan(work, known, relatives)
    for memory in fresh:
        plan.place_memory(memory.id, relatives[memory.id])
    return ReaderDecision(
        plan.list_changes(),
        plan.list_dependencies(),
        {"pairs": [list(ruling) for ruling in plan.rulings]},
    )


def start_plan(
    work: WorkContext,
    known: Mapping[str, Memory],
    relatives: Mapping[str, Sequence[Neighbour]],
) -> ReconciliationPlan:
    """A plan with all that is known of these memories, in which none is placed yet."""
    near = [neighbour for found in relatives.values() for neighbour in found]
    ends = [resolve_merged(known, neighbour.id) for neighbour in near]
    return ReconciliationPlan(
        known.values(),
        load_wordings(work.store, {end.id for end in ends if end}),
        load_settled_pairs(work.store),
        work.now,
        count_open_cases(work.store, known),
    )


def load_merge_families(store: Store, memories: Sequence[Memory]) -> dict[str, Memory]:
    """These memories by id, with those that they were merged into, to the active end."""
    known = index_memories(memories)
    for _ in range(MAX_MERGE_DEPTH):
        merged = [memory for memory in known.values() if memory.retired_why == "merged"]
        heirs = {memory.superseded_by for memory in merged if memory.superseded_by} - set(known)
        if not heirs:
            break
        known.update(index_memories(store.get(sorted(heirs))))
    return known


def select_relatives(
    neighbours: Sequence[Neighbour],
    known: Mapping[str, Memory],
    now: float,
) -> list[Neighbour]:
    """The nearest MAX_RELATIVES that take part, a few that only share words, and all merged
    wordings.
    """
    close: list[Neighbour] = []
    far: list[Neighbour] = []
    merged: list[Neighbour] = []
    for neighbour in neighbours:
        memory = known.get(neighbour.id)
        if memory is None:
            continue
        if memory.retired_why == "merged":
            merged.append(neighbour)
        elif is_reconcilable(memory, now):
            is_close = neighbour.cosine is None or neighbour.cosine >= MIN_COSINE
            (close if is_close else far).append(neighbour)
    return [*close[:MAX_RELATIVES], *far[:MAX_WORD_RELATIVES], *merged]


def count_open_cases(store: Store, ids: Iterable[str]) -> Counter[str]:
    """How many undecided pairs of active memories name each of these."""
    pairs = {
        frozenset((edge.src, edge.dst))
        for edge in store.edges(
            list(ids),
            UNDECIDED_RELATIONS,
        )
    }
    memories = store.get(sorted({id for pair in pairs for id in pair}))
    active = {memory.id for memory in memories if memory.active}
    return Counter(id for pair in pairs if pair <= active for id in pair)


def load_wordings(
    store: Store,
    ids: set[str],
) -> dict[str, list[str]]:
    """Further texts by which memories are known: what was merged into them, and into that."""
    merged = load_merged_memories(store, ids)
    return {id: [memory.text for memory in memories] for id, memories in merged.items()}


def load_merged_memories(
    store: Store,
    ids: set[str],
) -> dict[str, list[Memory]]:
    """The memories that were merged into each of these, and into those, to the end."""
    found: dict[str, list[Memory]] = {}
    heir_of = {id: id for id in ids}
    asked = sorted(ids)
    while asked:
        edges = store.edges(asked, ("derived_from",))
        expected = {(edge.dst, edge.src) for edge in edges if edge.dst not in heir_of}
        asked = []
        for memory in store.get(sorted({id for id, _ in expected})):
            heir = memory.superseded_by or ""
            if memory.retired_why == "merged" and (memory.id, heir) in expected:
                heir_of[memory.id] = heir_of[heir]
                found.setdefault(heir_of[heir], []).append(memory)
                asked.append(memory.id)
    return found


READER = EventReader(
    name="reconcile",
    verbs=ADDING_VERBS,
    verb="reconcile",
    decide=reconcile_event,
    is_ready=is_ready,
)
