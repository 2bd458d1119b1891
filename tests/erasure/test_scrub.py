# mypy: no-check-untyped-defs
"""Secrets that were stored before their shape was known: found everywhere, removed for good;
everything else stays.
"""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from reverie.core.errors import BadInput
from reverie.erasure import own_files, unfinished
from reverie.storage.text_tables import FIXED_COLUMNS, TEXT_TABLES
from reverie.testing import SPACE, memory
from tests.support.helpers import run_command, wait_until
from tests.support.planted_text import find_files_holding, plant_everywhere, without_redaction

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
WORDS = "Zanzibar-Quartz 77"


@pytest.fixture
def old_memory_id(tmp_path, clock, monkeypatch):
    """A home that an older version filled, with a backup of that time; the memory that says it."""
    with without_redaction(monkeypatch), memory(tmp_path / "home", now=clock) as mind:
        kept = plant_everywhere(mind, tmp_path, SECRET)
        mind.data.backup(tmp_path / "home/backups/reverie-20251009.db")
    return kept.id


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.mark.proves("A106", "A107")
def test_a_scan_reports_places_and_counts_and_changes_nothing(old_memory_id, home, clock):
    """Every sort of place is named, with kinds and counts, never the secret; not a byte is altered."""
    with memory(home, now=clock) as mind:
        before = find_files_holding(home, SECRET)
        found = mind.data.scrub()
        assert {find.what for find in found.finds} == {
            "memory",
            "history",
            "event",
            "file",
            "notes",
            "conversation",
            "code",
        }
        assert set(found.kinds) == {"github-token"} and found.kinds["github-token"] > 30
        assert old_memory_id in {find.name for find in found.finds}
        assert [path.name for path in found.copies] == ["reverie-20251009.db"]
        assert SECRET not in str(found) and found.holds and not found.written
        assert find_files_holding(home, SECRET) == before
        assert mind.get([old_memory_id])[0].text.count(SECRET) == 1


def test_an_index_of_an_earlier_version_is_removed(tmp_path, clock):
    """Nobody reads it any more, and it holds what rules let through then: a look tells it, a scrub
    removes it.
    """
    with memory(tmp_path / "home", now=clock) as mind:
        left = tmp_path / "home" / "cache" / "reverie-code-1.db"
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(SECRET.encode())
        assert [find.name for find in mind.data.scrub().finds] == [str(left)] and left.exists()
        assert not mind.data.scrub(write=True).holds and not left.exists()
        left.write_bytes(SECRET.encode())
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "a.py").write_text("def f(): pass\n")
        mind.code.index(tmp_path / "code")
        assert not left.exists()  # the index that is made takes its place


@pytest.mark.proves("A106", "A110", "CC-89")
def test_what_is_scrubbed_stands_in_no_file(old_memory_id, home, clock, tmp_path):
    """Rows, history, words, indexes, pages, shared files, hooks, logs, backups; then nothing more
    is found, pages and store agree, and what the memory is otherwise stays: id, links, strength,
    tags.
    """
    with memory(home, now=clock) as mind:
        other = mind.remember("Ann wrote the relay.", space=SPACE)
        mind.link(old_memory_id, other.id)
        before, ties = mind.get([old_memory_id])[0], mind.store.edges([old_memory_id])
        assert find_files_holding(home, SECRET)
        done = mind.data.scrub(write=True, copies=True)
        assert (done.copies, done.unreached, done.yours) == ((), (), ())
        assert find_files_holding(home, SECRET, SECRET[4:24]) == []
        assert SECRET not in (tmp_path / "shared.jsonl").read_text()
        [after] = mind.get([old_memory_id])
        assert after.text == before.text.replace(SECRET, "[REDACTED:github-token]")
        assert after._replace(text="", title="", details={}) == before._replace(
            text="", title="", details={}
        )
        assert set(mind.store.edges([old_memory_id])) == set(ties)
        again = mind.data.scrub()
        assert (again.finds, again.holds) == ((), False)
        mind.settle()
        mind.data.mirror(SPACE)
        assert mind.data.verify() == [] and mind.data.stats().waiting == 0
        assert mind.recall("relay word ask Bob", space=SPACE)[0].memory.id == old_memory_id
        assert find_files_holding(home, SECRET) == []
    with closing(sqlite3.connect(home / "backups/reverie-20251009.db")) as copy:
        assert copy.execute(
            "select count(*) from memory where id = ?", (old_memory_id,)
        ).fetchone() == (1,)


@pytest.mark.proves("CC-8")
def test_undo_after_a_scrub_leads_to_the_cleaned_text(old_memory_id, home, clock):
    """History is cleaned as the memory is, so taking back a change of before leads to the cleaned
    text.
    """
    with memory(home, now=clock) as mind:
        mind.data.scrub(write=True)
        change = next(
            record for record in reversed(mind.history(old_memory_id)) if "text" in record.after
        )
        mind.undo(change.event.seq)
        assert (
            mind.get([old_memory_id])[0].text
            == "The relay word is [REDACTED:github-token], ask Ann."
        )


def test_a_text_without_a_shape_is_taken_out_wherever_it_stands(tmp_path, home, clock):
    """In any letter case, as JSON writes it, in the words of indexes; the user's own files are
    named, not altered.
    """
    with memory(home, now=clock) as mind:
        kept = plant_everywhere(mind, tmp_path, WORDS)
        assert len(find_files_holding(home, WORDS)) > 5
        done = mind.data.scrub(WORDS.lower(), write=True)
        assert done.kinds.keys() == {"given"} and done.unreached == ()
        assert {path.name for path in done.yours} == {"a.md", "relay.py"}
        assert find_files_holding(home, WORDS) == []
        assert mind.get([kept.id])[0].text == "The relay word is now [REDACTED:given], ask Bob."
        assert mind.data.scrub(WORDS).finds == ()
        assert mind.data.verify() == []
        assert WORDS in (tmp_path / "notes/a.md").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "heron",
        "   x   ",
        "session",
        "User_Stated",
        "redacted:given",
        "Reverie",
        "MEMORY.md",
        "preferences",
        "remembers in",
    ],
)
def test_a_text_too_common_to_scrub_is_refused(mind, text):
    """Too short, or a word that Reverie itself writes; the message says what to do instead, not the
    text.
    """
    with pytest.raises(BadInput, match="reverie edit"):
        mind.data.scrub(text)


@pytest.mark.proves("CC-12")
def test_an_interrupted_scrub_continues(old_memory_id, home, clock):
    """Ctrl-C between two steps: what was cleaned stays so, nothing is broken, the next run does the
    rest.
    """
    with memory(home, now=clock) as mind:

        def stop(stage, done, _total):
            if stage == "Looking through the files" and done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            mind.data.scrub(write=True, on=stop)
        assert SECRET not in mind.get([old_memory_id])[0].text and find_files_holding(home, SECRET)
        assert unfinished.has_unfinished_erasure(mind.work)
        mind.data.scrub(write=True, copies=True)
        assert find_files_holding(home, SECRET) == [] and not unfinished.has_unfinished_erasure(
            mind.work
        )
        assert mind.data.verify() == []


def test_a_scrub_blocked_by_a_reader_is_finished_by_the_worker(old_memory_id, home, clock):
    """While a process reads an older state its journal has to stay: said, and done as soon as it
    has gone.
    """
    with memory(home, now=clock) as mind:
        with closing(sqlite3.connect(home / "reverie.db", isolation_level=None)) as db:
            db.execute("begin")
            db.execute("select count(*) from memory").fetchone()
            done = mind.data.scrub(write=True, copies=True)
            assert done.unreached == (home / "reverie.db",) and done.holds
        assert unfinished.has_unfinished_erasure(mind.work) and unfinished.finish_erasure(mind.work)
        assert not unfinished.has_unfinished_erasure(mind.work)
        assert find_files_holding(home, SECRET) == []


WRITING = """
import sys, reverie
from reverie.core.config import Settings
from pathlib import Path
with reverie.open(settings=Settings(home=Path(sys.argv[1]), embedder="none")) as mind:
    print("ready", flush=True)
    for n in range(60):
        mind.remember(f"Remark {n} by another process.", space="me/demo")
    print("done", flush=True)
"""


@pytest.mark.proves("CC-12")
def test_a_scrub_does_not_block_other_writers(old_memory_id, home, clock):
    """Another process remembers all the while: neither fails, nothing of either is lost."""
    with (
        memory(home, now=clock) as mind,
        subprocess.Popen(
            [sys.executable, "-c", WRITING, str(home)], text=True, stdout=subprocess.PIPE
        ) as other,
    ):
        assert other.stdout.readline() == "ready\n"
        done = mind.data.scrub(write=True, copies=True)
        assert other.wait(120) == 0
        assert done.written
        wait_until(lambda: unfinished.finish_erasure(mind.work))
        assert find_files_holding(home, SECRET) == []
        assert (
            sum("another process" in one.text for one in mind.browse(space=SPACE, limit=200)) == 60
        )


def test_on_the_command_line_a_look_is_the_default(old_memory_id, home):
    """Exit code 1 where something was found, 0 where nothing was or all was taken out; --backups is
    asked for.
    """
    place = ("--home", str(home))
    look = run_command("data", "scrub", *place, code=1)
    assert (
        "memory: " in look.stdout
        and "github-token" in look.stdout
        and "reverie data scrub --yes" in look.stdout
    )
    assert "reverie-20251009.db" in look.stderr and SECRET not in look.output
    done = json.loads(run_command("data", "scrub", "--yes", "--json", *place, code=1).stdout)
    assert done["written"] and [path.rpartition("/")[2] for path in done["copies"]] == [
        "reverie-20251009.db"
    ]
    assert find_files_holding(home, SECRET) == ["backups/reverie-20251009.db"]
    run_command("data", "scrub", "--yes", "--backups", *place)
    assert find_files_holding(home, SECRET) == []
    assert run_command("data", "scrub", *place).stdout == "Nothing found.\n"


def test_a_text_comes_from_stdin(tmp_path, home, clock):
    """So it stands in no history of a shell; it is neither shown nor written down anywhere."""
    with memory(home, now=clock) as mind:
        mind.remember(f"It was {WORDS} then.", space=SPACE)
    place = ("--home", str(home))
    assert (
        WORDS
        not in run_command(
            "data", "scrub", "--text", "-", *place, stdin=f"{WORDS}\n", code=1
        ).output
    )
    assert (
        WORDS
        not in run_command(
            "data", "scrub", "--text", "-", "--yes", *place, stdin=f"{WORDS}\n"
        ).output
    )
    assert find_files_holding(home, WORDS) == []
    assert (
        "Nothing came"
        in run_command("data", "scrub", "--text", "-", *place, stdin="", code=2).stderr
    )


def test_every_column_that_holds_text_is_gone_through(home, clock):
    """A new column of text is cleaned, or somebody has said why not."""
    with memory(home, now=clock), closing(sqlite3.connect(home / "reverie.db")) as db:
        known = {
            table.name: {*table.columns} | FIXED_COLUMNS.get(table.name, set())
            for table in TEXT_TABLES
        }
        known |= {name: columns for name, columns in FIXED_COLUMNS.items() if name not in known}
        tables = [
            name
            for name, sql in db.execute("select name, sql from sqlite_master where type = 'table'")
            if "virtual" not in sql.lower() and not name.startswith(("words_", "sqlite_"))
        ]
        for table in tables:
            text = {
                name
                for _, name, kind, *_ in db.execute(f"pragma table_info({table})")
                if kind.lower() == "text"
            }
            assert text <= known.get(table, set()), table


def test_a_file_that_is_too_large_to_be_read_is_named(home, clock, monkeypatch):
    """It is not called clean: a look, a scrub and the command line name it; no later run waits for
    it.
    """
    monkeypatch.setattr(own_files, "MAX_FILE_BYTES", 5_000)
    with memory(home, now=clock) as mind:
        large = home / "hooks" / "trouble.log"
        large.parent.mkdir(exist_ok=True)
        large.write_text(f"{SECRET} " * 1_000)
        done = mind.data.scrub()
        assert done.unreached == (large,) and done.holds
        assert mind.data.scrub(write=True).unreached == (large,)
        assert not unfinished.has_unfinished_erasure(mind.work)
    told = run_command("--home", str(home), "data", "scrub", "--yes", code=1)
    assert "Too large to be read" in told.stderr and str(large) in told.stderr
