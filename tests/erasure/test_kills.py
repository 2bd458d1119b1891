# mypy: no-check-untyped-defs
"""Kill -9 at random points of a scrub and of a purge: whoever opens the home next finishes it.

A nursery process imports everything once and forks a child for each life. Each begins with the same
home. `REVERIE_TORTURE=200` kills so often; the seed is printed, and `REVERIE_SEED=n` repeats it.
"""

import os
import random
import shutil
import stat
import subprocess
import sys

import pytest

import reverie
from reverie.core.config import Settings
from reverie.erasure import intention, unfinished
from reverie.testing import SPACE, memory
from tests.support.planted_text import find_files_holding, plant_everywhere, without_redaction
from tests.support.seeds import choose_seed

KILLS = int(os.environ.get("REVERIE_TORTURE", "8"))
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
WORDS = "Zanzibar-Quartz 77"

# A life is so many seconds of computing, and ends by a signal that nobody handles: beside other
# programs, and on a slower machine, it is as long.
NURSERY = r"""
import os, signal, sys, time
from reverie.erasure import purge, scrub
from reverie.testing import SPACE, memory

def live(home, verb, what, seconds):
    if seconds:
        signal.setitimer(signal.ITIMER_PROF, float(seconds))
    began = time.process_time()
    with memory(home, embedder="none") as mind:
        if verb == "scrub":
            mind.data.scrub([what] if what else (), write=True, copies=True)
        else:
            mind.data.purge([what])
        os.write(1, f"done {time.process_time() - began}\n".encode())

for line in sys.stdin:
    pid = os.fork()
    if not pid:
        live(*line.rstrip("\n").split("\t"))
        os._exit(0)
    os.waitpid(pid, 0)
    print("dead", flush=True)
"""


class Nursery:
    """Starts children that are killed after some seconds of their own."""

    def __enter__(self):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY], stdin=pipe, stdout=pipe, text=True, bufsize=1
        )
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def one_life(self, home, verb, what, seconds=None):
        """What it took if it was done before it was killed, else None."""
        self.process.stdin.write(f"{home}\t{verb}\t{what}\t{seconds or ''}\n")
        last = self.process.stdout.readline()
        if not last.startswith("done"):
            return None
        assert self.process.stdout.readline() == "dead\n"
        return float(last.split()[1])


def delays(nursery, home, verb, what):
    """A generator of seconds to live, up to what the whole takes."""
    seed = choose_seed()
    chance = random.Random(seed)
    whole = nursery.one_life(home, verb, what)
    assert whole
    return (chance.random() * whole for _ in range(KILLS))


def reset(source, home):
    shutil.rmtree(home)
    shutil.copytree(source, home)


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("given", ["", WORDS], ids=["by rules", "a given text"])
@pytest.mark.proves("CC-10", "CC-12", "X20")
def test_a_killed_scrub_is_finished_by_whoever_opens_the_home(
    tmp_path, monkeypatch, given, record_property
):
    """Wherever it was killed: once it had begun to erase, opening the home leaves no byte."""
    home, source, planted = tmp_path / "home", tmp_path / "source", given or SECRET
    with without_redaction(monkeypatch), memory(home) as mind:
        plant_everywhere(mind, tmp_path, planted)
        mind.data.backup(home / "backups/reverie-20251009.db")
    shutil.copytree(home, source)
    left, begun = [], 0
    with Nursery() as nursery:
        for kill, seconds in enumerate(delays(nursery, home, "scrub", given)):
            reset(source, home)
            done = nursery.one_life(home, "scrub", given, seconds) is not None
            was_begun = done or intention.intention_file(home).exists()
            # Killed when all was done, and before it could say so.
            was_begun = was_begun or not find_files_holding(home, planted)
            begun += was_begun
            with memory(home, embedder="none") as mind:
                holding = find_files_holding(home, planted)
                if was_begun and (holding or unfinished.has_unfinished_erasure(mind.work)):
                    left.append((kill, seconds, holding))
                if not was_begun:
                    assert "reverie.db" in " ".join(holding)
                assert [p for p in mind.data.verify() if not p.repaired] == []
    record_property("kills while scrubbing", KILLS)
    record_property("secrets left after a killed scrub", len(left))
    assert left == [] and begun


class Killed(BaseException):
    """What ends a run at a certain point, as a kill would: nothing of ours handles it."""


def stop(stage, done, _total):
    if stage == "Looking through the files" and done == 3:
        raise Killed


def stopped_scrub(home, monkeypatch, tmp_path):
    """A home in which a scrub of a given text was stopped."""
    with without_redaction(monkeypatch), memory(home) as mind:
        plant_everywhere(mind, tmp_path, WORDS)
    with memory(home) as mind, pytest.raises(Killed):
        mind.data.scrub(WORDS, write=True, on=stop)


@pytest.mark.proves("CC-12")
def test_what_a_stopped_scrub_left_is_known_until_somebody_opens_the_home(tmp_path, monkeypatch):
    """`verify` tells of it, its note is for nobody else's eyes and in no copy, and is removed."""
    home = tmp_path / "home"
    stopped_scrub(home, monkeypatch, tmp_path)
    note = intention.intention_file(home)
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    settings = Settings(home=home, embedder="none")
    with reverie.open_as_found(settings=settings) as mind:
        assert [p.what for p in mind.data.verify()] == ["erasure", "erasure"]
        mind.data.backup(tmp_path / "copy.db")
        assert note.exists() and find_files_holding(home, WORDS)
    with reverie.open(settings=settings) as mind:
        assert mind.data.verify() == [] and not note.exists()
    assert find_files_holding(home, WORDS) == []
    assert find_files_holding(tmp_path, WORDS) == ["notes/a.md", "repo/relay.py"]


def test_whoever_opens_the_home_while_it_is_scrubbed_does_not_begin_again(tmp_path, monkeypatch):
    """A run that is under way is no stopped one, and opening does not wait for it."""
    home, seen = tmp_path / "home", []
    with without_redaction(monkeypatch), memory(home) as mind:
        plant_everywhere(mind, tmp_path, WORDS)

    def look(stage, done, _total):
        if stage == "Looking through the files" and done == 3:
            with memory(home) as other:
                seen.append(unfinished.has_unfinished_erasure(other.work))

    with memory(home) as mind:
        mind.data.scrub(WORDS, write=True, on=look)
        assert seen == [True] and not unfinished.has_unfinished_erasure(mind.work)


def test_another_scrub_does_first_what_a_stopped_one_left(tmp_path, monkeypatch):
    """Its note is not overwritten by that of the next."""
    home = tmp_path / "home"
    stopped_scrub(home, monkeypatch, tmp_path)
    with reverie.open_as_found(settings=Settings(home=home, embedder="none")) as mind:
        mind.data.scrub("some other words", write=True)
    assert find_files_holding(home, WORDS) == []


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.proves("CC-4", "CC-10", "X20")
def test_a_killed_purge_is_finished_by_whoever_opens_the_home(tmp_path, record_property):
    """Wherever it was killed: once the store has let go of it, opening the home leaves no byte."""
    home, source, left, begun = tmp_path / "home", tmp_path / "source", [], 0
    with memory(home) as mind:
        kept = mind.remember(f"The relay word is {WORDS}, ask Ann.", space=SPACE)
        mind.settle()
        mind.data.mirror(SPACE)
        mind.data.backup(home / "backups/reverie-20251009.db")
    shutil.copytree(home, source)
    with Nursery() as nursery:
        for kill, seconds in enumerate(delays(nursery, home, "purge", kept.id)):
            reset(source, home)
            nursery.one_life(home, "purge", kept.id, seconds)
            with memory(home, embedder="none") as mind:
                was_begun = not mind.get([kept.id])
                begun += was_begun
                holding = find_files_holding(home, WORDS)
                if was_begun and (holding or unfinished.has_unfinished_erasure(mind.work)):
                    left.append((kill, seconds, holding))
                assert [p for p in mind.data.verify() if not p.repaired] == []
    record_property("kills while purging", KILLS)
    record_property("texts left after a killed purge", len(left))
    assert left == [] and begun
