"""Going through every text of the database, a few rows at a time, and refreshing what is derived.

A row whose key changes is inserted under the new key; a row that is there already stays.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from reverie.storage.row_checksums import SUMMED_TABLES
from reverie.storage.scrub_scan import ScrubFinding, ScrubStep, TextCleaner
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import (
    SqliteConnections,
    connect_read_only,
    fetch_value,
    translate_error,
)
from reverie.storage.sqlite.sealed_rows import seal_rows
from reverie.storage.sqlite.sql_conditions import sql_placeholders
from reverie.storage.sqlite.write_changes import bump_generation, refresh_derived
from reverie.storage.text_tables import TEXT_TABLES, ScanPlace, TextTable, scan_rows

# Of a word of fewer letters another may be made.
WORD = re.compile(r"\w{5,}")
# The SQLite whose FTS5 can take a deleted word out of its segments at once.
DELETES_WORDS = (3, 42)
# pages of words that are merged in one transaction
MERGED_PAGES = 500


class SqliteScrubbing:
    """The part of `SqliteStore` that scrubs; the docstrings of `ScrubbableStore` hold."""

    path: str
    _db: SqliteConnections
    _writes: int

    def size(self) -> int:
        """See `ScrubbableStore`."""
        rows = 0
        with self._db.reading() as db:
            for table in TEXT_TABLES:
                rows += fetch_value(db, f"select count(*) from {table.name}")
        return rows

    def scrub(
        self,
        clean: TextCleaner,
        after: ScanPlace | None,
        limit: int,
        *,
        write: bool,
    ) -> ScrubStep:
        """See `ScrubbableStore`."""
        if not write:
            with self._db.reading() as db:
                return scan_rows(partial(read_text_rows, db), clean, after, limit)
        with self._db.writing() as db:
            read, replace = partial(read_text_rows, db), partial(write_row, db)
            step = scan_rows(read, clean, after, limit, replace)
            if step.finds:
                bump_generation(db)
                self._writes += 1
            if step.after is None:
                # FTS5 keeps old words in its segments until they are merged.
                db.execute("insert into words (words) values ('optimize')")
            return step

    def compact(self, texts: Collection[str] = ()) -> tuple[Path, ...]:
        """See `ScrubbableStore`."""
        self.merge_words()
        if texts and not self._db.read_only and not self._db.private:
            from reverie.storage.sqlite.raw_bytes import is_text_left

            with self._db.reading() as db:
                words = list_unused_words(db, texts)
            is_readable = self._db.key is None  # the bytes of an encrypted file tell nothing
            if (
                self._db.checkpoint()
                and is_readable
                and not is_text_left(Path(self.path), (*texts, *words))
            ):
                return ()
        return () if self._db.compact() else (Path(self.path),)

    def merge_words(self) -> None:
        """Merge the segments of words, in which an older FTS5 leaves deleted ones, into one: as
        "optimize" does, but others may write in between. Not within a transaction.
        """
        is_needless = self._db.library_version() >= DELETES_WORDS
        if is_needless or self._db.read_only or self._db.is_in_transaction():
            return
        pages = -MERGED_PAGES  # the first step puts all segments on one level
        while True:
            with self._db.writing() as db:
                before = db.total_changes
                db.execute("insert into words (words, rank) values ('merge', ?)", (pages,))
                # What FTS5 says of a merge that found nothing to do.
                if db.total_changes - before < 2 and pages > 0:
                    return
            pages = MERGED_PAGES


def list_unused_words(db: Connection, texts: Collection[str]) -> list[str]:
    """The words of erased texts that no memory holds: they should stand nowhere any more."""
    found = {word for text in texts for word in WORD.findall(text.lower())}
    sql = "select 1 from words where words match ? limit 1"
    return [one for one in sorted(found) if not db.execute(sql, (f'"{one}"',)).fetchone()]


def scan_copy(path: Path, clean: TextCleaner) -> Iterator[ScrubFinding]:
    """See `scrub_scan.scan_database_copy`."""
    try:
        key = database_library.find_database_key(path)
        with connect_read_only(path, immutable=True, key=key) as db:
            after: ScanPlace | None = (0, ())
            while after is not None:
                step = scan_rows(partial(read_text_rows, db), clean, after, 1_000)
                yield from step.finds
                after = step.after
    except database_library.Error as err:
        raise translate_error(err, str(path)) from err


def read_text_rows(
    db: Connection,
    table: TextTable,
    key: Sequence[Any] = (),
    limit: int = -1,
    needles: Sequence[str] | None = None,
    only: str = "true",
) -> list[dict[str, Any]]:
    """The rows of a table beyond a key, in the order of the key: key, name and texts.

    With `needles`, those that hold one of them, in any letter case, and meet the condition `only`.
    """
    wanted = (*table.key, table.named, *table.columns)
    names = tuple(dict.fromkeys(wanted))
    order = ", ".join(table.key)
    where = f"({order}) > ({sql_placeholders(key)})" if key else "true"
    held, patterns = sql_holds(table.columns, needles)
    found = db.execute(
        f"select {', '.join(names)} from {table.name} where {where} and {only} and {held} "
        f"order by {order} limit ?",
        (*key, *patterns, limit),
    )
    return [dict(zip(names, row, strict=True)) for row in found]


def sql_holds(columns: Sequence[str], needles: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    """(a condition that one of the columns holds one of the needles, what to fill in); all rows
    without needles.
    """
    if needles is None:
        return "true", ()
    # Column by column: a null is passed over, and nothing is put together.
    conditions = [f"{name} like ?" for name in columns for _ in needles]
    patterns = tuple(f"%{one}%" for _ in columns for one in needles)
    return f"({' or '.join(conditions) or 'false'})", patterns


def write_row(
    db: Connection,
    table: TextTable,
    old: dict[str, Any],
    new: dict[str, Any],
) -> None:
    """Write a changed row, and refresh what is derived from it."""
    changed = [name for name in table.columns if new[name] != old[name]]
    where = " and ".join(f"{name} = ?" for name in table.key)
    key = [old[name] for name in table.key]
    if set(changed) & set(table.key):
        move_row(
            db,
            table,
            where,
            key,
            {name: new[name] for name in changed},
        )
    elif changed:
        sets = ", ".join(f"{name} = ?" for name in changed)
        values = [new[name] for name in changed]
        db.execute(f"update {table.name} set {sets} where {where}", [*values, *key])
    for summed in SUMMED_TABLES:
        if table.name == summed.name:
            seal_rows(db, summed, [old[summed.key]])
    if table.name == "memory":
        refresh_derived(db, old["num"], changed)


def move_row(
    db: Connection,
    table: TextTable,
    where: str,
    key: Sequence[Any],
    values: dict[str, Any],
) -> None:
    """Give a row another key; a row that has that key already stays instead."""
    found = db.execute(f"select * from {table.name} where {where}", key)
    names = [column[0] for column in found.description]
    row = dict(zip(names, found.fetchone(), strict=True)) | values
    db.execute(f"delete from {table.name} where {where}", key)
    columns, marks = ", ".join(names), sql_placeholders(names)
    db.execute(
        f"insert or ignore into {table.name} ({columns}) values ({marks})",
        [row[name] for name in names],
    )
