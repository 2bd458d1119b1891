"""MemPalace: the drawers of a palace, and its knowledge graph.

A palace is a folder with `chroma.sqlite3` (ChromaDB) or `sqlite_exact.sqlite3`. A drawer is a piece
of a text, word for word, in a room of a wing. `knowledge_graph.sqlite3` beside it, or above, holds
triples with the time in which they hold. Vectors are made anew; what MemPalace keeps for itself
(registries, closets) is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.porting.importers.foreign_texts import exclude_links, parse_json_column
from reverie.porting.importers.import_records import (
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    as_mapping,
    drop_empty_values,
    try_record,
)
from reverie.storage.foreign_tables import TableRow, read_sqlite_layout, read_table_rows

CHROMA, EXACT, GRAPH = "chroma.sqlite3", "sqlite_exact.sqlite3", "knowledge_graph.sqlite3"
PALACE = "palace"
DRAWERS = "mempalace_drawers"
DOCUMENT = "chroma:document"
# rooms that MemPalace keeps for itself
OWN_ROOMS = ("_registry",)
METADATA_COLUMNS = ("string_value", "int_value", "float_value", "bool_value")


def fits(path: Path) -> bool:
    """True for MemPalace's folder, a palace in it, or one of its databases."""
    for file in find_palace_databases(path):
        layout = read_sqlite_layout(file)
        if file.name == GRAPH and "valid_from" in layout.get("triples", ()):
            return True
        if file.name == EXACT and "metadata_json" in layout.get("documents", ()):
            return True
        if file.name == CHROMA and "embedding_metadata" in layout:
            rows = read_table_rows(file, ("collections",))
            if any(str(row.values.get("name", "")).startswith("mempalace") for row in rows):
                return True
    return False


def find_palace_databases(path: Path) -> list[Path]:
    """The databases that a path means: drawers before the graph."""
    if path.is_file():
        return [path] if path.name in (CHROMA, EXACT, GRAPH) else []
    folders = (path, path / PALACE)
    places = [folder / name for name in (CHROMA, EXACT, GRAPH) for folder in folders]
    files, _ = exclude_links(path, places)
    return [file for file in files if file.is_file()]


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every drawer, and every triple."""
    files = find_palace_databases(path)
    if not files:
        raise BadInput(f"There is no {CHROMA} in {path.name}")
    for file in files:
        if file.name == GRAPH:
            for row in read_table_rows(file, ("triples",)):
                record = ForeignRecord(row.values, f"triples, row {row.number}", reading.zone)
                yield try_record(build_triple_fact, record)
            continue
        drawers = iter_chroma_drawers(file) if file.name == CHROMA else iter_exact_drawers(file)
        for number, (name, text, meta) in enumerate(drawers, start=1):
            if meta.get("room") not in OWN_ROOMS:
                record = ForeignRecord(
                    {**meta, "id": name, "document": text},
                    f"{file.name}, drawer {number}",
                    reading.zone,
                )
                yield try_record(build_drawer, record)


def iter_chroma_drawers(file: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name, text, metadata) of the drawers in a database of ChromaDB."""
    collections, segments = set[Any](), set[Any]()
    names: dict[Any, str] = {}
    values: dict[Any, dict[str, Any]] = {}
    tables = ("collections", "segments", "embeddings", "embedding_metadata")
    for row in read_table_rows(file, tables):
        one = row.values
        match row.table:
            case "collections" if one.get("name") == DRAWERS:
                collections.add(one.get("id"))
            case "segments" if one.get("collection") in collections:
                segments.add(one.get("id"))
            case "embeddings" if one.get("segment_id") in segments:
                names[one.get("id")] = str(one.get("embedding_id"))
            case "embedding_metadata" if one.get("id") in names:
                values.setdefault(one["id"], {})[str(one.get("key"))] = pick_metadata(row)
    for id, name in names.items():
        meta = values.pop(id, {})
        yield name, meta.pop(DOCUMENT, None), meta


def pick_metadata(row: TableRow) -> Any:
    """The value of a metadata row: the one of its columns that holds something."""
    found = (row.values.get(column) for column in METADATA_COLUMNS)
    return next((value for value in found if value is not None), None)


def iter_exact_drawers(file: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name, text, metadata) of the drawers in MemPalace's own database."""
    collections = set[Any]()
    for row in read_table_rows(file, ("collections", "documents")):
        one = row.values
        if row.table == "collections":
            if one.get("name") == DRAWERS:
                collections.add(one.get("id"))
        elif one.get("collection_id") in collections:
            meta = as_mapping(parse_json_column(one.get("metadata_json")))
            yield str(one.get("id")), one.get("document"), dict(meta)


def build_drawer(record: ForeignRecord) -> FoundRecord:
    """A drawer: a piece of a text as somebody filed it."""
    wing, room = record.text("wing"), record.text("room")
    return record.to_found(
        record.require("id"),
        record.require("document"),
        "filed_at",
        odd=record.explain_unread(("filed_at",)),
        fields=drop_empty_values(
            kind="note",
            title=" / ".join(part for part in (wing, room) if part),
            tags=[tag for tag in (wing, room) if tag],
            speaker=record.text("added_by"),
            details=drop_empty_values(
                wing=wing,
                room=room,
                hall=record.text("hall"),
                source=record.text("source_file"),
                chunk=record.values.get("chunk_index"),
            ),
        ),
    )


def build_triple_fact(record: ForeignRecord) -> FoundRecord:
    """A triple of the graph, as a sentence with the time in which it holds."""
    parts = [record.require(name).replace("_", " ") for name in ("subject", "predicate", "object")]
    return record.to_found(
        record.require("id"),
        " ".join(parts),
        "extracted_at",
        fields=drop_empty_values(
            kind="entity",
            trust=None if record.fraction("confidence") == 1 else record.fraction("confidence"),
            valid_from=record.time("valid_from"),
            valid_to=record.time("valid_to"),
            details=drop_empty_values(source=record.text("source_file")),
        ),
    )
