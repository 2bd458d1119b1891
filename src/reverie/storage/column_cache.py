"""What ranking reads: columns of many memories in memory, one `Shard` a space.

A shard grows at its end and never shrinks: retired memories are masked. Readers work on snapshots,
which share the arrays: appending writes only beyond what they see, and growing makes new arrays.
Vectors are of unit length, so a dot product is the cosine: float32, or halves where a shard is so
large that few of them are looked at. NaN stands for "no vector of this model".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reverie.storage.arrays import Doubles, Flags, Floats, Ints, Words

# Up to here every vector is compared. Beyond, sign bits choose the candidates (`Shard.nearest`).
MAX_EXACT_ROWS = 20_000
# Candidates that sign bits choose before the exact cosine. Measured on 100,000 clustered vectors:
# 0.99 of the true top 50 are among them, in a ninth of the time of the exact scan (bench/scale).
COARSE_CANDIDATES = 1_000
# Memories that stand for all when the usual, meaningless cosine is estimated.
SAMPLE_SIZE = 1_000
# What a row takes beside its columns: its id, and its place by number.
ROW_BYTES = 250
# How much a shard may grow before its median and its sample are computed afresh.
STALE_GROWTH = 1.05

# The columns of a shard, with their types and what a new row holds until something is known.
COLUMNS: Mapping[str, tuple[type, int]] = {
    "num": (np.int64, 0),
    "at": (np.float64, 0),
    "length": (np.int64, 0),
    "session": (np.int64, 0),
    "speaker": (np.int64, 0),
    "kind": (np.int64, 0),
    "previous_row": (np.int64, -1),
    "next_row": (np.int64, -1),
    "asks": (np.bool_, 0),
    "expires": (np.float64, 0),
    "counts": (np.bool_, 0),
    "known": (np.bool_, 0),
}


class Shard:
    """The memories of one space. `n` rows are in use; arrays may be longer."""

    num: Ints
    at: Doubles
    length: Ints  # of the text, in characters
    session: Ints  # codes, as `speaker` and `kind` are (`Corpus.names`)
    speaker: Ints
    kind: Ints
    previous_row: Ints  # of the same session, or -1
    next_row: Ints  # of the same session, or -1
    asks: Flags  # ends in a question mark
    expires: Doubles  # infinity: never
    counts: Flags  # not retired
    known: Flags  # has a vector

    def __init__(self, dims: int, space: str = "", *, halves: bool = False) -> None:
        self.dims, self.space = dims, space
        self.n = 0
        self.ids: list[str] = []
        self.place: dict[int, int] = {}  # memory.num → row
        self.last_of: dict[int, int] = {}  # session → its last row
        for name, (kind, _) in COLUMNS.items():
            setattr(self, name, np.zeros(0, kind))
        self.vectors: npt.NDArray[Any] = np.zeros((0, dims), np.float16 if halves else np.float32)
        # A row for each word of sign bits: a scan reads one word of every vector after another.
        words = -(-dims // 64)
        self.bits: Words = np.zeros((words, 0), np.uint64)
        self.typical = (0, 0.0)  # (n at that time, median length)
        self.sampled = (0, np.zeros((0, dims), np.float32))  # (n at that time, vectors)

    def reserve_rows(self, more: int) -> None:
        """Make room for so many further rows."""
        need = self.n + more
        if need <= len(self.num):
            return
        # A quarter more, so that appending one at a time copies each row a few times at most, and
        # little room lies empty.
        size = max(need, len(self.num) * 5 // 4, 64)
        for name, (_, default) in COLUMNS.items():
            setattr(self, name, _grow_array(getattr(self, name), size, default))
        self.vectors = _grow_array(self.vectors, size)
        by_row = np.ascontiguousarray(self.bits.T)
        self.bits = np.ascontiguousarray(_grow_array(by_row, size).T)

    def extend(self, ids: Sequence[str], **columns: Sequence[Any]) -> None:
        """Add memories, without vectors yet. The rows of a session stand in order of arrival."""
        self.reserve_rows(len(ids))
        start, end = self.n, self.n + len(ids)
        self.ids.extend(ids)
        for name, values in columns.items():
            getattr(self, name)[start:end] = values
        self.place.update(zip(columns["num"], range(start, end), strict=True))
        for row, session in enumerate(columns["session"], start):
            if session:
                last = self.last_of.get(session, -1)
                self.previous_row[row] = last
                if last >= 0:
                    self.next_row[last] = row
                self.last_of[session] = row
        self.n = end

    def ends(self) -> tuple[int, int]:
        """The number of the first memory and that of the last; there must be one."""
        return int(self.num[0]), int(self.num[self.n - 1])

    def put(self, rows: Sequence[int], vectors: Floats) -> None:
        """Set the vectors of some rows."""
        if len(rows):
            where = np.asarray(rows, np.int64)
            self.vectors[where] = vectors
            self.bits[:, where] = to_sign_bits(vectors).T
            self.known[where] = True

    @property
    def has_halves(self) -> bool:
        """True if the vectors are kept as halves."""
        return self.vectors.dtype == np.float16

    def read_vectors(self, rows: Ints | slice) -> Floats:
        """The vectors of some rows; those of a slice are a view unless they are kept as halves."""
        return self.vectors[rows].astype(np.float32, copy=False)

    def beside(self, rows: Ints, offset: int) -> Ints:
        """The rows `offset` turns before (negative) or after these in their session; -1 if none."""
        step = self.previous_row if offset < 0 else self.next_row
        for _ in range(abs(offset)):
            rows = np.where(rows >= 0, step[rows], -1)
            # The next turn may have come after this snapshot was taken.
            rows = np.where(rows < self.n, rows, -1)
        return rows

    def count_bytes(self) -> int:
        """About how much memory the shard takes."""
        arrays = [getattr(self, name) for name in COLUMNS]
        held = sum(array.nbytes for array in (*arrays, self.vectors, self.bits, self.sampled[1]))
        return int(held) + ROW_BYTES * self.n

    def snapshot(self) -> Shard:
        """The shard as it is now: it shares the arrays but does not grow with them."""
        self.median_length()
        self.sample()
        return copy(self)

    def median_length(self) -> float:
        """The median length of a text in characters, at most STALE_GROWTH out of date."""
        counted, median = self.typical
        if self.n > STALE_GROWTH * counted or not counted:
            lengths = self.length[: self.n]
            median = float(np.median(lengths)) if self.n else 0.0
            self.typical = (self.n, median)
        return median

    def background(self, vector: Floats) -> tuple[float, float]:
        """Mean and standard deviation of the cosines of an even sample: what means nothing here."""
        cosines = self.sample() @ vector
        if not len(cosines):
            return 0.0, 0.0
        return float(cosines.mean()), float(cosines.std())

    def sample(self) -> Floats:
        """About SAMPLE_SIZE vectors, evenly spaced; all of them while they are few."""
        counted, vectors = self.sampled
        if counted and self.n <= STALE_GROWTH * counted:
            return vectors
        rows = np.flatnonzero(self.mask())
        if len(rows) <= SAMPLE_SIZE:
            return self.read_vectors(rows)
        step = len(rows) // SAMPLE_SIZE
        # Side by side in memory: scattered rows take ten times as long.
        vectors = self.read_vectors(rows[::step])
        self.sampled = (self.n, vectors)
        return vectors

    def mask(self) -> Flags:
        """True for the rows that are active and have a vector."""
        return self.counts[: self.n] & self.known[: self.n]

    def nearest(
        self,
        vector: Floats,
        limit: int,
        allowed: Flags | None = None,
    ) -> tuple[Ints, Floats]:
        """The `limit` active, allowed rows of the highest cosine, and the cosines, unordered.

        Exact up to MAX_EXACT_ROWS. Beyond, sign bits (Charikar 2002: the share of equal signs grows
        with the cosine) choose COARSE_CANDIDATES, whose cosines are exact.
        """
        mask = self.mask() if allowed is None else self.mask() & allowed
        if self.n <= MAX_EXACT_ROWS:
            rows = np.flatnonzero(mask)
            whole = len(rows) == self.n
            # A slice is a view; a list of rows would copy the matrix.
            vectors = self.read_vectors(slice(self.n) if whole else rows)
            return _select_top(rows, vectors @ vector, limit)
        distances = self.sign_distances(vector)
        if not mask.all():
            distances[~mask] = self.dims + 1
        cutoff = self.distance_cutoff(distances, max(COARSE_CANDIDATES, 4 * limit))
        rows = np.flatnonzero(distances <= cutoff)
        return _select_top(rows, self.read_vectors(rows) @ vector, limit)

    def distance_cutoff(
        self,
        distances: npt.NDArray[np.uint16],
        wanted: int,
    ) -> int:
        """The distance within which about `wanted` rows lie, and at least a quarter of them."""
        # Every sixteenth row tells it to within a tenth, in a tenth of the time that all take.
        sample = distances[::16]
        cutoff = int(np.partition(sample, wanted // 16)[wanted // 16])
        if np.count_nonzero(distances <= cutoff) < wanted // 4:
            histogram = np.bincount(distances, minlength=self.dims + 2)
            reached = np.cumsum(histogram[: self.dims + 1])
            cutoff = int(np.searchsorted(reached, wanted))
        return min(cutoff, self.dims)

    def sign_distances(self, vector: Floats) -> npt.NDArray[np.uint16]:
        """In how many signs each row differs from the vector."""
        query = to_sign_bits(vector[None, :])[0]
        total = np.zeros(self.n, np.uint16)
        for word, bits in zip(query, self.bits, strict=True):
            total += np.bitwise_count(bits[: self.n] ^ word)
        return total

    def cosines(self, rows: Ints, vector: Floats) -> Floats:
        """The cosine of some rows; NaN for row -1 and where there is no vector."""
        found = np.full(rows.shape, np.nan, np.float32)
        usable = rows >= 0
        usable[usable] = self.known[rows[usable]]
        found[usable] = self.read_vectors(rows[usable]) @ vector
        return found


def to_sign_bits(vectors: npt.NDArray[Any]) -> Words:
    """The sign of each component as bits, 64 to a word."""
    packed = np.packbits(vectors > 0, axis=1)
    missing = -packed.shape[1] % 8
    whole_words = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(whole_words).view(np.uint64)


def sort_distinct(values: Ints) -> Ints:
    """The distinct values, ascending: `np.unique`, which alone would load `numpy.ma`, some 20 ms of
    a process's first search.
    """
    ordered = np.sort(values)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))]


def _grow_array(
    array: npt.NDArray[Any],
    size: int,
    default: int = 0,
) -> npt.NDArray[Any]:
    shape = (size, *array.shape[1:])
    longer = np.full(shape, default, array.dtype)
    longer[: len(array)] = array
    return longer


def _select_top(
    rows: Ints,
    cosines: Floats,
    limit: int,
) -> tuple[Ints, Floats]:
    if len(rows) > limit:
        top = np.argpartition(-cosines, limit)[:limit]
        rows, cosines = rows[top], cosines[top]
    return rows, cosines


@dataclass(frozen=True, slots=True)
class Corpus:
    """The shards a reader may see, nearest space first, and the names behind the codes."""

    shards: tuple[Shard, ...]
    names: Sequence[str]  # code → session, speaker or kind; code 0 is ""
    codes: Mapping[str, int]  # and back

    def __len__(self) -> int:
        return sum(shard.n for shard in self.shards)

    def has_speaker(self, name: str) -> bool:
        """True if a memory here, active or not, was said by the one of this name."""
        code = self.codes.get(name)
        # Codes are of sessions and kinds too.
        return code is not None and any(
            (shard.speaker[: shard.n] == code).any() for shard in self.shards
        )
