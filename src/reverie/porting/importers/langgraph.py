"""LangGraph's long-term stores: the database of a SqliteStore, or a dump of a PostgresStore's table
(`pg_dump --table=store URL`).

An item has a namespace, a key and a value, which is any JSON. What a value says is its text where
it has one under a usual name, else the JSON itself. Items that expire keep their time. Checkpoints
are passed over: they hold the state of a run in a binary form of LangGraph's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.porting.importers.foreign_texts import parse_json_column, read_file_head
from reverie.porting.importers.import_records import (
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    as_mapping,
    drop_empty_values,
    to_kind_name,
    try_record,
)
from reverie.storage.foreign_tables import read_sqlite_layout, read_table_rows

STORE, CHECKPOINTS = "store", "checkpoints"
COLUMNS = {"prefix", "key", "value"}
# Where people, and LangMem, put what is to be remembered.
TEXT_NAMES = ("content", "text", "memory", "data", "value", "fact", "summary")
COPY = re.compile(r"COPY (?:\"?\w+\"?\.)?\"?store\"? \((.+)\) FROM stdin;")
COPY_END = "\\."
ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
# LangMem's kinds of what it keeps; any other name of a class says nothing here.
KINDS = {"memory": "knowledge", "episode": "event", "procedure": "note"}


def fits(path: Path) -> bool:
    """True for the database of a store, or a dump of its table."""
    if not path.is_file():
        return False
    if path.suffix in (".sql", ".dump"):
        head = read_file_head(path)
        found = COPY.search(head)
        return found is not None and set(split_columns(found[1])) >= COLUMNS
    layout = read_sqlite_layout(path)
    return layout.get(STORE, frozenset()) >= COLUMNS and "store_migrations" in layout


def read(path: Path, _reading: ReadingContext) -> Iterator[ImportItem]:
    """Every item of the store."""
    rows = iter_dump_rows(path) if path.suffix in (".sql", ".dump") else iter_store_rows(path)
    for number, values in enumerate(rows, start=1):
        # Its times are in UTC, and the SQLite store writes none beside them.
        record = ForeignRecord(values, f"{STORE}, row {number}", "UTC")
        yield try_record(build_store_item, record)
    if path.suffix not in (".sql", ".dump") and CHECKPOINTS in read_sqlite_layout(path):
        yield ImportRemark("Checkpoints are passed over: they are the state of runs, no memories")


def iter_store_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a SqliteStore."""
    for row in read_table_rows(path, (STORE,)):
        yield row.values


def iter_dump_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of the table in a dump as text, line by line."""
    columns: list[str] = []
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for line in lines:
            text = line.rstrip("\n").rstrip("\r")
            if not columns:
                found = COPY.fullmatch(text)
                columns = split_columns(found[1]) if found else []
            elif text == COPY_END:
                columns = []
            else:
                values = [unescape_copied(value) for value in text.split("\t")]
                yield dict(zip(columns, values, strict=False))


def split_columns(names: str) -> list[str]:
    """The names of columns as a dump lists them."""
    return [name.strip().strip('"') for name in names.split(",")]


def unescape_copied(value: str) -> str | None:
    """A value as COPY writes it; None for the mark of null."""
    if value == "\\N":
        return None
    return _ESCAPE.sub(lambda found: ESCAPES.get(found[1], found[1]), value)


def build_store_item(record: ForeignRecord) -> FoundRecord:
    """One item; it is named by its namespace and key."""
    namespace, key = record.text("prefix"), record.require("key")
    value = parse_json_column(record.values.get("value"))
    kind = to_kind_name(as_mapping(value).get("kind"))
    parts = [part for part in namespace.split(".") if part]
    return record.to_found(
        f"{namespace}/{key}",
        extract_item_text(value),
        "created_at",
        odd=record.explain_unread(("created_at", "updated_at", "expires_at")),
        state=drop_empty_values(updated_at=record.time("updated_at")),
        fields=drop_empty_values(
            kind=KINDS.get(kind, "knowledge"),
            tags=parts[:1],
            expires_at=record.time("expires_at"),
            details={"namespace": parts, "key": key, "value": value},
        ),
    )


def extract_item_text(value: Any) -> str:
    """What an item says: its text, or that within it, or else all of it as JSON."""
    if isinstance(value, str):
        return value
    fields = as_mapping(value)
    for name in TEXT_NAMES:
        inner = fields.get(name)
        if isinstance(inner, str) and inner.strip():
            return inner
        if isinstance(inner, Mapping) and inner:
            return extract_item_text(inner)
    if not fields:
        raise BadInput("its value is empty")
    return json.dumps(value, ensure_ascii=False)
