"""Rows of other programs' databases, SQLite or DuckDB. They are only read, never written to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import BadInput, ExtraMissing
from reverie.core.installation import advise_install
from reverie.storage.sqlite.connection import connect_read_only

# How the files begin; DuckDB's mark starts at the ninth byte.
SQLITE = b"SQLite format 3\x00"
DUCKDB = b"DUCK"
BATCH = 1_000


class TableRow(NamedTuple):
    """A row, with its number in its table, from 1."""

    table: str
    number: int
    values: dict[str, Any]


def detect_database_kind(path: Path) -> str:
    """The kind of database in a file: "sqlite", "duckdb", or "" for neither."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError:
        return ""
    if head == SQLITE:
        return "sqlite"
    return "duckdb" if head[8:12] == DUCKDB else ""


def read_table_rows(path: Path, tables: Sequence[str]) -> Iterator[TableRow]:
    """The rows of those tables that exist, in the order in which they were written.

    Raises BadInput for a file that is no such database or is damaged, ExtraMissing where DuckDB is
    not installed.
    """
    kind = detect_database_kind(path)
    if not kind:
        raise BadInput(f"{path.name} is no database of SQLite or DuckDB")
    yield from ROW_READERS[kind](path, tables)


def read_sqlite_rows(path: Path, tables: Sequence[str]) -> Iterator[TableRow]:
    """The rows of a SQLite file."""
    has_journal = path.with_name(f"{path.name}-wal").exists()  # then somebody may be writing
    list_tables = "select name from sqlite_master where type = 'table'"
    try:
        with connect_read_only(path, immutable=not has_journal) as db:
            yield from iter_table_rows(db, list_tables, tables)
    except sqlite3.Error as err:
        raise BadInput(f"{path.name} cannot be read: {err}") from err


def read_sqlite_layout(path: Path) -> dict[str, frozenset[str]]:
    """The names of the columns of each table of a SQLite file; empty for what is none."""
    if detect_database_kind(path) != "sqlite":
        return {}
    has_journal = path.with_name(f"{path.name}-wal").exists()
    columns = """
        select one.name, found.name
        from sqlite_master as one join pragma_table_info(one.name) as found
        where one.type = 'table' and one.sql not like 'create virtual%'
    """
    layout: dict[str, set[str]] = {}
    try:
        with connect_read_only(path, immutable=not has_journal) as db:
            for table, column in db.execute(columns):
                layout.setdefault(table, set()).add(column)
    except sqlite3.Error:
        return {}
    return {table: frozenset(names) for table, names in layout.items()}


def read_keyed_values(
    path: Path,
    table: str,
    prefix: str,
) -> Iterator[tuple[str, str]]:
    """(the key behind the prefix, the value) in a SQLite table of keys and values, if it exists."""
    has_journal = path.with_name(f"{path.name}-wal").exists()
    list_tables = "select name from sqlite_master where type = 'table' and name = ?"
    find = f'select key, value from "{table}" where key >= ? and key < ? order by key'
    try:
        with connect_read_only(path, immutable=not has_journal) as db:
            if db.execute(list_tables, (table,)).fetchone() is None:
                return
            for key, value in db.execute(find, (prefix, f"{prefix}\U0010ffff")):
                text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                yield key.removeprefix(prefix), str(text)
    except sqlite3.Error as err:
        raise BadInput(f"{path.name} cannot be read: {err}") from err


def read_duckdb_rows(path: Path, tables: Sequence[str]) -> Iterator[TableRow]:
    """The rows of a DuckDB file."""
    try:
        import duckdb
    except ImportError as err:
        raise ExtraMissing(
            f"{path.name} is a DuckDB file, and DuckDB is not installed. "
            f"Install it with: {advise_install('analytics')}"
        ) from err
    list_tables = "select table_name from duckdb_tables()"
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as db:
            yield from iter_table_rows(db, list_tables, tables)
    except duckdb.Error as err:
        reason = str(err).splitlines()[0]
        raise BadInput(
            f"{path.name} cannot be read: {reason}. If its program is running, end it first"
        ) from err


def iter_table_rows(
    db: Any,
    list_tables: str,
    tables: Sequence[str],
) -> Iterator[TableRow]:
    """The rows of those tables that exist, in a database of either kind."""
    existing = {name for (name,) in db.execute(list_tables).fetchall()}
    for table in tables:
        if table not in existing:
            continue
        found = db.execute(f'select * from "{table}" order by rowid')
        names = [column[0] for column in found.description]
        batches = iter(partial(found.fetchmany, BATCH), [])
        for number, row in enumerate(chain.from_iterable(batches), start=1):
            yield TableRow(table, number, dict(zip(names, row, strict=True)))


ROW_READERS = {"sqlite": read_sqlite_rows, "duckdb": read_duckdb_rows}
