"""Rescuing everything readable from a damaged file. The damaged file itself is kept.

Rows are read table by table; where a page is broken, the range of row numbers is halved until only
the rows on that page are lost. What is lost is taken from the newest backup, if there is one.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

from reverie.storage import UNLOGGED, Problem
from reverie.storage.sqlite.bulk_transfer import dump_rows, load_rows
from reverie.storage.sqlite.connection import connect_read_only
from reverie.storage.sqlite.integrity_checks import verify_database
from reverie.storage.sqlite.schema_migration import migrate

# Tables with row numbers, and an index that has these too.
CANONICAL = {"memory": ("num", "memory_by_space"), "event": ("seq", "event_by_verb")}
# Tables without row numbers, and how many columns they have.
KEYED = {
    "edge": 4,
    "change": 6,
    "cursor": 2,
    "meta": 2,
}
# Row numbers up to here are tried where nothing tells how many rows there were.
MAX_BLIND_NUMBER = 1 << 14


def salvage_database(
    path: Path,
    damaged: Path,
    backups: list[Path],
) -> list[Problem]:
    """Make a new database at `path` from `damaged` and, for what is lost, the newest backup."""
    problems = [Problem("file", "the file was damaged; a copy of it is kept", repaired=True)]
    with closing(sqlite3.connect(path, isolation_level=None)) as fresh:
        migrate(fresh)
        fresh.execute("begin immediate")
        lost = copy_readable(damaged, fresh)
        if lost:
            message = f"could not be read: {', '.join(lost)}"
            problems.append(Problem("file", message, repaired=False))
        for backup in backups[:1]:
            taken = load_from_backup(backup, fresh)
            message = f"{taken} memories came from the backup {backup.name}"
            problems.append(Problem("file", message, repaired=True))
        found = verify_database(fresh, repair=True)
        problems += [problem for problem in found if not problem.repaired]
        fresh.execute("insert or replace into meta (name, value) values (?, 'yes')", (UNLOGGED,))
        fresh.execute("commit")
    return problems


def copy_readable(damaged: Path, fresh: Connection) -> list[str]:
    """Copy every readable canonical row. Returns what was lost, in words."""
    with connect_read_only(damaged, immutable=False) as old:
        try:
            old.execute("select count(*) from sqlite_master").fetchone()
        except sqlite3.Error as err:
            return [f"the whole file ({err})"]
        return copy_tables(old, fresh)


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
    fresh.execute(f"insert or ignore into {table} values ({marks})", row)


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
    except sqlite3.Error:
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
        except sqlite3.Error:
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
    except sqlite3.Error:
        if low >= high:
            yield None
            return
        middle = (low + high) // 2
        yield from iter_row_range(old, table, key, low, middle)
        yield from iter_row_range(old, table, key, middle + 1, high)
        return
    yield from rows


def load_from_backup(backup: Path, fresh: Connection) -> int:
    """Load what the backup has and the salvaged file lacks. Returns how many memories came.

    Memories with their edges; everything, if no event was salvaged.
    """
    has_events = fresh.execute("select 1 from event limit 1").fetchone()
    wanted = {"memory", "edge"}
    if not has_events:
        wanted |= {"event", "vector", "cursor"}
    try:
        with connect_read_only(backup, immutable=True) as old:
            rows = (row for row in dump_rows(old) if row["type"] in wanted)
            return load_rows(fresh, rows).get("memory", 0)
    except sqlite3.Error:
        return 0
