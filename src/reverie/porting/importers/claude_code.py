"""Claude Code's auto memory: a folder with MEMORY.md, an index, and a page for each topic.

The folder is `~/.claude/projects/<project>/memory`; the project's folder will do. A page has its
name, description, type and last change at its head. Of the index those lines are taken that point
to no page that is there. Its conversations (`*.jsonl`) are learned from by `reverie learn`, not
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reverie.porting.importers.foreign_texts import (
    fingerprint_passage,
    list_pages,
    read_page,
    read_pages,
    split_frontmatter,
    split_passages,
    to_passage_record,
)
from reverie.porting.importers.import_records import (
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    RecordLink,
)

INDEX = "MEMORY.md"
TYPES = {
    "user": "knowledge",
    "feedback": "preference",
    "project": "fact",
    "reference": "note",
}
LINK = re.compile(r"\]\(([^)\s]+\.md)\)")
WIKI = re.compile(r"\[\[([^\]|#]+)")


# weight of a link that a page makes to another one
PAGE_LINK = 0.5


def fits(path: Path) -> bool:
    """True for such a folder, a project's folder with one in it, or its index."""
    return find_memory_folder(path) is not None


def find_memory_folder(path: Path) -> Path | None:
    """The folder of memories that a path means; None if there is none."""
    if path.is_file() and path.name == INDEX:
        path = path.parent
    if not path.is_dir():
        return None
    return next(
        (one for one in (path, path / "memory") if (one / INDEX).is_file()),
        None,
    )


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every page, and what the index says besides."""
    root, pages = list_pages(find_memory_folder(path) or path)
    topics: list[FoundRecord] = []
    rest: list[FoundRecord] = []

    def read_one(file: Path, name: str) -> Iterable[ImportItem]:
        if name == INDEX:
            rest.extend(read_index_rest(file, root))
        elif file.name != INDEX:
            topics.extend(read_topic_page(file, name, reading))
        return ()

    yield from read_pages(root, pages, read_one)
    yield from link_topics(topics)
    yield from rest


def link_topics(topics: Sequence[FoundRecord]) -> Iterator[FoundRecord]:
    """The pages with their [[links]] to others, each once."""
    known = {Path(one.key.partition("#")[0]).stem: one.key for one in topics}
    for one in topics:
        keys = dict.fromkeys(known.get(name.strip()) for name in WIKI.findall(one.text))
        ties = [
            RecordLink(
                "relates_to",
                key,
                PAGE_LINK,
            )
            for key in keys
            if key and key != one.key
        ]
        yield one._replace(ties=tuple(ties))


def read_topic_page(
    file: Path,
    name: str,
    reading: ReadingContext,
) -> Iterator[FoundRecord]:
    """A page, if it says anything."""
    head, body, line = split_frontmatter(read_page(file))
    text = body.strip()
    if not text:
        return
    record = ForeignRecord(head, f"{name}, line {line}", reading.zone)
    # Later versions put the type and the time one level deeper.
    meta = record.part("metadata")
    type = record.text("type") or meta.text("type")
    dated = record if head.get("modified") else meta
    found = dated.to_found(f"{name}#{fingerprint_passage(text)}", text, "modified")
    yield found._replace(
        seen=file.stat().st_mtime,
        personal=type == "user",
        fields={
            "kind": TYPES.get(type, "note"),
            "title": record.text("description", "name") or file.stem,
            "tags": [type] if type else [],
        },
    )


def read_index_rest(index: Path, folder: Path) -> Iterator[FoundRecord]:
    """What stands in the index itself, without the lines that point to a page."""
    # Its other lines are pages, which come in whole.
    for one in split_passages(read_page(index)):
        if any((folder / target).is_file() for target in LINK.findall(one.text)):
            continue
        record = to_passage_record(INDEX, one, "note")
        yield record._replace(seen=index.stat().st_mtime)
