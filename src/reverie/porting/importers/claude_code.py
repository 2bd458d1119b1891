"""Claude Code's auto memory: a folder with MEMORY.md, an index, and a page for each topic.

The folder is `~/.claude/projects/<project>/memory`; the project's folder will do. A page has its
name, description, type and last change at its head. Of the index those lines are taken that point
to no page that is there. Its conversations (`*.jsonl`) are learned from by `reverie learn`, not
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reverie.core.errors import BadInput
from reverie.porting.importers.foreign_texts import (
    exclude_links,
    fingerprint_passage,
    kind_from_heading,
    read_page,
    remark_sensitive_pages,
    split_frontmatter,
    split_passages,
)
from reverie.porting.importers.import_records import (
    PROJECT,
    USER,
    BadRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    RecordLink,
    as_mapping,
    as_text,
    has_no_zone,
    parse_record_time,
)

INDEX = "MEMORY.md"
TYPES = {"user": "knowledge", "feedback": "preference", "project": "fact", "reference": "note"}
LINK = re.compile(r"\]\(([^)\s]+\.md)\)")
WIKI = re.compile(r"\[\[([^\]|#]+)")


def fits(path: Path) -> bool:
    """Whether this is such a folder, a project's folder with one in it, or its index."""
    return find_memory_folder(path) is not None


def find_memory_folder(path: Path) -> Path | None:
    """The folder of memories."""
    if path.is_file() and path.name == INDEX:
        path = path.parent
    return (
        next((one for one in (path, path / "memory") if (one / INDEX).is_file()), None)
        if path.is_dir()
        else None
    )


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every page, and what the index says besides."""
    folder = find_memory_folder(path) or path
    root = folder if folder.is_dir() else path.parent
    files, linked = exclude_links(root, sorted(folder.rglob("*.md")) if folder.is_dir() else [path])
    yield from remark_sensitive_pages(files)
    topics = []
    for file in files:
        if file.name == INDEX:
            continue
        try:
            if (
                one := read_topic_page(file, file.relative_to(root).as_posix(), reading)
            ) is not None:
                topics.append(one)
        except (BadInput, OSError) as err:
            yield BadRecord(file.relative_to(root).as_posix(), str(err))
    known = {Path(one.key.partition("#")[0]).stem: one.key for one in topics}
    for one in topics:
        others = (known.get(name.strip()) for name in WIKI.findall(one.text))
        yield one._replace(
            ties=tuple(
                RecordLink("relates_to", key, 0.5)
                for key in dict.fromkeys(others)
                if key and key != one.key
            )
        )
    if (index := root / INDEX) in files:
        yield from read_index_rest(index, root)
    yield from linked


def read_topic_page(file: Path, name: str, reading: ReadingContext) -> FoundRecord | None:
    """A page; none if it says nothing."""
    head, body, line = split_frontmatter(read_page(file))
    text = body.strip()
    if not text:
        return None
    meta = as_mapping(head.get("metadata"))
    type = as_text(head.get("type")) or as_text(meta.get("type"))
    title = as_text(head.get("description")) or as_text(head.get("name"))
    modified = head.get("modified") or meta.get("modified")
    return FoundRecord(
        key=f"{name}#{fingerprint_passage(text)}",
        text=text,
        where=f"{name}, line {line}",
        at=parse_record_time(modified, reading.zone),
        local=has_no_zone(modified),
        seen=file.stat().st_mtime,
        scope=USER if type == "user" else PROJECT,
        fields={
            "kind": TYPES.get(type, "note"),
            "title": title or file.stem,
            "tags": [type] if type else [],
            "provenance": "extracted",
        },
    )


def read_index_rest(index: Path, folder: Path) -> Iterator[FoundRecord]:
    """What stands in the index itself."""
    for one in split_passages(read_page(index)):
        if any((folder / target).is_file() for target in LINK.findall(one.text)):
            continue
        yield FoundRecord(
            key=f"{INDEX}#{fingerprint_passage(one.text)}",
            text=one.text,
            where=f"{INDEX}, line {one.line}",
            seen=index.stat().st_mtime,
            fields={
                "kind": kind_from_heading(one.heading, "note"),
                "title": one.heading,
                "provenance": "extracted",
            },
        )
