"""Which columns of the store hold text, the same for every backend, and how a row is cleaned.

`TEXT_TABLES` names each column that holds what people or programs said, `FIXED_COLUMNS` those with
words of our own; a test makes sure that no column is in neither. A backend whose keys begin with a
tenant leaves that out here.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from reverie.storage.row_codec import STRUCTURED, from_json, to_json
from reverie.storage.scrub_scan import ScrubFinding, ScrubStep, TextCleaner


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
# Where a scan goes on: the place of a table in TEXT_TABLES, and the last key that was seen.
ScanPlace = tuple[int, tuple[Any, ...]]
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


def scan_rows(
    read_rows: Callable[[TextTable, Sequence[Any], int], Sequence[dict[str, Any]]],
    clean: TextCleaner,
    after: ScanPlace | None,
    limit: int,
    write_row: Callable[[TextTable, dict[str, Any], dict[str, Any]], None] | None = None,
) -> ScrubStep:
    """Scan the next rows, all of one table.

    `read_rows` reads so many of a table beyond a key; `write_row` writes a row that was cleaned, as
    it was and as it is to be. Without it nothing is written.
    """
    place, key = after or (0, ())
    table = TEXT_TABLES[place]
    # Of one table only, so that one key says where to go on.
    rows = read_rows(table, key, limit)
    finds: list[ScrubFinding] = []
    for old in rows:
        new, kinds = clean_row(table, old, clean)
        if not kinds:
            continue
        name = str(new[table.named])
        for kind, times in sorted(kinds.items()):
            finds.append(ScrubFinding(table.what, name, kind, times))
        if write_row is not None:
            write_row(table, old, new)
    following: ScanPlace | None = None
    if len(rows) == limit:
        following = (place, tuple(rows[-1][name] for name in table.key))
    elif place + 1 < len(TEXT_TABLES):
        following = (place + 1, ())
    return ScrubStep(tuple(finds), len(rows), following)
