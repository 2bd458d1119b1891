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
from reverie.core.foreign_numbers import count
from reverie.mirror import shared_lines
from reverie.porting.importers.foreign_texts import head_of, own, text_in
from reverie.porting.importers.import_records import (
    PROJECT,
    USER,
    Bad,
    Found,
    Item,
    Reading,
    Remark,
    Tie,
    mapping,
    not_understood,
    texts,
    usable,
    without_none,
    words,
    zoneless,
)

STAMPS = ("source_agent", "generated_by", "curated_by", "escalated_to")  # kept as they stand, too
REFERENCES = "references"
UNIVERSAL = "universal"


def fits(path: Path) -> bool:
    """Whether this is such a folder or a file of such lines."""
    if path.is_dir():
        return bool(files_of(path))
    if path.suffix != ".jsonl":
        return False
    first = next(
        (
            line
            for line in shared_lines.read(head_of(path).encode("utf-8", "replace")).lines
            if not line.why
        ),
        None,
    )
    return first is not None and {"description", "timestamp"} <= first.record.keys()


def files_of(path: Path) -> list[Path]:
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


def lines(file: Path) -> tuple[shared_lines.Line, ...]:
    """The records of a file; one in `raw` is a record by itself, over as many lines as it likes."""
    text = text_in(file)
    if file.suffix == ".json":
        text = text.replace("\n", " ")  # no text of JSON holds a line's end
    return shared_lines.read(text.encode("utf-8", "replace")).lines


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Every record, each once."""
    best: dict[str, Found] = {}
    twice = 0
    files, linked = own(path, files_of(path)) if path.is_dir() else ([path], ())
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        try:
            found = lines(file)
        except BadInput as err:
            yield Bad(name, str(err))
            continue
        for number, line in enumerate(found, start=1):
            where = f"{name}, line {number}"
            one = (
                Bad(where, line.why)
                if line.why
                else usable(
                    where,
                    reference if file.parent.name == REFERENCES else memory,
                    line.record,
                    where,
                    reading.zone,
                )
            )
            if isinstance(one, Bad):
                yield one
                continue
            twice += one.key in best
            best[one.key] = max(best.get(one.key, one), one, key=latest)
    yield from best.values()
    if twice:
        yield Remark(
            f"{twice:,} stood there more than once; of each the one that was used or written last was taken"
        )
    yield from linked


def reference(record: Mapping[str, Any], where: str, zone: str) -> Found:
    """Something that was learned from memories there, and from which."""
    lineage = mapping(record.get("lineage"))
    at = shared_lines.moment_in(lineage.get("curated_at"), zone)
    return Found(
        key=str(record["id"]),
        text=str(record["content"]),
        where=where,
        at=at,
        local=zoneless(lineage.get("curated_at")),
        scope=USER if record.get("scope") == UNIVERSAL else PROJECT,
        ties=tuple(Tie("derived_from", to) for to in texts(lineage.get("source_memory_ids"))),
        fields={
            "kind": "knowledge",
            "title": words(record.get("description")) or words(record.get("name")),
            "tags": texts(record.get("tags")),
            "provenance": "extracted",
            "details": without_none(
                lineage=dict(lineage),
                name=words(record.get("name")),
                mode=words(record.get("mode")),
            ),
        },
    )


def memory(record: Mapping[str, Any], where: str, zone: str) -> Found:
    """One record. What somebody put away there comes in put away."""
    fields = shared_lines.fields_of({**record, "tags": texts(record.get("tags"))}, zone)
    if (
        record.get("maturity") == "raw"
    ):  # nobody has looked at it there: it waits here, too (X43, CC-85)
        fields["provenance"] = "inferred"
    at = fields.pop("at")
    stamps = {name: record[name] for name in STAMPS if record.get(name)}
    details = {
        name: value for name, value in fields.pop("details").items() if name != shared_lines.ORIGIN
    }
    gone = shared_lines.dismissed(record)
    return Found(
        key=str(record["id"]),
        text=fields.pop("text"),
        where=where,
        at=at,
        local=zoneless(record.get("timestamp")),
        odd=not_understood(record, zone, times=("timestamp", "last_accessed"), lists=("tags",)),
        scope=USER if record.get("scope") == UNIVERSAL else PROJECT,
        fields={
            **fields,
            "session": words(record.get("source_session"))
            or words(mapping(record.get("generated_by")).get("session_id")),
            "details": {**details, **stamps},
        },
        state={
            "access_count": count(record.get("usage_count")),
            "last_accessed_at": shared_lines.moment_in(record.get("last_accessed"), zone),
            **({"retired_at": at or 0.0, "retired_why": "dismissed"} if gone else {}),
        },
    )


def latest(one: Found) -> float:
    """When it was last used or written."""
    return max(one.state.get("last_accessed_at") or 0.0, one.at or 0.0)
