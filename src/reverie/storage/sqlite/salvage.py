"""Rescuing everything readable from a damaged file. The damaged file itself is kept.

Rows are read table by table; where a page is broken, the range of row numbers is halved until only
the rows on that page are lost. A file whose first page is broken is read with that of a backup, or
with a header made anew: whichever reads most. Of an encrypted file any page by which its tables are
found is taken from a backup of the same key. What is lost is taken from the backups and brought up
to date from the log (`row_repair`).
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from sqlite3 import Connection

from reverie.core.errors import NewerStore, StoreError
from reverie.storage import UNLOGGED, Problem
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import connect_read_only
from reverie.storage.sqlite.database_library import is_encrypted_database
from reverie.storage.sqlite.encrypted_pages import (
    has_whole_page,
    looks_encrypted,
    read_spare_pages,
    write_mended_copy,
)
from reverie.storage.sqlite.integrity_checks import (
    check_schema,
    list_declarations,
    rebuild_words,
    verify_database,
)
from reverie.storage.sqlite.row_repair import (
    open_backups,
    restore_altered_rows,
    restore_lost_rows,
    take_missing,
)
from reverie.storage.sqlite.row_shapes import drop_broken_notes, mend_changes
from reverie.storage.sqlite.schema_migration import migrate, version
from reverie.storage.sqlite.sealed_rows import seal_older_rows

# Tables with row numbers, and an index that has these too.
CANONICAL = {"memory": ("num", "memory_by_space"), "event": ("seq", "event_by_verb")}
# Tables without row numbers, and how many columns they have.
KEYED = {
    "edge": 4,
    "change": 6,
    "cursor": 2,
    "meta": 2,
}
HEADER_BYTES, PAGE_BYTES = 100, 4_096
MIN_LIKENESS = 0.9  # of a damaged declaration to what it was: a few letters differ
# Row numbers up to here are tried where nothing tells how many rows there were.
MAX_BLIND_NUMBER = 1 << 14
# Pages of a backup that are tried one by one, the first ones first: there tables are named.
MAX_SPARE_TRIES = 64


def salvage_database(
    path: Path,
    damaged: Path,
    backups: list[Path],
    key: bytes | None = None,
) -> list[Problem]:
    """Make a new database at `path` from `damaged` and, for what is lost, the backups.

    `key` is that of the home, if it is encrypted. StoreError for a file that it does not decrypt.
    """
    check_decryptable(damaged, key)
    problems = [Problem("file", "the file was damaged; a copy of it is kept", repaired=True)]
    with (
        closing(database_library.connect(path, key)) as fresh,
        open_backups(backups) as olds,
    ):
        migrate(fresh)
        fresh.execute("begin immediate")
        lost = (
            copy_readable(damaged, fresh, backups)
            if key is None
            else copy_decryptable(damaged, fresh, key, backups)
        )
        if broken := mend_changes(fresh):
            lost.append(f"{broken} records of history")
        if notes := drop_broken_notes(fresh):
            lost.append(f"the notes {', '.join(notes)}")
        if lost:
            message = f"could not be read: {', '.join(lost)}"
            problems.append(Problem("file", message))
        rebuild_words(fresh)
        problems += restore_altered_rows(fresh, olds)
        problems += restore_lost_rows(fresh, olds)
        fill_small_tables(fresh, olds, whole=not lost)
        verify_database(fresh, repair=True)
        # A repair may leave something that the next check sees, such as an edge to what is lost.
        left = verify_database(fresh, repair=True)
        problems += [problem for problem in left if not problem.repaired]
        seal_older_rows(fresh)
        fresh.execute("insert or replace into meta (name, value) values (?, 'yes')", (UNLOGGED,))
        fresh.execute("commit")
    return problems


def check_decryptable(damaged: Path, key: bytes | None) -> None:
    """Raise StoreError for a file that is encrypted with another key, or whose key is missing: a
    repair would put an empty memory in its place.
    """
    if key is not None and not has_whole_page(damaged, key):
        raise StoreError(
            f"{damaged} cannot be decrypted with the key of its home: it is of another key, or "
            "damaged from its beginning. Nothing was changed. Bring back the encryption.json that "
            "belongs to it, or a backup: reverie data backup --restore FILE"
        )
    if key is None and is_encrypted_database(damaged) and looks_encrypted(damaged):
        raise StoreError(
            f"{damaged} is encrypted, and encryption.json is not in its home. Nothing was changed. "
            "Bring that file back from a copy of the home, or make it anew from your recovery "
            "key: reverie data key --recovery"
        )


def copy_decryptable(
    damaged: Path, fresh: Connection, key: bytes, backups: Sequence[Path]
) -> list[str]:
    """Copy every canonical row of an encrypted file whose pages are as they were sealed. Returns
    what was lost, in words.
    """
    with tempfile.TemporaryDirectory(dir=damaged.parent) as folder:
        mended = Path(folder) / "mended.db"
        write_decryptable(damaged, key, mended)
        lost = []
        if reason := find_table_fault(mended, key):
            lost.append("the head of the file")
            if not has_schema_of_backup(damaged, mended, key, backups):
                return [f"the whole file ({reason})"]
        with connect_damaged(mended, key) as old:
            return [*copy_tables(old, fresh), *lost]


def write_decryptable(
    damaged: Path, key: bytes, copy: Path, spare: Mapping[int, bytes] | None = None
) -> None:
    """Write the pages of an encrypted file that are as they were sealed, and its journal; `spare`
    pages in place of others.
    """
    write_mended_copy(damaged, key, copy, spare)
    copy_journal(damaged, copy)


def find_table_fault(path: Path, key: bytes | None = None) -> str:
    """Why the tables of a file cannot be found; "" if they can."""
    try:
        with connect_damaged(path, key) as old:
            old.execute("select name, sql from sqlite_master").fetchall()
            old.execute("select count(*) from memory").fetchone()
    except database_library.Error as err:
        return str(err)
    return ""


@contextmanager
def connect_damaged(
    path: Path, key: bytes | None = None, *, immutable: bool = False
) -> Iterator[Connection]:
    """A connection that reads texts also where they are none any more; their row's checksum
    tells.
    """
    with connect_read_only(path, immutable=immutable, key=key) as old:
        old.text_factory = decode_damaged
        yield old


def has_schema_of_backup(damaged: Path, mended: Path, key: bytes, backups: Sequence[Path]) -> bool:
    """True once the mended copy has the pages of a backup that say where tables are, in place of
    its own broken ones; no others, for what stands on them is older than the file.

    Tables begin on the same pages in both, unless the file was written anew since.
    """
    for backup in backups:
        spare = sorted(read_spare_pages(damaged, key, backup).items())
        few = spare[:MAX_SPARE_TRIES]
        for choice in (*(few[:count] for count in range(1, len(few) + 1)), spare):
            used = dict(choice)
            write_decryptable(damaged, key, mended, used)
            if used and not find_table_fault(mended, key):
                keep_needed_pages(damaged, mended, key, used)
                return True
    return False


def keep_needed_pages(damaged: Path, mended: Path, key: bytes, used: dict[int, bytes]) -> None:
    """Take out of a mended copy the pages of a backup without which its tables are found too."""
    for number in list(used)[:MAX_SPARE_TRIES]:
        page = used.pop(number)
        write_decryptable(damaged, key, mended, used)
        if find_table_fault(mended, key):
            used[number] = page
    write_decryptable(damaged, key, mended, used)


def fill_small_tables(fresh: Connection, olds: Sequence[Connection], *, whole: bool) -> None:
    """Take cursors, notes and edges from the newest backup that has them, where some were lost.

    An edge that was taken back since then may come back with it.
    """
    for old in olds[:1] if not whole else ():
        for table in ("cursor", "meta", "edge"):
            take_missing(fresh, old, table)


def copy_readable(damaged: Path, fresh: Connection, backups: Sequence[Path]) -> list[str]:
    """Copy every readable canonical row. Returns what was lost, in words."""
    with connect_damaged(damaged) as old:
        try:
            old.execute("select count(*) from memory").fetchone()
            faults = [problem.message for problem in check_schema(old, False)]
        except database_library.Error as err:
            faults = [str(err)]
        if not faults:
            return copy_tables(old, fresh)
    with tempfile.TemporaryDirectory(dir=damaged.parent) as folder:
        mended = Path(folder) / "mended.db"
        shutil.copyfile(damaged, mended)
        copy_journal(damaged, mended)
        if mend_declarations(mended):
            with connect_damaged(mended) as old:
                return copy_tables(old, fresh)
    tried = fresh.execute("select count(*) from memory").fetchone()[0]
    lost = [f"the whole file ({faults[0]})"]
    for first in iter_first_pages(damaged, backups):
        with tempfile.TemporaryDirectory(dir=damaged.parent) as folder:
            mended = Path(folder) / "mended.db"
            shutil.copyfile(damaged, mended)
            with mended.open("r+b") as file:
                file.write(first)
            with connect_damaged(mended, immutable=True) as old:
                try:
                    old.execute("select count(*) from sqlite_master").fetchone()
                except database_library.Error:
                    continue
                found = copy_tables(old, fresh)
        if fresh.execute("select count(*) from memory").fetchone()[0] > tried:
            return [*found, "the head of the file"]
    return lost


def copy_journal(path: Path, copy: Path) -> None:
    """Put what a database's journal holds beside a copy of it, in place of an earlier one's."""
    for tail in ("-wal", "-shm"):
        copy.with_name(f"{copy.name}{tail}").unlink(missing_ok=True)
    journal = path.with_name(f"{path.name}-wal")
    if journal.exists():
        shutil.copyfile(journal, copy.with_name(f"{copy.name}-wal"))


def mend_declarations(path: Path) -> bool:
    """Write anew what a file says its tables and indexes are, each where it begins. False if its
    table of them cannot be read, or has none of our tables.
    """
    with closing(database_library.connect(path, None)) as db:
        db.text_factory = decode_damaged
        try:
            # So that SQLite reads the table although it does not understand what stands there.
            db.execute("pragma writable_schema = on")
            found = db.execute(
                "select rowid, type, name, sql from sqlite_master where sql is not null"
            ).fetchall()
            wanted = {
                (kind, name): sql for kind, name, sql in list_declarations(version(db)) if sql
            }
            db.execute("begin immediate")
            for rowid, kind, name, sql in found:
                key = choose_declaration(sql, (kind, name), wanted)
                if key is not None:
                    statement = (
                        "update sqlite_master set type = ?, name = ?, sql = ? where rowid = ?"
                    )
                    db.execute(statement, (*key, wanted.pop(key), rowid))
            db.execute("commit")
        except database_library.Error:
            return False
        except NewerStore:  # a step of the schema that nobody has taken yet
            return False
    return not find_table_fault(path)


def choose_declaration(
    sql: str, key: tuple[str, str], wanted: Mapping[tuple[str, str], str]
) -> tuple[str, str] | None:
    """(type, name) of what a damaged declaration was: of the same name, else the most alike."""
    if key in wanted:
        return key
    alike = get_close_matches(sql, wanted.values(), n=1, cutoff=MIN_LIKENESS)
    return next((other for other, text in wanted.items() if text in alike), None)


def iter_first_pages(damaged: Path, backups: Sequence[Path]) -> Iterator[bytes]:
    """What may stand at the beginning of a file whose own beginning is broken.

    A header made anew, where the tables' page behind it is whole; the first page of a backup, whose
    tables begin on the same pages unless the file was written anew since.
    """
    size = damaged.stat().st_size
    with closing(sqlite3.connect(":memory:")) as model:
        model.execute("create table one (a)")
        header = bytearray(model.serialize()[:HEADER_BYTES])
    header[28:32] = (size // PAGE_BYTES).to_bytes(4, "big")  # pages
    header[18:20] = b"\1\1"  # read without a journal
    yield bytes(header)
    for backup in backups:
        first = bytearray(backup.read_bytes()[:PAGE_BYTES])
        first[28:32] = header[28:32]
        first[32:40] = bytes(8)  # no free pages: theirs are others
        first[18:20] = b"\1\1"
        yield bytes(first)


def decode_damaged(data: bytes) -> str:
    """A text that may be none any more; its row's checksum tells."""
    return data.decode("utf-8", "replace")


def copy_tables(old: Connection, fresh: Connection) -> list[str]:
    """Copy table by table. Returns what was lost, in words."""
    lost = []
    for table, (key, index) in CANONICAL.items():
        gaps = 0
        for row in iter_readable_rows(old, table, key, index):
            if row is None:
                gaps += 1
            else:
                insert_row(fresh, table, row)
        if gaps:
            lost.append(f"{gaps} rows of {table}")
    lost += [
        f"some of {table}"
        for table, width in KEYED.items()
        if not copy_keyed_table(old, fresh, table, width)
    ]
    return lost


def insert_row(
    fresh: Connection,
    table: str,
    row: tuple[object, ...],
) -> None:
    """Insert one row as it was, unless its key is there already."""
    marks = ", ".join("?" * len(row))
    # An older file has fewer columns, and new ones come last.
    names = [name for _, name, *_ in fresh.execute(f"pragma table_info({table})")][: len(row)]
    sql = f"insert or ignore into {table} ({', '.join(names)}) values ({marks})"
    # What does not fit, such as a text that is missing, is damaged too.
    with suppress(*database_library.IntegrityError, *database_library.InterfaceError):
        fresh.execute(sql, row)


def copy_keyed_table(
    old: Connection,
    fresh: Connection,
    table: str,
    width: int,
) -> bool:
    """Copy a table from both ends, up to a broken page. True if all of it was read."""
    # The rows beyond a broken page are reached from the other end.
    for order in ("asc", "desc"):
        whole = True
        columns = ", ".join(f"{n} {order}" for n in range(1, width + 1))
        for row in read_until_broken(old, f"select * from {table} order by {columns}"):
            if row is None:
                whole = False
            else:
                insert_row(fresh, table, row)
        if whole:
            return True
    return False


def read_until_broken(
    old: Connection,
    sql: str,
) -> Iterator[tuple[object, ...] | None]:
    """Rows as far as they can be read; None where that ends early."""
    try:
        yield from old.execute(sql)
    except database_library.Error:
        yield None


def iter_readable_rows(
    old: Connection,
    table: str,
    key: str,
    index: str,
) -> Iterator[tuple[object, ...] | None]:
    """Rows in order of their number; None for each one that cannot be read."""
    # Where the table's ends are broken, an index still knows the numbers.
    for source in (table, f"{table} indexed by {index}"):
        try:
            low, high = old.execute(f"select min({key}), max({key}) from {source}").fetchone()
        except database_library.Error:
            continue
        if low is not None:
            yield from iter_row_range(old, table, key, low, high)
        return
    yield from iter_row_range(old, table, key, 0, MAX_BLIND_NUMBER)


def iter_row_range(
    old: Connection,
    table: str,
    key: str,
    low: int,
    high: int,
) -> Iterator[tuple[object, ...] | None]:
    """Rows `low` to `high`; a broken range is halved until the broken rows stand alone."""
    sql = f"select * from {table} where {key} between ? and ? order by {key}"
    try:
        rows = old.execute(sql, (low, high)).fetchall()
    except database_library.Error:
        if low >= high:
            yield None
            return
        middle = (low + high) // 2
        yield from iter_row_range(old, table, key, low, middle)
        yield from iter_row_range(old, table, key, middle + 1, high)
        return
    yield from rows
