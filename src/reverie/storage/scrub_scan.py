"""What a scrub asks of a database: to go through all text it holds, and to leave no byte behind.

A backend walks its own tables, a few rows at a time, and knows what follows from a changed row:
words, vectors, edges to tags. What is taken out is decided by the caller's `TextCleaner`, a pure
function.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class TextCleaner(Protocol):
    """Decides how a text should read, and names the kinds of what it took out."""

    def scrub_text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """A cleaned text and the kinds of what was taken out."""

    def scrub_value(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        """The same for a JSON value, however deeply nested."""


class ScrubFinding(NamedTuple):
    """Where something was found. Never the thing itself."""

    what: str  # "memory", "history", "event", …; of files "file", "notes", "code"
    name: str  # an id, a number, a path
    kind: str  # of secret
    times: int = 1


class ScrubStep(NamedTuple):
    """What a few rows held."""

    finds: tuple[ScrubFinding, ...]
    rows: int  # that were looked at
    after: Any  # where to go on; None at the end


class ScrubbableStore(Protocol):
    """A database that can be scrubbed."""

    def size(self) -> int:
        """About how many rows of text there are, for a progress bar."""

    def scrub(
        self,
        clean: TextCleaner,
        after: Any,
        limit: int,
        *,
        write: bool,
    ) -> ScrubStep:
        """Scan the next `limit` rows after `after`, or from the start; with `write`, clean them.

        One transaction; others may write between two calls. A memory keeps its id, its links and
        its strength; its words follow the text, and it is queued for new vectors. No history is
        kept: that is the point.
        """

    def compact(self, texts: Collection[str] = ()) -> tuple[Path, ...]:
        """Rewrite the database's files, so that no free page or journal holds what was erased.

        Costs a copy of the file. With `texts`, only if one of these is left in a byte of it.
        Returns the files that may still hold something, because another process is reading them.
        """


def scan_database_copy(path: Path, clean: TextCleaner) -> Iterator[ScrubFinding]:
    """What a copy of one of our databases holds, read without altering it.

    Raises StoreDamaged if it cannot be read.
    """
    text_scan = import_module(".sqlite.text_scan", __package__)
    found: Iterator[ScrubFinding] = text_scan.scan_copy(path, clean)
    return found
