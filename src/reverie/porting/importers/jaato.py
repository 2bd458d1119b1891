"""jaato's memories, of every generation: `memories.jsonl`, or `curated.jsonl` with files in `raw`.

Lines are read by `mirror.shared_lines`, which `reverie data share` reads with, so that a memory has
the same id whichever way it comes. Of one that stands in several files the one that was used or
written last holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.mirror import shared_lines
from reverie.porting.importers.foreign_texts import exclude_links, read_file_head, read_import_text
from reverie.porting.importers.import_records import (
    BadRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    RecordLink,
    drop_empty_values,
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
    whole = (line.record for line in shared_lines.parse_shared_file(head).lines if not line.why)
    return {"description", "timestamp"} <= next(whole, {}).keys()


def list_jaato_files(path: Path) -> list[Path]:
    """The files of a store, older generations first, and what was learned from them."""
    if path.is_file():
        return [path]
    files: list[Path] = []
    # Generations kept it in different folders, and people name any of these.
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
    files, link_remarks = (
        exclude_links(
            path,
            list_jaato_files(path),
        )
        if is_folder
        else ([path], ())
    )
    for file in files:
        name = file.relative_to(path).as_posix() if is_folder else file.name
        try:
            lines = read_jaato_lines(file)
        except BadInput as err:
            yield BadRecord(name, str(err))
            continue
        is_reference = file.parent.name == REFERENCES
        build = build_jaato_reference if is_reference else build_jaato_memory
        for number, line in enumerate(lines, start=1):
            record = ForeignRecord(line.record, f"{name}, line {number}", reading.zone)
            found = try_record(
                build,
                BadRecord(record.where, line.why) if line.why else record,
            )
            if isinstance(found, BadRecord):
                yield found
                continue
            repeated += found.key in latest
            latest[found.key] = max(
                latest.get(found.key, found),
                found,
                key=last_use_time,
            )
    yield from latest.values()
    if repeated:
        yield ImportRemark(
            f"{repeated:,} stood there more than once; "
            "of each the one that was used or written last was taken"
        )
    yield from link_remarks


def build_jaato_reference(record: ForeignRecord) -> FoundRecord:
    """Something that was learned from memories there, and from which."""
    lineage = record.part("lineage")
    curated_at = lineage.values.get("curated_at")
    return FoundRecord(
        key=record.text("id"),
        text=record.text("content"),
        where=record.where,
        at=shared_lines.parse_local_time(curated_at, record.zone),
        local=has_no_zone(curated_at),
        personal=record.text("scope") == UNIVERSAL,
        ties=tuple(RecordLink("derived_from", to) for to in lineage.texts("source_memory_ids")),
        fields={
            "kind": "knowledge",
            "title": record.text("description", "name"),
            "tags": record.texts("tags"),
            "details": drop_empty_values(
                lineage=dict(lineage.values),
                name=record.text("name"),
                mode=record.text("mode"),
            ),
        },
    )


def build_jaato_memory(record: ForeignRecord) -> FoundRecord:
    """One record. What somebody put away there comes in put away."""
    values = record.values
    fields = shared_lines.from_shared_record(
        {**values, "tags": record.texts("tags")},
        record.zone,
    )
    if values.get("maturity") == "raw":
        # nobody has looked at it there: it waits here, too
        fields["provenance"] = "inferred"
    text, at, details = fields.pop("text"), fields.pop("at"), fields["details"]
    details.pop(shared_lines.ORIGIN, None)
    details |= {name: values[name] for name in STAMPS if values.get(name)}
    fields["session"] = record.text("source_session")
    fields["session"] = fields["session"] or record.part("generated_by").text("session_id")
    state: dict[str, Any] = {
        "access_count": record.whole_number("usage_count"),
        "last_accessed_at": shared_lines.parse_local_time(values.get("last_accessed"), record.zone),
    }
    if shared_lines.is_dismissed(values):
        state |= {"retired_at": at or 0.0, "retired_why": "dismissed"}
    return FoundRecord(
        key=record.text("id"),
        text=text,
        where=record.where,
        at=at,
        local=has_no_zone(values.get("timestamp")),
        odd=record.explain_unread(("timestamp", "last_accessed"), lists=("tags",)),
        personal=record.text("scope") == UNIVERSAL,
        fields=fields,
        state=state,
    )


def last_use_time(one: FoundRecord) -> float:
    """When it was last used or written."""
    return max(one.state.get("last_accessed_at") or 0.0, one.at or 0.0)
