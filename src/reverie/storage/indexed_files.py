"""What the index of files is asked for, and the values that it takes and gives.

`FileIndex` is the port; `sqlite.file_index` is what stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np


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


class FileIndex(Protocol):
    """Files, their chunks, the words in them and their vectors."""

    path: str  # of its database

    def obsolete_files(self) -> list[Path]:
        """Database files of earlier editions of the index, which nobody reads any more."""
        ...

    def roots(self) -> list[str]:
        """The roots that have indexed files."""
        ...

    def indexed_files(self, root: str) -> dict[str, IndexedFile]:
        """The indexed files of a root, by path."""
        ...

    def put(self, root: str, entries: Sequence[ChunkedFile]) -> ChunkDifference:
        """Replace the chunks of these files. A chunk with the same text keeps its number.

        The vector stays with the text.
        """
        ...

    def update_stamps(self, root: str, files: Sequence[IndexedFile]) -> None:
        """Store new stamps of files whose content is unchanged."""
        ...

    def drop(self, root: str, paths: Sequence[str]) -> int:
        """Remove files. Returns how many chunks went with them."""
        ...

    def forget(self, root: str) -> int:
        """Remove a root with all its files, and `scrub`. Returns how many chunks went."""
        ...

    def scrub(self) -> bool:
        """Erase removed chunks for good: unneeded words and vectors, also in the journal.

        False if another process is reading just now, so that the journal may still hold something.
        """
        ...

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Every text in the index, as (root, path, text)."""
        ...

    def search_words(
        self,
        terms: Sequence[str],
        roots: Sequence[str],
        limit: int,
    ) -> list[tuple[int, float]]:
        """(chunk number, BM25) of chunks with any of the terms, best first, ties by number."""
        ...

    def nearest(
        self,
        model: str,
        vector: np.ndarray,
        roots: Sequence[str],
        limit: int,
        floor: float,
    ) -> list[tuple[int, float]]:
        """(chunk number, cosine) of the nearest chunks, best first; none below `floor`."""
        ...

    def cosines(
        self,
        model: str,
        vector: np.ndarray,
        nums: Sequence[int],
    ) -> dict[int, float]:
        """The cosine of each of these chunks that has a vector of the model."""
        ...

    def chunks(self, nums: Sequence[int]) -> list[FoundChunk]:
        """Chunks by number, in the order asked; unknown ones are left out."""
        ...

    def unembedded_texts(
        self,
        limit: int,
        model: str,
    ) -> list[tuple[bytes, str]]:
        """(hash, text) of chunks without a vector of this model, each text once."""
        ...

    def put_vectors(
        self,
        model: str,
        vectors: Mapping[bytes, np.ndarray],
    ) -> None:
        """Store vectors by the hash of their text: one row for each part that was embedded."""
        ...

    def count(
        self,
        roots: Sequence[str] | None,
        model: str | None = None,
    ) -> IndexCount:
        """How much is indexed of these roots, or of all; `waiting` is 0 without a model."""
        ...

    def verify(self) -> str:
        """What is inconsistent, in words; empty if nothing is. `clear` mends it."""
        ...

    def clear(self) -> None:
        """Empty the index for all who have it open; delete the file if that is impossible."""
        ...

    def close(self) -> None:
        """Release the database."""
        ...
