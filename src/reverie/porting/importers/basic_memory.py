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
    frontmatter,
    own,
    page_in,
    passages,
    print_of,
    sensitive,
)
from reverie.porting.importers.import_records import (
    Bad,
    Found,
    Item,
    Reading,
    Tie,
    kind_named,
    moment,
    texts,
    without_none,
    words,
    zoneless,
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


class Note(NamedTuple):
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
        own(path, sorted(path.rglob("*.md")))[0]
        if path.is_dir()
        else [path]
        if path.suffix == ".md"
        else []
    )
    return any(
        "permalink" in (note := note_of(file, file.name)).head or note.observations
        for file in [one for one in files if one.is_file()][:50]
    )


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Every note with its observations and relations."""
    root = path if path.is_dir() else path.parent
    files, linked = own(root, sorted(path.rglob("*.md")) if path.is_dir() else [path])
    notes = []
    for name, file in ((file.relative_to(root).as_posix(), file) for file in files):
        try:
            if not any(part.startswith(".") for part in name.split("/")):
                notes.append(note_of(file, name))
        except (BadInput, OSError) as err:
            yield Bad(name, str(err))
    yield from sensitive(files)
    yield from linked
    known = {
        name.lower(): note.permalink for note in notes for name in (note.permalink, note.title)
    }
    for note in notes:
        yield from memories(note, known, reading)


def note_of(file: Path, name: str) -> Note:
    """A file, taken apart: what has the form of an observation or a relation is one, wherever it
    stands.
    """
    head, body, first = frontmatter(page_in(file))
    title = words(head.get("title")) or file.stem
    prose, observations, relations = (
        list[str](),
        list[tuple[int, str, str]](),
        list[tuple[str, str]](),
    )
    for one in passages(body, first):
        if one.bullet and (seen := OBSERVATION.fullmatch(one.text)) and seen[1] not in BOXES:
            observations.append((one.line, seen[1].strip(), seen[2].strip()))
        elif one.bullet and (tied := RELATION.match(one.text)):
            relations.append((tied[1].strip() or "relates_to", tied[2].strip()))
        else:
            prose.append(written(one))
    return Note(
        name,
        title,
        words(head.get("permalink")) or name.removesuffix(".md"),
        head,
        file.stat().st_mtime,
        "\n\n".join(prose),
        first,
        tuple(observations),
        tuple(relations),
    )


def written(one: Passage) -> str:
    """A passage of prose as it stood."""
    return f"- {one.text}" if one.bullet else one.text


def memories(note: Note, known: dict[str, str], reading: Reading) -> Iterator[Found]:
    """The memories of a note."""
    created = note.head.get("created") or note.head.get("date")
    at, local = moment(created, reading.zone), zoneless(created)
    listed = note.head.get("tags")
    tags = [
        tag.lstrip("#")
        for tag in (listed.replace(",", " ").split() if isinstance(listed, str) else texts(listed))
    ]
    ties = [
        Tie("relates_to", known[to.lower()], 0.5)
        for _, to in note.relations
        if to.lower() in known and known[to.lower()] != note.permalink
    ]
    yield Found(
        key=note.permalink,
        text=f"{note.title}\n\n{note.prose}" if note.prose else note.title,
        where=f"{note.file}, line {note.line}",
        at=at,
        seen=note.seen,
        local=local,
        ties=tuple(dict.fromkeys(ties)),
        fields=without_none(
            kind=kind_named(note.head.get("type")),
            title=note.title,
            tags=tags,
            provenance="extracted",
            details=without_none(relations=[f"{rel} {to}" for rel, to in note.relations]),
        ),
    )
    for line, category, text in note.observations:
        yield Found(
            key=f"{note.permalink}#{print_of(f'{category} {text}')}",
            text=text,
            where=f"{note.file}, line {line}",
            at=at,
            seen=note.seen,
            local=local,
            ties=(Tie("relates_to", note.permalink, TO_NOTE),),
            fields={
                "kind": kind_of_category(category),
                "title": note.title,
                "provenance": "extracted",
                "tags": list(dict.fromkeys([*TAG.findall(text), *tags])),
                "details": {"category": category},
            },
        )


def kind_of_category(category: str) -> str:
    """The kind that an observation of a category has here."""
    plain = category.lower()
    return CATEGORIES.get(
        plain, plain if plain in KINDS and KINDS[plain].type == "semantic" else "fact"
    )
