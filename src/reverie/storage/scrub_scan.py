"""What Reverie asks of a database for a scrub: to go through all text that it holds, and to leave
no byte behind.

A backend walks its own tables, a few rows at a time, and knows what follows from a row that has
changed: words, vectors, ties to tags. What is taken out is decided by whoever asks, with a pure
function.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class TextCleaner(Protocol):
    """What says how a text should stand, and the kinds of what was taken out of it."""

    def scrub_text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Of a text."""
        ...

    def scrub_value(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        """Of a value of JSON, however deep."""
        ...


class ScrubFinding(NamedTuple):
    """Where something stands. Never the thing itself."""

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
    """A database that can be gone through."""

    def size(self) -> int:
        """How many rows of text there are, about; for a bar of progress."""
        ...

    def scrub(self, clean: TextCleaner, after: Any, limit: int, *, write: bool) -> ScrubStep:
        """Look at the next rows after `after` (None: from the start); with `write`, each is as
        `clean` makes it.

        One transaction; between two calls others may write. A memory keeps its id, its links and
        its strength; words follow its text, and it waits for other vectors. No history of it is
        kept: that is the point.
        """
        ...

    def compact(self) -> tuple[Path, ...]:
        """Write the database's files anew, so that free pages, gaps and the journal hold nothing
        that was erased.

        Costs a copy of the file. Returns the files that may still hold something: somebody is
        reading them just now.
        """
        ...


def scan_database_copy(path: Path, clean: TextCleaner) -> Iterator[ScrubFinding]:
    """What a copy of a database of ours holds; it is read as it is and not altered. StoreDamaged if
    it cannot be.
    """
    found: Iterator[ScrubFinding] = import_module(".sqlite.text_scan", __package__).looked_into(
        path, clean
    )
    return found
