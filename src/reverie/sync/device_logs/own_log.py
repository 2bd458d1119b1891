"""Writing the own log: batches of what waits, all memories once at the beginning, and snapshots.

A file is durable in the home before the transaction that counts it commits, and is shown to others
only after that. So whoever is killed in between leaves a file that is written again, and nothing
that was acknowledged is in no file. A snapshot tells all again that the own log ever told, as it is
now; once it is whole nothing before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reverie.core.errors import CannotOpen
from reverie.core.model import Event, Filter, Memory, index_memories
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store
from reverie.sync.device_logs.batch_file import (
    BATCH,
    SNAPSHOT,
    BatchHead,
    LogName,
    digest_file,
    parse_name,
    write_batch,
)
from reverie.sync.device_logs.folding import tell_new
from reverie.sync.device_logs.home_keys import KEYS_GONE, load_keys
from reverie.sync.device_logs.local_changes import (
    add_waiting,
    edges_from,
    is_wanted,
    merge_names,
    note_local_changes,
    past,
)
from reverie.sync.device_logs.log_folder import LogFolder
from reverie.sync.device_logs.log_state import (
    KnownMarks,
    OwnLog,
    list_gone,
    load_marks,
    load_own,
    load_waiting,
    save_marks,
    save_own,
    save_waiting,
)
from reverie.sync.device_logs.marks import marks_to_json
from reverie.sync.device_logs.sealer import Sealer
from reverie.sync.device_logs.space_names import to_logs
from reverie.sync.device_logs.talk import (
    FROM,
    HAS_TALK,
    MESSAGE_VERBS,
    KnownTalk,
    find_key,
    is_included,
    is_telling_due,
    is_wanted_talk,
    load_talk,
    note_talk,
    size_of,
    tell_talk,
)
from reverie.sync.outbox import take_within_bytes
from reverie.sync.wire_format import MAX_BATCH_BYTES, memory_to_wire

ENTRIES_PER_FILE = 1_000
# A snapshot is made after so many files, and when they hold so many times as much as the last one.
MAX_FILES = 128
MAX_GROWTH = 3
SMALL_LOG_BYTES = 1_000_000
# In a place that is full a snapshot is written once this part of the log is not of the last one.
WORTH_SLACK = 10
TALK_EVENTS = 200  # that are looked at for one file
TALK_SECONDS = 300.0  # that what was said waits for what follows it
TALK_AT = "talk:"  # before the last event of a snapshot that has come to what was said
# Seconds after which what was only used is written, if nothing else goes before.
USE_SECONDS = 600.0


class OwnLogWriter:
    """Writes the own log of one home."""

    def __init__(self, work: WorkContext, files: LogFolder, sealer: Sealer) -> None:
        self.work, self.store = work, work.store
        self.files, self.sealer = files, sealer

    def write_next(self, *, with_used: bool = False) -> int:
        """Write the next file, if there is something to say; how many entries it has."""
        with self.store.transaction():
            own = load_own(self.store)
            if own is None:
                return 0
            note_local_changes(self.store, own, self.work.settings, self.work.now)
            if not own.has_all_memories:
                done, written = self._write_all(own)
            elif own.snapshot or self._must_compact(own):
                done, written = self._write_snapshot(own)
            else:
                done, written = self._write_waiting(own, with_used=with_used)
                if not written:
                    done, written = self._write_talk(own, at_once=with_used)
            if done != own:
                save_own(self.store, done)
        if done.since != own.since:
            self._remove_before(done)
        return written

    def has_news(self) -> bool:
        """True if something waits to be written, or may."""
        own = load_own(self.store)
        if own is None:
            return False
        waiting = load_waiting(self.store)
        return bool(
            not own.is_whole
            or waiting.ids
            or waiting.gone
            or waiting.said
            or (waiting.used and abs(self.work.now - waiting.since) >= USE_SECONDS)
            or self._next_talk(own, at_once=False)
        )

    def has_told_all(self) -> bool:
        """True if the own log tells everything that it is to tell by now."""
        own = load_own(self.store)
        if own is None or not own.is_whole:
            return False
        return not count_waiting(self.store) and not self._next_talk(own, at_once=True)

    def _next_talk(self, own: OwnLog, *, at_once: bool) -> list[Event]:
        """The next events that hold what was said, if any of it is told, and is old enough to go
        with what followed it.
        """
        if not (own.talk or own.carried):
            return []
        found = self.store.events(after=own.talk_after, verbs=MESSAGE_VERBS, limit=TALK_EVENTS)
        is_due = bool(found) and self.work.now - found[0].at >= TALK_SECONDS
        return found if at_once or is_due else []

    def _write_talk(self, own: OwnLog, *, at_once: bool) -> tuple[OwnLog, int]:
        """What was said since the last time, and what of it says less than it did."""
        waiting = load_waiting(self.store)
        again = [self._event_of(key) for key in waiting.said[:TALK_EVENTS]]
        page = self._next_talk(own, at_once=at_once)
        if not waiting.said and not page:
            return own, 0
        save_waiting(self.store, waiting._replace(said=waiting.said[TALK_EVENTS:]))
        entries = list(self._tell_said(own, filter(None, again), again=True))
        told, after = self._fit_talk(own, page, again=bool(own.departing))
        own = own._replace(talk_after=after or own.talk_after)
        entries += told
        return (self._write(own, entries) if entries else own), len(entries) or 1

    def _event_of(self, key: str) -> Event | None:
        known = load_talk(self.store, key)
        return self.store.event(known.events[0]) if known else None

    def _fit_talk(
        self, own: OwnLog, page: Sequence[Event], *, again: bool
    ) -> tuple[list[dict[str, Any]], int]:
        """(entries of as many events as one file may hold, the last event that was looked at)."""
        entries: list[dict[str, Any]] = []
        size = after = 0
        for event in page:
            for entry in self._tell_said(own, [event], again=again):
                entries.append(entry)
                size += size_of(entry)
            after = event.seq
            if size > MAX_BATCH_BYTES // 2:
                break
        return entries, after

    def _tell_said(
        self, own: OwnLog, events: Iterable[Event], *, again: bool
    ) -> Iterator[dict[str, Any]]:
        """Entries of what some events hold, if it is to be told; `again`: though it was."""
        for event in events:
            is_known = bool(find_key(self.store, event.seq))
            is_carried = event.payload.get(FROM) in own.carried
            is_asked = is_carried or is_included(own.talk, event.space)
            if not (is_known or is_asked) or not is_wanted_talk(event, self.work.settings):
                continue
            key, known = note_talk(self.store, own.spaces, event)
            if known.is_told and not again and not known.was_erased:
                continue
            relays = own.relays or is_carried
            if is_telling_due(event, known, is_asked=is_asked, relays=relays):
                yield tell_talk(self.store, own.spaces, event, key, known)

    def _write_waiting(self, own: OwnLog, *, with_used: bool) -> tuple[OwnLog, int]:
        waiting = load_waiting(self.store)
        is_due = with_used or abs(self.work.now - waiting.since) >= USE_SECONDS
        if waiting.ids or waiting.gone or is_due:
            ids = merge_names(waiting.ids, waiting.used)
        else:
            ids = ()
        if not ids and not waiting.gone:
            return own, 0
        memories = take_within_bytes(self.store.get(ids[:ENTRIES_PER_FILE]))
        looked = set(ids[:ENTRIES_PER_FILE])
        if len(memories) < len(looked):
            # Those that do not fit are left; those that are gone are not.
            rest = index_memories(self.store.get(ids[:ENTRIES_PER_FILE]))
            looked -= rest.keys() - {memory.id for memory in memories}
        gone = waiting.gone[:ENTRIES_PER_FILE]
        entries = [*map(tell_gone, gone), *self._tell(own, memories)]
        save_waiting(
            self.store,
            waiting._replace(
                ids=tuple(id for id in waiting.ids if id not in looked),
                used=tuple(id for id in waiting.used if id not in looked),
                gone=waiting.gone[ENTRIES_PER_FILE:],
            ),
        )
        return (self._write(own, entries), len(entries)) if entries else (own, 0)

    def _write_all(self, own: OwnLog) -> tuple[OwnLog, int]:
        """The next of all memories that are in no log yet."""
        if own.tells_again and not own.full_after:
            own = own._replace(told_from=own.number + 1)
        page, after = self._page(own.full_after or "")
        wanted = [memory for memory in page if is_wanted(memory, self.work.settings)]
        known = {memory.id: load_marks(self.store, memory.id) for memory in wanted}
        fresh = [memory for memory in wanted if known[memory.id] is None]
        edges = edges_from(self.store, [memory.id for memory in fresh])
        for memory in fresh:
            telling = tell_new(memory, edges.get(memory.id, {}), past(self.store, memory))
            save_marks(self.store, memory.id, KnownMarks(telling.marks))
        own = own._replace(full_after=after)
        told = wanted
        if not own.tells_again:
            told = [one for one in wanted if is_to_be_told(known[one.id], relays=own.relays)]
        entries = list(self._tell(own, told))
        if entries:
            own = self._write(own, entries)
        if after is None:
            # All that there is was told just now, which is as good as a snapshot.
            own = own._replace(snapshot_end=own.number, tells_again=False)
        return own, len(entries) or len(page)

    def _write_snapshot(self, own: OwnLog) -> tuple[OwnLog, int]:
        """The next file of a snapshot."""
        is_first = not own.snapshot
        if is_first:
            # What is purged while it is written asks for another one.
            own = own._replace(snapshot=own.number + 1, snapshot_after="", must_compact=False)
        entries = [*map(tell_gone, list_gone(self.store))] if is_first else []
        after: str | None
        if own.snapshot_after.startswith(TALK_AT):
            told, after = self._talk_again(own, int(own.snapshot_after.removeprefix(TALK_AT)))
            entries += told
        else:
            page, after = self._page(own.snapshot_after)
            entries += self._tell(own, (memory for memory in page if self._is_told(memory)))
            # After all memories comes what was said, if any of it ever came into a log.
            after = f"{TALK_AT}0" if after is None and self.store.meta(HAS_TALK) else after
        is_last = after is None
        own = self._write(own, entries, kind=SNAPSHOT, begins=own.snapshot, is_last=is_last)
        if is_last:
            return own._replace(
                since=own.snapshot,
                told_from=own.snapshot,
                snapshot=0,
                snapshot_after="",
                snapshot_end=own.number,
            ), len(entries)
        return own._replace(snapshot_after=after or ""), len(entries) or 1

    def _talk_again(self, own: OwnLog, after: int) -> tuple[list[dict[str, Any]], str | None]:
        """(entries of what was said and told, as it is now; where to go on, None at the end)."""
        page = self.store.events(after=after, verbs=MESSAGE_VERBS, limit=TALK_EVENTS)
        keys = list(filter(None, (find_key(self.store, event.seq) for event in page)))
        before = {key: load_talk(self.store, key) for key in keys}
        entries, last = self._fit_talk(own, page, again=True)
        # Who has read all before a snapshot passes over it: what says less is told after it.
        told = {key: load_talk(self.store, key) for key in keys}
        erased = [key for key, one in told.items() if one and has_changed(before[key], one)]
        add_waiting(self.store, (), said=erased)
        return entries, f"{TALK_AT}{last}" if page else None

    def _page(self, after: str) -> tuple[list[Memory], str | None]:
        """The next of all memories, and where to go on; None at the end."""
        # A memory that was purged meanwhile is no place to go on from.
        after = after if after and self.store.get([after]) else ""
        found = self.store.browse(Filter(active=None, limit=ENTRIES_PER_FILE, after=after))
        kept = take_within_bytes(found)
        is_over = len(found) < ENTRIES_PER_FILE and len(kept) == len(found)
        return kept, None if is_over else kept[-1].id

    def _is_told(self, memory: Memory) -> bool:
        known = load_marks(self.store, memory.id)
        return known is not None and known.is_told

    def _tell(self, own: OwnLog, memories: Iterable[Memory]) -> Iterator[dict[str, Any]]:
        """Entries of memories, which then count as told."""
        for memory in memories:
            known = load_marks(self.store, memory.id)
            if known is None:
                continue
            if not known.is_told:
                save_marks(self.store, memory.id, known._replace(is_told=True))
            moved = memory._replace(space=to_logs(own.spaces, memory.space))
            yield {"memory": memory_to_wire(moved), "marks": marks_to_json(known.marks)}

    def _write(
        self,
        own: OwnLog,
        entries: Sequence[Any],
        *,
        kind: str = BATCH,
        begins: int = 0,
        is_last: bool = False,
    ) -> OwnLog:
        head = BatchHead(
            own.device,
            own.number + 1,
            own.digest,
            kind=kind,
            begins=begins,
            is_last=is_last,
            at=self.work.now,
            name=own.name,
        )
        if own.is_sealed and load_keys(self.work.settings.home) is None:
            raise CannotOpen(KEYS_GONE)
        data = write_batch(head, entries, self.sealer)
        self.files.write(LogName(head.device, head.number).text, data)
        return own._replace(number=head.number, digest=digest_file(data))

    def _must_compact(self, own: OwnLog) -> bool:
        """True if a snapshot is due."""
        if own.must_compact:
            return True
        count = own.number - own.last_told
        if count < 2:
            return False
        told, rest = measure_log(self.files, own)
        has_grown = rest > MAX_GROWTH * told + SMALL_LOG_BYTES
        return count > MAX_FILES or (own.snapshot_end > 0 and has_grown)

    def _remove_before(self, own: OwnLog) -> None:
        """Remove the files that a snapshot has made needless."""
        for number in own_sizes(self.files, own._replace(since=0)):
            if number < own.since:
                self.files.remove(LogName(own.device, number).text)


def is_to_be_told(known: KnownMarks | None, *, relays: bool) -> bool:
    """True if the own log is to begin with a memory: no log has it, or those at another place."""
    return known is None or (relays and not known.is_told)


def has_changed(before: KnownTalk | None, after: KnownTalk) -> bool:
    """True if what was said says less than it did."""
    return before is not None and before.version != after.version


def tell_gone(number: str) -> dict[str, Any]:
    """The entry of a memory that was purged."""
    return {"gone": number}


def own_sizes(files: LogFolder, own: OwnLog) -> dict[int, int]:
    """The files of the own log that count, by number, with their sizes."""
    parsed = ((parse_name(name), size) for name, size in files.sizes().items())
    return {
        name.number: size
        for name, size in parsed
        if name and name.device == own.device and own.since <= name.number <= own.number
    }


def has_slack(files: LogFolder, own: OwnLog) -> bool:
    """True if a snapshot may make the own log smaller, by enough to be worth writing all again."""
    told, rest = measure_log(files, own)
    return len(own_sizes(files, own)) > 1 and rest * WORTH_SLACK >= told + rest


def measure_log(files: LogFolder, own: OwnLog) -> tuple[int, int]:
    """The bytes of the own log: of the last time that it told all, and of the rest."""
    sizes = own_sizes(files, own)
    told = sum(size for n, size in sizes.items() if own.told_from <= n <= own.last_told)
    return told, sum(sizes.values()) - told


def count_waiting(store: Store) -> int:
    """How many memories wait to be written into the own log."""
    waiting = load_waiting(store)
    return len(merge_names(waiting.ids, waiting.used)) + len(waiting.gone) + len(waiting.said)
