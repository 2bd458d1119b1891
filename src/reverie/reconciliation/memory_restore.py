"""Bringing a memory back, with what it had stepped back for: what `restore` does, and a person's
edit of its line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.core.model import Change, Memory
from reverie.memory import memory_changes
from reverie.reconciliation.merge_rules import resolve_merged
from reverie.reconciliation.reconcile_reader import load_merge_families

if TYPE_CHECKING:
    from reverie.storage import Store


def plan_restore(store: Store, memory: Memory, now: float) -> tuple[list[Change], list[list[str]]]:
    """The changes by which a memory counts again, and the pair that is decided by that: it is not
    undone unasked.
    """
    edges = [
        e
        for e in store.edges([memory.id], ("supersedes", "derived_from"))
        if e.dst == memory.id and (e.rel == "supersedes" or e.src == memory.superseded_by)
    ]
    changes = memory_changes.restore_memory(memory, edges, now)
    heir = (
        resolve_merged(load_merge_families(store, [memory]), memory.id)
        if memory.retired_why == "merged"
        else None
    )
    changes += memory_changes.unmerge_memory(heir, memory, now) if heir else []
    other = heir.id if heir else memory.superseded_by
    return changes, [sorted((memory.id, other))] if other else []
