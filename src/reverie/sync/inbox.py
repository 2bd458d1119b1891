"""What others changed on the server, applied here.

A page is one event, `synced`, applied in one transaction with the place in the server's feed: who
is killed before it is told the page again, and finds nothing new in it. The event says what the
server had of each memory, so that an edit here is known to follow it. What was changed on both
sides is decided by `merge_rules` and named in the state. What was purged on the server is purged
here first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from reverie.core.errors import ReverieError
from reverie.core.model import PULLED, Change, Event, Memory, Retire, index_memories
from reverie.pipeline.event_reader import WorkContext
from reverie.sync.foreign_words import to_local
from reverie.sync.merge_rules import Merge, list_past_digests, merge_version
from reverie.sync.outbox import find_bases, is_touched
from reverie.sync.space_map import Account, SpaceMap, is_own
from reverie.sync.sync_state import (
    SyncState,
    load_purged,
    note_conflicts,
    outbox_cursor,
    save_purged,
    save_state,
)
from reverie.sync.wire_format import Page, PurgedMemory, digest_content

LEFT_WHY = "unshared"  # why a memory was retired that left the space where it could be read
# Erases memories for good, with everything that repeats them.
Purge = Callable[[Sequence[str]], object]


class Arrival(NamedTuple):
    """A memory of the server, and what it would be here."""

    there: Memory
    here: Memory


class Taken(NamedTuple):
    """What a page came to."""

    state: SyncState
    new: int = 0
    revised: int = 0
    purged: int = 0
    conflicts: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()


class Inbox:
    """What one home takes in from its server."""

    def __init__(
        self,
        work: WorkContext,
        account: Account,
        spaces: SpaceMap,
        purge: Purge,
    ) -> None:
        self.work, self.store = work, work.store
        self.account, self.spaces, self.purge = account, spaces, purge

    def take(self, page: Page, state: SyncState) -> Taken:
        """Apply a page and keep its place."""
        purged = self._purge_gone(page.purged)
        arrivals, troubles = receive_memories(page.memories, self.work, self.account, self.spaces)
        with self.store.transaction():
            merges = self._merge(arrivals)
            changes = [change for merge in merges.values() for change in merge.changes]
            changes += self._retire_left(page.left)
            if changes:
                held = {
                    one.there.id: digest_content(one.there)
                    for one in arrivals
                    if merges[one.there.id].changes
                }
                payload = {"server": self.account.url, "held": held, "next": page.next}
                self.store.apply(changes, Event(PULLED, "me", self.work.now, payload=payload))
            both = [id for id, merge in merges.items() if merge.result in ("won", "lost")]
            state = note_conflicts(state, both, self.work.now)._replace(token=page.next)
            save_state(self.store, state)
        results = [merge.result for merge in merges.values() if merge.changes]
        new = results.count("added")
        return Taken(state, new, len(results) - new, purged, tuple(both), tuple(troubles))

    def _merge(self, arrivals: Sequence[Arrival]) -> dict[str, Merge]:
        """What becomes of each, by id."""
        cursor = self.store.cursor(outbox_cursor(self.account))
        known = index_memories(self.store.get([one.here.id for one in arrivals]))
        return {
            one.here.id: self._merge_one(one, known.get(one.here.id), cursor) for one in arrivals
        }

    def _merge_one(
        self,
        arrival: Arrival,
        known: Memory | None,
        cursor: int,
    ) -> Merge:
        if known is None:
            return merge_version(arrival.here, None, follows=True)
        records = self.store.history(known.id)
        bases = find_bases(self.store, known, cursor, self.spaces)
        touched = is_touched(known, records, bases, self.spaces)
        if touched and digest_content(arrival.there) in bases:
            # The server still has what we had: ours is on its way there.
            return Merge("same")
        had = list_past_digests(known, records) if touched else ()
        return merge_version(arrival.here, known, follows=not touched, had=had)

    def _retire_left(self, left: Iterable[PurgedMemory]) -> list[Change]:
        """Put away others' memories that can no longer be read on the server."""
        known = index_memories(self.store.get([one.id for one in left]))
        return [
            Retire(id, self.work.now, LEFT_WHY)
            for id, memory in known.items()
            if memory.active and not is_own(memory, self.account.user)
        ]

    def _purge_gone(self, gone: Sequence[PurgedMemory]) -> int:
        """Erase here what was erased there."""
        known = index_memories(self.store.get([one.id for one in gone]))
        ids = [
            one.id
            for one in gone
            if one.id in known and self.spaces.local_space(one.space) == known[one.id].space
        ]
        if not ids:
            return 0
        self.purge(ids)
        # It has just told us: it need not be told.
        left = [one for one in load_purged(self.store) if one.id not in ids]
        save_purged(self.store, left)
        return len(ids)


def receive_memories(
    memories: Iterable[Memory], work: WorkContext, account: Account, spaces: SpaceMap
) -> tuple[list[Arrival], list[str]]:
    """What is wanted here of the server's memories, in the form that it has here and screened; and
    what cannot be taken in.
    """
    erased = {one.id for one in load_purged(work.store)}
    arrivals, troubles = [], []
    for there in memories:
        space = spaces.local_space(there.space)
        if not space or there.id in erased or work.settings.is_off(space):
            continue
        trusted = spaces.is_trusted(space)
        try:
            here = to_local(there, account.user, space, work.settings, trusted=trusted)
        except ReverieError as err:
            troubles.append(f"{there.id} cannot be taken in: {err}")
            continue
        arrivals.append(Arrival(there, here))
    return arrivals, troubles
