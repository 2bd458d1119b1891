"""Giving rows their checksum, and finding those that are not what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.row_checksums import SummedTable, checksum_row

PAGE = 1_000  # rows that are read at once


def seal_rows(db: TenantConnection, table: SummedTable, numbers: Iterable[int]) -> None:
    """Give rows the checksum of what they hold now."""
    key = f"tenant = %(tenant)s and {table.key} = %(number)s"
    for number in numbers:
        row = db.run(f"select {table.columns} from {table.name} where {key}", number=number)
        values = row.fetchone()
        if values:
            db.run(
                f"update {table.name} set checksum = %(checksum)s where {key}",
                number=number,
                checksum=checksum_row(values),
            )


def seal_unsealed_rows(db: TenantConnection, table: SummedTable) -> None:
    """Give a checksum to rows that another program wrote without one."""
    sql = f"select {table.key} from {table.name} where tenant = %(tenant)s and checksum is null"
    seal_rows(db, table, [number for (number,) in db.fetch_rows(sql)])


def find_altered_rows(db: TenantConnection, table: SummedTable) -> Iterator[tuple[Any, ...]]:
    """(number, checksum, values…) of rows whose checksum is not that of what they hold."""
    for row in read_pages(
        db,
        f"select {table.key}, checksum, {table.columns} from {table.name} "
        f"where tenant = %(tenant)s and checksum is not null and {table.key} > %(after)s "
        f"order by {table.key} limit {PAGE}",
    ):
        if row[1] != checksum_row(row[2:]):
            yield row


def read_pages(db: TenantConnection, sql: str) -> Iterator[tuple[Any, ...]]:
    """All rows of a query by its first column, which goes on `after` the last page."""
    after = 0
    while page := db.fetch_rows(sql, after=after):
        yield from page
        after = page[-1][0]
