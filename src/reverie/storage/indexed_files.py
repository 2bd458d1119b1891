"""The values that the index of files (`sqlite.file_index`) takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Chunk(NamedTuple):
    """Lines `first` to `last` of a text, counted from 1, both included."""

    first: int
    last: int
    text: str
    hash: bytes  # of the text: `tokenization.fingerprint_text`


class FileStamp(NamedTuple):
    """What the file system says about a file. Equal stamps, but UNSURE_STAMP: equal content."""

    size: int
    mtime: int  # nanoseconds since 1970
    inode: int


# Never equal to a real stamp: the file was written just now or while it was read, so look again.
UNSURE_STAMP = FileStamp(-1, -1, -1)


class IndexedFile(NamedTuple):
    """A file as it was when it was indexed."""

    path: str  # from its root, with slashes
    stamp: FileStamp
    hash: bytes  # of its bytes


class ChunkedFile(NamedTuple):
    """A file with its chunks, to be indexed."""

    file: IndexedFile
    chunks: Sequence[Chunk]


class ChunkDifference(NamedTuple):
    """How many chunks of some files are new, unchanged and gone."""

    added: int = 0
    kept: int = 0
    dropped: int = 0

    def plus(self, other: ChunkDifference) -> ChunkDifference:
        """The sum of both."""
        return ChunkDifference(
            self.added + other.added, self.kept + other.kept, self.dropped + other.dropped
        )


class FoundChunk(NamedTuple):
    """A chunk and the file that holds it."""

    num: int
    root: str
    file: IndexedFile
    chunk: Chunk


class IndexCount(NamedTuple):
    """How much of some roots is indexed."""

    files: int = 0
    chunks: int = 0
    waiting: int = 0  # different texts of chunks without a vector of the model that was asked for
