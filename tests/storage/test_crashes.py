# mypy: no-check-untyped-defs
"""Kill -9 at random points while a process remembers, forgets, takes in turns and settles.

A nursery process imports everything once and forks a child for each life, so that two hundred lives
take seconds. A child notes each acknowledged operation in a file before it goes on; the killer
opens the home afresh and looks. The seed is printed: `REVERIE_SEED=n` repeats the same delays,
though never the very same instruction. `REVERIE_TORTURE=1000` kills so often.
"""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from reverie.testing import NOON, Clock, memory
from tests.support.helpers import interrupt
from tests.support.invariants import all_memories, assert_nothing_lost
from tests.support.seeds import choose_seed
from tests.support.vocabulary import NIGHT

KILLS = int(os.environ.get("REVERIE_TORTURE", "200"))
NIGHT_KILLS = max(10, int(os.environ.get("REVERIE_TORTURE", "40")))
LIVES = 25  # kills in one home; then a fresh one, so that creation is interrupted too
ANSWERS = (0, 0, 1, 2, 5, 9)  # acknowledgements that a child lives for
LONGEST = 0.08  # seconds that it lives after them

NURSERY = r'''
import os, random, sys, time
import numpy
from reverie.core.clock import ticks
from reverie.core.model import Event
from reverie.runtime import companion, settle
from reverie.storage.sqlite import bulk_transfer, column_shards
from reverie.testing import SPACE, memory

def live(home, at, seed, acks):
    """Work until killed. The clock of each life is a minute later: the lease of the one before has ended."""
    chance, start = random.Random(seed), ticks()
    fd = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    def done(what, *names):
        os.write(fd, "".join(f"{what} {name}\n" for name in names).encode())
    mind = memory(home, now=lambda: at + ticks() - start)
    mine, n = [], 0
    while True:
        n += 1
        match chance.randrange(8):
            case 0:
                kept = mind.remember_many([{"text": f"bulk {seed} {n} {i}"} for i in range(5)], space=SPACE)
                done("kept", *(m.id for m in kept))
            case 1:
                seq = mind.store.append([Event(verb="turn", space=SPACE, session="s", at=at, payload={
                    "messages": [{"role": "user", "text": f"Remember that lesson {seed}x{n} was learned."}]})])
                done("turn", f"{seed}x{n}")
            case 2 if mine:
                mind.forget(mine[-1])
                done("gone", mine.pop())
            case 3:
                mind.settle()
            case 4 if mine:
                mind.revise(mine[-1], text=f"revised {seed} {n}", tags=("t",))
            case _:
                mine.append(mind.remember(f"single {seed} {n}", space=SPACE, tags=("a", "b")).id)
                done("kept", mine[-1])

for line in sys.stdin:
    home, at, seed, acks = line.rstrip("\n").split("\t")
    pid = os.fork()
    if not pid:
        live(home, float(at), int(seed), acks)
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("dead", flush=True)
'''


PATIENCE = 120.0  # seconds that answers are waited for


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


class Nursery:
    """Starts children and sees them die."""

    def __init__(self, script=NURSERY):
        self.script = script

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def one_life_of_computing(self, home, at, seed, seconds):
        self.process.stdin.write(f"{home}\t{at}\t{seed}\t{seconds}\n")
        assert self.process.stdout.readline().strip().isdigit()
        assert self.process.stdout.readline() == "dead\n"

    def one_life(self, home, at, seed, acks, answers, seconds):
        """Killed so long after so many answers: on a busy machine a life does as much."""
        wanted, end = count_lines(acks) + answers, time.monotonic() + PATIENCE
        self.process.stdin.write(f"{home}\t{at}\t{seed}\t{acks}\n")
        pid = int(self.process.stdout.readline())
        while count_lines(acks) < wanted and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(seconds)
        os.kill(pid, 9)
        assert self.process.stdout.readline() == "dead\n"


NIGHTS = (
    NURSERY[: NURSERY.index("def live")]
    + r'''
import signal
from reverie.consolidation import sleep_loop
from tests.support.vocabulary import NIGHT, TEXTS

WHO = ("observed", "user_corrected")

def live(home, at, seed, seconds):
    """Repeat and contradict oneself, settle, and sleep over it, until killed by a signal that nobody
    handles. The seconds are of computing: beside other programs a life is as long.
    """
    signal.setitimer(signal.ITIMER_PROF, float(seconds))
    chance = random.Random(seed)
    mind = memory(home, now=lambda: at)
    while True:
        mind.remember_many([{"text": chance.choice(TEXTS), "provenance": chance.choice(WHO)} for _ in range(8)],
                           space=SPACE)
        if chance.random() < 0.7:
            mind.settle()
        mind.sleep(NIGHT, afresh=True)

# What a process reads and compiles once is there before the first child: its life is for work.
with memory(":memory:") as first:
    first.remember_many([{"text": text} for text in TEXTS], space=SPACE)
    first.settle()
    first.sleep(NIGHT, afresh=True)
'''
    + NURSERY[NURSERY.index("\nfor line") :]
)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.proves("CC-10", "X20", "X43")
def test_killed_while_it_settles_and_sleeps(tmp_path, record_property):
    """After each of 40 kills nothing is lost or half-merged, and settling and sleep go on."""
    seed = int(os.environ.get("REVERIE_SEED") or 40)
    chance, retired = random.Random(seed), 0
    with Nursery(NIGHTS) as nursery:
        for kill in range(NIGHT_KILLS):
            folder, clock = tmp_path / f"home{kill // 10}", Clock(NOON + 200.0 * kill)
            before = {}
            if kill % 10:
                with memory(folder, now=clock) as mind:
                    before = all_memories(mind.store)
            seconds = 0.01 + chance.random() * 0.15
            nursery.one_life_of_computing(folder, clock.at, seed - 40 + kill, seconds)
            clock.tick(100)
            with memory(folder, now=clock) as mind:
                after = all_memories(mind.store)
                assert mind.data.verify() == [], f"after kill {kill}"
                assert_nothing_lost(before, after)
                if kill % 10 == 9:
                    mind.settle()
                    mind.sleep(NIGHT)
                    assert mind.data.verify() == []
                    assert_nothing_lost(after, all_memories(mind.store))
                    retired += sum(not m.active for m in after.values())
    record_property("kills in settling and sleep", NIGHT_KILLS)
    assert retired > NIGHT_KILLS // 10 * 10


def promises(acks):
    """What was acknowledged: ids kept, ids forgotten, turns taken in."""
    found = {"kept": [], "gone": [], "turn": []}
    for line in Path(acks).read_text().splitlines() if Path(acks).exists() else ():
        what, _, name = line.partition(" ")
        found[what].append(name)
    return found


def broken_promises(home, acks, clock, *, settled):
    """Everything that is not as it was promised."""
    promised, wrong = promises(acks), []
    with memory(home, now=clock) as mind:
        if settled:
            mind.settle()
        there = {m.id: m for m in mind.get(promised["kept"])}
        everything = mind.browse(space="me/demo", active=None, limit=1_000_000)
        wrong += [f"lost {id}" for id in promised["kept"] if id not in there]
        wrong += [f"came back {id}" for id in promised["gone"] if there[id].active]
        wrong += [
            f"twice: {text}" for text, n in Counter(m.text for m in everything).items() if n > 1
        ]
        if settled:
            texts = " ".join(m.text for m in everything)
            wrong += [
                f"not learned {name}" for name in promised["turn"] if f"Lesson {name} " not in texts
            ]
            wrong += [f"still waiting {id}" for id, _ in mind.store.unembedded_texts(3)]
        wrong += [str(problem) for problem in mind.data.verify()]
    return wrong


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.proves("CC-10", "X20")
def test_killed_at_any_point_nothing_acknowledged_is_lost(tmp_path, record_property):
    """After each of 200 kills: every acknowledged memory is there, nothing twice, verify() clean."""
    seed = choose_seed()
    chance, acknowledged, broken = random.Random(seed), 0, []
    with Nursery() as nursery:
        for kill in range(KILLS):
            folder, clock = tmp_path / f"home{kill // LIVES}", Clock(NOON + 60.0 * kill)
            acks = tmp_path / f"acks{kill // LIVES}"
            seconds = chance.random() ** 2 * LONGEST
            nursery.one_life(folder, clock.at, seed + kill, acks, chance.choice(ANSWERS), seconds)
            clock.tick(45)
            last = kill % LIVES == LIVES - 1 or kill == KILLS - 1
            wrong = broken_promises(folder, acks, clock, settled=last)
            broken += [f"after kill {kill}: {one}" for one in wrong]
            if last:
                acknowledged += sum(map(len, promises(acks).values()))
    record_property("kills while writing", KILLS)
    record_property("acknowledged", acknowledged)
    record_property("acknowledged lost", len(broken))
    assert broken == [] and acknowledged > KILLS


STOPPED = """
import signal, sys, threading
from reverie.testing import SPACE, memory
mind = memory(sys.argv[1])
print("ready", flush=True)
while True:
    mind.remember("one more", space=SPACE)
    mind.settle()
"""


@pytest.mark.proves("X20")
def test_an_interrupt_leaves_a_usable_home(tmp_path):
    """Ctrl-C in the middle of remembering and settling: the home opens, is clean and can be
    written.
    """
    for n in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", STOPPED, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.01 + 0.02 * n)
        interrupt(child)
        with memory(tmp_path) as mind:
            mind.remember("still works", space="me/demo")
            assert mind.data.verify() == []


@pytest.mark.parametrize("done", ["half a record", "rubbish"])
@pytest.mark.proves("CC-10", "X20")
def test_a_torn_journal_is_read_as_far_as_it_is_whole(tmp_path, done):
    """A power cut in the middle of a write leaves the state before it, never a part of it."""
    live = tmp_path / "live"
    with memory(live) as mind:
        first = mind.remember("first", space="me/demo")
        second = mind.remember("second", space="me/demo")
        (tmp_path / "cut").mkdir()
        for part in live.glob("reverie.db*"):
            if not part.name.endswith("-shm"):
                (tmp_path / "cut" / part.name).write_bytes(part.read_bytes())
    journal = tmp_path / "cut" / "reverie.db-wal"
    whole = journal.read_bytes()
    journal.write_bytes(
        whole[:-2_000] if done == "half a record" else whole[:-2_000] + b"\x07" * 2_000
    )
    with memory(tmp_path / "cut") as mind:
        assert [m.id for m in mind.get([first.id, second.id])] == [first.id]
        assert mind.data.verify() == []
        mind.remember("third", space="me/demo")
        assert mind.data.verify() == []
