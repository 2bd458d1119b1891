"""Pairs of memories about which somebody has decided: they are neither asked about nor merged again (X22).

The event log says it. Events of the verbs in DECIDING may carry `settled`, pairs of ids that are decided from then on,
and `reopened`, pairs that are not any longer. A decision in the review queue settles its pair; so does whoever brings
back what was merged or superseded, or takes such an event back: what was done unasked was not wanted. Taking a decision
back opens the question again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reverie.model import Event
from reverie.store import Store

DECIDING = ("review", "restore", "undo", "weigh")
UNASKED = ("reconcile", "sleep", "weigh")    # whose `pairs`, (one, other, relation), nobody was asked about
PAGE = 1_000


def settled_pairs(store: Store) -> frozenset[frozenset[str]]:
    """The pairs that are decided."""
    decided: set[frozenset[str]] = set()
    for event in deciding(store):
        decided |= pairs(event, "settled")
        decided -= pairs(event, "reopened")
    return frozenset(decided)


def deciding(store: Store) -> Iterator[Event]:
    """All events that may decide about pairs, oldest first."""
    last = 0
    while page := store.events(after=last, verbs=DECIDING, limit=PAGE):
        yield from page
        last = page[-1].seq


def pairs(event: Event, name: str) -> set[frozenset[str]]:
    """The pairs that an event names; what was erased in it leaves none."""
    found = event.payload.get(name, ())
    named = (frozenset(pair[:2]) for pair in found if isinstance(pair, list)) if isinstance(found, list) else ()
    return {pair for pair in named if len(pair) == 2}


def taken_back(event: Event) -> dict[str, Any]:
    """What the event that undoes this one says about pairs."""
    unwanted = pairs(event, "reopened") | (pairs(event, "pairs") if event.verb in UNASKED else set())
    found = {"settled": unwanted, "reopened": pairs(event, "settled")}
    return {name: sorted(map(sorted, some)) for name, some in found.items() if some}
