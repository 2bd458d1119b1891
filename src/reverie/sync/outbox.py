"""What was changed here and the server does not know yet.

The event log is the spool: what it names after the cursor is looked up as it is now, so that a
memory that was changed ten times goes once. The cursor moves when the server has acknowledged all
of it; whoever is killed before that sends it again, and the server finds nothing new. What came
from the server is no news for it. After `reverie login`, and whenever other memories go elsewhere,
all memories are gone through once, by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.core import clock
from reverie.core.config import Settings
from reverie.core.model import PULLED, Filter, Memory, Record
from reverie.storage import Store
from reverie.sync.merge_rules import changes_content, rewind
from reverie.sync.space_map import PRIVATE, Account, SpaceMap, is_own, is_tidied_away
from reverie.sync.sync_state import (
    FullPass,
    SyncState,
    load_kept,
    load_purged,
    outbox_cursor,
)
from reverie.sync.wire_format import (
    MAX_BATCH_BYTES,
    Batch,
    PurgedMemory,
    PushedMemory,
    digest_content,
)

BATCH_SIZE = 200  # memories of one batch


class Outgoing(NamedTuple):
    """A batch, and how far the server knows everything once it has acknowledged it."""

    batch: Batch
    upto: int = 0  # the cursor; 0: it stays
    full: FullPass | None = None
    more: bool = False
    # what of PURGED_META it holds, as that is kept
    purged: tuple[PurgedMemory, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to send."""
        return not (self.batch.memories or self.batch.purged)


class Outbox:
    """What one home has to say to its server."""

    def __init__(
        self, store: Store, account: Account, spaces: SpaceMap, settings: Settings
    ) -> None:
        self.store, self.account, self.spaces = store, account, spaces
        self.settings = settings
        self.cursor = store.cursor(outbox_cursor(account))

    def gather(self, state: SyncState) -> Outgoing:
        """The next batch."""
        if state.full is not None:
            return self._gather_all(state.full)
        return self._gather_changed()

    def has_news(self, state: SyncState) -> bool:
        """True if something waits, or may."""
        if state.full is not None or load_purged(self.store):
            return True
        return any(is_news(one) for one in self.store.changes_after(self.cursor))

    def count_waiting(self, state: SyncState) -> int:
        """How many memories wait to be sent."""
        if state.full is not None:
            left = self.store.browse(Filter(active=None, limit=10**9, after=state.full.after))
            return sum(bool(self._destination(one)) for one in left)
        ids = list_changed(self.store.changes_after(self.cursor))
        waiting = [one for one in self.store.get(ids) if self._destination(one)]
        return len(waiting) + len(load_purged(self.store))

    def _gather_all(self, full: FullPass) -> Outgoing:
        # A memory that was purged meanwhile is no place to go on from.
        after = full.after if self.store.get([full.after]) else ""
        found = self.store.browse(Filter(active=None, limit=BATCH_SIZE, after=after))
        kept = take_within_bytes(found)
        is_over = len(found) < BATCH_SIZE and len(kept) == len(found)
        return Outgoing(
            self._batch(kept, ()),
            upto=full.until if is_over else 0,
            full=None if is_over else full._replace(after=kept[-1].id),
            more=True,
        )

    def _gather_changed(self) -> Outgoing:
        # Before the changes are read: what comes in meanwhile is left for the next time.
        last = self.store.last_event()
        records = self.store.changes_after(self.cursor)
        chosen, upto, more = take_first(records, BATCH_SIZE)
        memories = self.store.get(list_changed(chosen))
        if len(memories) > 2 * BATCH_SIZE or len(take_within_bytes(memories)) < len(memories):
            # One import, or very long texts: no batch holds that, so all is gone through by id.
            return Outgoing(self._batch((), ()), full=FullPass(last), more=True)
        purged = load_purged(self.store)[:BATCH_SIZE]
        upto = upto if more else max(last, upto)
        return Outgoing(self._batch(memories, purged), upto=upto, more=more, purged=purged)

    def _batch(self, memories: Iterable[Memory], purged: Iterable[PurgedMemory]) -> Batch:
        pushed = []
        for memory in memories:
            there = self._destination(memory)
            if there:
                pushed.append(PushedMemory(to_server(memory, there), self._find_bases(memory)))
        gone = [PurgedMemory(one.id, self.spaces.to_private(one.space)) for one in purged]
        stay = load_kept(self.store)
        return Batch(clock.new_id("bat"), self.account.device, tuple(pushed), tuple(gone), stay)

    def _destination(self, memory: Memory) -> str:
        """Where a memory goes on the server; "" if it stays here."""
        if self.settings.is_off(memory.space, memory.session):
            return ""
        there = self.spaces.server_space(memory)
        is_shared = bool(there) and there != self.spaces.to_private(memory.space)
        return "" if is_shared and is_tidied_away(memory) else there

    def _find_bases(self, memory: Memory) -> tuple[str, ...]:
        return find_bases(self.store, memory, self.cursor, self.spaces)


def take_within_bytes(memories: Sequence[Memory]) -> list[Memory]:
    """As many as one batch may hold, one at least."""
    kept: list[Memory] = []
    size = 0
    for memory in memories:
        size += len(memory.text) * 2 + 1_000
        if kept and size > MAX_BATCH_BYTES:
            break
        kept.append(memory)
    return kept


def to_server(memory: Memory, space: str) -> Memory:
    """A memory as it is sent; what it was used for is nobody else's in a shared space."""
    moved = memory._replace(space=space, conflicts_with=())
    if space.startswith(PRIVATE):
        return moved
    return moved._replace(
        access_count=0,
        last_accessed_at=None,
        strength=1,
        reinforcements=(),
        confidence=memory.trust,
    )


def is_news(record: Record) -> bool:
    """True if a change was made here and alters what a memory says."""
    return record.event.verb != PULLED and record.op != "link" and changes_content(record)


def list_changed(records: Iterable[Record]) -> list[str]:
    """The memories that were changed here, each once, the first changed first."""
    return list(dict.fromkeys(one.memory_id for one in records if is_news(one)))


def take_first(records: Sequence[Record], most: int) -> tuple[list[Record], int, bool]:
    """The records of the first events that change at most so many memories, one event at least; the
    number of the last of these events, and whether there are more.
    """
    seen: set[str] = set()
    chosen: list[Record] = []
    upto = 0
    for record in records:
        is_new_event = record.event.seq != upto
        if is_new_event and len(seen) >= most:
            return chosen, upto, True
        upto = record.event.seq
        chosen.append(record)
        if is_news(record):
            seen.add(record.memory_id)
    return chosen, upto, False


def find_bases(
    store: Store,
    memory: Memory,
    cursor: int,
    spaces: SpaceMap,
) -> tuple[str, ...]:
    """Digests of what this home last knew the server to have of a memory; none for nothing.

    That is what came with the last pull of it, or what it was here when the server acknowledged it
    after that.
    """
    records = store.history(memory.id)
    pulled = last_pull(records)
    held = held_digest(pulled, memory.id)
    pulled_seq = pulled.event.seq if pulled else 0
    pushed = any(is_news(one) and pulled_seq < one.event.seq <= cursor for one in records)
    if held and not pushed:
        return (held,)
    then = rewind(memory, records, cursor)
    return list_digests(then, spaces) if then else ()


def list_digests(memory: Memory, spaces: SpaceMap) -> tuple[str, ...]:
    """The digests that a memory of ours may have on the server, by the space that it is in."""
    places = spaces.possible_spaces(memory.space)
    return tuple(digest_content(to_server(memory, place)) for place in places)


def last_pull(records: Sequence[Record]) -> Record | None:
    """The last record of a memory's history that came from the server."""
    return next((one for one in reversed(records) if one.event.verb == PULLED), None)


def held_digest(record: Record | None, id: str) -> str:
    """The digest that the server had of a memory when it was pulled; "" if it was not."""
    held = record.event.payload.get("held", {}) if record else {}
    return str(held.get(id) or "")


def is_touched(
    memory: Memory,
    records: Sequence[Record],
    bases: tuple[str, ...],
    spaces: SpaceMap,
) -> bool:
    """True if a memory was changed here since both sides last agreed on what the server had."""
    if is_own(memory, spaces.user):
        return set(bases).isdisjoint(list_digests(memory, spaces))
    # Another's words lie here in another form, and are never pushed.
    pulled = last_pull(records)
    seq = pulled.event.seq if pulled else 0
    return any(is_news(one) and one.event.seq > seq for one in records)
