"""A tenant's store as one caller sees it: what is written is stamped, what others wrote is theirs.

Row security decides what can be read and written at all (`storage/postgres/row_security.sql`). This
adds what a database does not know: who wrote a memory (`access.authorship`), and that a colleague's
words count as others' (`privacy.untrusted_text`) until the reader trusts the space. What is stored
stays as its writer gave it; only what a reader is shown is lowered.

Within a transaction memories are given as they are stored: what decides there what is written must
not write down this reader's view of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, cast

from reverie.access import AccessControl, Caller, Right
from reverie.access.authorship import (
    SAID_FIELDS,
    as_read_by,
    editors_of,
    stamp_edit,
    stamp_writer,
    writer_of,
)
from reverie.access.rights import is_private
from reverie.core import clock
from reverie.core.authorship import WRITER
from reverie.core.model import (
    Add,
    Change,
    Event,
    Filter,
    Link,
    Memory,
    Record,
    Retire,
    Revise,
    index_memories,
)
from reverie.privacy.untrusted_text import HEARD_FROM, disarm_memory
from reverie.storage import DatedDetails, Names, Store
from reverie.sync.merge_rules import known_fields
from reverie.sync.push_intake import note_gone_from_devices, note_left

if TYPE_CHECKING:
    from reverie.storage.indexed_transcripts import TranscriptIndex
    from reverie.storage.postgres import PostgresStore

# What reading counts in a memory: nobody needs a right to write for that, or misses it.
USE_FIELDS = frozenset(("access_count", "last_accessed_at", "updated_at"))
EDITS = (*SAID_FIELDS, "details")  # what a stamp has to do with


class Oversight(NamedTuple):
    """Quotas, legal holds and the audit of what a verb does through a store."""

    control: AccessControl
    now: float
    verb: str

    def check_add(self, caller: Caller, added: Sequence[Memory]) -> None:
        """QuotaExceeded if the tenant may not keep so much more."""
        size = sum(len(memory.text.encode("utf-8", "replace")) for memory in added)
        self.control.check_quota(caller, self.now, memories=len(added), size=size)

    def check_purge(self, caller: Caller, ids: Names) -> None:
        """HeldByLaw if a legal hold keeps any of these."""
        self.control.governance.check_purge(caller, list(ids))

    def record_changes(self, store: Store, caller: Caller, changed: Counter[str]) -> None:
        """Lines of the audit for what was changed, in the store's open transaction."""
        kept_in = cast("PostgresStore", store)
        self.control.record_changes_in(kept_in, caller, self.verb, changed, self.now)

    def record_reads(self, caller: Caller, read: Counter[str]) -> None:
        """Lines of the audit, soon, for what was read in shared spaces."""
        self.control.record_read(caller, self.verb, dict(read), self.now)


def open_caller_store(
    store: Store, caller: Caller, origin: str = "", oversight: Oversight | None = None
) -> Store:
    """The store, for one request of this caller; `origin` is the program that they use."""
    # All that is not overridden is the store's own, by `__getattr__`: a type checker cannot see it.
    return cast("Store", CallerStore(store, caller, origin, oversight))


class CallerStore:
    """A store of one request, which one thread uses."""

    def __init__(
        self, store: Store, caller: Caller, origin: str = "", oversight: Oversight | None = None
    ) -> None:
        self._store, self._caller, self._origin = store, caller, origin
        self._oversight = oversight
        self.changed = Counter[str]()  # how many memories were changed, by space
        self.looked_at = Counter[str]()  # how many were read, those that nobody was shown too
        self._transactions = 0
        self._unrecorded = Counter[str]()  # of the open transaction, that the audit has yet to know

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def transcripts(self) -> TranscriptIndex:
        """An empty one: what is said in conversations stays on the machines where it was said."""
        return load_empty_transcripts()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """As of the store; what was changed in it is in the audit with it or not at all."""
        self._transactions += 1
        try:
            with self._store.transaction(durable=durable):
                yield
                if self._transactions == 1:
                    self._record_changes()
        finally:
            self._transactions -= 1
            if not self._transactions:
                self._unrecorded.clear()

    def _record_changes(self) -> None:
        if self._oversight and self._unrecorded:
            self._oversight.record_changes(self._store, self._caller, self._unrecorded)
            self.changed.update(self._unrecorded)

    # Reading.

    def get(self, ids: Names) -> list[Memory]:
        """As of the store, as this caller believes it."""
        return self._as_read(self._store.get(ids))

    def browse(self, where: Filter) -> list[Memory]:
        """As of the store, as this caller believes it."""
        return self._as_read(self._store.browse(where))

    def read_details(self, where: Filter) -> list[DatedDetails]:
        """As of the store, as this caller believes it."""
        return [DatedDetails(one.created_at, one.details) for one in self.browse(where)]

    def browse_texts(self, where: Filter) -> list[tuple[str, str]]:
        """As of the store; they count as read."""
        return [(memory.id, memory.text) for memory in self.browse(where)]

    def with_triggers(self, spaces: Names, *, within: float | None = None) -> list[Memory]:
        """As of the store; what others wrote has no triggers for this caller."""
        found = self._as_read(self._store.with_triggers(spaces, within=within))
        return [memory for memory in found if memory.triggers]

    def history(self, memory_id: str) -> list[Record]:
        """As of the store; each wording as this caller believes who wrote it."""
        records = self._store.history(memory_id)
        if self._transactions:
            return records
        return [
            one
            for memory in self._store.get([memory_id])
            for one in show_history(memory, records, self._caller)
        ]

    def _as_read(self, memories: list[Memory]) -> list[Memory]:
        self.looked_at.update(memory.space for memory in memories)
        if self._transactions:
            return memories
        return [show_memory(memory, self._caller) for memory in memories]

    # Writing.

    def apply(
        self,
        changes: Sequence[Change],
        cause: Event,
        *,
        done: tuple[str, int] | None = None,
    ) -> int:
        """As of the store, stamped; AccessDenied for what the caller may not write."""
        before = index_memories(self._store.get(sorted(changed_ids(changes))))
        allowed = [
            self._stamp(change, before.get(change.id) if has_id(change) else None)
            for change in changes
            if self._is_allowed(change, before)
        ]
        added = [change.memory for change in allowed if isinstance(change, Add)]
        if self._oversight and added:
            self._oversight.check_add(self._caller, added)
        moved = [change.id for change in allowed if is_move(change, before)]
        if self._oversight and moved:
            # Out of a space on hold it could be erased.
            self._oversight.check_purge(self._caller, moved)
        places = [memory.space for memory in added] + [memory.space for memory in before.values()]
        signed = self._sign(cause, *places)
        if signed is None and not allowed and done is None:
            return self._store.last_event()  # a use was to be counted where nothing may be written
        if signed is None:
            self._caller.check(Right.WRITE, cause.space)
        made = Counter(memory.space for memory in added)
        made.update(
            before[change.id].space
            for change in allowed
            if has_id(change) and change.id in before and not is_use(change)
        )
        if not made:
            return self._store.apply(allowed, signed or cause, done=done)
        with self.transaction():
            for id in moved:
                # Whoever read it where it was has a copy, and may not be told where it is now.
                note_left(self._store, before[id], "", clock.now())
            seq = self._store.apply(allowed, signed or cause, done=done)
            self._unrecorded.update(made)
        return seq

    def append(self, events: Sequence[Event]) -> list[int]:
        """As of the store, signed. What may be written nowhere is left out, and its number is 0."""
        signed = [self._sign(event) for event in events]
        written = iter(self._store.append([event for event in signed if event is not None]))
        return [0 if event is None else next(written) for event in signed]

    def purge(self, ids: Names, more: Collection[str] = (), found: Any = None) -> int:
        """As of the store; AccessDenied for shared memories of spaces that one does not
        administer.
        """
        there = self._store.get(ids)
        for memory in there:
            own = memory.space.partition("/")[0] == self._caller.private_root
            self._caller.check(Right.WRITE if own else Right.ADMINISTER, memory.space)
        if self._oversight:
            self._oversight.check_purge(self._caller, ids)
        with self.transaction():
            note_gone_from_devices(self._store, ids, clock.now())
            self._unrecorded.update(memory.space for memory in there)
            return self._store.purge(ids, more, found)

    def _is_allowed(self, change: Change, before: dict[str, Memory]) -> bool:
        """True if the caller may make the change; False for a count of a use that they may not
        write; else AccessDenied.
        """
        spaces = []
        match change:
            case Add(memory=memory):
                spaces = [memory.space]
            case Revise(id=id, fields=fields):
                known = [before[id].space] if id in before else []
                spaces = [*known, *([fields["space"]] if "space" in fields else [])]
                if id in before and is_taken_away(before[id], fields, self._caller):
                    self._caller.check(Right.ADMINISTER, before[id].space)
                if is_use(change) and not self._may_write(spaces):
                    return False
            case Retire(id=id) | Link(edge=(id, *_)):
                spaces = [before[id].space] if id in before else []
        for space in spaces:
            self._caller.check(Right.WRITE, space)
        return True

    def _may_write(self, spaces: Sequence[str]) -> bool:
        return all(self._caller.rights.may(Right.WRITE, space) for space in spaces)

    def _stamp(self, change: Change, before: Memory | None) -> Change:
        """The change with the writer that is true."""
        if isinstance(change, Add):
            return Add(memory=stamp_writer(change.memory, self._caller, self._origin))
        if not isinstance(change, Revise) or before is None:
            return change
        edited = {name: change.fields[name] for name in EDITS if name in change.fields}
        if not edited:
            return change
        details = stamp_edit(before._replace(**edited), before, self._caller.user).details
        return Revise(change.id, {**change.fields, "details": details})

    def _sign(self, event: Event, *places: str) -> Event | None:
        """The event with who caused it; None if they may write nowhere. Of what one may only read
        one's own log knows.
        """
        choices = (event.space, self._caller.private_root, *places)
        space = next((one for one in choices if self._may_write([one])), None)
        if space is None:
            return None
        return event._replace(space=space, payload={**event.payload, WRITER: self._caller.user})


@cache
def load_empty_transcripts() -> TranscriptIndex:
    """An index of no conversations, one for all requests: making one takes 30 ms."""
    from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex

    return SqliteTranscriptIndex.beside(":memory:", "transcripts")


def show_memory(memory: Memory, caller: Caller) -> Memory:
    """A memory as this caller believes it. Doing it twice changes nothing more."""
    seen = as_read_by(memory, caller)
    if seen is memory:
        return memory
    speaker = (editors_of(memory) or [writer_of(memory)])[-1]
    return disarm_memory(seen._replace(details={HEARD_FROM: speaker, **seen.details}))


def show_history(memory: Memory, records: Sequence[Record], caller: Caller) -> list[Record]:
    """The changes of a memory with the values before and after as this caller believes them."""
    shown = []
    for record in reversed(records):
        after = show_values(record.after, memory, caller)
        if record.op != "link":
            memory = memory._replace(**known_fields(record.before))
        before = show_values(record.before, memory, caller)
        shown.append(record._replace(before=before, after=after))
    return shown[::-1]


def show_values(values: Mapping[str, Any], version: Memory, caller: Caller) -> Mapping[str, Any]:
    """Values of a version of a memory, marked where they are others' words for this caller."""
    seen = show_memory(version, caller)
    if not values or seen is version:
        return values
    known = {name: getattr(seen, name) for name in known_fields(values)}
    return {**values, **known, "provenance": seen.provenance, "details": seen.details}


def is_use(change: Change) -> bool:
    """True of a change that only counts that a memory was read."""
    return isinstance(change, Revise) and change.fields.keys() <= USE_FIELDS


def is_move(change: Change, before: dict[str, Memory]) -> TypeGuard[Revise]:
    """True of a change that puts a memory into another space."""
    if not isinstance(change, Revise) or change.id not in before:
        return False
    space = before[change.id].space
    return bool(change.fields.get("space", space) != space)


def is_taken_away(memory: Memory, fields: Mapping[str, Any], caller: Caller) -> bool:
    """True if a colleague's memory would leave the shared space that it is in: elsewhere the caller
    might erase it for good.
    """
    is_moved = fields.get("space", memory.space) != memory.space
    return is_moved and not is_private(memory.space) and writer_of(memory) != caller.user


def has_id(change: Change) -> TypeGuard[Revise | Retire]:
    """True of a change of a memory that is there."""
    return isinstance(change, (Revise, Retire))


def changed_ids(changes: Sequence[Change]) -> set[str]:
    """The ids of memories whose space decides whether the changes may be made."""
    ids = set()
    for change in changes:
        match change:
            case Revise(id=id) | Retire(id=id):
                ids.add(id)
            case Link(edge=edge):
                ids.add(edge.src)
    return ids
