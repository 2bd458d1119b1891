"""jaato's memories, of every generation: `memories.jsonl`, or a folder with `curated.jsonl` and a
file each in `raw`.

Lines are read by `mirror.jsonl`, which `reverie share` reads with, so that a memory has the same id
whichever way it comes. Of one that stands in several files the one that was used or written last
holds (X36, X37, X46).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_count
from reverie.mirror import shared_lines
from reverie.porting.importers.foreign_texts import exclude_links, read_file_head, read_import_text
from reverie.porting.importers.import_records import (
    PROJECT,
    USER,
    BadRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    RecordLink,
    as_mapping,
    as_text,
    as_texts,
    drop_empty_values,
    explain_unread_fields,
    has_no_zone,
    try_record,
)

STAMPS = ("source_agent", "generated_by", "curated_by", "escalated_to")  # kept as they stand, too
REFERENCES = "references"
UNIVERSAL = "universal"


def fits(path: Path) -> bool:
    """Whether this is such a folder or a file of such lines."""
    if path.is_dir():
        return bool(list_jaato_files(path))
    if path.suffix != ".jsonl":
        return False
    first = next(
        (
            line
            for line in shared_lines.parse_shared_file(
                read_file_head(path).encode("utf-8", "replace")
            ).lines
            if not line.why
        ),
        None,
    )
    return first is not None and {"description", "timestamp"} <= first.record.keys()


def list_jaato_files(path: Path) -> list[Path]:
    """The files of a store, older generations first, and what was learned from them."""
    if path.is_file():
        return [path]
    homes = [path, path / ".jaato", path / "memories", path / ".jaato" / "memories"]
    found = [
        file
        for home in homes
        for file in (
            home / "memories.jsonl",
            *sorted((home / "raw").glob("*.json")),
            home / "curated.jsonl",
            *sorted((home / REFERENCES).glob("*.json")),
        )
    ]
    return [file for file in found if file.is_file()]


def read_jaato_lines(file: Path) -> tuple[shared_lines.SharedLine, ...]:
    """The records of a file; one in `raw` is a record by itself, over as many lines as it likes."""
    text = read_import_text(file)
    if file.suffix == ".json":
        text = text.replace("\n", " ")  # no text of JSON holds a line's end
    return shared_lines.parse_shared_file(text.encode("utf-8", "replace")).lines


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every record, each once."""
    best: dict[str, FoundRecord] = {}
    twice = 0
    files, linked = exclude_links(path, list_jaato_files(path)) if path.is_dir() else ([path], ())
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        try:
            found = read_jaato_lines(file)
        except BadInput as err:
            yield BadRecord(name, str(err))
            continue
        for number, line in enumerate(found, start=1):
            where = f"{name}, line {number}"
            one = (
                BadRecord(where, line.why)
                if line.why
                else try_record(
                    where,
                    build_jaato_reference if file.parent.name == REFERENCES else build_jaato_memory,
                    line.record,
                    where,
                    reading.zone,
                )
            )
            if isinstance(one, BadRecord):
                yield one
                continue
            twice += one.key in best
            best[one.key] = max(best.get(one.key, one), one, key=last_use_time)
    yield from best.values()
    if twice:
        yield ImportRemark(
            f"{twice:,} stood there more than once; of each the one that was used or written last was taken"
        )
    yield from linked


def build_jaato_reference(record: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """Something that was learned from memories there, and from which."""
    lineage = as_mapping(record.get("lineage"))
    at = shared_lines.parse_local_time(lineage.get("curated_at"), zone)
    return FoundRecord(
        key=str(record["id"]),
        text=str(record["content"]),
        where=where,
        at=at,
        local=has_no_zone(lineage.get("curated_at")),
        scope=USER if record.get("scope") == UNIVERSAL else PROJECT,
        ties=tuple(
            RecordLink("derived_from", to) for to in as_texts(lineage.get("source_memory_ids"))
        ),
        fields={
            "kind": "knowledge",
            "title": as_text(record.get("description")) or as_text(record.get("name")),
            "tags": as_texts(record.get("tags")),
            "provenance": "extracted",
            "details": drop_empty_values(
                lineage=dict(lineage),
                name=as_text(record.get("name")),
                mode=as_text(record.get("mode")),
            ),
        },
    )


def build_jaato_memory(record: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """One record. What somebody put away there comes in put away."""
    fields = shared_lines.from_shared_record({**record, "tags": as_texts(record.get("tags"))}, zone)
    if (
        record.get("maturity") == "raw"
    ):  # nobody has looked at it there: it waits here, too (X43, CC-85)
        fields["provenance"] = "inferred"
    at = fields.pop("at")
    stamps = {name: record[name] for name in STAMPS if record.get(name)}
    details = {
        name: value for name, value in fields.pop("details").items() if name != shared_lines.ORIGIN
    }
    gone = shared_lines.is_dismissed(record)
    return FoundRecord(
        key=str(record["id"]),
        text=fields.pop("text"),
        where=where,
        at=at,
        local=has_no_zone(record.get("timestamp")),
        odd=explain_unread_fields(
            record, zone, times=("timestamp", "last_accessed"), lists=("tags",)
        ),
        scope=USER if record.get("scope") == UNIVERSAL else PROJECT,
        fields={
            **fields,
            "session": as_text(record.get("source_session"))
            or as_text(as_mapping(record.get("generated_by")).get("session_id")),
            "details": {**details, **stamps},
        },
        state={
            "access_count": to_count(record.get("usage_count")),
            "last_accessed_at": shared_lines.parse_local_time(record.get("last_accessed"), zone),
            **({"retired_at": at or 0.0, "retired_why": "dismissed"} if gone else {}),
        },
    )


def last_use_time(one: FoundRecord) -> float:
    """When it was last used or written."""
    return max(one.state.get("last_accessed_at") or 0.0, one.at or 0.0)
