"""Changes: what was changed lately, by whomever, each with a way back: for when a toast is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.core.model import Event, Memory, Record, index_memories
from reverie.interfaces.web.page import UNDO, Page, View, WebRequest, find_undone
from reverie.memory.history_text import describe_event

PER_PAGE = 30
MAX_SHOWN_MEMORIES = 3
# Events that change what is remembered: not nights, which have a page of their own, nor uses, nor
# what was taken back, which stands with the change itself.
VERBS = (
    *("remember", "revise", "tag", "describe", "link", "supersede", "feedback", "outcome", "feel"),
    *("forget", "restore", "review", "curate", "done", "cancel", "snooze", "mirror", "guard"),
    *("learn", "gather", "reconcile", "anchor", "depend"),
)


class Changed(NamedTuple):
    """What one event changed."""

    event: Event
    did: str  # of the first of its memories, in words
    memories: Sequence[Memory]  # the first few
    total: int
    undone_by: int  # the event that took it back and still stands; 0: it holds


class ChangeList(NamedTuple):
    """A page of changes, the newest first."""

    changes: Sequence[Changed]
    before: int
    next: int  # where the next page begins; 0: there is none


def list_changes(mind: Mind, asked: WebRequest) -> ChangeList:
    """What was changed in all spaces."""
    limit = asked.number("limit", PER_PAGE)
    before = asked.number("before", 0, most=10**18)
    found = mind.store.events(verbs=VERBS, before=before or None, newest=True, limit=limit + 1)
    undone_by = find_undone(mind.store.events(verbs=(UNDO,), newest=True, limit=1_000))
    changes = [show_change(mind, event, undone_by) for event in found[:limit]]
    following = found[limit - 1].seq if 0 < limit < len(found) else 0
    return ChangeList([one for one in changes if one.total], before, following)


def show_change(mind: Mind, event: Event, undone_by: dict[int, int]) -> Changed:
    """One event with the memories that it changed."""
    by_memory: dict[str, list[Record]] = {}
    for record in mind.store.changes_of(event.seq):
        by_memory.setdefault(record.memory_id, []).append(record)
    memories = mind.get(list(by_memory)[:MAX_SHOWN_MEMORIES])
    records = by_memory[memories[0].id] if memories else []
    did = describe_event(records, index_memories(memories)) if records else ""
    return Changed(event, did, memories, len(by_memory), undone_by.get(event.seq, 0))


PAGE = Page("changes", "Changes", (View("/changes", list_changes, "changes.html"),))
