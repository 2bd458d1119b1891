"""Going through every text of the database, a few rows at a time, and what follows where one has
changed.

`TABLES` names each column that holds what people or programs said; `FIXED` those that hold words of
our own, and a test sees to it that no column is in neither. A row whose key changes is put in again
under the new key; if there is one already, that one stays.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from reverie.storage.scrub_scan import ScrubFinding, ScrubStep, TextCleaner
from reverie.storage.sqlite.connection import SqliteConnections, translate_error
from reverie.storage.sqlite.read_queries import sql_placeholders
from reverie.storage.sqlite.row_codec import COLUMNS, STRUCTURED, from_json, to_json, to_memory
from reverie.storage.sqlite.write_changes import (
    INDEXED_FIELDS,
    INSERT_PENDING,
    UPSERT_EDGE,
    bump_generation,
    tag_node,
    to_words_body,
)


class TextTable(NamedTuple):
    """A table and the columns in it that hold text."""

    name: str
    what: str  # as a person is told
    key: tuple[str, ...]
    named: str  # the column by which a row is told
    columns: tuple[str, ...]


TEXT_TABLES = (
    TextTable(
        "memory",
        "memory",
        ("num",),
        "id",
        (
            "text",
            "space",
            "title",
            "tags",
            "session",
            "speaker",
            "files",
            "triggers",
            "details",
            "reinforcements",
            "retired_why",
        ),
    ),
    TextTable("change", "history", ("memory", "seq", "place"), "memory", ("before", "after")),
    TextTable("event", "event", ("seq",), "seq", ("space", "session", "payload")),
    TextTable("edge", "link", ("src", "rel", "dst"), "src", ("src", "dst")),
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

# the place of a table in TABLES, and the last key that was looked at
After = tuple[int, tuple[Any, ...]]


class SqliteScrubbing:
    """The part of `SqliteStore` that goes through everything."""

    path: str
    _db: SqliteConnections
    _writes: int

    def size(self) -> int:
        """See `Scrubbed`."""
        with self._db.reading() as db:
            return sum(
                db.execute(f"select count(*) from {table.name}").fetchone()[0]
                for table in TEXT_TABLES
            )

    def scrub(
        self, clean: TextCleaner, after: After | None, limit: int, *, write: bool
    ) -> ScrubStep:
        """See `Scrubbed`."""
        if not write:
            with self._db.reading() as db:
                return scan_rows(db, clean, after, limit, write=False)
        with self._db.writing() as db:
            done = scan_rows(db, clean, after, limit, write=True)
            if done.finds:
                bump_generation(db)
                self._writes += 1
            if done.after is None:
                # old words leave the segments
                db.execute("insert into words (words) values ('optimize')")
            return done

    def compact(self) -> tuple[Path, ...]:
        """See `Scrubbed`."""
        return () if self._db.compact() else (Path(self.path),)


def looked_into(path: Path, clean: TextCleaner) -> Iterator[ScrubFinding]:
    """See `store.scrub`."""
    try:
        # immutable: a copy is a finished file, and looking must not leave a journal beside it
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as db:
            after: After | None = None
            while True:
                done = scan_rows(db, clean, after, 1_000, write=False)
                yield from done.finds
                if (after := done.after) is None:
                    return
    except sqlite3.Error as err:
        raise translate_error(err, str(path)) from err


def scan_rows(
    db: sqlite3.Connection, clean: TextCleaner, after: After | None, limit: int, *, write: bool
) -> ScrubStep:
    """The next rows, of one table."""
    place, key = after or (0, ())
    table = TEXT_TABLES[place]
    found = read_text_rows(db, table, key, limit)
    finds: list[ScrubFinding] = []
    for old in found:
        new, kinds = clean_row(table, old, clean)
        if kinds:
            finds += [
                ScrubFinding(table.what, str(new[table.named]), kind, times)
                for kind, times in sorted(kinds.items())
            ]
            if write:
                write_row(db, table, old, new)
    if len(found) == limit:
        return ScrubStep(tuple(finds), limit, (place, tuple(found[-1][name] for name in table.key)))
    return ScrubStep(
        tuple(finds), len(found), (place + 1, ()) if place + 1 < len(TEXT_TABLES) else None
    )


def read_text_rows(
    db: sqlite3.Connection, table: TextTable, key: Sequence[Any] = (), limit: int = -1
) -> list[dict[str, Any]]:
    """The rows of a table beyond a key, in its order: what tells them apart, and their text."""
    names = tuple(dict.fromkeys((*table.key, table.named, *table.columns)))
    beyond = f"where ({', '.join(table.key)}) > ({sql_placeholders(key)})" if key else ""
    found = db.execute(
        f"select {', '.join(names)} from {table.name} {beyond} order by {', '.join(table.key)} limit ?",
        (*key, limit),
    )
    return [dict(zip(names, row, strict=True)) for row in found]


def clean_row(
    table: TextTable, old: dict[str, Any], clean: TextCleaner
) -> tuple[dict[str, Any], Counter[str]]:
    """A row as it should stand, and the kinds of what was taken out."""
    new, kinds = dict(old), Counter[str]()
    for name in table.columns:
        if isinstance(old[name], str):
            new[name], found = (
                clean_json_text(old[name], clean)
                if name in JSON_COLUMNS
                else clean.scrub_text(old[name])
            )
            kinds.update(found)
    return new, kinds


def clean_json_text(text: str, clean: TextCleaner) -> tuple[str, tuple[str, ...]]:
    """The same for written JSON; what is none is a text."""
    try:
        value, kinds = clean.scrub_value(from_json(text))
    except ValueError:
        return clean.scrub_text(text)
    return (to_json(value), kinds) if kinds else (text, ())


def write_row(
    db: sqlite3.Connection, table: TextTable, old: dict[str, Any], new: dict[str, Any]
) -> None:
    """Make a row what it should be, and let follow what is derived from it."""
    changed = [name for name in table.columns if new[name] != old[name]]
    where, key = (
        " and ".join(f"{name} = ?" for name in table.key),
        [old[name] for name in table.key],
    )
    if set(changed) & set(table.key):
        move_row(db, table, where, key, {name: new[name] for name in changed})
    elif changed:
        sets = ", ".join(f"{name} = ?" for name in changed)
        db.execute(
            f"update {table.name} set {sets} where {where}",
            [*(new[name] for name in changed), *key],
        )
    if table.name == "memory":
        refresh_derived(db, old["num"], changed)


def move_row(
    db: sqlite3.Connection, table: TextTable, where: str, key: Sequence[Any], values: dict[str, Any]
) -> None:
    """A row under another key; one that stands there already stays."""
    found = db.execute(f"select * from {table.name} where {where}", key)
    names = [column[0] for column in found.description]
    row = {**dict(zip(names, found.fetchone(), strict=True)), **values}
    db.execute(f"delete from {table.name} where {where}", key)
    db.execute(
        f"insert or ignore into {table.name} ({', '.join(names)}) values ({sql_placeholders(names)})",
        [row[name] for name in names],
    )


def refresh_derived(db: sqlite3.Connection, num: int, changed: Sequence[str]) -> None:
    """Words, vectors and ties to tags follow a memory."""
    memory = to_memory(db.execute(f"select {COLUMNS} from memory where num = ?", (num,)).fetchone())
    if INDEXED_FIELDS & set(changed):
        db.execute("update words set body = ? where rowid = ?", (to_words_body(memory), num))
    if "text" in changed:
        db.execute("delete from vector where memory = ?", (num,))
        db.execute(INSERT_PENDING, (num,))
    if "tags" in changed:
        db.execute("delete from edge where src = ? and rel = 'has_tag'", (memory.id,))
        db.executemany(
            UPSERT_EDGE, [(memory.id, "has_tag", tag_node(tag), 1.0) for tag in memory.tags]
        )
