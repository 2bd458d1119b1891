"""Basic Memory's notes: Markdown with a head, observations and relations.

An observation is `- [category] text #tag (context)`, a relation `- relation [[Other note]]`. A note
becomes one memory with its prose, and one for each observation, tied to it. A relation ties two
notes; what kind it is stands in the details of the note that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from reverie.core.kinds import KINDS
from reverie.porting.importers.foreign_texts import (
    exclude_links,
    fingerprint_passage,
    list_pages,
    read_page,
    read_pages,
    split_frontmatter,
    split_passages,
)
from reverie.porting.importers.import_records import (
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    RecordLink,
    drop_empty_values,
    to_kind_name,
)

OBSERVATION = re.compile(r"\[([^\[\]()]{1,64})\]\s+(\S.*)", re.DOTALL)
RELATION = re.compile(r"([^\[\]]{0,64}?)\s*\[\[([^\]]+)\]\]")
TAG = re.compile(r"(?<!\S)#([\w/-]+)")
# a task's box is no category
BOXES = ("", " ", "x", "X", "-")
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
# weight of the tie between an observation and its note
TO_NOTE = 0.6
# weight of the tie between two notes
BETWEEN_NOTES = 0.5
# notes that are looked at to know the format
MAX_PROBED = 50


class ParsedNote(NamedTuple):
    """One file, taken apart."""

    head: ForeignRecord
    line: int  # the first after the head
    title: str
    permalink: str
    seen: float
    prose: str
    observations: tuple[tuple[int, str, str], ...]  # (line, category, text)
    relations: tuple[tuple[str, str], ...]  # (kind of relation, title of the other note)


def fits(path: Path) -> bool:
    """True if notes with a permalink, or with observations, lie here."""
    files: list[Path] = []
    if path.is_dir() or path.suffix == ".md":
        files, _ = exclude_links(*list_pages(path))
    for file in [one for one in files if one.is_file()][:MAX_PROBED]:
        note = parse_note(file, file.name)
        if "permalink" in note.head.values or note.observations:
            return True
    return False


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every note with its observations and relations."""
    notes: list[ParsedNote] = []

    def read_note(file: Path, name: str) -> Iterable[ImportItem]:
        notes.append(parse_note(file, name, reading.zone))
        return ()

    root, pages = list_pages(path)
    visible = [page for page in pages if "/." not in f"/{page.relative_to(root).as_posix()}"]
    # All are read before the first is told: a note may name any other one.
    yield from read_pages(root, visible, read_note)
    known: dict[str, str] = {}
    # Between the brackets people write titles, and programs permalinks.
    for note in notes:
        known[note.permalink.lower()] = note.permalink
        known[note.title.lower()] = note.permalink
    for note in notes:
        yield from build_note_memories(note, known)


def parse_note(
    file: Path,
    name: str,
    zone: str = "UTC",
) -> ParsedNote:
    """A file, taken apart; its times without a zone are meant in `zone`.

    What has the form of an observation or a relation is one, wherever it stands.
    """
    values, body, first = split_frontmatter(read_page(file))
    head = ForeignRecord(values, name, zone)
    prose: list[str] = []
    observations: list[tuple[int, str, str]] = []
    relations: list[tuple[str, str]] = []
    for one in split_passages(body, first):
        observation = OBSERVATION.fullmatch(one.text) if one.bullet else None
        relation = RELATION.match(one.text) if one.bullet else None
        if observation and observation[1] not in BOXES:
            observations.append((one.line, observation[1].strip(), observation[2].strip()))
        elif relation:
            relations.append((relation[1].strip() or "relates_to", relation[2].strip()))
        else:
            prose.append(f"- {one.text}" if one.bullet else one.text)
    return ParsedNote(
        head,
        first,
        head.text("title") or file.stem,
        head.text("permalink") or name.removesuffix(".md"),
        file.stat().st_mtime,
        "\n\n".join(prose),
        tuple(observations),
        tuple(relations),
    )


def build_note_memories(note: ParsedNote, known: dict[str, str]) -> Iterator[FoundRecord]:
    """The memories of a note; `known` has permalinks by permalink and title in lower case."""
    head = note.head
    # A list, or a text with commas or blanks.
    names = head.text("tags").replace(",", " ").split() or head.texts("tags")
    tags = [name.lstrip("#") for name in names]
    others = dict.fromkeys(known.get(title.lower(), "") for _, title in note.relations)
    ties = tuple(
        RecordLink("relates_to", permalink, BETWEEN_NOTES)
        for permalink in others
        if permalink and permalink != note.permalink
    )
    found = head.to_found(
        note.permalink,
        f"{note.title}\n\n{note.prose}" if note.prose else note.title,
        "created" if head.values.get("created") else "date",
        seen=note.seen,
        ties=ties,
        fields=drop_empty_values(
            kind=to_kind_name(head.values.get("type")),
            title=note.title,
            tags=tags,
            details=drop_empty_values(relations=[" ".join(one) for one in note.relations]),
        ),
    )
    yield found._replace(where=f"{head.where}, line {note.line}")
    for line, category, text in note.observations:
        yield found._replace(
            key=f"{note.permalink}#{fingerprint_passage(f'{category} {text}')}",
            text=text,
            where=f"{head.where}, line {line}",
            ties=(RecordLink("relates_to", note.permalink, TO_NOTE),),
            fields={
                "kind": kind_from_category(category),
                "title": note.title,
                "tags": list(dict.fromkeys([*TAG.findall(text), *tags])),
                "details": {"category": category},
            },
        )


def kind_from_category(category: str) -> str:
    """The kind that an observation of a category has here."""
    plain = category.lower()
    is_semantic = plain in KINDS and KINDS[plain].type == "semantic"
    return CATEGORIES.get(plain, plain if is_semantic else "fact")
