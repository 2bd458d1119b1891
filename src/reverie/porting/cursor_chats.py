"""Conversations of Cursor, out of the database of its windows (`state.vscdb`), as values.

A conversation is a value `composerData:ID`, its messages are values `bubbleId:ID:BUBBLE`; before
2025 they stood in the conversation itself. Where it took place is said there, or in the folder of
the workspace that lists it.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from reverie.core.errors import BadInput, EmptyTranscript
from reverie.core.model import Fields
from reverie.porting.transcript_formats import (
    LineDamage,
    RecordedConversation,
    RecordedMessage,
    RecordedTranscript,
    parse_entry_time,
)
from reverie.storage.foreign_tables import read_keyed_values
from reverie.text.text_cleaning import clean_text

ROLES = {1: "user", 2: "assistant"}


class CursorChat(NamedTuple):
    """A conversation: its id, what tells whether it has grown, and where it took place."""

    id: str
    stamp: str
    folder: str


def list_cursor_chats(path: Path) -> list[CursorChat]:
    """The conversations in a database of Cursor's, without those of agents' agents."""
    places = list_chat_folders(path.parents[1] / "workspaceStorage")
    found = []
    for id, value in read_keyed_values(path, "cursorDiskKV", "composerData:"):
        chat = parse_value(value)
        count = len(list_bubbles(chat))
        if count and not chat.get("subagentInfo"):
            stamp = f"{chat.get('lastUpdatedAt') or chat.get('createdAt')}:{count}"
            found.append(CursorChat(id, stamp, find_chat_folder(chat) or places.get(id, "")))
    return found


def read_cursor_chat(path: Path, id: str) -> RecordedTranscript:
    """What was said in one of the conversations."""
    found = dict(read_keyed_values(path, "cursorDiskKV", f"composerData:{id}"))
    chat = parse_value(found.get("", ""))
    bubbles = {
        key: parse_value(value)
        for key, value in read_keyed_values(path, "cursorDiskKV", f"bubbleId:{id}:")
    }
    messages, damage = [], LineDamage()
    for number, head in enumerate(list_bubbles(chat), start=1):
        bubble = {**head, **bubbles.get(str(head.get("bubbleId")), {})}
        text, role = bubble.get("text"), ROLES.get(bubble.get("type", 0))
        if role and isinstance(text, str) and text.strip():
            # An older bubble has no time of its own.
            said_at = bubble.get("createdAt") or chat.get("createdAt")
            at = parse_entry_time(said_at, number, damage)
            messages.append(RecordedMessage(role, clean_text(text), "", at))
    if not messages:
        raise EmptyTranscript("There is no message in that conversation")
    whole = RecordedConversation(id, tuple(messages))
    return RecordedTranscript("cursor", (whole,), damage.describe())


def list_bubbles(chat: Fields) -> list[Fields]:
    """The messages of a conversation in order: their ids, or of an old one all that they say."""
    for name in ("fullConversationHeadersOnly", "conversation"):
        value = chat.get(name)
        if isinstance(value, list) and value:
            return [one for one in value if isinstance(one, Mapping)]
    return []


def find_chat_folder(chat: Fields) -> str:
    """Where a conversation took place, if it says so itself."""
    place = chat.get("workspaceIdentifier")
    uri = place.get("uri") if isinstance(place, Mapping) else None
    folder = uri.get("fsPath") if isinstance(uri, Mapping) else None
    return folder if isinstance(folder, str) else ""


def list_chat_folders(workspaces: Path) -> dict[str, str]:
    """The folder of each conversation that a workspace lists."""
    found: dict[str, str] = {}
    for about in workspaces.glob("*/workspace.json"):
        try:
            folder = parse_file_url(parse_value(about.read_text("utf-8")).get("folder"))
            for _, value in read_keyed_values(
                about.with_name("state.vscdb"), "ItemTable", "composer.composerData"
            ):
                for one in parse_value(value).get("allComposers") or ():
                    found[str(one.get("composerId"))] = folder
        # A workspace that cannot be read says nothing of where its conversations took place.
        except (OSError, BadInput, AttributeError, UnicodeDecodeError):
            continue
    return found


def parse_file_url(url: Any) -> str:
    """The path of a `file:` URL; "" for anything else, such as a folder on another machine."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme != "file":
        return ""
    path = unquote(parts.path)
    # "/c:/work" on Windows.
    return path[1:] if path[2:3] == ":" else path


def parse_value(value: str) -> dict[str, Any]:
    """A value of the database; {} for what is no object."""
    try:
        parsed = loads(value)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
