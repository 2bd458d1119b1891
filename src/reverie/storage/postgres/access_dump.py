"""Every column of every row of a tenant as PostgreSQL writes it in a dump, and a search of it.

Erasure is proven with it: `find_texts` asks nothing of the store about what it believes it has, but
reads what `pg_dump` would, whatever the tables are called and whichever are added later. Texts are
looked for as they are, as JSON writes them, and in the bytes of binary columns, compressed ones
unpacked. What it cannot see are backups, the write-ahead log, and dead rows that no vacuum has
removed yet.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from psycopg import sql

from reverie.storage.postgres.connection import SCHEMA, TenantConnection

# A shorter text, such as "yes", stands in half of all rows and proves nothing.
MIN_LENGTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """A column of a row that still holds an erased text."""

    table: str
    column: str
    row: str  # its number or id
    text: int  # which of the texts, by place: the text itself is told nobody again


def tenant_tables(db: TenantConnection) -> dict[str, list[str]]:
    """Every table that has a tenant, with its columns in order."""
    tables: dict[str, list[str]] = {}
    for table, column in db.fetch_rows(
        """
        select table_name, column_name
        from information_schema.columns
        join information_schema.tables using (table_schema, table_name)
        where table_schema = %(schema)s and table_type = 'BASE TABLE'
        order by table_name, ordinal_position
        """,
        schema=SCHEMA,
    ):
        tables.setdefault(table, []).append(column)
    return {table: columns for table, columns in tables.items() if "tenant" in columns}


def dump_table(db: TenantConnection, table: str) -> Iterator[tuple[str | None, ...]]:
    """The rows of the transaction's tenant in a table, each value as a dump writes it."""
    query = sql.SQL("copy (select * from {} where tenant = {}) to stdout").format(
        sql.Identifier(table), sql.Literal(db.tenant)
    )
    with db.cursor() as cursor, cursor.copy(query) as copy:
        for row in copy.rows():
            yield tuple(row)


def find_texts(db: TenantConnection, texts: Sequence[str]) -> Iterator[Remains]:
    """Where any of the texts still stands in what is stored of the transaction's tenant."""
    wanted = [
        (place, forms_of(text)) for place, text in enumerate(texts) if len(text) >= MIN_LENGTH
    ]
    if not wanted:
        return
    for table, columns in tenant_tables(db).items():
        for row in dump_table(db, table):
            for column, value in zip(columns, row, strict=True):
                if value is None or len(value) < MIN_LENGTH:
                    continue
                readable = readable_forms(value)
                for place, forms in wanted:
                    if any(form in one for form in forms for one in readable):
                        # Never the text itself, not even as the name of its row.
                        label = "" if column == columns[1] else (row[1] or "")[:60]
                        yield Remains(table=table, column=column, row=label, text=place)


def forms_of(text: str) -> tuple[str, ...]:
    """The text as it stands in a column of text, and inside of JSON."""
    quoted = (json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1])
    return tuple(dict.fromkeys((text, *quoted)))


def readable_forms(value: str) -> tuple[str, ...]:
    """A column's value; of a binary one its bytes as text, and unpacked if they are compressed."""
    if not value.startswith("\\x"):
        return (value,)
    try:
        data = bytes.fromhex(value[2:])
    except ValueError:
        return (value,)
    found = [value, data.decode("utf-8", "replace")]
    with suppress(zlib.error):
        found.append(zlib.decompressobj().decompress(data).decode("utf-8", "replace"))
    return tuple(found)
