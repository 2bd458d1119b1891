"""Claude's data export: the ZIP archive, its folder, or a `conversations.json`.

A message has a text or, in parts, what was said and what tools did, of which the first counts. With
them may come `memories.json`: what Claude keeps of its user, and of each project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.porting.importers.chat_exports import (
    holds_conversations,
    iter_conversations,
    to_said_message,
)
from reverie.porting.importers.foreign_archives import ForeignFiles
from reverie.porting.importers.foreign_texts import fingerprint_passage, split_passages
from reverie.porting.importers.import_records import (
    BadRecord,
    ConversationRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    as_mapping,
    drop_empty_values,
)
from reverie.porting.transcript_formats import RecordedMessage

SAID = "chat_messages"
MEMORIES = re.compile(r"memories(?:[-_]\d+)?\.json|memories/[^/]+\.json")
PROJECTS = re.compile(r"projects(?:[-_]\d+)?\.json|projects/[^/]+\.json")
ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
# A line of its own in bold is a heading: "**Work context**".
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*:?")


def fits(path: Path) -> bool:
    """True for Claude's export."""
    if holds_conversations(path, SAID):
        return True
    if path.is_file() and path.suffix not in (".json", ".zip"):
        return False
    with ForeignFiles(path) as files:
        return any(
            "conversations_memory" in one.values for one in iter_json_objects(files, MEMORIES)
        )


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every conversation, and what Claude keeps of its user and of projects."""
    with ForeignFiles(path) as files:
        projects = {
            one.text("uuid"): one.text("name")
            for one in iter_json_objects(files, PROJECTS)
            if one.text("uuid")
        }
        for memory in iter_json_objects(files, MEMORIES):
            yield from build_kept_memories(memory, projects)
        if path.is_file() and MEMORIES.fullmatch(path.name):
            return
        for record in iter_conversations(files, reading.zone, SAID):
            if isinstance(record, BadRecord):
                yield record
                continue
            said = read_messages(record)
            if said:
                yield ConversationRecord(
                    record.text("uuid") or fingerprint_passage(said[0].text),
                    record.text("name"),
                    tuple(said),
                    record.where,
                )


def iter_json_objects(files: ForeignFiles, pattern: re.Pattern[str]) -> Iterator[ForeignRecord]:
    """The objects in small files: one each, or a list of them. What is none is passed over."""
    for name in files.names(pattern):
        try:
            value = files.read_json(name)
        except BadInput:
            continue
        for one in value if isinstance(value, list) else [value]:
            yield ForeignRecord(as_mapping(one), name)


def read_messages(record: ForeignRecord) -> list[RecordedMessage]:
    """What people and Claude said, in order."""
    said = []
    values = record.values.get(SAID)
    for value in values if isinstance(values, list) else ():
        message = ForeignRecord(as_mapping(value), record.where, record.zone)
        role = ROLES.get(message.text("sender"))
        text = join_said(message)
        if role and text:
            said.append(to_said_message(role, text, message.time("created_at")))
    return said


def join_said(message: ForeignRecord) -> str:
    """The texts of a message: of its parts those that were said, else its text."""
    parts = message.values.get("content")
    texts: list[Any] = [
        as_mapping(part).get("text")
        for part in (parts if isinstance(parts, list) else ())
        if as_mapping(part).get("type") == "text"
    ]
    said = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
    return said or message.text("text").strip()


def build_kept_memories(
    memory: ForeignRecord,
    projects: Mapping[str, str],
) -> Iterator[FoundRecord]:
    """What Claude keeps, passage by passage: of the user, and of each project."""
    yield from cut_memory(memory.text("conversations_memory"), memory.where, "", personal=True)
    for id, text in memory.part("project_memories").values.items():
        if isinstance(text, str):
            yield from cut_memory(text, memory.where, projects.get(id) or id, personal=False)


def cut_memory(
    text: str,
    where: str,
    project: str,
    *,
    personal: bool,
) -> Iterator[FoundRecord]:
    """The passages of a text that Claude keeps."""
    heading = ""
    for one in split_passages(text):
        bold = _BOLD.fullmatch(one.text)
        if bold:
            heading = bold[1]
            continue
        yield FoundRecord(
            key=f"memory {project}#{fingerprint_passage(one.text)}",
            text=one.text,
            where=f"{where}, line {one.line}",
            personal=personal,
            fields=drop_empty_values(
                kind="knowledge",
                title=one.heading or heading,
                provenance="inferred",
                tags=[project] if project else [],
                details=drop_empty_values(project=project),
            ),
        )
