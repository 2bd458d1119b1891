"""Random histories of three devices, against plain dictionaries.

A device here is a dictionary of memories with their marks; what folds, writes and reads its log is
what the product uses. Each has its own copy of the folder, which a carrier brings in step badly:
files come late, in any order, by half, damaged, twice, not at all, or go back to what they were.
Devices are killed while they write and read, their clocks are wrong by hours and jump. In the end
the carrier does its work once, and then all must be equal, nothing that was acknowledged missing,
and of texts that were revised on two devices each be there.

The oracle knows no marks: which text an edit was made over, as its user saw it, and who was told
that something was forgotten, tagged, used or purged.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from reverie.core.model import Memory
from reverie.sync.device_logs.batch_file import (
    BATCH,
    SNAPSHOT,
    BatchHead,
    DamagedFile,
    HalfArrived,
    LogName,
    digest_file,
    parse_name,
    read_batch,
    write_batch,
)
from reverie.sync.device_logs.folding import Telling, join, note_change, tell_new
from reverie.sync.device_logs.log_reading import (
    PeerLog,
    count_missing,
    group_by_device,
    has_nothing_new,
    list_unread,
    note_read,
)
from reverie.sync.device_logs.marks import Mark, marks_to_json, next_stamp
from reverie.sync.device_logs.own_log import tell_gone
from reverie.sync.device_logs.sealer import PlainSealer
from reverie.sync.device_logs.take_in import read_entries
from reverie.sync.wire_format import ID_START, id_of, memory_to_wire, number_of

NOON = 1_760_000_000.0
SEALER = PlainSealer()
STEPS = 60
TAGS = ("alpha", "beta", "gamma")


class Killed(Exception):
    """The process was killed here."""


class Oracle:
    """What users were told, in plain dictionaries."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}  # text → the memory that it was put into
        self.replaced: set[str] = set()  # texts that somebody revised, having seen them
        self.purged: set[str] = set()
        self.forgotten: set[str] = set()
        self.restored: set[str] = set()
        self.tagged: dict[str, set[str]] = {}
        self.untagged: dict[str, set[str]] = {}
        self.uses: dict[str, int] = {}
        # that a user made, not the folding
        self.remembered: set[str] = set()


class Saved(NamedTuple):
    """What a device has committed."""

    told: dict[str, Telling]
    gone: frozenset[str]
    waiting: tuple[str, ...]
    number: int
    digest: str
    since: int
    peers: dict[str, PeerLog]


class Device:
    """One device: its memories, its log, its copy of the folder."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name = name
        self.rng = rng
        self.skew = rng.choice((0.0, -86_400.0, 3_600.0, 40_000_000.0))
        self.saved = Saved({}, frozenset(), (), 0, "", 1, {})
        self.home: dict[str, bytes] = {}  # files of the own log
        self.folder: dict[str, bytes] = {}

    # What a user does; acknowledged once it is committed.

    def clock(self, step: float) -> float:
        """The device's own idea of the time."""
        return NOON + self.skew + step

    def change(self, id: str, at: float, edges: dict[str, float] | None = None, **to: Any) -> None:
        """Alter a memory and mark it."""
        told = self.saved.told[id]
        after = told.memory._replace(**to, updated_at=at)
        mark = Mark(next_stamp(told.marks.latest(), at), self.name)
        self.commit(note_change(told.marks, told.memory, after, mark, edges or {}))

    def commit(self, telling: Telling) -> None:
        """Keep a telling, and have it written."""
        id = telling.memory.id
        self.saved = self.saved._replace(
            told={**self.saved.told, id: telling},
            waiting=tuple(dict.fromkeys((*self.saved.waiting, id))),
        )

    def purge(self, id: str) -> None:
        """Erase a memory; older files of the log are written anew without it."""
        told = {key: one for key, one in self.saved.told.items() if key != id}
        self.saved = self.saved._replace(
            told=told,
            gone=self.saved.gone | {id},
            waiting=(*(one for one in self.saved.waiting if one != id), id),
        )

    # The log.

    def write(self, at: float, *, snapshot: bool = False) -> None:
        """Write what waits, or all; killed before the commit a file is left that counts for
        nothing.
        """
        state = self.saved
        ids = [*state.told, *state.gone] if snapshot else list(state.waiting)
        if not ids:
            return
        head = BatchHead(
            self.name,
            state.number + 1,
            state.digest,
            kind=SNAPSHOT if snapshot else BATCH,
            begins=state.number + 1 if snapshot else 0,
            is_last=snapshot,
            at=at,
        )
        data = write_batch(head, (self.entry_of(id) for id in ids), SEALER)
        name = LogName(self.name, head.number).text
        self.home[name] = data
        self.may_be_killed()
        self.saved = state._replace(
            # A snapshot is passed over by who has read all before it: what waits comes after it.
            waiting=state.waiting if snapshot else (),
            number=head.number,
            digest=digest_file(data),
            since=head.number if snapshot else state.since,
        )

    def entry_of(self, id: str) -> dict[str, Any]:
        """A memory as the log tells it."""
        if id in self.saved.gone:
            return tell_gone(number_of(id))
        told = self.saved.told[id]
        return {"memory": memory_to_wire(told.memory), "marks": marks_to_json(told.marks)}

    def show(self) -> None:
        """Bring the own log in the folder in step with the home."""
        state = self.saved
        for number in range(state.since, state.number + 1):
            name = LogName(self.name, number).text
            if self.folder.get(name) != self.home[name]:
                self.folder[name] = self.home[name]
                self.may_be_killed()
        for name in list(self.folder):
            parsed = parse_name(name)
            if parsed and parsed.device == self.name and parsed.number < state.since:
                del self.folder[name]

    def take_in(self) -> None:
        """Take in what others wrote, as far as it has come."""
        for device, numbers in group_by_device(self.folder).items():
            if device == self.name:
                continue
            peer = self.saved.peers.get(device) or PeerLog(device)
            for number in list_unread(peer, numbers):
                name = LogName(device, number)
                try:
                    batch = read_batch(self.folder[name.text], name, SEALER)
                except (HalfArrived, DamagedFile):
                    continue
                self.may_be_killed()
                peer = self.saved.peers.get(device) or PeerLog(device)
                is_known = has_nothing_new(peer, batch.head)
                self.fold(() if is_known else batch.entries)
                peers = {**self.saved.peers, device: note_read(peer, batch, 0.0)}
                self.saved = self.saved._replace(peers=peers)

    def fold(self, entries: tuple[Any, ...]) -> None:
        """Fold entries into what is here."""
        read = read_entries(entries)
        assert not read.troubles, read.troubles
        told, gone = dict(self.saved.told), set(self.saved.gone)
        for number in read.gone:
            gone.add(id_of(number))
            told.pop(id_of(number), None)
        made: list[str] = []
        for telling in read.tellings:
            self.fold_one(told, gone, telling, made)
        self.saved = self.saved._replace(
            told=told,
            gone=frozenset(gone),
            waiting=tuple(
                dict.fromkeys(
                    one for one in (*self.saved.waiting, *made) if one in told or one in gone
                )
            ),
        )

    def fold_one(
        self, told: dict[str, Telling], gone: set[str], telling: Telling, made: list[str]
    ) -> None:
        """Fold one telling, and the other versions that come of it."""
        id = telling.memory.id
        if id in gone:
            return
        known = told.get(id)
        if known is None:
            told[id] = telling
            return
        joined = join(known, telling)
        told[id] = joined.telling
        for other in joined.others:
            made.append(other.memory.id)
            self.fold_one(told, gone, other, made)

    def may_be_killed(self) -> None:
        """Die here now and then: what was not committed is gone, the files are not."""
        if self.rng.random() < 0.03:
            raise Killed

    def sync(self, at: float, *, snapshot: bool = False) -> None:
        """One step."""
        self.write(at, snapshot=snapshot)
        self.show()
        self.take_in()


class History:
    """One random history."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.oracle = Oracle()
        self.devices = [Device(f"{number:012x}", self.rng) for number in (1, 2, 3)]
        self.count = 0
        self.cut: set[int] = set()  # devices that the carrier does not reach
        self.both_sided = 0

    def run(self) -> None:
        """Live through it, heal, and check."""
        for step in range(STEPS):
            device = self.rng.choice(self.devices)
            at = device.clock(step * 60.0)
            action = self.rng.choices(ACTIONS, WEIGHTS)[0]
            try:
                getattr(self, action)(device, at)
            except Killed:
                continue
        self.heal()
        self.check()

    # What users do.

    def pick(self, device: Device, *, active: bool | None = None) -> str | None:
        """Some memory of a device."""
        found = [
            id
            for id, one in device.saved.told.items()
            if active is None or one.memory.active == active
        ]
        return self.rng.choice(found) if found else None

    def new_text(self) -> str:
        self.count += 1
        return f"The number of the queue is {self.count}."

    def remember(self, device: Device, at: float) -> None:
        text = self.new_text()
        memory = Memory(
            id=f"{ID_START}{self.count:026}",
            text=text,
            space="me/demo",
            at=at,
            created_at=at,
            updated_at=at,
            tags=("birth",),
        )
        device.commit(tell_new(memory))
        self.oracle.texts[text] = memory.id
        self.oracle.remembered.add(memory.id)

    def revise(self, device: Device, at: float) -> None:
        if id := self.pick(device, active=True):
            text, seen = self.new_text(), device.saved.told[id].memory.text
            device.change(id, at, text=text)
            self.oracle.texts[text] = id
            self.oracle.replaced.add(seen)

    def tag(self, device: Device, at: float) -> None:
        if id := self.pick(device):
            tag, had = self.rng.choice(TAGS), device.saved.told[id].memory.tags
            if tag in had:
                device.change(id, at, tags=tuple(one for one in had if one != tag))
                self.oracle.untagged.setdefault(id, set()).add(tag)
            else:
                device.change(id, at, tags=(*had, tag))
                self.oracle.tagged.setdefault(id, set()).add(tag)

    def use(self, device: Device, at: float) -> None:
        if id := self.pick(device):
            count = device.saved.told[id].memory.access_count
            device.change(id, at, access_count=count + 1, last_accessed_at=at)
            self.oracle.uses[id] = self.oracle.uses.get(id, 0) + 1

    def forget(self, device: Device, at: float) -> None:
        if id := self.pick(device, active=True):
            why = self.rng.choice(("forgotten", "faded", "superseded"))
            device.change(id, at, retired_at=at, retired_why=why)
            self.oracle.forgotten.add(id)

    def restore(self, device: Device, at: float) -> None:
        if id := self.pick(device, active=False):
            device.change(id, at, retired_at=None, retired_why="")
            self.oracle.restored.add(id)

    def link(self, device: Device, at: float) -> None:
        one, other = self.pick(device), self.pick(device)
        if one and other and one != other:
            weight = self.rng.choice((0.0, 0.5, 1.0))
            device.change(one, at, {f"relates_to {other}": weight})

    def purge(self, device: Device, _at: float) -> None:
        if id := self.pick(device):
            self.oracle.replaced.add(device.saved.told[id].memory.text)
            device.purge(id)
            self.oracle.purged.add(id)

    # What devices, the carrier and bad luck do.

    def sync(self, device: Device, at: float) -> None:
        device.sync(at)

    def compact(self, device: Device, at: float) -> None:
        device.sync(at, snapshot=True)

    def jump(self, device: Device, _at: float) -> None:
        device.skew = self.rng.choice((0.0, -86_400.0, 3_600.0))

    def part(self, device: Device, _at: float) -> None:
        self.cut ^= {self.devices.index(device)}

    def carry(self, device: Device, _at: float) -> None:
        """Carry some files of somebody to somebody else, badly."""
        other = self.rng.choice(self.devices)
        ends = {self.devices.index(device), self.devices.index(other)}
        if device is other or ends & self.cut:
            return
        names = [one for one in device.folder if not one.startswith(other.name)]
        self.rng.shuffle(names)
        for name in names[: self.rng.randint(1, 8)]:
            data = device.folder[name]
            luck = self.rng.random()
            if luck < 0.1:
                data = data[: self.rng.randrange(max(1, len(data)))]
            elif luck < 0.15 and data:
                place = self.rng.randrange(len(data))
                data = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
            elif luck < 0.2:
                other.folder[f"{name} (conflicted copy)"] = data
            elif luck < 0.25 and len(names) > 1:
                # Under another file's name.
                other.folder[self.rng.choice(names)] = data
                continue
            other.folder[name] = data

    def roll_back(self, device: Device, _at: float) -> None:
        """Take files away from a device's copy, as when an older state of the folder comes back."""
        names = sorted(device.folder)
        for name in names[self.rng.randint(0, len(names)) :]:
            del device.folder[name]

    def heal(self) -> None:
        """Let the carrier do its work, and all devices theirs, until nothing changes."""
        for one in self.devices:
            one.rng = random.Random(0)
            one.may_be_killed = lambda: None  # type: ignore[method-assign]
        for turn in range(6):
            for one in self.devices:
                one.sync(one.clock(1e6 + turn))
            for one in self.devices:
                theirs = {
                    name: data
                    for other in self.devices
                    for name, data in other.folder.items()
                    if name.startswith(other.name)
                }
                one.folder = dict(theirs)

    # What must hold.

    def check(self) -> None:
        """All are equal, and as the oracle has it."""
        first, *others = [self.state_of(one) for one in self.devices]
        for state in others:
            assert first == state, differences(first, state)
        for one in self.devices:
            assert not one.saved.waiting
            for other in self.devices:
                if other is not one and other.saved.number:
                    peer = one.saved.peers[other.name]
                    assert peer.upto == other.saved.number and not count_missing(peer)
        told = self.devices[0].saved.told
        oracle = self.oracle
        texts = {one.memory.text for one in told.values()}
        for text, id in oracle.texts.items():
            if text not in oracle.replaced and id not in oracle.purged:
                assert text in texts, f"{text} was acknowledged, and is nowhere"
        for id in oracle.remembered - oracle.purged:
            self.check_memory(told[id].memory)
        assert not told.keys() & oracle.purged
        self.both_sided = sum("edited_beside" in one.memory.details for one in told.values())

    def check_memory(self, memory: Memory) -> None:
        """Tags, uses and life of one memory are what users were told."""
        oracle, id = self.oracle, memory.id
        assert memory.access_count == oracle.uses.get(id, 0)
        tags = set(memory.tags)
        added, removed = oracle.tagged.get(id, set()), oracle.untagged.get(id, set())
        assert {"birth", *(added - removed)} <= tags <= {"birth", *added}
        if id not in oracle.restored:
            assert memory.active == (id not in oracle.forgotten)
        elif id not in oracle.forgotten:
            assert memory.active

    def state_of(self, device: Device) -> dict[str, Any]:
        """All that devices must agree on."""
        return {
            id: (
                one.memory,
                {name: element.weight for name, element in one.marks.edges.items()},
            )
            for id, one in device.saved.told.items()
        }


ACTIONS, WEIGHTS = zip(
    ("remember", 3),
    ("revise", 10),
    ("tag", 4),
    ("use", 3),
    ("forget", 2),
    ("restore", 2),
    ("link", 2),
    ("purge", 1),
    ("sync", 16),
    ("compact", 2),
    ("jump", 1),
    ("part", 2),
    ("carry", 20),
    ("roll_back", 1),
    strict=True,
)


def differences(one: dict[str, Any], other: dict[str, Any]) -> str:
    """In what two devices differ."""
    lines = [
        f"{key}: {one.get(key)} / {other.get(key)}"
        for key in one.keys() | other.keys()
        if one.get(key) != other.get(key)
    ]
    return "\n".join(lines)


def run_histories(seeds: Iterator[int]) -> dict[str, int]:
    """Run so many histories; what they came to. AssertionError names the seed of the first that
    does not hold.
    """
    done = {"histories": 0, "memories": 0, "both_sided": 0}
    for seed in seeds:
        history = History(seed)
        try:
            history.run()
        except AssertionError as err:
            raise AssertionError(f"seed {seed}: {err}") from err
        done["histories"] += 1
        done["memories"] += len(history.oracle.texts)
        done["both_sided"] += history.both_sided
    return done
