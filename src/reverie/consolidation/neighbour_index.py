"""What lies close in a space, looked up once a run: the neighbours of its memories among those that
it can see.

Only what is new since a pass went through last is asked for; a `Watermark` says how far that was.
An import brings memories of an old date, so "new" means: stored after the newest that was seen, or
altered since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reverie.consolidation.clusters import MIN_NEIGHBOUR_COSINE
from reverie.consolidation.nearest_neighbours import (
    MAX_EXACT_ROWS,
    Floats,
    Ints,
    NeighbourTable,
    SearchStopped,
    empty_neighbours,
    find_nearest,
)
from reverie.core.model import Filter, Memory, visible_spaces
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.pass_view import ClosePair
from reverie.storage.paging import read_memory_pages

# neighbours of each memory
MAX_NEIGHBOURS = 10
# memories read at once
PAGE = 1_000

Bools = npt.NDArray[np.bool_]


class Watermark(NamedTuple):
    """The progress of a pass: model, time, and by space the memory up to which all had vectors."""

    model: str
    at: float
    newest: Mapping[str, str]

    @property
    def as_json(self) -> str:
        """The watermark as it is stored."""
        return json.dumps(self._asdict(), sort_keys=True)

    @classmethod
    def read(
        cls,
        work: WorkContext,
        name: str,
        afresh: bool,
    ) -> Watermark:
        """The stored one; an empty one if `afresh`, or if the model is another now."""
        kept = json.loads(work.store.meta(f"sleep.{name}") or "{}")
        if afresh or kept.get("model") != work.embedding_model:
            return cls(work.embedding_model, 0.0, {})
        return cls(kept["model"], kept["at"], kept["newest"])

    def write(self, work: WorkContext, name: str) -> None:
        """Store it for the next run."""
        work.store.set_meta(f"sleep.{name}", self.as_json)


@dataclass(slots=True)
class SpaceVectors:
    """The active memories with a vector of a space and those above it, by rising id."""

    ids: list[str]
    vectors: Floats
    is_own: Bools  # of the space itself
    is_new: Bools  # new to the pass
    # of the space itself: what was put down last, if no older one still waits for its vector
    newest: str

    def take(self, rows: Ints) -> SpaceVectors:
        """These rows, in this order."""
        ids = [self.ids[row] for row in rows]
        own, new = self.is_own[rows], self.is_new[rows]
        return SpaceVectors(ids, self.vectors[rows], own, new, self.newest)


@dataclass(slots=True)
class NeighbourIndex:
    """The neighbours of the rows that were asked for, without the vectors."""

    ids: list[str]
    is_own: Bools
    is_new: Bools
    newest: str
    neighbours: NeighbourTable

    def pairs(self, floor: float, after: str = "") -> Iterator[ClosePair]:
        """Pairs of at least this cosine, one of the space itself and one new, each pair once.

        In the order of the newer memory's id, from `after` on; the nearest of each first.
        """
        old, new, cosines = self.select_pairs(floor)
        for i in np.lexsort((old, -cosines, new)):
            if self.ids[new[i]] >= after:
                yield ClosePair(
                    self.ids[old[i]],
                    self.ids[new[i]],
                    float(cosines[i]),
                )

    def select_pairs(self, floor: float) -> tuple[Ints, Ints, Floats]:
        """The older row, the newer and the cosine of each wanted pair, in no order that matters."""
        rows, columns = np.nonzero(self.neighbours.cosines >= floor)
        others = self.neighbours.rows[rows, columns]
        has_own = self.is_own[rows] | self.is_own[others]
        has_new = self.is_new[rows] | self.is_new[others]
        wanted = has_own & has_new
        old = np.minimum(rows, others)[wanted]
        new = np.maximum(rows, others)[wanted]
        cosines = self.neighbours.cosines[rows, columns][wanted]
        # Two rows may each name the other: the pair counts once.
        _, first = np.unique(
            old * len(self.ids) + new,
            return_index=True,
        )
        return old[first], new[first], cosines[first]


def index_neighbours(
    work: WorkContext,
    space: str,
    mark: Watermark,
    known: dict[tuple[str, str], NeighbourIndex],
    may_continue: Callable[[], bool],
) -> NeighbourIndex:
    """The neighbour index of a space, from `known` if another pass at the same mark had it made.

    Empty if the run is told to stop.
    """
    key = (space, mark.as_json)
    if key in known:
        return known[key]
    found = load_space_vectors(work, space, mark)
    index = NeighbourIndex(
        found.ids, found.is_own, found.is_new, found.newest, empty_neighbours(len(found.ids), 1)
    )
    try:
        index.neighbours = search_neighbours(found, may_continue)
    except SearchStopped:
        return index
    known[key] = index
    return index


def search_neighbours(matrix: SpaceVectors, may_continue: Callable[[], bool]) -> NeighbourTable:
    """The neighbours of what is new, or of all where that is less work."""
    new_rows = np.flatnonzero(matrix.is_new)
    # Cells cost the same whatever is asked for, so few new rows are better compared with all.
    is_much = len(new_rows) * len(matrix.ids) > MAX_EXACT_ROWS * MAX_EXACT_ROWS
    rows = None if is_much or len(new_rows) == len(matrix.ids) else new_rows
    return find_nearest(
        matrix.vectors,
        MAX_NEIGHBOURS,
        MIN_NEIGHBOUR_COSINE,
        rows=rows,
        may_continue=may_continue,
    )


def load_space_vectors(
    work: WorkContext,
    space: str,
    mark: Watermark | None = None,
) -> SpaceVectors:
    """A space and those above it, read page by page into one matrix."""
    counts = work.store.stats().spaces
    spaces = visible_spaces(space)
    most = sum(counts.get(name, 0) for name in spaces)
    found = fill_matrix(iter_with_vectors(work, spaces, mark), space, most)
    # Ids rise in the order of their making; only those of several spaces, or imported, are mixed.
    order = np.argsort(
        np.array(found.ids, np.str_),
        kind="stable",
    )
    return found if (np.diff(order) == 1).all() else found.take(order)


def fill_matrix(
    rows: Iterable[tuple[Memory, Floats | None, bool]],
    space: str,
    most: int,
) -> SpaceVectors:
    """Memories with their vectors, `most` at most, in one matrix in the reverse order."""
    ids: list[str] = []
    vectors = np.zeros((0, 0), np.float32)
    own, new = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    newest = ""
    # Pages come newest first, so the matrix is filled from its end: then it is in the order of the
    # ids already, and need not be copied.
    for memory, vector, is_new in rows:
        if memory.space == space:
            newest = "" if vector is None else newest or memory.id
        # One more than were counted came meanwhile: it is for the next run.
        if vector is None or len(ids) == most:
            continue
        if not len(vectors):
            vectors = np.zeros((most, len(vector)), np.float32)
        ids.append(memory.id)
        row = most - len(ids)
        vectors[row], own[row], new[row] = vector, memory.space == space, is_new
    first = most - len(ids)
    return SpaceVectors(
        ids[::-1],
        vectors[first:],
        own[first:],
        new[first:],
        newest,
    )


def iter_with_vectors(
    work: WorkContext,
    spaces: tuple[str, ...],
    mark: Watermark | None,
) -> Iterator[tuple[Memory, Floats | None, bool]]:
    """(memory, its vector, whether it is new since the mark), newest first in each space."""
    for space in spaces:
        last_seen = mark.newest.get(space) if mark else None
        is_after = True
        for page in read_memory_pages(
            work.store,
            Filter(spaces=(space,), limit=PAGE),
        ):
            vectors = work.store.vectors(work.embedding_model, [memory.id for memory in page])
            for memory in page:
                is_after = is_after and memory.id != last_seen
                is_new = is_after or mark is None or memory.updated_at > mark.at
                yield memory, vectors.get(memory.id), is_new
