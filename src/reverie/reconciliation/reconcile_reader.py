"""What is new meets what is there: repetitions become one memory, contradictions are decided or
flagged.

Reads the events that add memories or give them another text. An event's turn comes when its
memories have vectors. Where there is no embedder, or it has not answered for PATIENCE, or nothing
may be fetched, words decide: repetitions in the same words are still found, others are left to
sleep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reverie.core.model import UNDECIDED_RELATIONS, Event, Memory
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.reconciliation.merge_rules import (
    MAX_RELATIVES,
    Neighbour,
    is_reconcilable,
    resolve_merged,
)
from reverie.reconciliation.reconciliation_plan import ReconciliationPlan

if TYPE_CHECKING:
    from reverie.storage import Store

ADDING_VERBS = ("remember", "learn", "gather", "extract", "answer", "revise", "mirror")
MAX_WORD_RELATIVES = 5  # relatives by words alone that a new memory is held against
RELATED_COSINE = (
    0.5  # cosine from which two are relatives by meaning (CONSTANTS: contradiction probe)
)
PATIENCE_SECONDS = 3_600.0  # seconds that an event waits for an embedder that does not answer
MAX_MERGE_DEPTH = 100  # merges into merges that are followed


def is_ready(work: WorkContext, event: Event) -> bool:
    """Whether everything is there that reconciling an event needs, or nothing more is to be waited
    for.
    """
    late = work.embedder_unavailable or (
        bool(work.embedder_error) and work.now - event.at > PATIENCE_SECONDS
    )
    if work.embedder is None or late or not work.store.unembedded_texts(1, work.embedding_model):
        return True
    ids = [memory.id for memory in list_fresh_memories(work, event)]
    return len(work.store.vectors(work.embedding_model, ids)) == len(ids)


def list_fresh_memories(work: WorkContext, event: Event) -> list[Memory]:
    """The memories that this event added or gave another text or space, as far as they
    take part.
    """
    records = work.store.changes_of(event.seq)
    ids = [
        r.memory_id for r in records if r.op == "add" or not {"text", "space"}.isdisjoint(r.after)
    ]
    return [
        memory
        for memory in work.store.get(list(dict.fromkeys(ids)))
        if is_reconcilable(memory, work.now)
    ]


def reconcile_event(work: WorkContext, event: Event) -> ReaderDecision:
    """What becomes of an event's memories and of their relatives."""
    new = [
        memory
        for memory in list_fresh_memories(work, event)
        if not work.settings.is_off(memory.space)
    ]
    if not new:
        return ReaderDecision()
    from reverie.reconciliation.neighbour_lookup import find_neighbours

    near = find_neighbours(work, new, older=event.verb not in ("revise", "mirror"))
    known = load_merge_families(
        work.store, [*new, *work.store.get([one.id for some in near.values() for one in some])]
    )
    near = {id: select_relatives(some, known, work.now) for id, some in near.items()}
    if not any(near.values()):
        return ReaderDecision()
    ends = {
        end.id for some in near.values() for one in some if (end := resolve_merged(known, one.id))
    }
    wordings = load_wordings(work.store, ends)
    ledger = ReconciliationPlan(
        known.values(),
        wordings,
        load_settled_pairs(work.store),
        work.now,
        count_open_cases(work.store, known),
    )
    for memory in new:
        ledger.place_memory(memory.id, near[memory.id])
    return ReaderDecision(
        ledger.list_changes(),
        ledger.list_dependencies(),
        {"pairs": [list(ruling) for ruling in ledger.rulings]},
    )


def load_merge_families(store: Store, memories: Sequence[Memory]) -> dict[str, Memory]:
    """These memories by id, and what they were merged into, to the living end."""
    known = {memory.id: memory for memory in memories}
    for _ in range(MAX_MERGE_DEPTH):
        heirs = {
            m.superseded_by for m in known.values() if m.retired_why == "merged" and m.superseded_by
        } - set(known)
        if not heirs:
            break
        known.update({memory.id: memory for memory in store.get(sorted(heirs))})
    return known


def select_relatives(
    near: Sequence[Neighbour], known: Mapping[str, Memory], now: float
) -> list[Neighbour]:
    """The nearest ten of those that take part, five that only share words, and wordings merged into
    one that does.
    """
    there = [one for one in near if one.id in known]
    alive = [one for one in there if is_reconcilable(known[one.id], now)]
    close = [one for one in alive if one.cosine is None or one.cosine >= RELATED_COSINE][
        :MAX_RELATIVES
    ]
    far = [one for one in alive if one.cosine is not None and one.cosine < RELATED_COSINE][
        :MAX_WORD_RELATIVES
    ]
    return [*close, *far, *(one for one in there if known[one.id].retired_why == "merged")]


def count_open_cases(store: Store, ids: Iterable[str]) -> Counter[str]:
    """How many pairs of memories that count and wait for a decision name each of these."""
    pairs = {
        frozenset((edge.src, edge.dst)) for edge in store.edges(list(ids), UNDECIDED_RELATIONS)
    }
    there = {
        memory.id
        for memory in store.get(sorted({id for pair in pairs for id in pair}))
        if memory.active
    }
    return Counter(id for pair in pairs if pair <= there for id in pair)


def load_wordings(store: Store, ids: set[str]) -> dict[str, list[str]]:
    """Further texts of memories: what was merged into them, and into that."""
    return {
        id: [memory.text for memory in some]
        for id, some in load_merged_memories(store, ids).items()
    }


def load_merged_memories(store: Store, ids: set[str]) -> dict[str, list[Memory]]:
    """What was merged into each of these, and into that, to the end."""
    found: dict[str, list[Memory]] = {}
    whose = {id: id for id in ids}
    asked = sorted(ids)
    while asked:
        edges = [
            edge
            for edge in store.edges(asked, ("derived_from",))
            if edge.src in asked and edge.dst not in whose
        ]
        heirs = {(edge.dst, edge.src) for edge in edges}
        merged = [
            memory
            for memory in store.get(sorted({edge.dst for edge in edges}))
            if memory.retired_why == "merged" and (memory.id, memory.superseded_by) in heirs
        ]
        for memory in merged:
            whose[memory.id] = whose[str(memory.superseded_by)]
            found.setdefault(whose[memory.id], []).append(memory)
        asked = sorted(memory.id for memory in merged)
    return found


READER = EventReader(
    name="reconcile",
    verbs=ADDING_VERBS,
    verb="reconcile",
    decide=reconcile_event,
    is_ready=is_ready,
)
