"""What `reverie data export` wrote, where nobody says that it is their own.

Its memories come as any other program's: under ids made here, with what links them. The log, how
far readers had come, and what was put away there stay out: that is history, and history is believed
or not at all (`reverie data import --trusted` takes the whole, to the letter).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from reverie.core.errors import BadInput
from reverie.porting.export_validation import Row, RowFilter, accept_rows
from reverie.porting.importers.foreign_texts import read_import_text
from reverie.porting.importers.import_records import (
    BadRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    RecordLink,
)

EXPORT_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{[^{}]*"type":\s*"reverie"')
HEAD_BYTES = 4_096  # that are looked at to tell an export
FIELD_NAMES = """
    kind title tags session speaker messages files provenance triggers details trust salience
    valid_from valid_to expires_at
"""
FIELDS = tuple(FIELD_NAMES.split())
STATE_FIELDS = ("confidence", "strength", "access_count", "last_accessed_at", "updated_at")


def fits(path: Path) -> bool:
    """True if a file begins as an export of Reverie does."""
    if not path.is_file():
        return False
    with path.open("rb") as opened:
        return bool(EXPORT_BEGINNING.match(opened.read(HEAD_BYTES)))


def read(path: Path, _reading: ReadingContext) -> Iterator[ImportItem]:
    """Every memory that counts there, with the links between them."""
    row_filter = RowFilter(skips=True)
    memories: list[Row] = []
    ties: dict[str, list[RecordLink]] = defaultdict(list)
    try:
        for row in accept_rows(iter_rows(path), row_filter):
            if row["type"] == "memory" and row.get("retired_at") is None:
                memories.append(row)
            elif row["type"] == "edge":
                ties[row["src"]].append(
                    RecordLink(row["rel"], name_record(row["dst"]), row["weight"])
                )
    except BadInput as err:
        yield BadRecord(path.name, str(err))
        return
    for row in memories:
        yield FoundRecord(
            key=name_record(row["id"]),
            text=row["text"],
            where=f"{path.name}, {row['id']}",
            at=row["at"],
            personal="/" not in row["space"],
            fields={name: row[name] for name in FIELDS if row.get(name) is not None},
            state={name: row[name] for name in STATE_FIELDS if name in row},
            ties=tuple(ties[row["id"]]),
        )
    for bad in row_filter.bad:
        yield BadRecord(f"{path.name}, row {bad.row}", bad.why)
    if row_filter.count > len(row_filter.bad):
        yield ImportRemark(f"{row_filter.count - len(row_filter.bad):,} more rows left out")


def name_record(id: str) -> str:
    """What a memory is called here: never the id itself, under which the whole export may come."""
    return f"export {id}"


def iter_rows(path: Path) -> Iterator[Row | BadInput]:
    """The rows of an export; a BadInput stands for one that is none."""
    for line in filter(str.strip, read_import_text(path).split("\n")):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as err:
            yield BadInput(f"it is no JSON: {str(err)[:80]}")
            continue
        yield row if isinstance(row, dict) else BadInput("it is no object")
