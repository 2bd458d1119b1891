"""Going through every text of the database, a few rows at a time, and refreshing what is derived.

`TEXT_TABLES` names each column that holds what people or programs said, `FIXED_COLUMNS` those with
words of our own; a test makes sure that no column is in neither. A row whose key changes is
inserted under the new key; a row that is there already stays.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple

from reverie.storage.scrub_scan import ScrubFinding, ScrubStep, TextCleaner
from reverie.storage.sqlite.connection import (
    SqliteConnections,
    connect_read_only,
    fetch_value,
    translate_error,
)
from reverie.storage.sqlite.row_codec import STRUCTURED, from_json, to_json
from reverie.storage.sqlite.sql_conditions import sql_placeholders
from reverie.storage.sqlite.write_changes import bump_generation, refresh_derived


class TextTable(NamedTuple):
    """A table and its columns that hold text."""

    name: str
    what: str  # its name in messages
    key: tuple[str, ...]
    named: str  # the column that names a row in messages
    columns: tuple[str, ...]


_MEMORY_TEXTS = """
text space title tags session speaker files triggers details reinforcements retired_why
"""
TEXT_TABLES = (
    TextTable(
        "memory",
        "memory",
        ("num",),
        "id",
        tuple(_MEMORY_TEXTS.split()),
    ),
    TextTable(
        "change",
        "history",
        ("memory", "seq", "place"),
        "memory",
        ("before", "after"),
    ),
    TextTable("event", "event", ("seq",), "seq", ("space", "session", "payload")),
    TextTable(
        "edge",
        "link",
        ("src", "rel", "dst"),
        "src",
        ("src", "dst"),
    ),
    TextTable("meta", "note", ("name",), "name", ("name", "value")),
    TextTable("cursor", "note", ("name",), "name", ("name",)),
    TextTable("lease", "note", ("name",), "name", ("name", "holder")),
)
JSON_COLUMNS = {*STRUCTURED, "before", "after", "payload", "value"}
FIXED_COLUMNS = {
    "memory": {"id", "kind", "provenance", "messages", "superseded_by", "conflicts_with"},
    "change": {"memory", "op"},
    "event": {"verb"},
    "edge": {"rel"},
    "vector": {"model"},
    "embedder": {"model"},
    "pending": {"model"},
}

# Where a scan goes on: the place of a table in TEXT_TABLES, and the last key that was seen.
After = tuple[int, tuple[Any, ...]]


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
        after: After | None,
        limit: int,
        *,
        write: bool,
    ) -> ScrubStep:
        """See `ScrubbableStore`."""
        if not write:
            with self._db.reading() as db:
                return scan_rows(db, clean, after, limit, write=False)
        with self._db.writing() as db:
            step = scan_rows(db, clean, after, limit, write=True)
            if step.finds:
                bump_generation(db)
                self._writes += 1
            if step.after is None:
                # FTS5 keeps old words in its segments until they are merged.
                db.execute("insert into words (words) values ('optimize')")
            return step

    def compact(self) -> tuple[Path, ...]:
        """See `ScrubbableStore`."""
        return () if self._db.compact() else (Path(self.path),)


def scan_copy(path: Path, clean: TextCleaner) -> Iterator[ScrubFinding]:
    """See `scrub_scan.scan_database_copy`."""
    try:
        with connect_read_only(path, immutable=True) as db:
            after: After | None = (0, ())
            while after is not None:
                step = scan_rows(db, clean, after, 1_000, write=False)
                yield from step.finds
                after = step.after
    except sqlite3.Error as err:
        raise translate_error(err, str(path)) from err


def scan_rows(
    db: Connection,
    clean: TextCleaner,
    after: After | None,
    limit: int,
    *,
    write: bool,
) -> ScrubStep:
    """Scan the next rows, all of one table; with `write`, clean them."""
    place, key = after or (0, ())
    table = TEXT_TABLES[place]
    # Of one table only, so that one key says where to go on.
    rows = read_text_rows(db, table, key, limit)
    finds: list[ScrubFinding] = []
    for old in rows:
        new, kinds = clean_row(table, old, clean)
        if not kinds:
            continue
        name = str(new[table.named])
        for kind, times in sorted(kinds.items()):
            finds.append(ScrubFinding(table.what, name, kind, times))
        if write:
            write_row(db, table, old, new)
    following: After | None = None
    if len(rows) == limit:
        following = (place, tuple(rows[-1][name] for name in table.key))
    elif place + 1 < len(TEXT_TABLES):
        following = (place + 1, ())
    return ScrubStep(tuple(finds), len(rows), following)


def read_text_rows(
    db: Connection,
    table: TextTable,
    key: Sequence[Any] = (),
    limit: int = -1,
) -> list[dict[str, Any]]:
    """The rows of a table beyond a key, in the order of the key: key, name and texts."""
    wanted = (*table.key, table.named, *table.columns)
    names = tuple(dict.fromkeys(wanted))
    order = ", ".join(table.key)
    beyond = f"where ({order}) > ({sql_placeholders(key)})" if key else ""
    found = db.execute(
        f"select {', '.join(names)} from {table.name} {beyond} order by {order} limit ?",
        (*key, limit),
    )
    return [dict(zip(names, row, strict=True)) for row in found]


def clean_row(
    table: TextTable,
    old: dict[str, Any],
    clean: TextCleaner,
) -> tuple[dict[str, Any], Counter[str]]:
    """A cleaned row, and how often what kinds of things were taken out."""
    new = dict(old)
    kinds = Counter[str]()
    # Null stays null: there is nothing to clean.
    for name in table.columns:
        if isinstance(old[name], str):
            if name in JSON_COLUMNS:
                new[name], found = clean_json_text(old[name], clean)
            else:
                new[name], found = clean.scrub_text(old[name])
            kinds.update(found)
    return new, kinds


def clean_json_text(
    text: str,
    clean: TextCleaner,
) -> tuple[str, tuple[str, ...]]:
    """A cleaned JSON text, and the kinds of what was taken out; what is no JSON is a plain text."""
    try:
        value, kinds = clean.scrub_value(from_json(text))
    except ValueError:
        return clean.scrub_text(text)
    return (to_json(value), kinds) if kinds else (text, ())


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
