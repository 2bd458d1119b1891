"""Pairs of memories about which somebody has decided: they are neither asked about nor merged again
(X22).

The event log says it. Events of the verbs in DECIDING may carry `settled`, pairs of ids that are
decided from then on, and `reopened`, pairs that are not any longer. A decision in the review queue
settles its pair; so does whoever brings back what was merged or superseded, or takes such an event
back: what was done unasked was not wanted. Taking a decision back opens the question again.

The log only grows, so a process reads each of those events once for a store, and keeps what they
say as long as it keeps the store open. Who asks inside a transaction that fails later makes it keep
what never was: ask outside.
"""

from __future__ import annotations

from sys import intern
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from reverie.core.model import Event
from reverie.storage import Store
from reverie.storage.paging import iter_events_after

DECIDING_VERBS = ("review", "restore", "undo", "weigh", "mirror")
# whose `pairs`, (one, other, relation), nobody was asked about
UNASKED_VERBS = (
    "reconcile",
    "sleep",
    "weigh",
)


class DecidedPairs(NamedTuple):
    """What the deciding events say, up to the one of this number."""

    last_seq: int = 0
    pairs: frozenset[frozenset[str]] = frozenset()


# some 300 bytes a pair; gone with the store
_DECIDED_BY_STORE: WeakKeyDictionary[Store, DecidedPairs] = WeakKeyDictionary()


def load_settled_pairs(store: Store) -> frozenset[frozenset[str]]:
    """The pairs that are decided."""
    known = _DECIDED_BY_STORE.get(store, DecidedPairs())
    if not (first := store.events(after=known.last_seq, verbs=DECIDING_VERBS, limit=1)):
        return known.pairs
    decided, last = set(known.pairs), first[0].seq
    for event in iter_events_after(store, known.last_seq, DECIDING_VERBS):
        decided |= named_pairs(event, "settled")
        decided -= named_pairs(event, "reopened")
        last = event.seq
    known = _DECIDED_BY_STORE[store] = DecidedPairs(last, frozenset(decided))
    return known.pairs


def named_pairs(event: Event, name: str) -> set[frozenset[str]]:
    """The pairs that an event names; what was erased in it leaves none."""
    found = event.payload.get(name, ())
    some = [pair[:2] for pair in found if isinstance(pair, list)] if isinstance(found, list) else []
    named = {frozenset(intern(str(id)) for id in pair) for pair in some}
    return {pair for pair in named if len(pair) == 2}


def reverse_pair_decisions(event: Event) -> dict[str, Any]:
    """What the event that undoes this one says about pairs."""
    unwanted = named_pairs(event, "reopened") | (
        named_pairs(event, "pairs") if event.verb in UNASKED_VERBS else set()
    )
    found = {"settled": unwanted, "reopened": named_pairs(event, "settled")}
    return {name: sorted(map(sorted, some)) for name, some in found.items() if some}
