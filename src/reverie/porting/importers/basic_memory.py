"""Basic Memory's notes: Markdown with a head, observations (`- [category] text #tag (context)`) and
relations (`- relation [[Other note]]`).

A note becomes one memory with its prose, and one for each observation, tied to it. A relation ties
two notes; what kind it is stands in the details of the note that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.kinds import KINDS
from reverie.porting.importers.foreign_texts import (
    Passage,
    exclude_links,
    fingerprint_passage,
    read_page,
    remark_sensitive_pages,
    split_frontmatter,
    split_passages,
)
from reverie.porting.importers.import_records import (
    BadRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    RecordLink,
    as_text,
    as_texts,
    drop_empty_values,
    has_no_zone,
    parse_record_time,
    to_kind_name,
)

OBSERVATION = re.compile(r"\[([^\[\]()]{1,64})\]\s+(\S.*)", re.DOTALL)
RELATION = re.compile(r"([^\[\]]{0,64}?)\s*\[\[([^\]]+)\]\]")
TAG = re.compile(r"(?<!\S)#([\w/-]+)")
BOXES = ("", " ", "x", "X", "-")  # a task's box is no category
CATEGORIES = {
    "tech": "fact",
    "technique": "procedure",
    "requirement": "decision",
    "design": "decision",
    "problem": "learning",
    "lesson": "learning",
    "insight": "learning",
    "person": "entity",
    "action": "note",
    "todo": "note",
    "idea": "note",
    "method": "fact",
}
TO_NOTE = 0.6  # weight of the tie between an observation and its note


class ParsedNote(NamedTuple):
    """One file, taken apart."""

    file: str
    title: str
    permalink: str
    head: dict[str, Any]
    seen: float
    prose: str
    line: int
    observations: tuple[tuple[int, str, str], ...]  # (line, category, text)
    relations: tuple[tuple[str, str], ...]  # (kind of relation, title of the other note)


def fits(path: Path) -> bool:
    """Whether notes with a permalink, or with observations, lie here."""
    files = (
        exclude_links(path, sorted(path.rglob("*.md")))[0]
        if path.is_dir()
        else [path]
        if path.suffix == ".md"
        else []
    )
    return any(
        "permalink" in (note := parse_note(file, file.name)).head or note.observations
        for file in [one for one in files if one.is_file()][:50]
    )


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every note with its observations and relations."""
    root = path if path.is_dir() else path.parent
    files, linked = exclude_links(root, sorted(path.rglob("*.md")) if path.is_dir() else [path])
    notes = []
    for name, file in ((file.relative_to(root).as_posix(), file) for file in files):
        try:
            if not any(part.startswith(".") for part in name.split("/")):
                notes.append(parse_note(file, name))
        except (BadInput, OSError) as err:
            yield BadRecord(name, str(err))
    yield from remark_sensitive_pages(files)
    yield from linked
    known = {
        name.lower(): note.permalink for note in notes for name in (note.permalink, note.title)
    }
    for note in notes:
        yield from build_note_memories(note, known, reading)


def parse_note(file: Path, name: str) -> ParsedNote:
    """A file, taken apart: what has the form of an observation or a relation is one, wherever it
    stands.
    """
    head, body, first = split_frontmatter(read_page(file))
    title = as_text(head.get("title")) or file.stem
    prose, observations, relations = (
        list[str](),
        list[tuple[int, str, str]](),
        list[tuple[str, str]](),
    )
    for one in split_passages(body, first):
        if one.bullet and (seen := OBSERVATION.fullmatch(one.text)) and seen[1] not in BOXES:
            observations.append((one.line, seen[1].strip(), seen[2].strip()))
        elif one.bullet and (tied := RELATION.match(one.text)):
            relations.append((tied[1].strip() or "relates_to", tied[2].strip()))
        else:
            prose.append(render_passage(one))
    return ParsedNote(
        name,
        title,
        as_text(head.get("permalink")) or name.removesuffix(".md"),
        head,
        file.stat().st_mtime,
        "\n\n".join(prose),
        first,
        tuple(observations),
        tuple(relations),
    )


def render_passage(one: Passage) -> str:
    """A passage of prose as it stood."""
    return f"- {one.text}" if one.bullet else one.text


def build_note_memories(
    note: ParsedNote, known: dict[str, str], reading: ReadingContext
) -> Iterator[FoundRecord]:
    """The memories of a note."""
    created = note.head.get("created") or note.head.get("date")
    at, local = parse_record_time(created, reading.zone), has_no_zone(created)
    listed = note.head.get("tags")
    tags = [
        tag.lstrip("#")
        for tag in (
            listed.replace(",", " ").split() if isinstance(listed, str) else as_texts(listed)
        )
    ]
    ties = [
        RecordLink("relates_to", known[to.lower()], 0.5)
        for _, to in note.relations
        if to.lower() in known and known[to.lower()] != note.permalink
    ]
    yield FoundRecord(
        key=note.permalink,
        text=f"{note.title}\n\n{note.prose}" if note.prose else note.title,
        where=f"{note.file}, line {note.line}",
        at=at,
        seen=note.seen,
        local=local,
        ties=tuple(dict.fromkeys(ties)),
        fields=drop_empty_values(
            kind=to_kind_name(note.head.get("type")),
            title=note.title,
            tags=tags,
            provenance="extracted",
            details=drop_empty_values(relations=[f"{rel} {to}" for rel, to in note.relations]),
        ),
    )
    for line, category, text in note.observations:
        yield FoundRecord(
            key=f"{note.permalink}#{fingerprint_passage(f'{category} {text}')}",
            text=text,
            where=f"{note.file}, line {line}",
            at=at,
            seen=note.seen,
            local=local,
            ties=(RecordLink("relates_to", note.permalink, TO_NOTE),),
            fields={
                "kind": kind_from_category(category),
                "title": note.title,
                "provenance": "extracted",
                "tags": list(dict.fromkeys([*TAG.findall(text), *tags])),
                "details": {"category": category},
            },
        )


def kind_from_category(category: str) -> str:
    """The kind that an observation of a category has here."""
    plain = category.lower()
    return CATEGORIES.get(
        plain, plain if plain in KINDS and KINDS[plain].type == "semantic" else "fact"
    )
