"""Restoring a retired memory together with what its retirement changed elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.core.model import Change, Memory
from reverie.memory import memory_changes
from reverie.reconciliation.merge_rules import resolve_merged
from reverie.reconciliation.reconcile_reader import load_merge_families

if TYPE_CHECKING:
    from reverie.storage import Store


def plan_restore(
    store: Store,
    memory: Memory,
    now: float,
) -> tuple[list[Change], list[list[str]]]:
    """The changes that make a memory active again, and the pairs of ids that this settles: they are
    not merged or retired again unasked.
    """
    edges = [
        edge
        for edge in store.edges([memory.id], ("supersedes", "derived_from"))
        if edge.dst == memory.id and (edge.rel == "supersedes" or edge.src == memory.superseded_by)
    ]
    changes = memory_changes.restore_memory(memory, edges, now)
    heir = None
    if memory.retired_why == "merged":
        heir = resolve_merged(load_merge_families(store, [memory]), memory.id)
    if heir:
        changes += memory_changes.unmerge_memory(heir, memory, now)
    successor = heir.id if heir else memory.superseded_by
    return changes, [sorted((memory.id, successor))] if successor else []
