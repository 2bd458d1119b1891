"""Which vectors lie close: the k nearest of every row, exactly for few and near-linearly for many.

Up to EXACT rows every pair is looked at, in blocks. Beyond, rows are put into √n cells by spherical
k-means and each row into the SPILL cells that are nearest to it; only rows that share a cell are
compared. That is an inverted file with the probing moved to where the rows are stored: the work is
a few large products of matrices, n·√n in all, and close rows share a cell almost surely. The seed
is fixed: the same vectors give the same answer.

`bench.sleep` compares it with the exact search. Memory: the vectors, k neighbours a row, one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Up to so many rows every pair is looked at: some ten seconds on two cores.
MAX_EXACT_ROWS = 20_000
# Cells that a row is put into. Measured: of true pairs at 0.8 and above 0.99 and more are found.
CELLS_PER_ROW = 4
# More rounds of k-means do not find more pairs.
KMEANS_ROUNDS = 6
# rows a cell from which the centres are learned
SAMPLED_ROWS_PER_CELL = 32
# Rows compared with one another: a heap of equal texts must not make a square of work.
MAX_CELL_ROWS = 4_096
# rows compared at once
BLOCK_ROWS = 1_024


class NeighbourTable(NamedTuple):
    """The neighbours of each row, best first: row numbers and cosines, each (n, k).

    −1 and −1.0 where there are fewer than k.
    """

    rows: Ints
    cosines: Floats


def empty_neighbours(n: int, k: int) -> NeighbourTable:
    """A table of n rows without neighbours."""
    rows = np.full((n, k), -1, np.int64)
    cosines = np.full((n, k), -1.0, np.float32)
    return NeighbourTable(rows, cosines)


class SearchStopped(Exception):
    """Somebody wants the search to end."""


def find_nearest(
    vectors: Floats,
    k: int,
    floor: float,
    *,
    rows: Ints | None = None,
    exact: int = MAX_EXACT_ROWS,
    may_continue: Callable[[], bool] = lambda: True,
) -> NeighbourTable:
    """The k best neighbours of every row (of unit length) whose cosine is at least `floor`.

    With `rows`, only of these, each compared with all. SearchStopped if it must not continue.
    """
    n = len(vectors)
    best = empty_neighbours(n, k)
    if n < 2:
        return best
    if rows is not None or n <= exact:
        groups = iter_exact_blocks(n, np.arange(n) if rows is None else rows)
    else:
        groups = iter_cell_blocks(assign_cells(vectors, may_continue))
    for asked, among in groups:
        if not may_continue():
            raise SearchStopped
        merge_neighbours(best, asked, *compare_block(vectors, asked, among, k, floor))
    order = np.argsort(
        -best.cosines,
        axis=1,
        kind="stable",
    )
    return NeighbourTable(
        np.take_along_axis(best.rows, order, 1),
        np.take_along_axis(
            best.cosines,
            order,
            1,
        ),
    )


def iter_exact_blocks(n: int, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """These rows against all n, in blocks that are smaller where n is large."""
    among = np.arange(n)
    step = max(16, min(BLOCK_ROWS, BLOCK_ROWS * MAX_EXACT_ROWS // n))
    for start in range(0, len(rows), step):
        yield rows[start : start + step], among


def iter_cell_blocks(groups: Iterator[Ints]) -> Iterator[tuple[Ints, Ints]]:
    """Rows of one cell against one another; a cell that is too large in pieces."""
    for rows in groups:
        for piece in range(0, len(rows), MAX_CELL_ROWS):
            among = rows[piece : piece + MAX_CELL_ROWS]
            for start in range(0, len(among), BLOCK_ROWS):
                yield among[start : start + BLOCK_ROWS], among


def compare_block(
    vectors: Floats,
    asked: Ints,
    among: Ints,
    k: int,
    floor: float,
) -> tuple[Ints, Floats]:
    """The k best of `among` for each row asked."""
    others = vectors if len(among) == len(vectors) else vectors[among]  # the whole is not copied
    cosines = vectors[asked] @ others.T
    cosines[asked[:, None] == among[None, :]] = -1.0
    top = select_highest(cosines, k)
    found = np.take_along_axis(cosines, top, 1)
    is_near = found >= floor
    return np.where(is_near, among[top], -1), np.where(
        is_near,
        found,
        np.float32(-1.0),
    )


def select_highest(values: Floats, k: int) -> Ints:
    """The columns of the k highest values of each row, in no order; all if there are fewer."""
    width = values.shape[1]
    if width <= k:
        return np.broadcast_to(np.arange(width), values.shape)
    return np.argpartition(-values, k - 1, axis=1)[:, :k]


def merge_neighbours(
    best: NeighbourTable,
    asked: Ints,
    rows: Ints,
    cosines: Floats,
) -> None:
    """Merge what one cell found into what is known, each neighbour once."""
    had = best.rows[asked]
    is_repeated = (rows[:, :, None] == had[:, None, :]) & (rows[:, :, None] >= 0)
    known = is_repeated.any(axis=2)
    new_rows = np.where(known, -1, rows)
    new_cosines = np.where(known, np.float32(-1.0), cosines)
    all_rows = np.concatenate([had, new_rows], axis=1)
    all_cosines = np.concatenate([best.cosines[asked], new_cosines], axis=1)
    top = select_highest(all_cosines, had.shape[1])
    best.rows[asked] = np.take_along_axis(all_rows, top, 1)
    best.cosines[asked] = np.take_along_axis(all_cosines, top, 1)


def assign_cells(
    vectors: Floats,
    may_continue: Callable[[], bool],
) -> Iterator[Ints]:
    """The rows of each cell; a row is in CELLS_PER_ROW of them."""
    centres = learn_centres(vectors, round(len(vectors) ** 0.5), may_continue)
    homes = np.empty((len(vectors), CELLS_PER_ROW), np.int64)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        homes[block] = select_highest(vectors[block] @ centres.T, CELLS_PER_ROW)
    flat = homes.ravel()
    order = np.argsort(flat, kind="stable")
    ends = np.searchsorted(
        flat[order],
        np.arange(len(centres) + 1),
    )
    for first, last in pairwise(ends):
        yield order[first:last] // CELLS_PER_ROW


def learn_centres(
    vectors: Floats,
    count: int,
    may_continue: Callable[[], bool],
) -> Floats:
    """The centres of `count` cells, by spherical k-means on a sample with a fixed seed."""
    rng = np.random.default_rng(0)
    sample = draw_rows(vectors, min(len(vectors), SAMPLED_ROWS_PER_CELL * count), rng)
    centres = draw_rows(sample, count, rng)
    for _ in range(KMEANS_ROUNDS):
        if not may_continue():
            raise SearchStopped
        move_centres(centres, sample)
    return centres


def draw_rows(
    rows: Floats,
    count: int,
    rng: np.random.Generator,
) -> Floats:
    """A copy of so many rows, drawn by chance, in their order."""
    return rows[np.sort(rng.choice(len(rows), count, replace=False))]


def move_centres(centres: Floats, sample: Floats) -> None:
    """Move each centre to the middle of the rows that are nearest to it."""
    # in blocks, to bound the memory that the product takes
    nearest = [
        np.argmax(sample[start : start + BLOCK_ROWS] @ centres.T, axis=1)
        for start in range(0, len(sample), BLOCK_ROWS)
    ]
    home = np.concatenate(nearest)
    order = np.argsort(home, kind="stable")
    taken, firsts = np.unique(home[order], return_index=True)
    centres[taken] = np.add.reduceat(sample[order], firsts, axis=0)
    length = np.linalg.norm(
        centres,
        axis=1,
        keepdims=True,
    )
    centres /= np.where(length > 0, length, 1)
