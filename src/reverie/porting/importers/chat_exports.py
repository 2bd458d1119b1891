"""What the exports of chat programs have in common: a ZIP archive or folder with
`conversations.json`, in one file or several, each a list of conversations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.porting.importers.foreign_archives import ForeignFiles
from reverie.porting.importers.import_records import BadRecord, ForeignRecord
from reverie.porting.transcript_formats import MAX_SECONDS, RecordedMessage
from reverie.text.text_cleaning import clean_text

CONVERSATIONS = re.compile(r"conversations(?:[-_]\d+)?\.json")
ANY_JSON = re.compile(r"\A.+\.json")


def holds_conversations(path: Path, field: str) -> bool:
    """True if a path holds conversations in which a field of this name is what was said."""
    if path.is_file() and path.suffix not in (".json", ".zip"):
        return False
    with ForeignFiles(path) as files:
        return any(
            isinstance(record, ForeignRecord) and field in record.values
            for name in list_conversation_files(files)
            for record in first_record(files, name)
        )


def list_conversation_files(files: ForeignFiles) -> list[str]:
    """The files with conversations; a file by itself may be called anything."""
    is_single = files.path.suffix == ".json" and files.path.is_file()
    return files.names(ANY_JSON if is_single else CONVERSATIONS)


def first_record(files: ForeignFiles, name: str) -> list[ForeignRecord | BadRecord]:
    """The first record of a file, if it has any."""
    found = next(files.records(name, "UTC", lambda _: False), None)
    return [] if found is None else [found]


def iter_conversations(
    files: ForeignFiles,
    zone: str,
    field: str,
) -> Iterator[ForeignRecord | BadRecord]:
    """Every conversation, file by file, record by record."""

    def is_conversation(value: Any) -> bool:
        return isinstance(value, dict) and field in value

    for name in list_conversation_files(files):
        for record in files.records(name, zone, is_conversation):
            if isinstance(record, ForeignRecord) and not isinstance(
                record.values.get(field), (dict, list)
            ):
                yield BadRecord(record.where, f"it is no conversation: {field} is missing")
            else:
                yield record


def to_said_message(role: str, text: str, at: float | None) -> RecordedMessage:
    """Something that was said, without what no text may hold."""
    if at is not None and not 0 < at < MAX_SECONDS:
        at = None
    return RecordedMessage(role, clean_text(text).strip(), "", at)
