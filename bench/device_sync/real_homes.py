"""Random histories of three real homes, SQLite and all, against plain dictionaries.

What people do goes through the verbs, what machines do through `devices.sync`, by a folder of which
each home has its own copy, by a git repository, or by a team's server that keeps sealed files. A carrier brings the copies in step badly: files
come late, in any order, by half, damaged, twice, under other names, or go back to what they were.
Homes are killed in the middle of a sync, at every write and between them, or as processes by
`kill -9`; places are out of reach for a while, a server before or after it has done what was asked;
clocks are years apart and jump. In the end the
carrier does its work once, and then all homes must be equal, nothing that was acknowledged missing,
and of texts that were revised on two machines each be there.

The oracle knows no marks: which text was put into which memory, over which other text, and who was
told that something was forgotten, tagged or purged.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import reverie
from bench.device_sync.histories import Oracle
from bench.device_sync.team_server import TeamServer
from reverie.core.errors import ServerAway
from reverie.core.model import Filter, Memory
from reverie.sync.device_logs import key_exchange, log_step, own_log, place_writer, take_in
from reverie.sync.device_logs.git_place import GitPlace
from reverie.sync.device_logs.log_folder import LogFolder
from reverie.sync.device_logs.log_state import load_own, save_own
from reverie.sync.server_client import ServerClient
from reverie.testing import Clock, memory

EVERYTHING = Filter(active=None, limit=10_000)
FOLDER, GIT, SERVER = "folder", "git", "server"
HOMES = 3
TAGS = ("alpha", "beta", "gamma")
# Processes are killed here and no machine is: what would lose power needs no disk.
DISK = Path("/dev/shm")
# Between which a home may be killed; files are written by half too.
COMMITS = (
    (own_log, "save_own"),
    (own_log, "save_waiting"),
    (own_log, "save_marks"),
    (take_in, "save_peers"),
    (take_in, "save_marks"),
    (take_in, "note_gone"),
    (log_step, "save_own"),
    (place_writer, "save_own"),
    (key_exchange, "save_own"),
)
# What a home asks of a server: it may be killed before and after each.
REQUESTS = ("list_files", "read_file", "write_file", "remove_file")
# A process that keeps and syncs until it is killed. It tells what it has kept.
WRITER = """
import sys
from reverie.testing import memory
home, now, count, places = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
with memory(home, now=lambda: now, embedder="none") as mind:
    for number in range(count, count + 1_000):
        made = mind.remember(f"The number of the queue is {number}.", space="me/demo")
        print(number, made.id, flush=True)
        mind.devices.sync()
"""


class Killed(BaseException):
    """The process was killed here."""


@contextmanager
def killed_after(calls: int) -> Iterator[None]:
    """Within it, the home is killed at that call of what writes: before it, within it, after it."""
    left = calls

    def is_over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_over():
                raise Killed
            done = real(*args, **kwargs)
            if is_over():
                raise Killed
            return done

        return call

    def write_by_half(folder: LogFolder, name: str, data: bytes) -> None:
        if is_over():
            (folder.path / f".{name}.{calls}.part").write_bytes(data[: len(data) // 2])
            raise Killed
        real_write(folder, name, data)
        if is_over():
            raise Killed

    real_write = LogFolder.write
    with ExitStack() as patched:
        patched.enter_context(patch.object(LogFolder, "write", write_by_half))
        patched.enter_context(patch.object(LogFolder, "remove", dying(LogFolder.remove)))
        patched.enter_context(patch.object(GitPlace, "_run", dying(GitPlace._run)))
        for name in REQUESTS:
            patched.enter_context(
                patch.object(ServerClient, name, dying(getattr(ServerClient, name)))
            )
        for module, name in COMMITS:
            if hasattr(module, name):
                patched.enter_context(patch.object(module, name, dying(getattr(module, name))))
        yield


@contextmanager
def out_of_reach(calls: int) -> Iterator[None]:
    """Within it, a server is away after so many requests; the last one it may do still, and the
    answer is lost.
    """
    left = calls

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                real(*args, **kwargs)
            if left <= 0:
                raise ServerAway("The server does not answer")
            return real(*args, **kwargs)

        return call

    with ExitStack() as patched:
        for name in REQUESTS:
            patched.enter_context(
                patch.object(ServerClient, name, failing(getattr(ServerClient, name)))
            )
        yield


class ThreeHomes:
    """Three homes of one user, what moves between them, and what the user was told."""

    def __init__(self, kind: str, server: TeamServer | None = None) -> None:
        self.kind, self.server = kind, server
        self.key = server.hire_somebody() if server else ""
        self.root = Path(tempfile.mkdtemp(dir=DISK if DISK.is_dir() else None))
        self.oracle = Oracle()
        self.count = self.kills = self.both_sided = 0
        self.cut: set[int] = set()
        self.attic: dict[str, list[bytes]] = {}  # all that a file ever was
        self.clocks = [Clock() for _ in range(HOMES)]
        self.minds: list[reverie.Mind] = []
        if kind == GIT:
            remote = self.root / "remote.git"
            subprocess.run(["git", "init", "--bare", "--quiet", str(remote)], check=True)
        for number, clock in enumerate(self.clocks):
            clock.tick(days=number * 400 - 300)
            if kind == FOLDER:
                self.place(number).mkdir()
            mind = self.open_home(number)
            self.minds.append(mind)
            added = mind.devices.add(
                self.address(number),
                name=str(number),
                sealed=True if kind == SERVER else None,
                key=self.key,
            )
            if kind == SERVER:
                self.pair_home(mind, added.code)

    def pair_home(self, mind: reverie.Mind, code: str) -> None:
        """A home of a sealed place shows a code, which the first accepts; the first makes keys."""
        mind.devices.sync()
        if code:
            self.minds[0].devices.accept(code)
            for one in (self.minds[0], mind, *self.minds):
                one.devices.sync()

    def place(self, which: int) -> Path:
        """The folder or repository through which a home is kept in step."""
        return self.root / ("remote.git" if self.kind == GIT else f"carried-{which}")

    def address(self, which: int) -> str:
        """How a home names its place."""
        if self.server:
            return self.server.url
        return f"{'file://' if self.kind == GIT else ''}{self.place(which)}"

    def copy_of(self, which: int) -> Path:
        """The files in a home's own copy of the folder."""
        return self.place(which) / "reverie-log"

    def open_home(self, which: int) -> reverie.Mind:
        """A home, opened as a new process does."""
        return memory(self.root / f"home-{which}", now=self.clocks[which], embedder="none")

    def device(self, which: int) -> str:
        """What a home's files begin with."""
        own = load_own(self.minds[which].store)
        assert own is not None
        return own.device

    # What users do. Each is acknowledged once the verb returns.

    def pick(self, which: int, number: int, *, active: bool | None = None) -> Memory | None:
        """Some memory of a home."""
        self.clocks[which].tick()
        found = sorted(self.minds[which].store.browse(EVERYTHING._replace(active=active)))
        return found[number % len(found)] if found else None

    def new_text(self) -> str:
        """A text that nobody has said."""
        self.count += 1
        return f"The number of the queue is {self.count}."

    def remember(self, which: int) -> None:
        """Keep something new."""
        self.clocks[which].tick()
        text = self.new_text()
        made = self.minds[which].remember(text, space="me/demo", tags=["birth"])
        self.note_remembered(text, made.id)

    def note_remembered(self, text: str, id: str) -> None:
        """A user was told that a text is kept."""
        self.oracle.texts[text] = id
        self.oracle.remembered.add(id)

    def revise(self, which: int, number: int) -> None:
        """Word something anew, having seen what it says here."""
        if chosen := self.pick(which, number, active=True):
            text = self.new_text()
            self.minds[which].revise(chosen.id, text=text)
            self.oracle.texts[text] = chosen.id
            self.oracle.replaced.add(chosen.text)

    def tag(self, which: int, number: int, tag: str) -> None:
        """Put a tag on something, or take it off."""
        if chosen := self.pick(which, number, active=True):
            had = tag in chosen.tags
            names = {"remove": [tag]} if had else {"add": [tag]}
            self.minds[which].tag(chosen.id, **names)
            noted = self.oracle.untagged if had else self.oracle.tagged
            noted.setdefault(chosen.id, set()).add(tag)

    def forget_or_restore(self, which: int, number: int) -> None:
        """Forget something, or bring back what was forgotten."""
        if chosen := self.pick(which, number):
            mind = self.minds[which]
            (mind.forget if chosen.active else mind.restore)(chosen.id)
            (self.oracle.forgotten if chosen.active else self.oracle.restored).add(chosen.id)

    def link(self, which: int, number: int, other: int) -> None:
        """Tie two memories."""
        one, two = self.pick(which, number, active=True), self.pick(which, other, active=True)
        if one and two and one.id != two.id:
            self.minds[which].link(one.id, two.id)

    def purge(self, which: int, number: int) -> None:
        """Erase something for good."""
        if chosen := self.pick(which, number):
            self.minds[which].data.purge(chosen.id)
            self.oracle.purged.add(chosen.id)
            self.oracle.replaced.add(chosen.text)

    # What machines do.

    def sync(self, which: int) -> None:
        """Be in step as far as can be; a place that is out of reach is trouble and no error."""
        self.clocks[which].tick()
        if self.server:
            with out_of_reach(1 + self.count % 3) if which in self.cut else nullcontext():
                report = self.minds[which].devices.sync()
            assert which not in self.cut or report.troubles
            return
        away = self.place(which).with_suffix(".away")
        if which in self.cut:
            self.place(which).rename(away)
        try:
            report = self.minds[which].devices.sync()
            assert which not in self.cut or report.troubles
        finally:
            if which in self.cut:
                away.rename(self.place(which))
        self.keep_in_attic(which)

    def compact(self, which: int) -> None:
        """Write the own log anew."""
        with self.minds[which].store.transaction():
            own = load_own(self.minds[which].store)
            assert own is not None
            save_own(self.minds[which].store, own._replace(must_compact=True))
        self.sync(which)

    def sync_and_die(self, which: int, calls: int) -> None:
        """Be killed in the middle of a sync, and be opened again."""
        self.clocks[which].tick()
        try:
            with killed_after(calls):
                self.minds[which].devices.sync()
        except Killed:
            self.kills += 1
            self.minds[which].close()
            self.minds[which] = self.open_home(which)
        self.keep_in_attic(which)

    def kill_process(self, which: int, milliseconds: int) -> None:
        """Keep and sync in a process of its own that is killed by `kill -9` while it does."""
        self.minds[which].close()
        now = self.clocks[which].tick(120.0)
        self.count += 1_000
        words = [str(self.root / f"home-{which}"), str(now), str(self.count)]
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, *words], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        told = [process.stdout.readline()]
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGKILL)
        told += process.communicate()[0].splitlines()
        for line in told:
            number, _, id = line.strip().partition(" ")
            if id:
                self.note_remembered(f"The number of the queue is {number}.", id)
        self.count += 1_000
        self.kills += 1
        # What it held ends by itself.
        self.clocks[which].tick(1_000.0)
        self.minds[which] = self.open_home(which)
        self.keep_in_attic(which)

    # What carriers and bad luck do.

    def keep_in_attic(self, which: int) -> None:
        """Remember what files of a copy were, to be put there again."""
        if self.kind == FOLDER and self.copy_of(which).is_dir():
            for file in self.copy_of(which).glob("*.log"):
                states = self.attic.setdefault(file.name, [])
                data = file.read_bytes()
                if data not in states:
                    states.append(data)

    def carry(self, start: int, end: int, chance: random.Random) -> None:
        """Carry some files of a copy to another, badly."""
        if self.kind != FOLDER or start == end or {start, end} & self.cut:
            return
        own, there = self.device(end), self.copy_of(end)
        names = sorted(file.name for file in self.copy_of(start).glob("*.log"))
        names = [name for name in names if not name.startswith(own)]
        chance.shuffle(names)
        for name in names[: chance.randint(1, 6)]:
            data = (self.copy_of(start) / name).read_bytes()
            luck = chance.random()
            if luck < 0.15:
                data = data[: chance.randrange(len(data) + 1)]
            elif luck < 0.25:
                data = flip_byte(data, chance)
            elif luck < 0.3:
                (there / f"{name} (conflicted copy)").write_bytes(data)
            elif luck < 0.35:
                (there / chance.choice(names)).write_bytes(data)
                continue
            (there / name).write_bytes(data)

    def replay(self, which: int, chance: random.Random) -> None:
        """Put a file there again as it was at some time, its own ones too."""
        if self.kind == FOLDER and self.attic and which not in self.cut:
            name = chance.choice(sorted(self.attic))
            (self.copy_of(which) / name).write_bytes(chance.choice(self.attic[name]))

    def roll_back(self, which: int, chance: random.Random) -> None:
        """Take files away, as when an older state of the folder comes back."""
        if self.kind == FOLDER:
            names = sorted(self.copy_of(which).glob("*.log"))
            for file in names[chance.randint(0, len(names)) :]:
                file.unlink()

    def damage(self, which: int, chance: random.Random) -> None:
        """Alter a byte of a file in a home's own copy, one of its own log maybe."""
        if self.kind == FOLDER and (files := sorted(self.copy_of(which).glob("*.log"))):
            file = chance.choice(files)
            if data := file.read_bytes():
                file.write_bytes(flip_byte(data, chance))

    def meet(self) -> None:
        """All that was written comes everywhere, so that the next edits are of the same things."""
        for which in range(HOMES):
            self.sync(which)
        self.carry_all()
        for which in range(HOMES):
            self.sync(which)

    def carry_all(self) -> None:
        """Bring the copies in step as a carrier should: of each machine what it has itself."""
        if self.kind != FOLDER:
            return
        for which in range(HOMES):
            own = self.device(which)
            for other in set(range(HOMES)) - {which}:
                for file in self.copy_of(other).glob(f"{own}-*.log"):
                    file.unlink()
                for file in self.copy_of(which).glob(f"{own}-*.log"):
                    shutil.copy(file, self.copy_of(other))

    # The end.

    def end(self) -> None:
        """Let all be well again, and check; the homes are gone then."""
        try:
            self.cut = set()
            if self.kind == FOLDER:
                known = {self.device(which) for which in range(HOMES)}
                for which in range(HOMES):
                    for file in self.copy_of(which).glob("*.log"):
                        if file.name.partition("-")[0] not in known:
                            # Of a number that nobody writes any more nothing comes again.
                            file.unlink()
            for _ in range(5):
                self.meet()
            assert not any(mind.devices.sync() for mind in self.minds)
            self.check()
        finally:
            for mind in self.minds:
                mind.close()
            shutil.rmtree(self.root)

    def check(self) -> None:
        """All are equal, and as the oracle has it; no home is damaged or has anything to do."""
        states = []
        for mind in self.minds:
            found = {one.id: one for one in mind.store.browse(EVERYTHING)}
            edges = mind.store.edges(sorted(found), ["relates_to", "contradicts"])
            plain = {id: one._replace(conflicts_with=()) for id, one in found.items()}
            states.append((plain, sorted(edges)))
            assert mind.data.verify() == []
            status = mind.devices.status()
            assert status is not None and not status.waiting
            for other in status.others:
                assert not (other.missing or other.troubles), other
        assert states[0] == states[1] == states[2]
        held, oracle = states[0][0], self.oracle
        texts = {one.text for one in held.values()}
        for text, id in oracle.texts.items():
            if text not in oracle.replaced and id not in oracle.purged:
                assert text in texts, f"{text} was acknowledged, and is nowhere"
        assert not held.keys() & oracle.purged
        for id in oracle.remembered - oracle.purged:
            check_memory(held[id], oracle)
        self.both_sided = sum("edited_beside" in one.details for one in held.values())


def check_memory(found: Memory, oracle: Oracle) -> None:
    """Tags and life of one memory are what users were told."""
    added = oracle.tagged.get(found.id, set())
    removed = oracle.untagged.get(found.id, set())
    assert added - removed <= set(found.tags) <= {"birth", *added}
    if found.id not in oracle.restored:
        assert found.active == (found.id not in oracle.forgotten)
    elif found.id not in oracle.forgotten:
        assert found.active


def flip_byte(data: bytes, chance: random.Random) -> bytes:
    """The data with one byte altered."""
    if not data:
        return data
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
