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
from reverie.porting.importers.foreign_texts import head_of, opening, pieces, print_of, text_in
from reverie.porting.importers.import_records import (
    Bad,
    Found,
    Item,
    Reading,
    mapping,
    moment,
    not_understood,
    required,
    texts,
    usable,
    without_none,
    words,
    zoneless,
)

LISTS = ("results", "memories")
KINDS = {"preference": "preference", "preferences": "preference", "user_preferences": "preference"}


def fits(path: Path) -> bool:
    """Whether the first record of this file is one of mem0's."""
    if path.suffix != ".json" or not path.is_file():
        return False
    text = head_of(path)
    name = next((name for name in LISTS if opening(text, name) >= 0), "")
    first = next(iter(pieces(text, name)), None) if name else None
    return (
        first is not None
        and isinstance(first.value, dict)
        and isinstance(first.value.get("memory"), str)
    )


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Every memory and relation."""
    text = text_in(path)
    name = next((name for name in LISTS if opening(text, name) >= 0), LISTS[0])
    try:
        for piece in pieces(text, name):
            where = f"{path.name}, line {piece.line}"
            yield (
                Bad(where, piece.why)
                if piece.why
                else usable(where, memory, mapping(piece.value), where, reading.zone)
            )
    except BadInput as err:
        yield Bad(path.name, str(err))
    if not text.lstrip().startswith("[") and opening(text, "relations") >= 0:
        for piece in pieces(text, "relations"):
            if (fact := relation(mapping(piece.value))) is not None:
                yield Found(
                    key=f"relation#{print_of(fact)}",
                    text=fact,
                    where=f"{path.name}, line {piece.line}",
                    fields={"kind": "entity", "provenance": "extracted"},
                )


def memory(record: Mapping[str, Any], where: str, zone: str) -> Found:
    """One memory. What mem0 read out of a conversation is `extracted`."""
    meta = mapping(record.get("metadata"))
    categories = texts(record.get("categories"))
    kind = next(
        (
            KINDS[name]
            for name in (*categories, words(meta.get("category")), words(meta.get("type")))
            if name in KINDS
        ),
        "fact",
    )
    updated = moment(record.get("updated_at"), zone)
    return Found(
        key=required(record, "id"),
        text=required(record, "memory"),
        where=where,
        at=moment(record.get("created_at"), zone),
        local=zoneless(record.get("created_at")),
        odd=not_understood(
            record,
            zone,
            times=("created_at", "updated_at", "expiration_date"),
            lists=("categories",),
        ),
        state={} if updated is None else {"updated_at": updated},
        fields=without_none(
            kind=kind,
            tags=categories,
            provenance="extracted",
            session=words(record.get("run_id")),
            speaker=words(record.get("actor_id")) or words(record.get("user_id")),
            expires_at=moment(record.get("expiration_date"), zone),
            details=without_none(metadata=dict(meta)),
        ),
    )


def relation(record: Mapping[str, Any]) -> str | None:
    """A relation as a sentence; none if it lacks an end."""
    source, rel, target = (
        words(record.get(name)).strip() for name in ("source", "relationship", "target")
    )
    target = target or words(record.get("destination")).strip()
    return f"{source} {rel.replace('_', ' ')} {target}" if source and rel and target else None
