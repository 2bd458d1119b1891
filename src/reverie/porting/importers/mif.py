"""Memory Interchange Format 2 (`mif_version`): a JSON document with a list of memories.

A memory has an id, a text and a time; a type, tags, entities, metadata and relations if its program
knew them. Vectors are made anew. Its `vendor_extensions` are read where Reverie wrote them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.kinds import KINDS
from reverie.porting.importers.foreign_texts import (
    parse_lenient_json,
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
    drop_empty_values,
    try_record,
)

TYPES = {"error": "learning", "context": "note", "conversation": "note"}
RELATED = 0.5  # weight of a relation, for which the format has none


def fits(path: Path) -> bool:
    """True for a document of this format."""
    return path.is_file() and path.suffix == ".json" and '"mif_version"' in read_file_head(path)


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every memory, with what it is related to."""
    try:
        document = as_mapping(parse_lenient_json(read_import_text(path)))
    except BadInput as err:
        yield BadRecord(path.name, str(err))
        return
    if not str(document.get("mif_version", "")).startswith("2"):
        yield BadRecord(path.name, f"its version is {document.get('mif_version')!r}; known is 2")
        return
    own = as_mapping(as_mapping(document.get("vendor_extensions")).get("reverie"))
    links = list_links(own.get("links"))
    memories = document.get("memories")
    for number, value in enumerate(memories if isinstance(memories, list) else (), start=1):
        where = f"{path.name}, memory {number:,}"
        record = ForeignRecord(as_mapping(value), where, reading.zone)
        yield try_record(build_mif_memory, record, links)


def list_links(values: Any) -> dict[str, list[RecordLink]]:
    """The links that an export of Reverie's holds, by where they begin."""
    found: dict[str, list[RecordLink]] = defaultdict(list)
    for value in values if isinstance(values, list) else ():
        one = ForeignRecord(as_mapping(value), "")
        weight = one.fraction("weight")
        if one.text("src") and one.text("dst") and one.text("rel") and weight:
            found[one.text("src")].append(RecordLink(one.text("rel"), one.text("dst"), weight))
    return found


def build_mif_memory(record: ForeignRecord, links: dict[str, list[RecordLink]]) -> FoundRecord:
    """One memory, named by its id."""
    id, type = record.require("id"), record.text("memory_type")
    meta = dict(record.part("metadata").values)
    source = record.part("source")
    related = [*record.texts("related_memory_ids"), record.text("parent_id")]
    ties = [RecordLink("relates_to", other, RELATED) for other in related if other]
    entities = record.values.get("entities")
    names = [
        as_mapping(one).get("name") for one in (entities if isinstance(entities, list) else ())
    ]
    title = meta.pop("title", "")
    return record.to_found(
        id,
        record.require("content"),
        "created_at",
        odd=record.explain_unread(("created_at", "updated_at"), lists=("tags",)),
        ties=(*ties, *links.get(id, ())),
        state=drop_empty_values(updated_at=record.time("updated_at")),
        fields=drop_empty_values(
            kind=type if type in KINDS else TYPES.get(type, "fact"),
            title=title if isinstance(title, str) else "",
            tags=record.texts("tags"),
            session=source.text("session_id"),
            details=drop_empty_values(
                metadata=meta,
                entities=[name for name in names if isinstance(name, str)],
                program=source.text("source_type"),
            ),
        ),
    )
