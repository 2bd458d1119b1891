"""Daily backups: a purge reaches them, and what it cannot reach is reported."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

import reverie
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.core.model import Add, Event, Memory
from reverie.storage import backups
from reverie.testing import NOON, SPACE, memory


def filled(home):
    """A mind with two memories of which a daily copy was made."""
    ids = [home.remember(text, space=SPACE).id for text in ("xylophone quartz", "it stays")]
    copy = backups.make_daily_backup(home.store, home.settings, NOON)
    assert copy is not None
    return copy, *ids


def holding(folder, word):
    """The files that hold a word."""
    return {path.name for path in folder.rglob("*") if path.is_file() and word in path.read_bytes()}


@pytest.mark.proves("CC-4")
def test_purging_reaches_the_daily_copies(home):
    """The verb itself leaves the text in no file of the home, and the copy stays whole."""
    copy, gone, stays = filled(home)
    assert copy.name in holding(home.settings.home, b"xylophone")

    assert home.data.purge(gone)[:2] == (1, ())
    assert holding(home.settings.home, b"xylophone") == set()
    with reverie.open(copy, settings=Settings(home=home.settings.home, embedder="none")) as earlier:
        assert [m.id for m in earlier.browse(space=SPACE)] == [stays]


def test_what_purging_could_not_reach_is_said(home):
    """A copy of a newer Reverie is left alone and named, so is a damaged file that was kept; a
    broken copy goes.
    """
    copy, gone, _ = filled(home)
    broken = copy.with_name("reverie-20200101.db")
    broken.write_bytes(b"xylophone, and no database " * 300)
    kept = home.settings.home / "reverie.db.damaged-20200101"
    kept.write_bytes(b"xylophone")
    with closing(sqlite3.connect(copy)) as db:
        db.execute("pragma user_version = 999")

    assert home.data.purge(gone)[:2] == (1, (copy, kept))
    assert holding(home.settings.home, b"xylophone") == {copy.name, kept.name}
    assert not broken.exists()


def test_a_mind_elsewhere_leaves_the_copies_of_the_home_alone(home, clock):
    """A mind in memory, or in a file of its own, has nothing to do with the home's copies."""
    copy, *_ = filled(home)
    before = copy.read_bytes()
    with memory(now=clock) as other:
        other.context.settings = home.settings
        id = other.remember("xylophone quartz", space=SPACE).id
        assert other.data.purge(id)[:2] == (1, ())
    assert copy.read_bytes() == before


@pytest.mark.proves("CC-4")
def test_purging_takes_the_wordings_along(home):
    """What was merged into a memory says the same: it goes as well, at every remove, in the copies
    too.
    """
    ids = [
        home.remember(f"My home address is 12 Quokkastreet{end}", space=SPACE).id
        for end in (".", "!", "")
    ]
    stays = home.remember("it stays", space=SPACE).id
    home.settle()
    first = next(m for m in home.get(ids) if m.active)
    assert backups.make_daily_backup(home.store, home.settings, NOON)
    assert {first.id, *(m.id for m in home.data.wordings(first.id))} == set(ids)

    assert home.data.purge(first.id)[:2] == (3, ())
    assert [m.id for m in home.get([*ids, stays])] == [stays]
    assert holding(home.settings.home, b"Quokkastreet") == set()


def test_purging_leaves_what_is_no_wording(home):
    """A memory that was superseded, or from which another one was only derived, is a thing of its
    own.
    """
    old, new, note = (
        home.remember(text, space=SPACE).id
        for text in ("The port is 80", "It is 8080", "About ports")
    )
    home.supersede(old, new)
    home.link(note, old, "derived_from")
    assert home.data.purge([new, note])[:2] == (2, ())
    assert [m.id for m in home.get([old])] == [old]


@pytest.mark.proves("A115")
def test_a_backup_comes_back_while_others_go_on(home, tmp_path):
    """Also for a mind that has the later state in memory, and on its pages; what was replaced is
    kept.
    """
    one = home.remember("The staging server is heron.", space=SPACE)
    home.settle()
    copy = home.data.backup(tmp_path / "copy.db")
    with memory(home.settings.home, now=home.context.now) as other:
        assert [hit.memory.id for hit in other.recall("staging server", space=SPACE)] == [one.id]
        two = other.remember("The staging server is crane.", space=SPACE)
        home.revise(one.id, text="The staging server is ibis.")
        home.settle()
        assert two.id in [hit.memory.id for hit in other.recall("staging server", space=SPACE)]
        kept = home.data.restore_backup(copy)
        for mind in (home, other):
            assert [hit.memory.text for hit in mind.recall("staging server", space=SPACE)] == [
                "The staging server is heron."
            ]
            assert [] == mind.data.verify()
        after = other.remember("The staging server is egret.", space=SPACE)
        home.settle()
        assert after.id in [
            hit.memory.id for hit in home.recall("staging server egret", space=SPACE)
        ]
    home.data.restore_backup(kept)
    assert {memory.text for memory in home.get([one.id, two.id])} == {
        "The staging server is ibis.",
        "The staging server is crane.",
    }


@pytest.mark.proves("A115")
def test_an_invalid_backup_changes_nothing(home, tmp_path):
    """Neither a text, nor somebody else's database, nor a file that was cut off."""
    home.remember("It stays.", space=SPACE)
    state = list(home.data.export(log=False))
    text, alien, cut = tmp_path / "a.txt", tmp_path / "alien.db", tmp_path / "cut.db"
    text.write_text("no database at all, but long enough to look at " * 20)
    with closing(sqlite3.connect(alien)) as db:
        db.execute("create table t (x)")
    cut.write_bytes(home.data.backup(tmp_path / "whole.db").read_bytes()[:20_000])
    for file in (text, alien, cut):
        with pytest.raises(ReverieError):
            home.data.restore_backup(file)
        assert state == list(home.data.export(log=False))


@pytest.mark.proves("CC-4")
def test_purging_reaches_what_a_backup_replaced(home, tmp_path):
    """The copy of what was there is one of the home's."""
    copy, gone, _ = filled(home)
    home.data.restore_backup(copy)
    home.data.purge(gone)
    assert holding(home.settings.home, b"xylophone") == set()


@pytest.mark.proves("A115", "CC-6")
def test_what_is_written_while_a_backup_comes_back_is_in_one_of_the_two(home, tmp_path):
    """An acknowledged write of another process stands in the store or in the copy of what was
    there.
    """
    home.remember("It was there.", space=SPACE)
    copy = home.data.backup(tmp_path / "copy.db")
    many = [(f"m{number}", "x" * 400) for number in range(5_000)]
    home.store.apply(
        [Add(memory=fact(id, text)) for id, text in many], Event("remember", SPACE, NOON)
    )
    writers = [writing(home.settings.home, name) for name in "ab"]
    for writer in writers:
        assert writer.stdout.readline()
    kept = [home.data.restore_backup(copy) for _ in range(3)]
    for writer in writers:
        writer.stdin.close()
    told = set()
    for writer in writers:
        with writer.stdout:
            told |= set(writer.stdout.read().split())
        assert writer.wait(120) == 0
    found = set()
    for file in (*kept, home.settings.home / "reverie.db"):
        with closing(sqlite3.connect(file)) as db:
            found |= {id for (id,) in db.execute("select id from memory")}
    assert len(told) > 10
    assert told - found == set()


@pytest.mark.proves("A115")
def test_a_refused_backup_makes_no_copy(home, tmp_path):
    """Nothing was replaced, so nothing is kept."""
    (tmp_path / "a.txt").write_text("no database at all, but long enough to look at " * 20)
    with pytest.raises(ReverieError):
        home.data.restore_backup(tmp_path / "a.txt")
    assert backups.list_replaced_copies(home.settings) == []


WRITER = """
import select, sys, reverie
from reverie.core.config import Settings
with reverie.open(sys.argv[1] + "/reverie.db", settings=Settings(home=sys.argv[1], embedder="none")) as mind:
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        number += 1
        print(mind.remember(f"writer {sys.argv[2]} tells fact {number}", space="me/p").id, flush=True)
"""


def writing(folder, name):
    """A process that remembers until its stdin is closed and tells each memory that it was told is
    kept.
    """
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def fact(id, text):
    """A memory."""
    return Memory(id=id, text=text, space=SPACE, at=NOON, created_at=NOON, updated_at=NOON)
