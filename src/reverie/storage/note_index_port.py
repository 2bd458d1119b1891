"""What Reverie asks of the index of files. All of it is derived: a folder's files say everything
again.

A `FileIndex` lives beside the store, in a database of its own, so that a hundred megabytes of notes
never slow down memory, and deleting it loses nothing but time. It is made when something is first
written to it: until then, every question is answered with "nothing". Vectors are kept by the hash
of their text and the model that made them: the same text in two files, or in a file that was
renamed, is embedded once (C71). A long text is embedded in parts and is as near to a question as
the nearest of them.

Every writing method is one transaction. Any number of threads and processes may use one index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np


class Chunk(NamedTuple):
    """A part of a text: lines `first` to `last`, counted from 1, both included."""

    first: int
    last: int
    text: str
    hash: bytes  # of the text: `words.fingerprint`


class FileStamp(NamedTuple):
    """What the file system says about a file. Two equal stamps: the same content, unless UNSURE."""

    size: int
    mtime: int  # nanoseconds since 1970
    inode: int


# the file was written just now, or while it was read: look again next time
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
    """How many chunks of some files are new, stayed, and went."""

    added: int = 0
    kept: int = 0
    dropped: int = 0

    def plus(self, other: ChunkDifference) -> ChunkDifference:
        """Both together."""
        return ChunkDifference(
            self.added + other.added, self.kept + other.kept, self.dropped + other.dropped
        )


class FoundChunk(NamedTuple):
    """A chunk and the file that it stands in."""

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
        """Files of earlier editions of it, which nobody reads any more."""
        ...

    def roots(self) -> list[str]:
        """The roots of which anything is indexed."""
        ...

    def indexed_files(self, root: str) -> dict[str, IndexedFile]:
        """The files of a root, by path."""
        ...

    def put(self, root: str, entries: Sequence[ChunkedFile]) -> ChunkDifference:
        """Make these the files' chunks. A chunk whose text stays keeps its number and
        its vector.
        """
        ...

    def update_stamps(self, root: str, files: Sequence[IndexedFile]) -> None:
        """The content of these files is what it was; only their stamps are others."""
        ...

    def drop(self, root: str, paths: Sequence[str]) -> int:
        """Forget files. Returns how many chunks went with them."""
        ...

    def forget(self, root: str) -> int:
        """Forget a root with all its files, and `scrub`. Returns the chunks."""
        ...

    def scrub(self) -> bool:
        """Erase what was dropped for good: words and vectors that nothing needs any longer, also in
        the journal.

        False if another process is reading just now, so that the journal may still hold something.
        """
        ...

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Every text that is kept, with its root and its file."""
        ...

    def search_words(
        self, terms: Sequence[str], roots: Sequence[str], limit: int
    ) -> list[tuple[int, float]]:
        """(chunk, BM25) of chunks in which any of the terms occurs, best first, ties by number."""
        ...

    def nearest(
        self, model: str, vector: np.ndarray, roots: Sequence[str], limit: int, floor: float
    ) -> list[tuple[int, float]]:
        """(chunk, cosine) of the chunks nearest to a vector, best first; none below `floor`."""
        ...

    def cosines(self, model: str, vector: np.ndarray, nums: Sequence[int]) -> dict[int, float]:
        """The cosine of each of these chunks that has a vector of the model."""
        ...

    def chunks(self, nums: Sequence[int]) -> list[FoundChunk]:
        """Chunks by number, in the order asked; those that are gone are left out."""
        ...

    def unembedded_texts(self, model: str, limit: int) -> list[tuple[bytes, str]]:
        """(hash, text) of chunks that have no vector of this model, each text once."""
        ...

    def put_vectors(self, model: str, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Keep vectors by the hash of their text: one row for each part that it was embedded in."""
        ...

    def count(self, roots: Sequence[str] | None, model: str | None = None) -> IndexCount:
        """How much is indexed of some roots, or of all; `waiting` is 0 without a model."""
        ...

    def verify(self) -> str:
        """What does not hold together; empty if all does. `clear` mends it."""
        ...

    def clear(self) -> None:
        """Empty the whole index, for all who have it open; one that cannot be emptied is thrown
        away.
        """
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
