# mypy: no-check-untyped-defs
"""Homes that a disk, a crash or a hand has damaged: everything that a backup or the file still has
is there afterwards, what is not is named, and what is there is clean.

`REVERIE_TORTURE=200` damages so many; the seed is printed, and `REVERIE_SEED=n` repeats it.
"""

import os
import random
import shutil
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from reverie.interfaces.cli.app import app
from reverie.storage.sqlite import salvage
from reverie.testing import SPACE, memory
from tests.support.seeds import choose_seed

PAGE = 4_096
SAMPLE = int(os.environ.get("REVERIE_TORTURE", "12"))


def overwrite(path, offset, data):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def pages_of(path):
    return path.stat().st_size // PAGE


def flip_bits(path, chance):
    """A few bits anywhere behind the header."""
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 20)):
        data[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def zero_pages(path, chance):
    for _ in range(chance.randint(1, 5)):
        overwrite(path, PAGE * chance.randrange(1, pages_of(path)), bytes(PAGE))


def garbage_pages(path, chance):
    for _ in range(chance.randint(1, 5)):
        overwrite(path, PAGE * chance.randrange(1, pages_of(path)), chance.randbytes(PAGE))


def swap_pages(path, chance):
    one, other = (PAGE * chance.randrange(1, pages_of(path)) for _ in range(2))
    data = path.read_bytes()
    overwrite(path, one, data[other : other + PAGE])
    overwrite(path, other, data[one : one + PAGE])


def garbage_header(path, chance):
    overwrite(path, 0, chance.randbytes(100))


def zeroed_first_page(path, chance):
    overwrite(path, 0, bytes(PAGE))


def truncated(path, chance):
    with path.open("r+b") as file:
        file.truncate(chance.randrange(0, path.stat().st_size))


def torn_half(path, chance):
    with path.open("r+b") as file:
        file.truncate(PAGE * (pages_of(path) // 2) + chance.randrange(PAGE))


def dropped_table(path, chance):
    tables = ("memory", "event", "edge", "change", "meta", "cursor", "lease", "pending", "words")
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"drop table {chance.choice(tables)}")
        db.commit()


def dropped_index(path, chance):
    with closing(sqlite3.connect(path)) as db:
        found = "select name from sqlite_master where type = 'index' and sql is not null"
        db.execute(f"drop index {chance.choice(db.execute(found).fetchall())[0]}")
        db.commit()


def altered_text(path, chance):
    """Letters of a row, in a page that is otherwise whole."""
    data = path.read_bytes()
    n = chance.randrange(300)
    path.write_bytes(data.replace(f"note {n} of".encode(), f"nope {n} of".encode()))


def deleted_rows(path, chance):
    with closing(sqlite3.connect(path)) as db:
        db.execute("delete from memory where num % 7 = ?", (chance.randrange(7),))
        db.commit()


KINDS = (
    flip_bits,
    zero_pages,
    garbage_pages,
    swap_pages,
    garbage_header,
    zeroed_first_page,
    truncated,
    torn_half,
    dropped_table,
    dropped_index,
    altered_text,
    deleted_rows,
)


@pytest.fixture(scope="module")
def whole_home(tmp_path_factory):
    """A home with 300 memories, a backup of the first 200, and (id → text) of each half."""
    home = tmp_path_factory.mktemp("whole") / "home"
    with memory(home, embedder="none") as mind:
        text = "note {} of many, with a few words more than it needs"
        early = mind.remember_many([{"text": text.format(n)} for n in range(200)], space=SPACE)
        mind.data.backup(home / "backups/reverie-20251008.db")
        late = mind.remember_many([{"text": text.format(n)} for n in range(200, 300)], space=SPACE)
        mind.revise(early[0].id, text="note 0 of many, revised since the backup")
        mind.forget(early[1].id)
    texts = {one.id: one.text for one in (*early, *late)}
    texts[early[0].id] = "note 0 of many, revised since the backup"
    return home, texts, [one.id for one in early]


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.parametrize("number", range(SAMPLE))
@pytest.mark.proves("CC-9", "CC-10", "X20")
def test_a_damaged_home_is_mended_and_what_was_lost_is_named(
    tmp_path, whole_home, number, record_property
):
    """One repair; then all is clean, each text is what was written, or is named as lost."""
    seed = choose_seed() + number
    source, texts, early = whole_home
    damage, home = KINDS[number % len(KINDS)], tmp_path / "home"
    print(damage.__name__)  # noqa: T201 - shown when it fails
    shutil.copytree(source, home)
    damage(home / "reverie.db", random.Random(seed))
    told = CliRunner().invoke(app, ["data", "verify", "--repair", "--home", str(home)]).output
    with memory(home, embedder="none") as mind:
        there = {one.id: one.text for one in mind.get([*texts])}
        restored = sum(text == texts[id] for id, text in there.items())
        record_property("damaged homes", 1)
        record_property("memories in damaged homes", len(texts))
        record_property("restored", restored)
        record_property("named as lost or altered", sum(id in told for id in texts))
        assert mind.data.verify() == []
        assert [id for id in early if id not in there] == []
        wrong = [id for id, text in there.items() if text != texts[id] and id not in told]
        assert wrong == []
        lost = [id for id in texts if id not in there and id not in told]
        # Where the log is gone too, nobody knows what was in it.
        assert lost == [] or "could not be read" in told or "more could not be restored" in told
        mind.remember("goes on", space=SPACE)
        assert mind.data.verify() == []


@pytest.mark.proves("CC-10")
def test_indexes_that_hold_one_anothers_entries_are_noticed(tmp_path, whole_home):
    """Two whole pages that changed places are whole pages still: only the rows tell."""
    source, texts, _ = whole_home
    home = shutil.copytree(source, tmp_path / "home")
    path, data = home / "reverie.db", (home / "reverie.db").read_bytes()
    roots = "select rootpage from sqlite_master where name = ?"
    with closing(sqlite3.connect(path)) as db:
        names = [("memory_by_space",), ("event_by_verb",)]
        one, other = (PAGE * (db.execute(roots, name).fetchone()[0] - 1) for name in names)
    overwrite(path, one, data[other : other + PAGE])
    overwrite(path, other, data[one : one + PAGE])
    with memory(home, embedder="none") as mind:
        assert [problem.what for problem in mind.data.verify()] != []
    CliRunner().invoke(app, ["data", "verify", "--repair", "--home", str(home)])
    with memory(home, embedder="none") as mind:
        assert mind.data.verify() == []
        assert {one.id: one.text for one in mind.get([*texts])} == texts
        mind.remember("goes on", space=SPACE)


def repair(home):
    """What the command says of its repair, as one line."""
    told = CliRunner().invoke(app, ["data", "verify", "--repair", "--home", str(home)]).output
    return " ".join(told.split())


def replace_bytes(home, old, new):
    """Alter letters of the file, where they stand first."""
    path = home / "reverie.db"
    data = path.read_bytes()
    assert old in data and len(old) == len(new)
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"salience         real", b"salienca         real"),
        (b"trust            real not null", b"trust            rea\xec not null"),
        (b"CREATE INDEX memory_by_time", b"CRE\xa0TE INDEX memory_by_time"),
        (b"CREATE TABLE memory (", b"CREATE TABLE memorz ("),
        (b"CREATE VIRTUAL TABLE words", b"CREATE VIRTUAL TABME words"),
    ],
)
@pytest.mark.proves("CC-10")
def test_declarations_that_were_altered_are_written_anew(tmp_path, whole_home, old, new):
    """A letter of what the file says its tables are: every row is still there."""
    source, texts, _ = whole_home
    home = shutil.copytree(source, tmp_path / "home")
    replace_bytes(home, old, new)
    told = repair(home)
    with memory(home, embedder="none") as mind:
        assert mind.data.verify() == []
        assert {one.id: one.text for one in mind.get([*texts])} == texts, told
        mind.remember("goes on", space=SPACE)


@pytest.mark.proves("CC-10")
def test_an_altered_text_in_a_broken_file_is_named(tmp_path, whole_home):
    """The broken page is mended, and what no backup has of the text is still said."""
    source, texts, _ = whole_home
    home = shutil.copytree(source, tmp_path / "home")
    with closing(sqlite3.connect(home / "reverie.db")) as db:
        db.execute("update memory set text = 'nope 250' where text like 'note 250 of%'")
        db.commit()
    replace_bytes(home, b"CREATE INDEX memory_by_time", b"CREATE INDAX memory_by_time")
    altered = next(id for id, text in texts.items() if text.startswith("note 250 of"))
    assert altered in repair(home)
    with memory(home, embedder="none") as mind:
        assert mind.data.verify() == []
        assert mind.get([altered])[0].text == "nope 250"


@pytest.mark.proves("CC-10")
def test_declarations_that_cannot_be_mended_are_those_of_a_backup(
    tmp_path, whole_home, monkeypatch
):
    """The rows are read by the head of a backup, and that is said."""
    source, texts, _ = whole_home
    home = shutil.copytree(source, tmp_path / "home")
    replace_bytes(home, b"salience         real", b"salienca         real")
    monkeypatch.setattr(salvage, "mend_declarations", lambda path: False)
    assert "could not be read: the head of the file" in repair(home)
    with memory(home, embedder="none") as mind:
        assert mind.data.verify() == []
        assert {one.id: one.text for one in mind.get([*texts])} == texts
