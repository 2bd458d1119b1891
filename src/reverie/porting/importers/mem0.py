"""mem0's memories as its `get_all` gives them: a list, or {"results": […], "relations": […]}, saved
as JSON.

A record is {"id", "memory", "metadata", "categories", "created_at", "updated_at",
"expiration_date", "user_id", "agent_id", "run_id"}; only the memory itself is needed. Relations
name things and not memories: they become facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.porting.importers.foreign_texts import (
    find_list_start,
    fingerprint_passage,
    iter_json_records,
    read_file_head,
    read_import_text,
)
from reverie.porting.importers.import_records import (
    BadRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    as_mapping,
    as_text,
    as_texts,
    drop_empty_values,
    explain_unread_fields,
    has_no_zone,
    parse_record_time,
    require_field,
    try_record,
)

LISTS = ("results", "memories")
KINDS = {"preference": "preference", "preferences": "preference", "user_preferences": "preference"}


def fits(path: Path) -> bool:
    """Whether the first record of this file is one of mem0's."""
    if path.suffix != ".json" or not path.is_file():
        return False
    text = read_file_head(path)
    name = next((name for name in LISTS if find_list_start(text, name) >= 0), "")
    first = next(iter(iter_json_records(text, name)), None) if name else None
    return (
        first is not None
        and isinstance(first.value, dict)
        and isinstance(first.value.get("memory"), str)
    )


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every memory and relation."""
    text = read_import_text(path)
    name = next((name for name in LISTS if find_list_start(text, name) >= 0), LISTS[0])
    try:
        for piece in iter_json_records(text, name):
            where = f"{path.name}, line {piece.line}"
            yield (
                BadRecord(where, piece.why)
                if piece.why
                else try_record(
                    where, build_mem0_memory, as_mapping(piece.value), where, reading.zone
                )
            )
    except BadInput as err:
        yield BadRecord(path.name, str(err))
    if not text.lstrip().startswith("[") and find_list_start(text, "relations") >= 0:
        for piece in iter_json_records(text, "relations"):
            if (fact := render_mem0_relation(as_mapping(piece.value))) is not None:
                yield FoundRecord(
                    key=f"relation#{fingerprint_passage(fact)}",
                    text=fact,
                    where=f"{path.name}, line {piece.line}",
                    fields={"kind": "entity", "provenance": "extracted"},
                )


def build_mem0_memory(record: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """One memory. What mem0 read out of a conversation is `extracted`."""
    meta = as_mapping(record.get("metadata"))
    categories = as_texts(record.get("categories"))
    kind = next(
        (
            KINDS[name]
            for name in (*categories, as_text(meta.get("category")), as_text(meta.get("type")))
            if name in KINDS
        ),
        "fact",
    )
    updated = parse_record_time(record.get("updated_at"), zone)
    return FoundRecord(
        key=require_field(record, "id"),
        text=require_field(record, "memory"),
        where=where,
        at=parse_record_time(record.get("created_at"), zone),
        local=has_no_zone(record.get("created_at")),
        odd=explain_unread_fields(
            record,
            zone,
            times=("created_at", "updated_at", "expiration_date"),
            lists=("categories",),
        ),
        state={} if updated is None else {"updated_at": updated},
        fields=drop_empty_values(
            kind=kind,
            tags=categories,
            provenance="extracted",
            session=as_text(record.get("run_id")),
            speaker=as_text(record.get("actor_id")) or as_text(record.get("user_id")),
            expires_at=parse_record_time(record.get("expiration_date"), zone),
            details=drop_empty_values(metadata=dict(meta)),
        ),
    )


def render_mem0_relation(record: Mapping[str, Any]) -> str | None:
    """A relation as a sentence; none if it lacks an end."""
    source, rel, target = (
        as_text(record.get(name)).strip() for name in ("source", "relationship", "target")
    )
    target = target or as_text(record.get("destination")).strip()
    return f"{source} {rel.replace('_', ' ')} {target}" if source and rel and target else None
