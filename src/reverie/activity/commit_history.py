"""A repository's history as experience: each commit is a piece of work, with the files that it
changed.

Reads what `git log --numstat -z` prints with GIT_LOG_FORMAT, as it comes. A commit of more than 50
files keeps only how many they were: it was a move, an import or a new formatter, and says nothing
about any two files. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from reverie.activity.co_change import MAX_FILES_PER_CHANGE

GIT_LOG_FORMAT = "%x01%H%x1f%ct%x1f%at%x1f%s"
# Longer messages are cut, changes of longer paths left out.
MAX_MESSAGE_CHARS = 300
MAX_PATH_CHARS = 400

# Words of a message that says that it puts something right.
FIX_WORDS = re.compile(
    r"\b(?:bug ?)?fix(?:e[sd]|ing)?\b|\bhot ?fix|\bbugs?\b|\bregressions?\b|\bcrash(?:es|ed)?\b|"
    r"\brepairs?\b|\bresolves? (?:#|issue)",
    re.IGNORECASE,
)


class Commit(NamedTuple):
    """One commit."""

    id: str
    at: float  # when it was committed, seconds since 1970
    message: str  # its first line
    # (path, lines added, lines taken away) and, if renamed, the name before
    files: tuple[tuple[Any, ...], ...]
    authored: float = 0.0  # when it was written; a rebase leaves that as it was

    @property
    def fixes(self) -> bool:
        """True if its message says that it puts something right."""
        return FIX_WORDS.search(self.message) is not None


def parse_git_log(chunks: Iterable[bytes]) -> Iterator[Commit]:
    """The commits in git's output, which may be cut anywhere."""
    head: list[str] = []
    files: list[tuple[Any, ...]] = []
    parts = (part.decode("utf-8", "replace").lstrip("\n") for part in split_nul_fields(chunks))
    for part in parts:
        if part.startswith("\x01"):
            if head:
                yield make_commit(head, files)
            head, files = part[1:].split("\x1f", 3), []
        elif part.count("\t") >= 2:
            added, deleted, path = part.split("\t", 2)
            # Of a renamed file the path is empty, and the old and the new name follow.
            before = () if path else (next(parts, ""),)
            path = path or next(parts, "")
            files.append((path, parse_line_count(added), parse_line_count(deleted), *before))
    if head:
        yield make_commit(head, files)


def split_nul_fields(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The fields between NUL bytes."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest:
        yield rest


def parse_line_count(count: str) -> int:
    """A number of lines; 0 for the "-" that git writes for binary files."""
    return int(count) if count.isdecimal() else 0


def make_commit(head: list[str], files: list[tuple[Any, ...]]) -> Commit:
    """A commit from git's head line and its files."""
    id, at, authored, message = (*head, "", "", "")[:4]
    return Commit(
        id, parse_git_time(at), message[:MAX_MESSAGE_CHARS], tuple(files), parse_git_time(authored)
    )


def parse_git_time(seconds: str) -> float:
    """Seconds since 1970; 0 for what is no time."""
    return float(seconds) if seconds.lstrip("-").isdecimal() else 0.0


def get_rewrite_key(payload: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The (author's time, message) that a commit shares with its rewritten version; None if not
    known.
    """
    at, message = payload.get("authored"), payload.get("message")
    return (at, message) if at and message else None


def make_commit_payload(commit: Commit, repository: str, message: str) -> dict[str, Any]:
    """What the log keeps of a commit; `message` is its own, without secrets."""
    is_small = len(commit.files) <= MAX_FILES_PER_CHANGE
    renamed = [file for file in commit.files if len(file) > 3 and file[0] != file[3]]
    # Names must be followed, whatever else a commit did.
    kept = commit.files if is_small else renamed
    payload: dict[str, Any] = {
        "commit": commit.id,
        "repository": repository,
        "message": message,
        "fix": commit.fixes,
        "authored": commit.authored,
        "files": [list(file) for file in kept if len(str(file[0])) <= MAX_PATH_CHARS],
    }
    if renamed:
        payload["renames"] = len(renamed)
    if not is_small:
        payload["left_out"] = len(commit.files)
    return payload
