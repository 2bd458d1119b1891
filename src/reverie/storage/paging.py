"""Reading everything a page at a time, so that no store is too large to go through.

Memories are read from the newest on, so those that are added meanwhile are not met. Events are read
from the oldest on, so those that are added meanwhile are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reverie.core.model import Event, Filter, Memory
    from reverie.storage import Store

EVENTS_PER_PAGE = 1_000


def read_memory_pages(store: Store, where: Filter) -> Iterator[list[Memory]]:
    """All memories that match, newest first, in pages of `where.limit`, each read when needed."""
    while page := store.browse(where):
        yield page
        if len(page) < where.limit:
            return
        where = where._replace(after=page[-1].id)


def iter_events_after(
    store: Store,
    seq: int,
    verbs: Sequence[str],
) -> Iterator[Event]:
    """All events of these verbs after a number, oldest first."""
    while page := store.events(
        after=seq,
        verbs=verbs,
        limit=EVENTS_PER_PAGE,
    ):
        yield from page
        seq = page[-1].seq
