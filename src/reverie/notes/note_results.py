"""What the verbs about files return, apart from them so that a cold recall imports little."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reverie.core.model import Memory
    from reverie.storage.indexed_files import IndexCount


class SearchedFolder(NamedTuple):
    """A folder that is searched, and how much of it is indexed."""

    path: str
    space: str
    own: bool  # the Markdown mirror of the space, always searched
    there: bool  # whether it can be seen just now
    indexed: IndexCount


class FileExcerpt(NamedTuple):
    """Lines of a file, without secrets."""

    path: str
    first: int  # line numbers, from 1, both included; last < first where there is no such line
    last: int
    total: int  # lines of the whole file
    text: str


class WrittenFile(NamedTuple):
    """A file that was written, what is remembered of it, and the version before, by number.

    On a page of the mirror each line is a memory: what was written there may also revise some, and
    forget others.
    """

    path: str
    memory: Memory | None  # the first that is new
    version: int
    memories: tuple[Memory, ...] = ()  # all that are new
    revised: int = 0
    forgotten: int = 0
    why: str = ""  # why the page does not tell of it yet

    @property
    def added(self) -> int:
        """How many memories are new."""
        return len(self.memories)


class SavedNote(NamedTuple):
    """A note: the memory that is kept, and the page that tells of it."""

    memory: Memory
    path: str | None  # None: no page was written
    why: str = ""  # then, why not
