"""What other devices' logs say, taken in here: one file, one transaction.

What was changed here is marked first, so nothing that somebody does meanwhile is passed over. The
place in the log moves in the transaction that applies what it says: who is killed before reads it
again, and finds nothing new. What was purged elsewhere is purged here first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.config import ME
from reverie.core.errors import BadInput
from reverie.core.model import (
    MEMORY_RELATIONS,
    Add,
    Change,
    Edge,
    Event,
    Link,
    Memory,
    Revise,
    index_memories,
)
from reverie.pipeline.event_reader import WorkContext
from reverie.storage.row_codec import FIELDS
from reverie.sync.device_logs.batch_file import LogBatch
from reverie.sync.device_logs.folding import (
    CONTRADICTS,
    LIFE_FIELDS,
    OWN_FIELDS,
    Telling,
    join,
)
from reverie.sync.device_logs.local_changes import (
    RECEIVED,
    add_waiting,
    edges_from,
    is_own_word,
    note_local_changes,
    tell_first,
)
from reverie.sync.device_logs.log_reading import PeerLog, has_nothing_new, note_outside, note_read
from reverie.sync.device_logs.log_state import (
    CURSOR,
    KnownMarks,
    OwnLog,
    is_gone,
    load_links,
    load_marks,
    load_own,
    load_peers,
    note_conflicts,
    note_gone,
    save_links,
    save_marks,
    save_peers,
)
from reverie.sync.device_logs.marks import marks_from_json
from reverie.sync.device_logs.space_names import to_here
from reverie.sync.device_logs.talk import TalkEntry, TalkIntake, read_talk_entry
from reverie.sync.merge_rules import build_retirement
from reverie.sync.wire_format import ID_START, id_of, memory_from_wire, number_of

FOLDED_FIELDS = tuple(name for name in FIELDS if name not in ("id", *OWN_FIELDS))
# Erases memories for good, with everything that repeats them.
Purge = Callable[[Sequence[str]], object]


class TakenIn(NamedTuple):
    """What a file of another device came to."""

    new: int = 0
    revised: int = 0
    purged: int = 0
    # memories with the ones that have the other words
    conflicts: tuple[tuple[str, str], ...] = ()
    troubles: tuple[str, ...] = ()


class ReadEntries(NamedTuple):
    """What the entries of a file say."""

    tellings: tuple[Telling, ...] = ()
    gone: tuple[str, ...] = ()  # numbers
    troubles: tuple[str, ...] = ()
    talk: tuple[TalkEntry, ...] = ()


def read_entries(entries: Iterable[Any]) -> ReadEntries:
    """What the entries of a file say; what of them cannot be read is told and passed over."""
    tellings, gone, troubles, talk = [], [], [], []
    for entry in entries:
        values: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
        try:
            if "gone" in values:
                gone.append(check_number(values["gone"]))
            elif "memory" in values:
                memory = memory_from_wire(values["memory"])
                tellings.append(Telling(memory, marks_from_json(values.get("marks"))))
            elif "said" in values:
                talk.append(read_talk_entry(values["said"]))
            # Others are of a later Reverie, and for it.
        except BadInput as err:
            troubles.append(str(err))
    return ReadEntries(tuple(tellings), tuple(gone), tuple(troubles), tuple(talk))


def check_number(value: object) -> str:
    """The number of a memory."""
    if not isinstance(value, str) or not 10 <= len(value) <= 64 or not value.isalnum():
        raise BadInput(f"{str(value)[:40]!r} is no number of a memory")
    return value


def is_mine(space: str) -> bool:
    """True for a space of the user's own, which is all that logs of devices speak of."""
    return space.partition("/")[0] == ME


class Intake:
    """What one home takes in of other devices' logs."""

    def __init__(self, work: WorkContext, purge: Purge, *, relays: bool = False) -> None:
        self.work, self.store, self.purge = work, work.store, purge
        # With several places, what came by one is told by all.
        self.relays = relays

    def take(self, device: str, batch: LogBatch) -> TakenIn:
        """Apply what a file of a device says, and note that it was read."""
        peer = load_peers(self.store).get(device) or PeerLog(device)
        read = ReadEntries() if has_nothing_new(peer, batch.head) else read_entries(batch.entries)
        purged = self._purge_gone(read.gone)
        with self.store.transaction():
            own = load_own(self.store)
            if own is None:
                return TakenIn()
            note_local_changes(self.store, own, self.work.settings, self.work.now)
            fold = Fold(self)
            outside: set[str] = set()
            apart = self._list_apart([memory.id for memory, _ in read.tellings])
            for memory, marks in read.tellings:
                here = to_here(own.spaces, memory.space)
                if not is_mine(here) or memory.id in apart:
                    outside.add(here)
                    continue
                fold.add(Telling(memory._replace(space=here), marks))
            fold.apply(device)
            talk = self._take_talk(own, device, read.talk)
            outside |= {
                one.space for one in read.talk if not is_mine(to_here(own.spaces, one.space))
            }
            peers = load_peers(self.store)
            known = peers.get(device) or PeerLog(device)
            peers[device] = note_outside(note_read(known, batch, self.work.now), outside)
            save_peers(self.store, peers.values())
        return TakenIn(
            fold.new + talk[0],
            fold.revised + talk[1],
            purged,
            tuple(fold.conflicts),
            read.troubles,
        )

    def _list_apart(self, ids: Sequence[str]) -> set[str]:
        """Of these memories those that lie here in a space that is not the user's own alone, or are
        others' words, and of which no log ever spoke: no log has a say in them.
        """
        return {
            one.id
            for one in self.store.get(ids)
            if not is_own_word(one) and load_marks(self.store, one.id) is None
        }

    def _take_talk(self, own: OwnLog, device: str, entries: Sequence[TalkEntry]) -> tuple[int, int]:
        """Take in what was said in sessions; how much of it is new, and how much says less."""
        taking = TalkIntake(self.store, own.spaces, device)
        for entry in entries:
            here = to_here(own.spaces, entry.space)
            if is_mine(here) and not self.work.settings.is_off(here, entry.session):
                taking.take(entry, relays=self.relays)
        add_waiting(self.store, (), said=taking.told)
        return taking.new, taking.revised

    def _purge_gone(self, gone: Sequence[str]) -> int:
        """Erase here what was erased elsewhere, and keep in mind that it was."""
        fresh = [number for number in gone if not is_gone(self.store, number)]
        apart = self._list_apart([id_of(number) for number in fresh])
        fresh = [number for number in fresh if id_of(number) not in apart]
        if not fresh:
            return 0
        with self.store.transaction():
            for number in fresh:
                note_gone(self.store, number)
            if self.relays:
                add_waiting(self.store, (), gone=fresh)
        known = [memory.id for memory in self.store.get([id_of(number) for number in fresh])]
        if known:
            self.purge(known)
        return len(known)


class Fold:
    """One transaction's worth of what others told, folded into what is here."""

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
        self.store, self.work = intake.store, intake.work
        self.there: dict[str, Memory] = {}  # as the store has them
        self.told: dict[str, KnownMarks | None] = {}  # as the store has their marks
        self.now: dict[str, Telling] = {}  # as they are to be
        self.is_ours: list[str] = []  # made here: others are to be told
        self.conflicts: list[tuple[str, str]] = []
        self.new = self.revised = 0

    def add(self, telling: Telling, *, made_here: bool = False) -> None:
        """Fold one telling."""
        id = telling.memory.id
        if is_gone(self.store, number_of(id)) or self.work.settings.is_off(telling.memory.space):
            return
        ours = self._find(id)
        if ours is None:
            self.now[id] = telling
            others: tuple[Telling, ...] = ()
        else:
            self.now[id], others = join(ours, telling)
        if made_here or (self.intake.relays and self.now[id] != ours):
            self.is_ours.append(id)
        for other in others:
            self.conflicts.append((id, other.memory.id))
            self.add(other, made_here=True)

    def _find(self, id: str) -> Telling | None:
        """A memory as it is told here so far."""
        if id in self.now:
            return self.now[id]
        found = self.store.get([id])
        if not found:
            return None
        self.there[id] = found[0]
        known = self.told[id] = load_marks(self.store, id)
        return Telling(found[0], known.marks) if known else tell_first(self.store, found[0])

    def apply(self, device: str) -> None:
        """Make it so in the store: memories, edges, marks."""
        changes: list[Change] = []
        for id, telling in self.now.items():
            found = alter_memory(self.there.get(id), telling.memory)
            changes += found
            self.new += bool(found) and id not in self.there
            self.revised += bool(found) and id in self.there
            known = self.told.get(id)
            if known is None or known.marks != telling.marks:
                is_told = bool(known and known.is_told)
                save_marks(self.store, id, KnownMarks(telling.marks, is_told))
        changes += self._link()
        if changes:
            event = Event(RECEIVED, ME, self.work.now, payload={"device": device})
            self.store.advance(CURSOR, self.store.apply(changes, event))
        conflicts = [pair for pair in self.conflicts if pair[1] not in self.there]
        self.conflicts = list(dict.fromkeys(conflicts))
        note_conflicts(self.store, self.conflicts, self.work.now)
        add_waiting(self.store, self.is_ours)

    def _link(self) -> list[Change]:
        """The changes that bring the edges from these memories in step with their marks, and those
        to memories that have just come.
        """
        waiting = load_links(self.store)
        arrived = [id for id in self.now if id in waiting]
        sources = list(dict.fromkeys((*self.now, *(s for id in arrived for s in waiting[id]))))
        for id in arrived:
            del waiting[id]
        wanted = {id: self._marked_edges(id) for id in sources}
        if not any(wanted.values()):
            if arrived:
                save_links(self.store, waiting)
            return []
        here = edges_from(self.store, sources)
        ends = {key.partition(" ")[2] for edges in wanted.values() for key in edges}
        known = index_memories(self.store.get(sorted(ends | set(sources))))
        changes: list[Change] = []
        is_waiting = bool(arrived)
        ties = Ties(known, {id: telling.memory for id, telling in self.now.items()})
        for src, edges in wanted.items():
            if src not in known and src not in self.now:
                continue
            for key, weight in edges.items():
                rel, _, dst = key.partition(" ")
                if here.get(src, {}).get(key, 0.0) == weight:
                    continue
                if dst not in known and dst not in self.now:
                    if weight and src not in waiting.setdefault(dst, []):
                        waiting[dst].append(src)
                        is_waiting = True
                    continue
                changes.append(Link(Edge(src, rel, dst, weight)))
                if rel == CONTRADICTS:
                    ties.tie(src, dst, is_tied=bool(weight))
        if is_waiting:
            save_links(self.store, waiting)
        return [*changes, *ties.changes()]

    def _marked_edges(self, id: str) -> dict[str, float]:
        """The edges from a memory as they are to be: "rel dst" → weight, 0.0 for none."""
        if id in self.now:
            marks = self.now[id].marks
        else:
            known = load_marks(self.store, id)
            if known is None:
                return {}
            marks = known.marks
        return {
            key: element.weight
            for key, element in marks.edges.items()
            if is_edge(key, element.weight)
        }


def is_edge(key: str, weight: float) -> bool:
    """True for an edge between memories, as it may be."""
    rel, _, dst = key.partition(" ")
    return rel in MEMORY_RELATIONS and dst.startswith(ID_START) and 0.0 <= weight <= 1.0


class Ties:
    """Which memories are flagged as contradicting each other, kept in step with their edges."""

    def __init__(self, known: Mapping[str, Memory], now: Mapping[str, Memory]) -> None:
        self._memories = {**now, **known}
        self._before = {id: memory.conflicts_with for id, memory in self._memories.items()}
        self._after = dict(self._before)

    def tie(self, one: str, other: str, *, is_tied: bool) -> None:
        """Flag a pair, or take the flag away."""
        for a, b in ((one, other), (other, one)):
            rest = tuple(id for id in self._after.get(a, ()) if id != b)
            self._after[a] = (*rest, b) if is_tied else rest

    def changes(self) -> list[Change]:
        """The changes that set the flags."""
        return [
            Revise(id, {"conflicts_with": flags})
            for id, flags in self._after.items()
            if flags != self._before.get(id, ())
        ]


def alter_memory(known: Memory | None, wanted: Memory) -> list[Change]:
    """The changes after which the store has a memory as it is to be."""
    if known is None:
        return [Add(wanted._replace(conflicts_with=()))]
    fields = {
        name: getattr(wanted, name)
        for name in FOLDED_FIELDS
        if getattr(wanted, name) != getattr(known, name)
    }
    if known.active and not wanted.active:
        rest = {name: value for name, value in fields.items() if name not in LIFE_FIELDS}
        return [*([Revise(known.id, rest)] if rest else []), build_retirement(wanted)]
    return [Revise(known.id, fields)] if fields else []
