# mypy: no-check-untyped-defs
"""Homes whose databases are encrypted: nothing readable on the disk, and everything else as ever."""

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

from reverie.core.config import Settings
from reverie.core.environment import is_encrypted
from reverie.core.errors import (
    BadInput,
    ExtraMissing,
    HomeLockedError,
    StoreBusy,
    StoreDamaged,
    StoreError,
)
from reverie.core.home_key import read_home_key
from reverie.core.installation import advise_install
from reverie.runtime.home_encryption import check_has_databases
from reverie.storage import backups
from reverie.storage.sqlite import database_library, repair_store
from reverie.storage.sqlite.encrypted_pages import PAGE_BYTES, write_mended_copy
from reverie.storage.sqlite.home_conversion import alone_in_home
from reverie.storage.sqlite.home_gate import PENDING_FILE
from reverie.storage.sqlite.salvage import find_table_fault
from reverie.testing import NOON, SPACE, memory
from tests.support.encrypted_homes import (
    decrypt,
    encrypt,
    files_holding,
    make_encrypted_home,
)

WORDS = ("Zanzibarquartz", "Plovergate")
TORTURE = "REVERIE_TORTURE" in os.environ  # at every point, not at some
TEXT = "The vault word is Zanzibarquartz of the Plovergate."


def fill(home, count=12):
    """A plain or encrypted home with memories, an index of files, and a backup."""
    with memory(home, mirror="off") as mind:
        mind.remember(TEXT, space=SPACE)
        for n in range(count):
            mind.remember(f"{TEXT} Note {n} of Zanzibarquartz.", space=SPACE, tags=("vault",))
        mind.settle()
        notes = home.with_name("notes")
        notes.mkdir(exist_ok=True)
        (notes / "one.md").write_text(f"# Vaults\n\n{TEXT}\n")
        mind.files.add_folder(notes, space=SPACE)
        mind.files.sync(space=SPACE)
        mind.settle()
        backups.make_daily_backup(mind.store, mind.settings, NOON)
    return home


def content_of(home):
    """Everything that a home's store holds, and what is wrong with it."""
    with memory(home, mirror="off") as mind:
        assert mind.data.verify() == []
        return list(mind.store.dump())


@pytest.fixture(scope="module")
def filled_home(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("filled") / "home")


@pytest.fixture
def plain_home(filled_home, tmp_path):
    return shutil.copytree(filled_home, tmp_path / "home")


@pytest.fixture
def encrypted_home(plain_home):
    encrypt(plain_home)
    return plain_home


def test_nothing_readable_is_left_in_an_encrypted_home(plain_home):
    """Encrypting leaves no word of a memory in any file, and the same memories behind them."""
    before = content_of(plain_home)
    assert files_holding(plain_home, *WORDS)
    done = encrypt(plain_home)
    assert {path.parent.name for path in done.databases} == {"home", "cache", "backups"}
    assert done.left == ()
    assert files_holding(plain_home, *WORDS) == []
    assert content_of(plain_home) == before
    assert files_holding(plain_home, *WORDS) == []


def test_what_is_decrypted_is_what_was_encrypted(encrypted_home):
    """Decrypting gives the same memories, readable by Python's own SQLite, backups too."""
    before = content_of(encrypted_home)
    decrypt(encrypted_home)
    assert not is_encrypted(encrypted_home)
    assert content_of(encrypted_home) == before
    for path in [encrypted_home / "reverie.db", *(encrypted_home / "backups").glob("*.db")]:
        with sqlite3.connect(path) as db:
            assert db.execute("select count(*) from memory where text = ?", (TEXT,)).fetchone() == (
                1,
            )
        db.close()


def test_indexes_beside_the_store_are_converted_and_found_through(plain_home):
    """An index of files is searched after the conversion as before, without being made again."""
    with memory(plain_home, mirror="off") as mind:
        before = [hit.text for hit in mind.files.search("vault word", space=SPACE)]
    assert before
    done = encrypt(plain_home)
    assert any(path.parent.name == "cache" for path in done.databases)
    with memory(plain_home, mirror="off") as mind:
        assert [hit.text for hit in mind.files.search("vault word", space=SPACE)] == before


WRITER = """
import os, sys
from reverie.testing import SPACE, memory
mind = memory(sys.argv[1], mirror="off")
for n in range(50):
    mind.remember(f"Zanzibarquartz {n} of the Plovergate", space=SPACE)
os.kill(os.getpid(), 9)
"""


def test_a_journal_that_a_kill_left_is_encrypted_too(encrypted_home):
    """After kill -9 with a journal left over, no file holds a word, and all 50 memories are there."""
    dead = subprocess.run([sys.executable, "-c", WRITER, str(encrypted_home)], check=False)
    assert dead.returncode == -signal.SIGKILL
    assert (encrypted_home / "reverie.db-wal").stat().st_size > 0
    assert files_holding(encrypted_home, *WORDS) == []
    with memory(encrypted_home, mirror="off") as mind:
        texts = {m.text for m in mind.browse(space=SPACE, limit=1_000)}
        assert {f"Zanzibarquartz {n} of the Plovergate" for n in range(50)} <= texts
        assert mind.data.verify() == []
    assert files_holding(encrypted_home, *WORDS) == []


# Killing


def end_child():
    """End a forked child without the tests' own end: by a signal that is not the killer's, and that
    nothing here has taken over.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def run_killed(home, work, events):
    """Do `work` in a child that is killed at its so-many-th look at or change of a file; whether it
    came so far.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WTERMSIG(status) == signal.SIGKILL
    left = events

    def count(name, _arguments):
        nonlocal left
        if name in ("open", "os.rename", "os.remove", "sqlite3.connect", "os.truncate", "os.chmod"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(count)
        work(home)
    finally:
        end_child()


def leftovers(home):
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.name == PENDING_FILE or ".converting" in path.name or ".part" in path.name
    ]


@pytest.mark.slow
@pytest.mark.torture
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("start", ["plain", "encrypted"])
def test_killed_at_any_point_a_home_is_the_old_or_the_new(plain_home, tmp_path, start):
    """A conversion that is killed before each of its dealings with files leaves a home that opens
    with all that was in it, as it was or converted, and nothing of the conversion lying about.
    """
    # A process of its own has loaded what is loaded once.
    encrypt(plain_home)
    if start == "plain":
        decrypt(plain_home)
    before, outcomes, events = content_of(plain_home), set(), 0
    work = encrypt if start == "plain" else decrypt
    while True:
        events += 1 if TORTURE else random.Random(events).randint(1, 7)
        home = tmp_path / f"home{events}"
        shutil.copytree(plain_home, home)
        shutil.copy(tmp_path / "home.key", tmp_path / f"home{events}.key")
        if not run_killed(home, work, events):
            break
        encrypted = is_encrypted(home)
        assert content_of(home) == before, f"killed at {events}"
        assert leftovers(home) == [], f"killed at {events}"
        if encrypted:
            # Side files of a plain home are sealed when the command is repeated; databases are now.
            assert files_holding(home, *WORDS) == [], f"killed at {events}"
        outcomes.add(encrypted)
        shutil.rmtree(home)
    assert outcomes == {True, False}
    # Whoever repeats the command after the kill gets what it is for.
    home = tmp_path / "again"
    shutil.copytree(plain_home, home)
    shutil.copy(tmp_path / "home.key", tmp_path / "again.key")
    assert run_killed(home, work, events // 3)
    work(home)
    assert is_encrypted(home) is (start == "plain")
    assert content_of(home) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_killed_by_time_a_home_is_the_old_or_the_new(plain_home, tmp_path):
    """Killed after so much computing, in the middle of SQLite's own work, it is the same."""
    encrypt(plain_home)
    decrypt(plain_home)
    before = content_of(plain_home)
    for n in range(6):
        home = tmp_path / f"home{n}"
        shutil.copytree(plain_home, home)
        if not (child := os.fork()):
            try:
                signal.setitimer(signal.ITIMER_PROF, 0.008 * (n + 1))
                encrypt(home)
            finally:
                end_child()
        os.waitpid(child, 0)
        assert content_of(home) == before
        assert leftovers(home) == []


def test_an_interrupt_leaves_the_old_home(plain_home, monkeypatch):
    """Ctrl-C in the middle of the copying: the home is as it was, with nothing left over."""
    from reverie.storage.sqlite import home_conversion

    before, calls = content_of(plain_home), []
    check = home_conversion.check_copy

    def interrupt(*arguments):
        check(*arguments)
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(home_conversion, "check_copy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        encrypt(plain_home)
    assert not is_encrypted(plain_home)
    assert leftovers(plain_home) == []
    assert content_of(plain_home) == before


def test_an_interrupt_leaves_nothing_of_an_encrypted_home_in_the_clear(encrypted_home, monkeypatch):
    """Ctrl-C after the files beside the databases were opened: they are sealed again."""
    from reverie.notes.file_versions import keep_version
    from reverie.runtime import home_encryption

    keep_version(encrypted_home, b"Herons fly to Zanzibarquartz.")

    def interrupt(*_):
        assert files_holding(encrypted_home, "Zanzibarquartz")
        raise KeyboardInterrupt

    monkeypatch.setattr(home_encryption, "convert_databases", interrupt)
    with pytest.raises(KeyboardInterrupt):
        decrypt(encrypted_home)
    assert is_encrypted(encrypted_home)
    assert files_holding(encrypted_home, "Zanzibarquartz") == []


# Others who have the home open


def test_a_home_that_others_have_open_is_not_converted(plain_home):
    """While another process has a database open, a conversion is refused and changes nothing."""
    with memory(plain_home, mirror="off") as mind:
        before = list(mind.store.dump())
        with (
            pytest.raises(StoreBusy, match="have this memory open"),
            alone_in_home(plain_home, 0.0),
        ):
            pytest.fail("alone in a home that is open")
        mind.remember("Still open.", space=SPACE)
    assert not is_encrypted(plain_home)
    assert len(content_of(plain_home)) > len(before)


def test_a_program_that_knows_nothing_of_locks_is_noticed(plain_home, monkeypatch):
    """A database that an older Reverie has open, which takes no lock of the home, is not
    exchanged under it.
    """
    from reverie.storage.sqlite import home_conversion

    monkeypatch.setattr(home_conversion, "ALONE_SECONDS", 0.1)
    other = sqlite3.connect(plain_home / "reverie.db")
    try:
        other.execute("pragma journal_mode = wal").fetchone()
        other.execute("select count(*) from memory").fetchone()
        with pytest.raises(StoreBusy, match="Another program"):
            encrypt(plain_home)
        assert not is_encrypted(plain_home)
        assert leftovers(plain_home) == []
    finally:
        other.close()


# Keys


def test_a_wrong_key_says_so(encrypted_home, tmp_path):
    """A database of another key is told from a damaged one, and repairing it changes nothing."""
    other = tmp_path / "other"
    make_encrypted_home(other)
    shutil.copy(encrypted_home / "reverie.db", other / "reverie.db")
    with pytest.raises(StoreDamaged, match="encrypted with another key"):
        memory(other, mirror="off")
    before = (other / "reverie.db").read_bytes()
    with pytest.raises(StoreError, match="cannot be decrypted with the key"):
        repair_store(f"sqlite:///{other / 'reverie.db'}", [], "now")
    assert (other / "reverie.db").read_bytes() == before


def test_a_lost_encryption_file_is_no_damage(encrypted_home):
    """Without encryption.json an encrypted database is not repaired into an empty one."""
    for name in ("encryption.json", "encryption-copy.json"):
        (encrypted_home / name).unlink()
    before = (encrypted_home / "reverie.db").read_bytes()
    with pytest.raises(StoreDamaged, match="cannot be decrypted"):
        memory(encrypted_home, mirror="off")
    with pytest.raises(StoreError, match="is encrypted, and encryption"):
        repair_store(f"sqlite:///{encrypted_home / 'reverie.db'}", [], "now")
    assert (encrypted_home / "reverie.db").read_bytes() == before


def test_a_locked_home_stays_shut(encrypted_home):
    """Without the key nothing opens, and the sentence says what is missing."""
    encrypted_home.with_name("home.key").unlink()
    with pytest.raises(HomeLockedError, match="key file"):
        memory(encrypted_home, mirror="off")


def test_the_missing_library_is_named(encrypted_home, monkeypatch):
    """Without SQLCipher the error says what to install."""
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    monkeypatch.setitem(sys.modules, "sqlcipher3.dbapi2", None)
    with pytest.raises(ExtraMissing, match=re.escape(advise_install("encrypted"))):
        memory(encrypted_home, mirror="off")


def test_postgresql_is_left_to_its_server(tmp_path):
    """A memory in PostgreSQL, or outside of its home, says why it is not encrypted."""
    with pytest.raises(BadInput, match="disk"):
        check_has_databases(Settings(home=tmp_path, store="postgresql://localhost/x"))
    with pytest.raises(BadInput, match="outside of its home"):
        check_has_databases(Settings(home=tmp_path, store=f"sqlite:///{tmp_path}/other.db"))


# Backups and repairs


def test_a_backup_of_an_encrypted_home_is_encrypted_and_restored(encrypted_home, tmp_path):
    """A backup has the home's key: it is restored into the home, and into a fresh one with its
    key, and refused with a sentence by one with another.
    """
    copy = tmp_path / "copy.db"
    with memory(encrypted_home, mirror="off") as mind:
        mind.data.backup(copy)
        kept = mind.remember("After the backup.", space=SPACE)
        mind.data.restore_backup(copy)
        assert not mind.get([kept.id])
        assert mind.data.verify() == []
    assert files_holding(tmp_path / "home", *WORDS) == []
    assert WORDS[0].lower().encode() not in copy.read_bytes().lower()

    fresh = tmp_path / "fresh"
    make_encrypted_home(fresh, read_home_key(encrypted_home))
    with memory(fresh, mirror="off") as mind:
        mind.data.restore_backup(copy)
        assert TEXT in {m.text for m in mind.browse(space=SPACE, limit=1_000)}
        assert mind.data.verify() == []

    for name, make in (("stranger", make_encrypted_home), ("plain", lambda home: home.mkdir())):
        make(tmp_path / name)
        with memory(tmp_path / name, mirror="off") as mind:
            with pytest.raises(BadInput, match="encrypted with another key"):
                mind.data.restore_backup(copy)
            assert mind.data.verify() == []


def test_a_plain_backup_is_restored_into_an_encrypted_home(filled_home, tmp_path):
    """A backup of before is taken in, and encrypted on the way."""
    home, [copy] = tmp_path / "fresh", (filled_home / "backups").glob("*.db")
    make_encrypted_home(home)
    with memory(home, mirror="off") as mind:
        mind.data.restore_backup(copy)
        assert TEXT in {m.text for m in mind.browse(space=SPACE, limit=1_000)}
        assert mind.data.verify() == []
    assert files_holding(home, *WORDS) == []


def test_a_plain_copy_that_was_put_among_the_backups_is_encrypted_later(
    encrypted_home, filled_home
):
    """Encrypting an encrypted home takes what lies there in the clear."""
    [old] = (filled_home / "backups").glob("*.db")
    put = encrypted_home / "backups" / "reverie-20200101.db"
    shutil.copy(old, put)
    assert files_holding(encrypted_home, *WORDS)
    done = encrypt(encrypted_home)
    assert [path.name for path in done.databases] == [put.name]
    assert files_holding(encrypted_home, *WORDS) == []


def test_a_damaged_copy_is_named(plain_home):
    """A backup that cannot be read stays, and the result names it."""
    broken = plain_home / "backups" / "reverie-20200101.db"
    [whole] = (plain_home / "backups").glob("*.db")
    data = bytearray(whole.read_bytes())
    data[100:PAGE_BYTES] = bytes(PAGE_BYTES - 100)
    broken.write_bytes(data)
    done = encrypt(plain_home)
    assert done.left == (broken,)
    assert broken.read_bytes() == bytes(data)


def test_a_damaged_page_costs_what_stood_on_it(tmp_path):
    """Salvage of an encrypted file reads every page that is as it was sealed, and the rest comes
    from a backup of the same key; nothing is written in the clear.
    """
    home = tmp_path / "home"
    make_encrypted_home(home)
    fill(home, count=100)
    path = home / "reverie.db"
    before = {row["id"] for row in list_memories(home)}
    data = bytearray(path.read_bytes())
    for page in range(5, len(data) // PAGE_BYTES, 5):
        data[page * PAGE_BYTES + 99] ^= 0xFF
    path.write_bytes(data)
    problems = repair_store(f"sqlite:///{path}", list((home / "backups").glob("*.db")), "now")
    assert any("damaged" in problem.message for problem in problems)
    assert {row["id"] for row in list_memories(home)} == before
    assert files_holding(home, *WORDS) == []
    with memory(home, mirror="off") as mind:
        assert mind.data.verify() == []


def damage_page(path, number, offset=99):
    data = bytearray(path.read_bytes())
    data[(number - 1) * PAGE_BYTES + offset] ^= 0x04
    path.write_bytes(data)


def find_schema_page(path, key, folder):
    """A page, not the first, without which nobody finds the tables of a file."""
    for number in range(2, path.stat().st_size // PAGE_BYTES + 1):
        one = folder / "one.db"
        shutil.copy(path, one)
        damage_page(one, number)
        write_mended_copy(one, key, folder / "mended.db")
        if find_table_fault(folder / "mended.db", key):
            return number
    raise AssertionError("the schema stands on one page")


@pytest.mark.parametrize("what", ["salt", "first page", "later page"])
def test_a_damaged_page_of_the_schema_costs_no_row(tmp_path, what):
    """It comes from a backup of the same key, so that what was kept since is there all the same."""
    home = tmp_path / "home"
    key = make_encrypted_home(home).database
    fill(home, count=40)
    path = home / "reverie.db"
    with memory(home, mirror="off") as mind:
        mind.remember("The newest heron flies since the backup.", space=SPACE)
    before = {row["id"] for row in list_memories(home)}
    if what == "salt":
        damage_page(path, 1, offset=7)
    else:
        damage_page(path, 1 if what == "first page" else find_schema_page(path, key, tmp_path))
    problems = repair_store(f"sqlite:///{path}", list((home / "backups").glob("*.db")), "now")
    assert not any("whole file" in problem.message for problem in problems), problems
    assert {row["id"] for row in list_memories(home)} == before
    with memory(home, mirror="off") as mind:
        assert mind.data.verify() == []
    assert files_holding(home, *WORDS, "newest") == []


def list_memories(home):
    with memory(home, mirror="off") as mind:
        return [row for row in mind.store.dump() if row["type"] == "memory"]


def test_a_purge_of_an_encrypted_home_reaches_its_backups(encrypted_home):
    """What is purged is gone from the database and from the encrypted copies."""
    with memory(encrypted_home, mirror="off") as mind:
        id = next(m.id for m in mind.browse(space=SPACE, limit=1_000) if m.text == TEXT)
        done = mind.data.purge(id)
        assert done.erased >= 1 and done.unreached == ()
    [copy] = (encrypted_home / "backups").glob("reverie-*.db")
    key = database_library.find_database_key(copy)
    assert key is not None
    db = database_library.connect(copy, key)
    assert db.execute("select count(*) from memory where id = ?", (id,)).fetchone() == (0,)
    db.close()


def test_only_one_module_opens_databases():
    """Nothing but `database_library` knows which library opens a database that is kept."""
    from pathlib import Path

    import reverie

    package = Path(reverie.__file__).parent
    # One has a table in memory, for which no library is chosen.
    allowed = {"storage/sqlite/database_library.py", "storage/index_tokens.py"}
    offenders = [
        str(path.relative_to(package))
        for path in sorted(package.rglob("*.py"))
        if str(path.relative_to(package)) not in allowed
        for line in path.read_text("utf-8").splitlines()
        if ("sqlite3.connect(" in line and '":memory:"' not in line) or "sqlcipher3" in line
    ]
    assert offenders == []
