"""mem0's memories as its `get_all` gives them, saved as JSON.

That is a list, or {"results": […], "relations": […]}. A record is {"id", "memory", "metadata",
"categories", "created_at", "updated_at", "expiration_date", "user_id", "agent_id", "run_id"}; only
the memory itself is needed. Relations name things and not memories: they become facts.
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
    """True if the first record of this file is one of mem0's."""
    if path.suffix != ".json" or not path.is_file():
        return False
    text = read_file_head(path)
    name = find_list_name(text)
    first = next(iter_json_records(text, name), None) if name else None
    if first is None or not isinstance(first.value, dict):
        return False
    return isinstance(first.value.get("memory"), str)


def find_list_name(text: str) -> str:
    """The name of the list that holds the memories; empty if there is none."""
    return next((name for name in LISTS if find_list_start(text, name) >= 0), "")


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every memory and relation."""
    text = read_import_text(path)
    try:
        for one in iter_json_records(text, find_list_name(text) or LISTS[0]):
            where = f"{path.name}, line {one.line}"
            if one.why:
                yield BadRecord(where, one.why)
                continue
            record = as_mapping(one.value)
            yield try_record(where, build_mem0_memory, record, where, reading.zone)
    except BadInput as err:
        yield BadRecord(path.name, str(err))
    if text.lstrip().startswith("[") or find_list_start(text, "relations") < 0:
        return
    for one in iter_json_records(text, "relations"):
        fact = render_mem0_relation(as_mapping(one.value))
        if fact is not None:
            yield FoundRecord(
                key=f"relation#{fingerprint_passage(fact)}",
                text=fact,
                where=f"{path.name}, line {one.line}",
                fields={"kind": "entity", "provenance": "extracted"},
            )


def build_mem0_memory(record: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """One memory. What mem0 read out of a conversation is `extracted`."""
    meta = as_mapping(record.get("metadata"))
    categories = as_texts(record.get("categories"))
    names = (*categories, as_text(meta.get("category")), as_text(meta.get("type")))
    kind = next((KINDS[name] for name in names if name in KINDS), "fact")
    updated = parse_record_time(record.get("updated_at"), zone)
    odd = explain_unread_fields(
        record,
        zone,
        times=("created_at", "updated_at", "expiration_date"),
        lists=("categories",),
    )
    return FoundRecord(
        key=require_field(record, "id"),
        text=require_field(record, "memory"),
        where=where,
        at=parse_record_time(record.get("created_at"), zone),
        local=has_no_zone(record.get("created_at")),
        odd=odd,
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
    """A relation as a sentence; None if it lacks an end."""
    source = as_text(record.get("source")).strip()
    relation = as_text(record.get("relationship")).strip()
    target = as_text(record.get("target")).strip()
    target = target or as_text(record.get("destination")).strip()
    if not source or not relation or not target:
        return None
    return f"{source} {relation.replace('_', ' ')} {target}"
