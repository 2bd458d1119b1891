"""jaato's memories, of every generation: `memories.jsonl`, or `curated.jsonl` with files in `raw`.

Lines are read by `mirror.shared_lines`, which `reverie data share` reads with, so that a memory has the
same id whichever way it comes. Of one that stands in several files the one that was used or written
last holds.
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

# kept as they stand, too
STAMPS = ("source_agent", "generated_by", "curated_by", "escalated_to")
REFERENCES = "references"
UNIVERSAL = "universal"


def fits(path: Path) -> bool:
    """True for such a folder or a file of such lines."""
    if path.is_dir():
        return bool(list_jaato_files(path))
    if path.suffix != ".jsonl":
        return False
    head = read_file_head(path).encode("utf-8", "replace")
    whole = (line for line in shared_lines.parse_shared_file(head).lines if not line.why)
    first = next(whole, None)
    return first is not None and {"description", "timestamp"} <= first.record.keys()


def list_jaato_files(path: Path) -> list[Path]:
    """The files of a store, older generations first, and what was learned from them."""
    if path.is_file():
        return [path]
    files: list[Path] = []
    for home in (path, path / ".jaato", path / "memories", path / ".jaato" / "memories"):
        files.append(home / "memories.jsonl")
        files += sorted((home / "raw").glob("*.json"))
        files.append(home / "curated.jsonl")
        files += sorted((home / REFERENCES).glob("*.json"))
    return [file for file in files if file.is_file()]


def read_jaato_lines(file: Path) -> tuple[shared_lines.SharedLine, ...]:
    """The records of a file; one in `raw` is a record by itself, over as many lines as it likes."""
    text = read_import_text(file)
    if file.suffix == ".json":
        # no text of JSON holds a line's end
        text = text.replace("\n", " ")
    return shared_lines.parse_shared_file(text.encode("utf-8", "replace")).lines


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every record, each once."""
    latest: dict[str, FoundRecord] = {}
    repeated = 0
    is_folder = path.is_dir()
    files, link_remarks = exclude_links(path, list_jaato_files(path)) if is_folder else ([path], ())
    for file in files:
        name = file.relative_to(path).as_posix() if is_folder else file.name
        try:
            lines = read_jaato_lines(file)
        except BadInput as err:
            yield BadRecord(name, str(err))
            continue
        build = build_jaato_memory
        if file.parent.name == REFERENCES:
            build = build_jaato_reference
        for number, line in enumerate(lines, start=1):
            where = f"{name}, line {number}"
            if line.why:
                yield BadRecord(where, line.why)
                continue
            record = try_record(where, build, line.record, where, reading.zone)
            if isinstance(record, BadRecord):
                yield record
                continue
            repeated += record.key in latest
            latest[record.key] = max(latest.get(record.key, record), record, key=last_use_time)
    yield from latest.values()
    if repeated:
        yield ImportRemark(
            f"{repeated:,} stood there more than once; "
            "of each the one that was used or written last was taken"
        )
    yield from link_remarks


def build_jaato_reference(record: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """Something that was learned from memories there, and from which."""
    lineage = as_mapping(record.get("lineage"))
    sources = as_texts(lineage.get("source_memory_ids"))
    details = drop_empty_values(
        lineage=dict(lineage),
        name=as_text(record.get("name")),
        mode=as_text(record.get("mode")),
    )
    return FoundRecord(
        key=str(record["id"]),
        text=str(record["content"]),
        where=where,
        at=shared_lines.parse_local_time(lineage.get("curated_at"), zone),
        local=has_no_zone(lineage.get("curated_at")),
        scope=USER if record.get("scope") == UNIVERSAL else PROJECT,
        ties=tuple(RecordLink("derived_from", to) for to in sources),
        fields={
            "kind": "knowledge",
            "title": as_text(record.get("description")) or as_text(record.get("name")),
            "tags": as_texts(record.get("tags")),
            "provenance": "extracted",
            "details": details,
        },
    )


def build_jaato_memory(record: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """One record. What somebody put away there comes in put away."""
    fields = shared_lines.from_shared_record({**record, "tags": as_texts(record.get("tags"))}, zone)
    if record.get("maturity") == "raw":
        # nobody has looked at it there: it waits here, too
        fields["provenance"] = "inferred"
    text, at = fields.pop("text"), fields.pop("at")
    details = {
        name: value for name, value in fields.pop("details").items() if name != shared_lines.ORIGIN
    }
    details |= {name: record[name] for name in STAMPS if record.get(name)}
    session = as_text(record.get("source_session"))
    if not session:
        session = as_text(as_mapping(record.get("generated_by")).get("session_id"))
    state: dict[str, Any] = {
        "access_count": to_count(record.get("usage_count")),
        "last_accessed_at": shared_lines.parse_local_time(record.get("last_accessed"), zone),
    }
    if shared_lines.is_dismissed(record):
        state |= {"retired_at": at or 0.0, "retired_why": "dismissed"}
    return FoundRecord(
        key=str(record["id"]),
        text=text,
        where=where,
        at=at,
        local=has_no_zone(record.get("timestamp")),
        odd=explain_unread_fields(
            record, zone, times=("timestamp", "last_accessed"), lists=("tags",)
        ),
        scope=USER if record.get("scope") == UNIVERSAL else PROJECT,
        fields={**fields, "session": session, "details": details},
        state=state,
    )


def last_use_time(one: FoundRecord) -> float:
    """When it was last used or written."""
    return max(one.state.get("last_accessed_at") or 0.0, one.at or 0.0)
