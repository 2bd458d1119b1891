"""Giving rows of a file their checksum, and finding those that are not what was written."""

from collections.abc import Iterable, Iterator
from sqlite3 import Connection
from typing import Any

from reverie.storage.row_checksums import SUMMED_TABLES, SummedTable, checksum_row

# Rows that get a checksum in one go.
BATCH = 1_000


def seal_rows(db: Connection, table: SummedTable, numbers: Iterable[int]) -> None:
    """Give rows the checksum of what they hold now."""
    for number in numbers:
        sql = f"select {table.columns} from {table.name} where {table.key} = ?"
        row = db.execute(sql, (number,)).fetchone()
        if row:
            db.execute(
                f"update {table.name} set checksum = ? where {table.key} = ?",
                (checksum_row(row), number),
            )


def seal_older_rows(db: Connection) -> None:
    """Give a checksum to rows that were written before there were any."""
    for table in SUMMED_TABLES:
        sql = f"select {table.key} from {table.name} where checksum is null limit {BATCH}"
        while numbers := [number for (number,) in db.execute(sql)]:
            seal_rows(db, table, numbers)


def find_altered_rows(db: Connection, table: SummedTable) -> Iterator[tuple[Any, ...]]:
    """(number, checksum, values…) of rows whose checksum is not that of what they hold."""
    sql = (
        f"select {table.key}, checksum, {table.columns} from {table.name} "
        "where checksum is not null"
    )
    for row in db.execute(sql):
        if row[1] != checksum_row(row[2:]):
            yield row
