"""The vectors of passages, packed: one byte a number, and its sign as a bit.

A search compares the sign bits of all rows in the spaces asked for, and takes the exact cosine of
the nearest few. Rows stand in blocks of one space, in a file (`vector_snapshot`) or in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from reverie.storage.arrays import Floats, Ints, Words
from reverie.storage.column_cache import sort_distinct, to_sign_bits

Bytes = npt.NDArray[np.int8]
Distances = npt.NDArray[np.uint16]

# Rows of a block: its sign bits and what is made of them stay in the processor's cache.
BLOCK_ROWS = 8_192
# Rows whose exact cosine is taken, or twice as many as are asked for. Of a million clustered
# vectors 1,000 rows hold .97 of the true top ten, 2,000 hold .985, 3,000 hold .987.
EXACT_ROWS = 2_000
# From so many rows on, NumPy's work on them is worth a second thread.
SHARED_ROWS = 200_000
# Rows that are looked at to see how far the nearest ones are.
SAMPLE_ROWS = 65_536
# Words of sign bits whose differences can be summed in a byte.
WORDS_PER_BYTE = 3


class ByteRows(Protocol):
    """A matrix of signed bytes, of which some rows are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows, and how long each is."""

    def __getitem__(self, rows: Ints, /) -> Bytes:
        """These rows."""


class VectorBlock(NamedTuple):
    """Some rows of one space."""

    nums: Ints
    bits: Words  # a line for each word, so that a scan reads one word of every row after another
    rows: ByteRows


SpaceBlocks = Mapping[str, Sequence[VectorBlock]]


def to_bytes(vector: Floats) -> bytes:
    """A vector of unit length as signed bytes: each number times 127 over the largest."""
    largest = float(np.abs(vector).max()) or 1.0
    return bytes(np.rint(vector * (127.0 / largest)).astype(np.int8))


def pack_block(rows: Sequence[tuple[int, bytes]]) -> VectorBlock:
    """A block of (number, vector in bytes), all equally long."""
    nums = np.fromiter((num for num, _ in rows), np.int64, len(rows))
    numbers = np.frombuffer(b"".join(packed for _, packed in rows), np.int8)
    numbers = numbers.reshape(len(rows), -1)
    return VectorBlock(nums, np.ascontiguousarray(to_sign_bits(numbers).T), numbers)


def pack_blocks(rows: Iterable[tuple[str, int, bytes]]) -> Iterator[tuple[str, VectorBlock]]:
    """Blocks by space, of (space, number, vector in bytes) in any order. Rows that are not as long
    as the first one, which no model writes, are left out.
    """
    waiting: dict[str, list[tuple[int, bytes]]] = {}
    length = 0
    for space, num, packed in rows:
        length = length or len(packed)
        if len(packed) != length:
            continue
        some = waiting.setdefault(space, [])
        some.append((num, packed))
        if len(some) == BLOCK_ROWS:
            yield space, pack_block(waiting.pop(space))
    for space, some in waiting.items():
        yield space, pack_block(some)


def find_nearest(
    blocks: Sequence[VectorBlock],
    vector: Floats,
    limit: int,
    without: Ints,
) -> list[tuple[int, float]]:
    """(number, cosine) of the nearest rows but those `without`, best first, ties by number."""
    blocks = [block for block in blocks if block.rows.shape[1] == len(vector)]
    if not blocks or limit <= 0:
        return []
    wanted = max(EXACT_ROWS, 2 * limit)
    nums: list[Ints] = []
    cosines: list[Floats] = []
    for block, rows in choose_rows(blocks, vector, wanted + len(without)):
        numbers = block.rows[rows].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))
        nums.append(block.nums[rows])
        cosines.append(numbers @ vector / np.maximum(lengths, 1.0))
    found, near = np.concatenate(nums), np.concatenate(cosines)
    if len(without):
        stays = np.isin(found, without, invert=True)
        found, near = found[stays], near[stays]
    best = np.lexsort((found, -near))[:limit]
    return list(zip(found[best].tolist(), near[best].tolist(), strict=True))


def find_vectors(blocks: Iterable[VectorBlock], nums: Sequence[int]) -> dict[int, Floats]:
    """The vectors of passages by number, of unit length, in blocks whose numbers ascend."""
    asked = sort_distinct(np.asarray(nums, np.int64))
    found: dict[int, Floats] = {}
    for block in blocks:
        first, last = np.searchsorted(asked, (block.nums[0], block.nums[-1] + 1))
        if first < last:
            some = asked[first:last]
            rows = np.minimum(np.searchsorted(block.nums, some), len(block.nums) - 1)
            rows = rows[block.nums[rows] == some]
            numbers = block.rows[rows].astype(np.float32)
            lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
            units = numbers / np.maximum(lengths, 1.0)
            found.update(zip(block.nums[rows].tolist(), units, strict=True))
    return found


def choose_rows(
    blocks: Sequence[VectorBlock],
    vector: Floats,
    wanted: int,
) -> Iterator[tuple[VectorBlock, Ints]]:
    """About as many rows as wanted whose signs differ least from the vector's, by block."""
    total = sum(len(block.nums) for block in blocks)
    if total <= wanted:
        yield from ((block, np.arange(len(block.nums))) for block in blocks)
        return
    query = to_sign_bits(vector[None, :])[0][:, None]
    distances = count_all_differences([block.bits for block in blocks], query, total)
    cutoff = find_cutoff(distances, wanted)
    for block, some in zip(blocks, distances, strict=True):
        rows = np.flatnonzero(some <= cutoff)
        if len(rows):
            yield block, rows


def find_cutoff(distances: Sequence[Distances], wanted: int) -> int:
    """The distance up to which about so many rows lie, from an even sample of them."""
    step = max(1, sum(map(len, distances)) // SAMPLE_ROWS)
    sample = np.concatenate([some[::step] for some in distances])
    place = min(wanted // step, len(sample) - 1)
    return int(np.partition(sample, place)[place])


def count_all_differences(bits: Sequence[Words], query: Words, total: int) -> list[Distances]:
    """In how many signs each row of each block differs; two threads share many rows."""

    def count(some: Sequence[Words]) -> list[Distances]:
        return [count_differences(block, query) for block in some]

    if total < SHARED_ROWS:
        return count(bits)
    from concurrent.futures import ThreadPoolExecutor

    middle = len(bits) // 2
    with ThreadPoolExecutor(1) as other:
        second = other.submit(count, bits[middle:])
        return count(bits[:middle]) + second.result()


def count_differences(bits: Words, query: Words) -> Distances:
    """In how many signs each row of a block differs."""
    differing = np.bitwise_count(bits ^ query)
    total = np.zeros(bits.shape[1], np.uint16)
    for start in range(0, len(bits), WORDS_PER_BYTE):
        total += differing[start : start + WORDS_PER_BYTE].sum(axis=0, dtype=np.uint8)
    return total
