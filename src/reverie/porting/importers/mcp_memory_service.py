"""mcp-memory-service: its SQLite database (`sqlite_vec.db`), or its export as JSON.

A memory has a text, tags, a type and metadata; in the database also what stepped back for what, and
a graph of links. What was deleted there stays out. Vectors are of another model, and made anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_fraction
from reverie.porting.importers.foreign_texts import (
    exclude_links,
    iter_json_records,
    parse_json_column,
    read_file_head,
    read_import_text,
)
from reverie.porting.importers.import_records import (
    BadRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    RecordLink,
    as_mapping,
    as_texts,
    drop_empty_values,
    to_kind_name,
    try_record,
)
from reverie.storage.foreign_tables import TableRow, read_sqlite_layout, read_table_rows

DATABASES = ("sqlite_vec.db", "memory.db")
MEMORIES, GRAPH = "memories", "memory_graph"
KINDS = {
    "decision": "decision",
    "learning": "learning",
    "error": "learning",
    "fact": "fact",
    "preference": "preference",
    "reference": "note",
    "observation": "observation",
    "pattern": "observation",
}
RELATIONS = {"contradicts": "contradicts", "supersedes": "supersedes"}


def fits(path: Path) -> bool:
    """True for the service's folder, its database or an export."""
    if path.suffix == ".json" and path.is_file():
        head = read_file_head(path)
        return '"export_metadata"' in head and '"content_hash"' in head
    file = find_service_database(path)
    if file is None:
        return False
    return {"content_hash", "content", "memory_type"} <= read_sqlite_layout(file).get(
        MEMORIES, frozenset()
    )


def find_service_database(path: Path) -> Path | None:
    """The database that a path means; None if there is none."""
    if path.is_dir():
        files, _ = exclude_links(path, [path / name for name in DATABASES])
        return next((file for file in files if file.is_file()), None)
    return path if path.is_file() else None


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every memory that counts there, with its links."""
    if path.suffix == ".json" and path.is_file():
        try:
            for record in iter_json_records(
                read_import_text(path), MEMORIES, path.name, reading.zone
            ):
                yield try_record(build_service_memory, record, ())
        except BadInput as err:
            yield BadRecord(path.name, str(err))
        return
    file = find_service_database(path)
    if file is None:
        raise BadInput(f"There is no {DATABASES[0]} in {path.name}")
    ties: dict[str, list[RecordLink]] = defaultdict(list)
    for row in read_table_rows(file, (GRAPH,)):
        add_graph_tie(row, ties)
    for row in read_table_rows(file, (MEMORIES,)):
        if row.values.get("deleted_at") is None:
            record = ForeignRecord(row.values, f"{row.table}, row {row.number}", reading.zone)
            yield try_record(build_service_memory, record, tuple(ties[record.text("content_hash")]))


def add_graph_tie(row: TableRow, ties: dict[str, list[RecordLink]]) -> None:
    """Keep an edge of the graph, if it says between what and how near."""
    record = ForeignRecord(row.values, "")
    source, target = record.text("source_hash"), record.text("target_hash")
    weight = to_fraction(row.values.get("similarity"), None)
    if source and target and weight:
        relation = RELATIONS.get(record.text("relationship_type"), "relates_to")
        ties[source].append(RecordLink(relation, target, weight))


def build_service_memory(record: ForeignRecord, ties: tuple[RecordLink, ...]) -> FoundRecord:
    """One memory; it is named by the hash of what it says."""
    tags = record.values.get("tags")
    names = tags.split(",") if isinstance(tags, str) else as_texts(tags)
    type = record.text("memory_type")
    meta = as_mapping(parse_json_column(record.values.get("metadata")))
    store = record.text("store")
    # 1 is what the column holds where nobody has judged it
    confidence = record.fraction("confidence")
    return record.to_found(
        record.require("content_hash"),
        record.require("content"),
        "created_at",
        odd=record.explain_unread(("created_at", "updated_at")),
        ties=ties,
        newer=record.text("superseded_by"),
        state=drop_empty_values(updated_at=record.time("updated_at")),
        fields=drop_empty_values(
            kind=KINDS.get(type.partition("/")[0], to_kind_name(type)),
            tags=[name.strip() for name in names if name.strip()],
            trust=None if confidence == 1 else confidence,
            details=drop_empty_values(
                metadata=dict(meta),
                type=type,
                store="" if store == "default" else store,
            ),
        ),
    )
