"""mem0's memories as its `get_all` gives them, saved as JSON.

That is a list, or {"results": […], "relations": […]}. A record is {"id", "memory", "metadata",
"categories", "created_at", "updated_at", "expiration_date", "user_id", "agent_id", "run_id"}; only
the memory itself is needed. Relations name things and not memories: they become facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    drop_empty_values,
    try_record,
)

LISTS = ("results", "memories")
KINDS = {
    "preference": "preference",
    "preferences": "preference",
    "user_preferences": "preference",
}


def fits(path: Path) -> bool:
    """True if the first record of this file is one of mem0's."""
    if path.suffix != ".json" or not path.is_file():
        return False
    text = read_file_head(path)
    name = find_list_name(text)
    first = next(iter_json_records(text, name, path.name), None) if name else None
    return isinstance(first, ForeignRecord) and isinstance(first.values.get("memory"), str)


def find_list_name(text: str) -> str:
    """The name of the list that holds the memories; empty if there is none."""
    return next((name for name in LISTS if find_list_start(text, name) >= 0), "")


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every memory and relation."""
    text = read_import_text(path)
    try:
        records = iter_json_records(
            text,
            find_list_name(text) or LISTS[0],
            path.name,
            reading.zone,
        )
        for record in records:
            yield try_record(build_mem0_memory, record)
    except BadInput as err:
        yield BadRecord(path.name, str(err))
    if text.lstrip().startswith("[") or find_list_start(text, "relations") < 0:
        return
    for record in iter_json_records(text, "relations", path.name):
        fact = render_mem0_relation(record) if isinstance(record, ForeignRecord) else ""
        if fact:
            yield FoundRecord(
                key=f"relation#{fingerprint_passage(fact)}",
                text=fact,
                where=record.where,
                fields={"kind": "entity"},
            )


def build_mem0_memory(record: ForeignRecord) -> FoundRecord:
    """One memory. What mem0 read out of a conversation is `extracted`."""
    meta = record.part("metadata")
    categories = record.texts("categories")
    # Versions and their users put it into different fields.
    names = (*categories, meta.text("category"), meta.text("type"))
    kind = next((KINDS[name] for name in names if name in KINDS), "fact")
    updated = record.time("updated_at")
    return record.to_found(
        record.require("id"),
        record.require("memory"),
        "created_at",
        odd=record.explain_unread(
            ("created_at", "updated_at", "expiration_date"), lists=("categories",)
        ),
        state={} if updated is None else {"updated_at": updated},
        fields=drop_empty_values(
            kind=kind,
            tags=categories,
            session=record.text("run_id"),
            speaker=record.text("actor_id", "user_id"),
            expires_at=record.time("expiration_date"),
            details=drop_empty_values(metadata=dict(meta.values)),
        ),
    )


def render_mem0_relation(record: ForeignRecord) -> str:
    """A relation as a sentence; "" if it lacks an end."""
    source = record.text("source").strip()
    relation = record.text("relationship").strip()
    target = record.text("target").strip() or record.text("destination").strip()
    if not source or not relation or not target:
        return ""
    return f"{source} {relation.replace('_', ' ')} {target}"
