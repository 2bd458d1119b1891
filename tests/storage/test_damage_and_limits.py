# mypy: no-check-untyped-defs
"""Damaged files, full disks, homes that cannot be written, jumping clocks and odd texts: sane
answers or clear errors.

Where a situation needs rights that the machine does not give (mounting), the test says so and is
skipped.
"""

import importlib.util
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress

import pytest

import reverie
from reverie.core.config import Settings
from reverie.core.errors import (
    BadInput,
    Disabled,
    ModelUnavailable,
    NewerStore,
    NotFound,
    ReverieError,
    StoreDamaged,
    StoreFull,
    StoreGone,
    StoreReadOnly,
)
from reverie.storage import open_store
from reverie.storage.sqlite import repair_store
from reverie.testing import NOON, AbsentEmbedder, Clock, make_conversation, memory
from tests.support.helpers import mounted_filesystem, mounted_read_only

SPACE = "me/demo"


# Damage


def filled(home, count=400):
    """A home with a backup of its first half. Returns the ids of both halves."""
    with memory(home) as mind:
        early = mind.remember_many(
            [{"text": f"early note {n} " + "x" * 200} for n in range(count // 2)], space=SPACE
        )
        mind.data.backup(home / "backups" / "early.db")
        late = mind.remember_many(
            [{"text": f"late note {n} " + "y" * 200} for n in range(count // 2)], space=SPACE
        )
        mind.settle()
    return [m.id for m in early], [m.id for m in late]


def overwritten_header(path):
    with path.open("r+b") as file:
        file.write(b"not a database at all" * 5)


def garbage_in_the_middle(path):
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xa5" * 4096)


def garbage_in_the_table(path):
    """Overwrites a page that holds memories."""
    place = path.read_bytes().index(b"late note 100 ")
    with path.open("r+b") as file:
        file.seek(place // 4096 * 4096)
        file.write(b"\xa5" * 4096)


def garbage_at_the_root(path):
    """Overwrites the first page of the table of memories."""
    with closing(sqlite3.connect(path)) as db:
        root = db.execute("select rootpage from sqlite_master where name = 'memory'").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xa5" * 4096)


def truncated(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size * 2 // 3)


DAMAGE = (
    overwritten_header,
    garbage_in_the_middle,
    garbage_in_the_table,
    garbage_at_the_root,
    truncated,
)


def mended(home):
    return repair_store(
        f"sqlite:///{home / 'reverie.db'}", [home / "backups" / "early.db"], "stamp"
    )


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda d: d.__name__)
@pytest.mark.proves("X20", "CC-9")
def test_a_damaged_file_says_so_and_can_be_mended(tmp_path, damage):
    """Damage is StoreDamaged or a finding of `verify`, never silence; repairing keeps what is
    readable, takes the rest from the backup, and keeps the damaged file.
    """
    early, late = filled(tmp_path)
    path = tmp_path / "reverie.db"
    damage(path)
    broken = path.read_bytes()
    try:
        with memory(tmp_path) as mind:
            found = [p.message for p in mind.data.verify()]
    except StoreDamaged as err:
        found = [str(err)]
    assert found
    assert "repair" in found[0] or damage is not overwritten_header

    problems = mended(tmp_path)
    kept = (tmp_path / "reverie.db.damaged-stamp").read_bytes()
    with memory(tmp_path) as mind:
        there = {m.id for m in mind.get([*early, *late])}
        assert set(early) <= there
        if damage in (garbage_in_the_middle, garbage_in_the_table):
            assert len(there) >= 360
        assert mind.data.verify() == []
        assert "damaged-stamp" in problems[0].message
        assert len(mind.recall("early note 7", space=SPACE, mode="words")) == 10
        mind.settle()
        mind.remember("goes on", space=SPACE)
        assert mind.data.stats().waiting == 1
    assert kept == broken
    assert not list(tmp_path.glob("*.part*"))


@pytest.mark.proves("X20")
def test_an_unharmed_file_survives_a_repair(tmp_path):
    """Repairing what is whole loses nothing: memories, history, events and cursors are the same."""
    filled(tmp_path, 40)
    with memory(tmp_path) as mind:
        mind.forget(mind.browse(space=SPACE)[0].id)
        before = [row for row in mind.store.dump() if row["type"] != "vector"]
    mended(tmp_path)
    with memory(tmp_path) as mind:
        assert [row for row in mind.store.dump() if row["type"] != "vector"] == before
        assert mind.data.verify() == []


def test_an_empty_file_is_a_new_memory_and_the_backup_fills_it(tmp_path):
    """A file of no bytes (a crash before the first write) opens as a new one; repair takes all from
    the backup.
    """
    early, _ = filled(tmp_path, 40)
    for part in tmp_path.glob("reverie.db*"):
        part.unlink()
    (tmp_path / "reverie.db").touch()
    with memory(tmp_path) as mind:
        assert mind.data.stats().memories == 0
    mended(tmp_path)
    with memory(tmp_path) as mind:
        assert len(mind.get(early)) == len(early)
        assert mind.history(early[0])
        assert mind.data.verify() == []


def test_a_missing_file_is_not_repaired(tmp_path):
    """A missing file is said to be missing, and none is made."""
    with pytest.raises(StoreDamaged, match="no file"):
        mended(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_home_from_a_newer_version_is_refused(tmp_path):
    """It says what to do and changes nothing."""
    filled(tmp_path, 4)
    with closing(sqlite3.connect(tmp_path / "reverie.db")) as db:
        db.execute("pragma user_version = 99")
    with pytest.raises(NewerStore, match="upgrade"):
        memory(tmp_path)


# Disk


def fill(mind):
    """Remember until it fails; the ids of what was acknowledged."""
    kept = []
    with pytest.raises(StoreFull, match="disk is full"):
        for n in range(10_000):
            kept += [mind.remember(f"note {n} " + "x" * 2_000, space=SPACE, tags=("t",)).id]
    return kept


@pytest.mark.proves("X20")
def test_a_full_database_keeps_what_was_promised(tmp_path):
    """StoreFull reaches the caller, nothing is half-written, and with room it works again."""
    with memory(tmp_path) as mind:
        writer = mind.store.connections.writer
        writer.execute("pragma max_page_count = 150")
        kept = fill(mind)
        assert len(mind.get(kept)) == len(kept) == mind.data.stats().memories
        assert len(mind.store.events(verbs=["remember"], limit=9_999)) == len(kept)
        writer.execute("pragma max_page_count = 1000000")
        assert mind.data.verify() == []
        kept.append(mind.remember("there is room again", space=SPACE).id)
        assert len(mind.get(kept)) == len(kept)


@pytest.mark.proves("X20")
def test_a_full_disk_keeps_what_was_promised(tmp_path):
    """The same on a real file system without room: another file is removed, and it works again."""
    with mounted_filesystem(
        "-t", "tmpfs", "-o", "size=3m", "reverie-test", tmp_path / "small"
    ) as small:
        (small / "ballast").write_bytes(b"x" * 1_000_000)
        with memory(small / "home") as mind:
            kept = fill(mind)
            assert len(mind.get(kept)) == len(kept)
            with pytest.raises(StoreFull):
                mind.remember("y" * 900_000, space=SPACE)
            (small / "ballast").unlink()
            kept.append(mind.remember("there is room again", space=SPACE).id)
            assert mind.data.verify() == []
        with memory(small / "home") as mind:
            assert len(mind.get(kept)) == len(kept) == mind.data.stats().memories


def test_a_full_disk_does_not_stop_a_conversation(tmp_path):
    """`turn` goes on answering; what could not be written down is written when there is room."""
    with memory(tmp_path) as mind:
        writer = mind.store.connections.writer
        companion = mind.companion(f"{SPACE}/s1")
        writer.execute("pragma max_page_count = 1")
        for n in range(5):
            companion.turn(make_conversation(f"turn {n} " + "x" * 20_000))
        assert not companion.wait(0.3)
        writer.execute("pragma max_page_count = 1000000")
        companion.turn(make_conversation("one more"))
        assert companion.wait(120)
        companion.close()
        assert len(mind.store.events(verbs=["turn"])) == 6


def test_a_home_that_cannot_be_made_says_where():
    """The message names the path and what to do."""
    for place in ("/proc/reverie", "/dev/null/reverie"):
        with pytest.raises(StoreReadOnly, match="REVERIE_HOME"):
            memory(place)


def test_a_read_only_home_can_be_read(tmp_path):
    """Reading goes on and writing says that it cannot; a home left by a crash is refused rather
    than shown in part.
    """
    home = tmp_path / "home"
    with memory(home) as mind:
        ids = [mind.remember(f"note {n}", space=SPACE).id for n in range(3)]
        mind.settle()
        crashed = shutil.copytree(
            home, tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm")
        )
    with mounted_read_only(home, tmp_path / "mount") as place, memory(place) as mind:
        with pytest.raises(StoreReadOnly):
            mind.remember("more", space=SPACE)
        assert len(mind.get(ids)) == 3
        assert len(mind.recall("note", space=SPACE, mode="words")) == 3
        assert len(mind.recall("note 2", space=SPACE, mode="dense")) == 3
        assert mind.data.verify() == []
        assert len(list(mind.data.export())) > 3
        mind.data.backup(tmp_path / "copy.db")
        with mind.companion(f"{SPACE}/s") as companion:
            companion.turn(make_conversation("note 2"))
    with mounted_read_only(crashed, tmp_path / "mount") as place, pytest.raises(StoreReadOnly):
        memory(place)
    for folder in (home, crashed):
        with memory(folder) as mind:
            assert len(mind.get(ids)) == 3


# Clock


def test_ids_sort_when_the_clock_jumps_back(monkeypatch):
    """Ids made later sort later, whatever the machine's clock does."""
    times = iter([NOON, NOON - 86_400, NOON - 86_400, NOON + 1, NOON + 1, NOON - 1])
    monkeypatch.setattr("reverie.core.clock.time.time", lambda: next(times, NOON))
    # A copy of the module: the real one has made ids of today already.
    spec = importlib.util.find_spec("reverie.core.clock")
    fresh_clock = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh_clock)
    ids = [fresh_clock.new_id() for _ in range(6)]

    assert ids == sorted(set(ids))


def test_everything_goes_on_when_the_clock_jumps(tmp_path):
    """A day back or a year forward: remembering, settling, finding and the companion go on."""
    clock = Clock()
    with memory(tmp_path, now=clock) as mind:
        companion = mind.companion(f"{SPACE}/s1")
        for days in (0, -1, 365, -400):
            clock.tick(days=days)
            memory_ = mind.remember(f"the heron of day {days}", space=SPACE)
            assert (
                mind.recall(f"heron of day {days}", space=SPACE, mode="words")[0].memory.id
                == memory_.id
            )
            companion.turn(make_conversation(f"Remember that day {days} has a heron."))
            assert companion.wait(120)
        companion.close()
        clock.tick(days=-2)
        assert mind.store.acquire("settle", "somebody", 30, clock())
        mind.store.release("settle", "somebody")
        mind.settle()

        assert mind.data.stats().waiting == 0
        assert len(mind.store.events(verbs=["turn"])) == 4
        found = mind.recall("heron", space=SPACE, mode="words", limit=20)
        assert [2] * 4 == [
            hit.memory.strength for hit in found
        ]  # what was said again in other words is one memory
        assert mind.data.verify() == []


# Texts


TEXTS = {
    "a megabyte": "heron " + "x" * 1_000_000,
    "a megabyte of words": "heron " + " ".join(f"w{n}" for n in range(150_000)),
    "NUL": "heron\x00crane",
    "lone surrogate": "heron \ud83d crane",
    "emoji": "heron 👩‍👩‍👧‍👦 🏳️‍🌈",
    "right to left": "heron שלום مرحبا \u202egnorw\u202c",
    "combining": "heron e\u0301\u0323" * 50,
    "control": "heron \x01\x02\x1b[31m\x7f",
    "one character": "é",
    "newlines": "heron\r\n\u2028\u2029crane",
    "not characters": "heron \ufffe\uffff \U0010ffff",
}


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.proves("A57", "CC-29")
def test_any_text_can_be_kept_and_found(home, what):
    """Kept, found, shown, exported and purged; only what cannot be stored is replaced."""
    memory_ = home.remember(
        TEXTS[what], space=SPACE, title=TEXTS[what][:80], speaker=TEXTS[what][:30]
    )
    home.settle()
    text = home.get(memory_.id)[0].text
    with home.companion(f"{SPACE}/s") as companion:
        block = companion.turn(make_conversation(TEXTS[what]))
        companion.wait(120)
        block.text.encode()

    assert text == TEXTS[what].replace("\x00", "␀").replace("\ud83d", "\ufffd")
    assert (
        what == "one character"
        or home.recall("heron", space=SPACE, mode="words")[0].memory.id == memory_.id
    )
    assert home.data.verify() == []
    assert home.data.purge(memory_.id)[:2] == (1, ())
    assert home.data.verify() == []


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "\x00",
        "\ud800",
        "?",
        " ".join(f"word{n}" for n in range(10_000)),
        "the " * 10_000,
        "x" * 1_000_000,
        "'\"; drop table memory; --",
        "NEAR(",
        "👩‍👩‍👧",
    ],
)
@pytest.mark.parametrize("mode", ["words", "auto"])
@pytest.mark.proves("A58", "CC-29", "CC-32")
def test_any_query_is_answered(mind, query, mode):
    """No query is an error; an empty one gives the newest, a limit of nothing gives nothing."""
    first, second = mind.remember("the heron", space=SPACE), mind.remember("the crane", space=SPACE)
    mind.settle()
    found = mind.recall(query, space=SPACE, mode=mode)

    assert isinstance(found, list)
    assert query.strip() or [hit.memory.id for hit in found] == [second.id, first.id]
    assert mind.recall(query, space=SPACE, mode=mode, limit=0) == []
    assert mind.recall(query, space=SPACE, mode=mode, limit=-1) == []
    assert mind.hints(query, space=SPACE, limit=0) == []


BAD = [
    {"text": ""},
    {"text": " \n"},
    {"text": None},
    {"text": 5},
    {"text": b"bytes"},
    {"text": "x" * 4_000_001},
    {"space": ""},
    {"space": "me/"},
    {"space": "/me"},
    {"space": "me/../you"},
    {"space": "a b"},
    {"space": 5},
    {"space": "/".join("abcdefghijklmnopqrst")},
    {"kind": ""},
    {"kind": "Two Words"},
    {"kind": None},
    {"provenance": "gossip"},
    {"tags": "one"},
    {"files": "one"},
    {"tags": ["x" * 65]},
    {"tags": [str(n) for n in range(65)]},
    {"at": "soon"},
    {"at": float("nan")},
    {"at": True},
    {"expires_at": [1]},
    {"trust": 1.5},
    {"trust": float("nan")},
    {"trust": "high"},
    {"salience": -0.1},
    {"messages": (1,)},
    {"messages": ("a", "b")},
    {"messages": 5},
    {"details": ["not", "named"]},
    {"title": 5},
    {"details": {"deep": None}},
]


@pytest.mark.parametrize("bad", BAD, ids=lambda b: str(b)[:40])
def test_invalid_memories_are_refused_as_a_whole(mind, bad):
    """The error says which; nothing is half-kept, also not by `remember_many`."""
    if "deep" in bad.get("details", ()):
        deep = bad = {"details": {}}
        for _ in range(20_000):
            deep["details"] = {"details": {}}
            deep = deep["details"]
    good = {"text": "fine", "space": SPACE}
    with pytest.raises(BadInput):
        mind.remember(**{**good, **bad})
    with pytest.raises(BadInput, match="Item 1"):
        mind.remember_many([good, {**good, **bad}], space=SPACE)

    assert (mind.data.stats().memories, mind.data.stats().events) == (0, 0)


@pytest.mark.proves("X44")
def test_remember_is_refused_where_memory_is_off(mind):
    """Where memory is switched off, keeping is an error; it is not done in a space above or below
    instead.
    """
    mind.context.settings = mind.settings._replace(off=(SPACE,))
    for space in (SPACE, f"{SPACE}/session"):
        with pytest.raises(Disabled):
            mind.remember("fine", space=space)
        with pytest.raises(Disabled):
            mind.remember_many([{"text": "fine"}, {"text": "fine", "space": space}], space="me")

    assert (mind.data.stats().memories, mind.data.stats().events) == (0, 0)


def test_an_unknown_id_is_named(mind):
    """Every verb that needs a memory says which one there is not; reading just leaves it out."""
    for verb in (
        mind.forget,
        mind.restore,
        mind.data.purge,
        mind.explain,
        mind.history,
        mind.revise,
        mind.tag,
    ):
        with pytest.raises(NotFound, match="mem_none"):
            verb("mem_none")
    with pytest.raises(NotFound):
        mind.undo(12_345)
    assert mind.get("mem_none") == []


# A home that goes away


@pytest.mark.parametrize("how", ["deleted", "replaced", "moved"])
@pytest.mark.proves("CC-10", "X20")
def test_a_home_that_goes_away_while_it_is_open_acknowledges_nothing(tmp_path, how):
    """The next write is an error, on the command line too; opened again, the memory works."""
    home, moved = tmp_path / "home", tmp_path / "moved"
    with memory(tmp_path / "other") as other:
        other.remember("from another day", space=SPACE)
    with memory(home) as mind:
        kept = mind.remember("kept before", space=SPACE)
        if how == "deleted":
            shutil.rmtree(home)
        elif how == "moved":
            home.rename(moved)
        else:
            home.rename(moved)
            shutil.copytree(tmp_path / "other", home)
        for write in (
            lambda: mind.remember("lost", space=SPACE),
            lambda: mind.forget(kept.id),
            lambda: mind.record("tool", {"name": "x"}, space=SPACE),
        ):
            with pytest.raises(StoreGone, match="removed or replaced"):
                write()
        with suppress(ReverieError):  # no other error: what was open may still be read
            mind.recall("kept", space=SPACE)
    with memory(moved if how == "moved" else home) as mind:
        assert "lost" not in {one.text for one in mind.browse(space=SPACE)}
        mind.remember("works again", space=SPACE)
        assert mind.data.verify() == []


# Models


def corrupt(cache):
    """Something of every name a model's file may have, with rubbish in it."""
    for name in ("model.onnx", "model.safetensors", "tokenizer.json"):
        for folder in (cache, cache / "models", cache / "all-MiniLM-L6-v2"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"rubbish")


@pytest.mark.parametrize("spoil", [lambda _: None, corrupt], ids=["missing", "corrupt"])
@pytest.mark.proves("CC-30", "A93")
def test_without_a_model_words_keep_working(tmp_path, spoil):
    """A missing or corrupt model is named by `settle`; remembering and finding by words go on."""
    settings = Settings(home=tmp_path, offline=True)
    spoil(settings.cache)
    with reverie.open(tmp_path, settings=settings) as mind:
        mind.remember_many(
            [{"text": f"an unrelated remark, number {n}"} for n in range(60)], space=SPACE
        )
        memory_ = mind.remember("the staging server is heron", space=SPACE)
        settled = mind.settle()
        with pytest.raises(ModelUnavailable):
            mind.embedder.embed(["a text"])

        assert settled.trouble
        assert settled.embedded == 0
        assert settled.waiting
        assert [hit.memory.id for hit in mind.recall("staging server", space=SPACE)] == [memory_.id]
        with mind.companion(f"{SPACE}/s1") as companion:
            assert (
                memory_.id
                in companion.turn(make_conversation("which staging server is there?")).ids
            )
            assert companion.wait(120)
        assert mind.data.verify() == []


@pytest.mark.proves("X13")
def test_texts_are_embedded_once_a_model_exists(tmp_path):
    """What was kept without a model gets its vectors when there is one; another model embeds all
    anew.
    """
    with memory(tmp_path, embedder=AbsentEmbedder()) as mind:
        mind.remember("heron", space=SPACE)
        assert mind.settle().waiting == 1
    with memory(tmp_path) as mind:
        assert (mind.settle().embedded, mind.data.stats().waiting) == (1, 0)


def test_every_error_message_says_what_to_do():
    """An error without a message says what its class says: what happened, what to do."""
    kinds = [ReverieError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        assert len(str(kind())) > 15
        assert str(kind("mine")) == "mine"


def test_the_command_of_a_broken_pipe_is_no_loss(tmp_path):
    """A process that ends without closing leaves everything it acknowledged."""
    probe = (
        "import os, sys; from reverie.testing import memory; m = memory(sys.argv[1]); "
        "print(m.remember('kept', space='me/demo').id, flush=True); os._exit(1)"
    )
    out = subprocess.run(
        [sys.executable, "-c", probe, str(tmp_path)], capture_output=True, text=True, check=False
    )
    store = open_store(f"sqlite:///{tmp_path / 'reverie.db'}")
    found = store.get([out.stdout.strip()])
    store.close()

    assert [m.text for m in found] == ["kept"]


# Rows that are not what was written


def alter_bytes(path, old, new):
    """Alter a file as a disk would: nobody is told."""
    assert len(old) == len(new)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize("where", ["text of a memory", "payload of an event"])
@pytest.mark.proves("CC-10")
def test_a_text_that_changed_on_the_disk_is_found(tmp_path, where):
    """Whole pages and valid rows, yet not what was written: `verify` names the row."""
    with memory(tmp_path / "home") as mind:
        kept = mind.remember("The staging server is called heron.", space=SPACE)
        seq = mind.record("tool", {"name": "heronry"}, space=SPACE)
        mind.revise(kept.id, tags=("ops",))
        assert mind.data.verify() == []
    path = tmp_path / "home/reverie.db"
    if where == "text of a memory":
        alter_bytes(path, b"called heron.", b"called osprey"[:13])
    else:
        alter_bytes(path, b'"heronry"', b'"ospreys"')
    with memory(tmp_path / "home") as mind:
        told = [problem.message for problem in mind.data.verify()]
        named = kept.id if where == "text of a memory" else f"event {seq}"
        assert [one for one in told if one.startswith(named) and "not what was written" in one]
        # Writing another field does not vouch for the text.
        mind.revise(kept.id, title="Staging")
        assert [one for one in map(str, mind.data.verify()) if "not what was written" in one]


@pytest.mark.proves("CC-10")
def test_rows_of_before_checksums_get_one(tmp_path):
    """Rows that an earlier version wrote have none, and `verify` gives them one."""
    with memory(tmp_path) as mind:
        mind.remember("one of before", space=SPACE)
        db = mind.store.connections.writer
        for table in ("memory", "event"):
            db.execute(f"update {table} set checksum = null")
        assert mind.data.verify() == []
        assert not db.execute("select 1 from memory where checksum is null").fetchall()
        assert not db.execute("select 1 from event where checksum is null").fetchall()
