"""Going through every text of a tenant, a few rows at a time, and refreshing what is derived.

A row whose key changes is inserted under the new key; a row that is there already stays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from reverie.storage.postgres.connection import PostgresConnections, TenantConnection, clean_text
from reverie.storage.postgres.sealed_rows import seal_rows
from reverie.storage.postgres.write_changes import (
    bump_generation,
    clean_json,
    refresh_derived,
)
from reverie.storage.row_checksums import SUMMED_TABLES
from reverie.storage.scrub_scan import ScrubStep, TextCleaner
from reverie.storage.text_tables import (
    JSON_COLUMNS,
    TEXT_TABLES,
    ScanPlace,
    TextTable,
    scan_rows,
)

# Tables whose free space is given back when something was erased.
ERASED_TABLES = ("memory", "edge", "event", "change", "posting", "vector", "pending", "meta")


class PostgresScrubbing:
    """The part of `PostgresStore` that scrubs; the docstrings of `ScrubbableStore` hold."""

    _db: PostgresConnections

    def size(self) -> int:
        with self._db.reading() as db:
            return sum(
                db.fetch_value(f"select count(*) from {table.name} where tenant = %(tenant)s")
                for table in TEXT_TABLES
            )

    def scrub(
        self,
        clean: TextCleaner,
        after: ScanPlace | None,
        limit: int,
        *,
        write: bool,
    ) -> ScrubStep:
        if not write:
            with self._db.reading() as db:
                return scan_rows(partial(read_text_rows, db), clean, after, limit)
        with self._db.writing() as db:
            read, replace = partial(read_text_rows, db), partial(write_row, db)
            step = scan_rows(read, clean, after, limit, replace)
            if step.finds:
                bump_generation(db)
            return step

    def compact(self, texts: Collection[str] = ()) -> tuple[Path, ...]:  # noqa: ARG002
        """Have the server overwrite the space of deleted rows, as far as this user may.

        The server's own journal and backups are its administrator's: no file of theirs is known
        here, so none is named.
        """
        if self._db.is_in_transaction():
            return ()
        with self._db.pool.own_connection() as db:
            for table in ERASED_TABLES:
                try:
                    db.execute(f"vacuum (skip_locked) reverie.{table}")
                except psycopg.Error:
                    break  # the server does it by itself, a little later
        return ()


def read_text_rows(
    db: TenantConnection,
    table: TextTable,
    key: Sequence[Any] = (),
    limit: int | None = None,
    needles: Sequence[str] | None = None,
    only: str = "true",
) -> list[dict[str, Any]]:
    """The rows of a table beyond a key, in the order of the key: key, name and texts.

    With `needles`, those that hold one of them, in any letter case, and meet the condition `only`.
    """
    wanted = (*table.key, table.named, *table.columns)
    names = tuple(dict.fromkeys(wanted))
    order = ", ".join(table.key)
    marks = ", ".join(f"%(key_{place})s" for place in range(len(key)))
    beyond = f"({order}) > ({marks})" if key else "true"
    rows = db.fetch_rows(
        f"select {', '.join(names)} from {table.name} "
        f"where tenant = %(tenant)s and {beyond} and {only} and {sql_holds(table.columns, needles)}"
        f" order by {order} limit %(limit)s",
        patterns=to_patterns(needles),
        limit=limit,
        **{f"key_{place}": value for place, value in enumerate(key)},
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def sql_holds(columns: Sequence[str], needles: Sequence[str] | None) -> str:
    """A condition that one of the columns holds one of the needles, given as `patterns`; true for
    all rows without needles.
    """
    if needles is None:
        return "true"
    # Column by column: a null is passed over, and nothing is put together.
    return f"({' or '.join(f'{name} ilike any(%(patterns)s)' for name in columns)})"


def to_patterns(needles: Sequence[str] | None) -> list[str]:
    """What `sql_holds` looks for."""
    return [f"%{one}%" for one in needles or ()]


def clean_value(name: str, value: Any) -> Any:
    """A column's value as PostgreSQL can store it."""
    if not isinstance(value, str):
        return value
    return clean_json(value) if name in JSON_COLUMNS else clean_text(value)


def write_row(
    db: TenantConnection,
    table: TextTable,
    old: dict[str, Any],
    new: dict[str, Any],
) -> None:
    """Write a changed row, and refresh what is derived from it."""
    new = {name: clean_value(name, value) for name, value in new.items()}
    changed = [name for name in table.columns if new[name] != old[name]]
    where = " and ".join(["tenant = %(tenant)s", *(f"{n} = %(key_{n})s" for n in table.key)])
    key = {f"key_{name}": old[name] for name in table.key}
    values = {name: new[name] for name in changed}
    if set(changed) & set(table.key):
        move_row(db, table, where, key, values)
    elif changed:
        sets = ", ".join(f"{name} = %({name})s" for name in changed)
        db.run(f"update {table.name} set {sets} where {where}", **values, **key)
    for summed in SUMMED_TABLES:
        if table.name == summed.name:
            seal_rows(db, summed, [old[summed.key]])
    if table.name == "memory":
        refresh_derived(db, old["num"], changed)


def move_row(
    db: TenantConnection,
    table: TextTable,
    where: str,
    key: dict[str, Any],
    values: dict[str, Any],
) -> None:
    """Give a row another key; a row that has that key already stays instead."""
    found = db.run(f"select * from {table.name} where {where}", **key)
    names = [column.name for column in found.description or ()]
    row = dict(zip(names, found.fetchone() or (), strict=True)) | values
    db.run(f"delete from {table.name} where {where}", **key)
    columns, marks = ", ".join(names), ", ".join(f"%({name})s" for name in names)
    db.run(
        f"insert into {table.name} ({columns}) values ({marks}) on conflict do nothing",
        **{**row, "tenant": db.tenant},
    )
