"""ChatGPT's data export: the ZIP archive, its folder, or a `conversations.json`.

A conversation is a tree of messages, for people edit what they asked and ask again; the branch that
was shown last (up from `current_node`) is what was said. Answers of tools stay out, and so does
what the model thought. What ChatGPT kept as a memory (a message to `bio`), and the user's custom
instructions, are memories.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.porting.importers.chat_exports import (
    holds_conversations,
    iter_conversations,
    to_said_message,
)
from reverie.porting.importers.foreign_archives import ForeignFiles
from reverie.porting.importers.foreign_texts import fingerprint_passage
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

TREE = "mapping"
SPEAKERS = ("user", "assistant")
SPOKEN_TYPES = ("text", "multimodal_text")
# The kind of content in which the custom instructions stand, and what its fields are here.
INSTRUCTIONS = "user_editable_context"
INSTRUCTION_KINDS = {"user_profile": "profile", "user_instructions": "preference"}
# whom the assistant tells what it wants to keep
MEMORY_TOOL = "bio"
EVERYBODY = ("", "all")


def fits(path: Path) -> bool:
    """True for ChatGPT's export."""
    return holds_conversations(path, TREE)


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every conversation as it was shown last, and what ChatGPT knew of its user."""
    told: set[str] = set()
    with ForeignFiles(path) as files:
        for record in iter_conversations(files, reading.zone, TREE):
            if isinstance(record, BadRecord):
                yield record
                continue
            try:
                branch = list_branch(record)
            except BadInput as err:
                yield BadRecord(record.where, str(err))
                continue
            # Custom instructions stand in every conversation.
            for known in find_user_memories(branch):
                if known.key not in told:
                    told.add(known.key)
                    yield known
            said = [one for message in branch if (one := read_message(message)) is not None]
            if said:
                yield ConversationRecord(
                    record.text("conversation_id", "id") or fingerprint_passage(said[0].text),
                    record.text("title"),
                    tuple(said),
                    record.where,
                )


def list_branch(record: ForeignRecord) -> list[ForeignRecord]:
    """The messages of the branch that was shown last, in order; BadInput for what is no tree."""
    tree = record.part(TREE).values
    node = record.text("current_node") or find_last_leaf(record)
    branch: list[ForeignRecord] = []
    seen: set[str] = set()
    while node:
        if node in seen:
            raise BadInput(f"its messages go round in a circle at {node}")
        seen.add(node)
        place = ForeignRecord(as_mapping(tree.get(node)), record.where, record.zone)
        message = place.part("message")
        if message.values:
            branch.append(message)
        node = place.text("parent")
    return branch[::-1]


def find_last_leaf(record: ForeignRecord) -> str:
    """The newest message that none follows, where the export does not say what was shown."""
    leaves: list[tuple[float, str]] = []
    for name, value in record.part(TREE).values.items():
        place = ForeignRecord(as_mapping(value), record.where)
        if not place.texts("children"):
            leaves.append((place.part("message").time("create_time") or 0.0, name))
    return max(leaves, default=(0.0, ""))[1]


def read_message(message: ForeignRecord) -> RecordedMessage | None:
    """What a message says; None for one that people were not shown, or that tools exchanged."""
    role = message.part("author").text("role")
    content = message.part("content")
    is_hidden = message.part("metadata").values.get("is_visually_hidden_from_conversation")
    if role not in SPEAKERS or is_hidden or message.text("recipient") not in EVERYBODY:
        return None
    if content.text("content_type") not in SPOKEN_TYPES:
        return None
    text = join_parts(content)
    return to_said_message(role, text, message.time("create_time")) if text else None


def join_parts(content: ForeignRecord) -> str:
    """The texts of a content, also of what was spoken; of a picture nothing."""
    parts = content.values.get("parts")
    texts: list[Any] = [
        part if isinstance(part, str) else as_mapping(part).get("text")
        for part in (parts if isinstance(parts, list) else ())
    ]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def find_user_memories(branch: list[ForeignRecord]) -> Iterator[FoundRecord]:
    """What ChatGPT kept of its user, and what the user told it to do."""
    for message in branch:
        content = message.part("content")
        if content.text("content_type") == INSTRUCTIONS:
            for name, kind in INSTRUCTION_KINDS.items():
                yield from make_memory(message, content.text(name), kind, "Custom instructions")
        elif message.text("recipient") == MEMORY_TOOL:
            text = join_parts(content) or content.text("text")
            yield from make_memory(message, text, "knowledge", "")


def make_memory(
    message: ForeignRecord,
    text: str,
    kind: str,
    title: str,
) -> Iterator[FoundRecord]:
    """A memory of the user's own, if the text says something."""
    if text.strip():
        found = message.to_found(
            f"{kind}#{fingerprint_passage(text)}",
            text.strip(),
            "create_time",
            personal=True,
            fields=drop_empty_values(kind=kind, title=title),
        )
        # When it was first said depends on which conversations the export holds.
        yield found._replace(at=None, seen=found.at)
