"""Pairs of memories about which somebody has decided: sleep neither asks about them nor merges
them again.

The event log is their only record. Events of the verbs in DECIDING_VERBS may carry `settled`, pairs
of ids that are decided from then on, and `reopened`, pairs that are open again. A decision in the
review queue settles its pair. So does bringing back what was merged or superseded, or undoing such
an event: what was done unasked was not wanted. Taking a decision back opens the question again.

The log only grows, so a process reads each of those events once for a store and keeps the result as
long as the store is open. Do not ask inside a transaction that may still fail: pairs read there
would be kept although they never came to be.
"""

from sys import intern
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from reverie.core.model import Event
from reverie.storage import Store
from reverie.storage.paging import iter_events_after

DECIDING_VERBS = ("review", "restore", "undo", "weigh", "mirror", "depend")
# Events whose `pairs`, (one, other, relation), nobody was asked about.
UNASKED_VERBS = ("reconcile", "sleep", "weigh")


class DecidedPairs(NamedTuple):
    """The pairs that are settled by the events up to `last_seq`."""

    last_seq: int = 0
    pairs: frozenset[frozenset[str]] = frozenset()


# Some 300 bytes a pair; dropped with the store.
_DECIDED_BY_STORE: WeakKeyDictionary[Store, DecidedPairs] = WeakKeyDictionary()


def load_settled_pairs(store: Store) -> frozenset[frozenset[str]]:
    """The pairs of ids that are decided, up to the newest event."""
    known = _DECIDED_BY_STORE.get(store, DecidedPairs())
    # One cheap query says whether anything was decided since.
    first = store.events(
        after=known.last_seq,
        verbs=DECIDING_VERBS,
        limit=1,
    )
    if not first:
        return known.pairs
    settled = set(known.pairs)
    last_seq = first[0].seq
    for event in iter_events_after(store, known.last_seq, DECIDING_VERBS):
        settled |= named_pairs(event, "settled")
        settled -= named_pairs(event, "reopened")
        last_seq = event.seq
    known = _DECIDED_BY_STORE[store] = DecidedPairs(last_seq, frozenset(settled))
    return known.pairs


def named_pairs(event: Event, name: str) -> set[frozenset[str]]:
    """The pairs of ids under a name in an event's payload; a pair that was erased there is left
    out.
    """
    rows = event.payload.get(name, ())
    if not isinstance(rows, list):
        return set()
    pairs = {
        frozenset(intern(str(memory_id)) for memory_id in row[:2])
        for row in rows
        if isinstance(row, list)
    }
    return {pair for pair in pairs if len(pair) == 2}


def reverse_pair_decisions(event: Event) -> dict[str, Any]:
    """The payload by which the event that undoes this one settles and reopens pairs."""
    unwanted = named_pairs(event, "reopened")
    if event.verb in UNASKED_VERBS:
        unwanted |= named_pairs(event, "pairs")
    reversed_pairs = {"settled": unwanted, "reopened": named_pairs(event, "settled")}
    return {name: sorted(map(sorted, pairs)) for name, pairs in reversed_pairs.items() if pairs}
