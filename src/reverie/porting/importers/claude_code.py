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
    frontmatter,
    kind_under,
    own,
    page_in,
    passages,
    print_of,
    sensitive,
)
from reverie.porting.importers.import_records import (
    PROJECT,
    USER,
    Bad,
    Found,
    Item,
    Reading,
    Tie,
    mapping,
    moment,
    words,
    zoneless,
)

INDEX = "MEMORY.md"
TYPES = {"user": "knowledge", "feedback": "preference", "project": "fact", "reference": "note"}
LINK = re.compile(r"\]\(([^)\s]+\.md)\)")
WIKI = re.compile(r"\[\[([^\]|#]+)")


def fits(path: Path) -> bool:
    """Whether this is such a folder, a project's folder with one in it, or its index."""
    return folder_of(path) is not None


def folder_of(path: Path) -> Path | None:
    """The folder of memories."""
    if path.is_file() and path.name == INDEX:
        path = path.parent
    return (
        next((one for one in (path, path / "memory") if (one / INDEX).is_file()), None)
        if path.is_dir()
        else None
    )


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Every page, and what the index says besides."""
    folder = folder_of(path) or path
    root = folder if folder.is_dir() else path.parent
    files, linked = own(root, sorted(folder.rglob("*.md")) if folder.is_dir() else [path])
    yield from sensitive(files)
    topics = []
    for file in files:
        if file.name == INDEX:
            continue
        try:
            if (one := topic(file, file.relative_to(root).as_posix(), reading)) is not None:
                topics.append(one)
        except (BadInput, OSError) as err:
            yield Bad(file.relative_to(root).as_posix(), str(err))
    known = {Path(one.key.partition("#")[0]).stem: one.key for one in topics}
    for one in topics:
        others = (known.get(name.strip()) for name in WIKI.findall(one.text))
        yield one._replace(
            ties=tuple(
                Tie("relates_to", key, 0.5)
                for key in dict.fromkeys(others)
                if key and key != one.key
            )
        )
    if (index := root / INDEX) in files:
        yield from rest_of(index, root)
    yield from linked


def topic(file: Path, name: str, reading: Reading) -> Found | None:
    """A page; none if it says nothing."""
    head, body, line = frontmatter(page_in(file))
    text = body.strip()
    if not text:
        return None
    meta = mapping(head.get("metadata"))
    type = words(head.get("type")) or words(meta.get("type"))
    title = words(head.get("description")) or words(head.get("name"))
    modified = head.get("modified") or meta.get("modified")
    return Found(
        key=f"{name}#{print_of(text)}",
        text=text,
        where=f"{name}, line {line}",
        at=moment(modified, reading.zone),
        local=zoneless(modified),
        seen=file.stat().st_mtime,
        scope=USER if type == "user" else PROJECT,
        fields={
            "kind": TYPES.get(type, "note"),
            "title": title or file.stem,
            "tags": [type] if type else [],
            "provenance": "extracted",
        },
    )


def rest_of(index: Path, folder: Path) -> Iterator[Found]:
    """What stands in the index itself."""
    for one in passages(page_in(index)):
        if any((folder / target).is_file() for target in LINK.findall(one.text)):
            continue
        yield Found(
            key=f"{INDEX}#{print_of(one.text)}",
            text=one.text,
            where=f"{INDEX}, line {one.line}",
            seen=index.stat().st_mtime,
            fields={
                "kind": kind_under(one.heading, "note"),
                "title": one.heading,
                "provenance": "extracted",
            },
        )
