"""Sessions that already lie on this machine's disk when Reverie comes: found, counted, and read one
at a time.

Hosts say where their own files are (`HostAgent.past_files`); pages of Markdown lie in the working
tree. Which of them were taken in is kept in the store by a stamp of the file, so that what is known
is passed over without being read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from json import loads
from pathlib import Path
from typing import NamedTuple

from reverie.core.errors import BadInput, BadTranscript
from reverie.porting.cursor_chats import list_cursor_chats, read_cursor_chat
from reverie.porting.transcript_formats import (
    RecordedConversation,
    RecordedTranscript,
    read_transcript,
)
from reverie.storage import Store
from reverie.text.text_cleaning import clean_text

# Pages in a working tree, by the program that writes them.
PAGE_PATTERNS = {"aider": ".aider.chat.history.md", "specstory": ".specstory/history/*.md"}
PAGE_FOLDERS = ("history", ".specstory")
# Bytes of a file that is read by itself: it takes several times as much of memory.
MAX_FILE_BYTES = 256_000_000
# Bytes at the beginning of a transcript in which the agent's folder is looked for.
PEEKED_BYTES = 32_000
META_PREFIX = "past:"
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.){1,4000}")')


class PastSession(NamedTuple):
    """A file with a past session, or one of several in a database (`part`)."""

    recorder: str  # the host or program that wrote it
    path: Path
    size: int
    at: float  # when the file was written last
    stamp: str  # another one means that the session has grown
    part: str = ""
    folder: str = ""  # where the agent worked, as far as that is known without reading it all

    @property
    def key(self) -> str:
        """The name in the store under which the stamp of what was taken in is kept."""
        return (
            META_PREFIX
            + sha256(f"{self.path}#{self.part}".encode(errors="surrogatepass")).hexdigest()[:24]
        )

    @property
    def title(self) -> str:
        """Its name for people."""
        return clean_text(f"{self.path} ({self.part})" if self.part else str(self.path))


def list_pages(tree: Path, recorder: str) -> Iterator[Path]:
    """The pages that a program left in a working tree."""
    return (path for path in tree.glob(PAGE_PATTERNS[recorder]) if path.is_file())


def list_past_sessions(recorder: str, paths: Iterable[Path]) -> list[PastSession]:
    """The sessions in these files, newest first; a file that goes meanwhile is passed over."""
    found: list[PastSession] = []
    for path in paths:
        with suppress(OSError):
            about = path.stat()
            stamp = f"{about.st_mtime_ns}:{about.st_size}"
            session = PastSession(recorder, path, about.st_size, about.st_mtime, stamp)
            if path.suffix == ".vscdb":
                found += split_database(session)
            elif about.st_size:
                found.append(session._replace(folder=peek_folder(path)))
    return sorted(found, key=lambda one: -one.at)


def split_database(whole: PastSession) -> list[PastSession]:
    """The sessions in a database; itself where it cannot be read, so that reading says why."""
    try:
        chats = list_cursor_chats(whole.path)
    except BadInput:
        return [whole]
    return [
        whole._replace(
            part=chat.id,
            stamp=chat.stamp,
            folder=chat.folder,
            size=whole.size // len(chats),
        )
        for chat in chats
    ]


def peek_folder(path: Path) -> str:
    """Where the agent worked: the tree of a page, or what a transcript says at its beginning."""
    if path.suffix == ".md":
        parents = (folder for folder in path.parents if folder.name not in PAGE_FOLDERS)
        return str(next(parents))
    with path.open("rb") as file:
        found = _CWD.search(file.read(PEEKED_BYTES))
    try:
        return clean_text(str(loads(found[1]))) if found else ""
    except ValueError:
        return ""


def is_taken_in(store: Store, session: PastSession) -> bool:
    """True if the session was taken in as it stands."""
    return store.meta(session.key) == session.stamp


def was_taken_in(store: Store, session: PastSession) -> bool:
    """True if the session was taken in, perhaps when it was shorter."""
    return store.meta(session.key) is not None


def note_taken_in(store: Store, session: PastSession) -> None:
    """Keep in mind that the session was taken in as it stands."""
    store.set_meta(session.key, session.stamp)


def read_past_session(session: PastSession) -> RecordedTranscript:
    """What was said in it; BadInput for what cannot be read."""
    if session.path.suffix == ".vscdb":
        return replace(read_cursor_chat(session.path, session.part), folder=session.folder)
    if session.size > MAX_FILE_BYTES:
        raise BadTranscript(
            f"It has {session.size / 1e6:,.0f} MB; `reverie learn FILE` reads it all the same"
        )
    try:
        transcript = read_transcript(session.path.read_bytes(), session.path.stem)
    except OSError as err:
        raise BadTranscript(f"It cannot be read: {err.strerror}") from err
    conversations = tuple(date_conversation(one, session.at) for one in transcript.conversations)
    folder = transcript.folder or session.folder
    return replace(transcript, folder=folder, conversations=conversations)


def date_conversation(conversation: RecordedConversation, at: float) -> RecordedConversation:
    """The conversation; where nobody knows when anything in it was said, `at` this moment."""
    if any(one.at is not None for one in conversation.messages):
        return conversation
    messages = tuple(replace(one, at=at) for one in conversation.messages)
    return replace(conversation, messages=messages)
