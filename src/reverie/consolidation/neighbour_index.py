"""What lies close in a space, looked up once a run: the neighbours of its memories among those that
it can see.

Only what is new since a pass went through last is asked for; a `Watermark` says how far that was.
An import brings memories of an old date, so "new" means: put down after the newest that was seen,
or altered since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
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
    find_nearest,
)
from reverie.core.model import Filter, Memory, visible_spaces
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.pass_view import ClosePair
from reverie.storage.paging import read_memory_pages

MAX_NEIGHBOURS = 10  # of each memory (CONSTANTS: contradiction probe)
PAGE = 1_000  # memories read at once

Bools = npt.NDArray[np.bool_]


class Watermark(NamedTuple):
    """How far a pass has been: with which model, when, and in each space the memory up to which all
    had vectors.
    """

    model: str
    at: float
    newest: Mapping[str, str]

    @property
    def as_json(self) -> str:
        """As it is kept."""
        return json.dumps(self._asdict(), sort_keys=True)

    @classmethod
    def read(cls, work: WorkContext, name: str, afresh: bool) -> Watermark:
        """What was kept; nothing for another model or where all is to be looked at again."""
        kept = json.loads(work.store.meta(f"sleep.{name}") or "{}")
        if afresh or kept.get("model") != work.embedding_model:
            return cls(work.embedding_model, 0.0, {})
        return cls(kept["model"], kept["at"], kept["newest"])

    def write(self, work: WorkContext, name: str) -> None:
        """Keep it for the next run."""
        work.store.set_meta(f"sleep.{name}", self.as_json)


@dataclass(slots=True)
class SpaceVectors:
    """The memories of a space that count and have a vector, and those of the spaces above it, by
    rising id.
    """

    ids: list[str]
    vectors: Floats
    is_own: Bools  # of the space itself
    is_new: Bools  # new to the pass
    # of the space itself: what was put down last, if no older one still waits for its vector
    newest: str


@dataclass(slots=True)
class NeighbourIndex:
    """The neighbours of the rows that were asked for. The vectors are not kept."""

    ids: list[str]
    is_own: Bools
    is_new: Bools
    newest: str
    neighbours: NeighbourTable

    def pairs(self, floor: float, after: str = "") -> Iterator[ClosePair]:
        """Pairs of at least this cosine, one of them of the space itself and one of them new, each
        pair once.

        In the order of the newer memory's id, from `after` on; the nearest of each first.
        """
        rows, near = np.nonzero(self.neighbours.cosines >= floor)
        others, cosines = self.neighbours.rows[rows, near], self.neighbours.cosines[rows, near]
        wanted = (self.is_own[rows] | self.is_own[others]) & (
            self.is_new[rows] | self.is_new[others]
        )
        old, new = np.minimum(rows, others)[wanted], np.maximum(rows, others)[wanted]
        _, first = np.unique(old * len(self.ids) + new, return_index=True)
        old, new, cosines = old[first], new[first], cosines[wanted][first]
        for i in np.lexsort((old, -cosines, new)):
            if self.ids[new[i]] >= after:
                yield ClosePair(self.ids[old[i]], self.ids[new[i]], float(cosines[i]))


def index_neighbours(
    work: WorkContext,
    space: str,
    mark: Watermark,
    known: dict[tuple[str, str], NeighbourIndex],
    going: Callable[[], bool],
) -> NeighbourIndex:
    """The ground of a space, from `known` if another pass that had come as far has had it surveyed.

    Empty if the run is told to stop.
    """
    key = (space, mark.as_json)
    if key not in known:
        soil = load_space_vectors(work, space, mark)
        try:
            near = search_neighbours(soil, going)
        except SearchStopped:
            return NeighbourIndex(
                soil.ids, soil.is_own, soil.is_new, soil.newest, empty_neighbours(soil.vectors)
            )
        known[key] = NeighbourIndex(soil.ids, soil.is_own, soil.is_new, soil.newest, near)
    return known[key]


def empty_neighbours(vectors: Floats) -> NeighbourTable:
    """No neighbours."""
    return NeighbourTable(
        np.full((len(vectors), 1), -1, np.int64), np.full((len(vectors), 1), -1.0, np.float32)
    )


def search_neighbours(soil: SpaceVectors, going: Callable[[], bool]) -> NeighbourTable:
    """The neighbours of what is new, or of all where that is less work."""
    fresh = np.flatnonzero(soil.is_new)
    if len(fresh) * len(soil.ids) > MAX_EXACT_ROWS * MAX_EXACT_ROWS or len(fresh) == len(soil.ids):
        return find_nearest(soil.vectors, MAX_NEIGHBOURS, MIN_NEIGHBOUR_COSINE, going=going)
    return find_nearest(soil.vectors, MAX_NEIGHBOURS, MIN_NEIGHBOUR_COSINE, rows=fresh, going=going)


def load_space_vectors(
    work: WorkContext, space: str, mark: Watermark | None = None
) -> SpaceVectors:
    """A space and those above it, read page by page into one matrix.

    Pages come newest first, so it is filled from its end: then it is in the order of the ids
    already, and not copied.
    """
    counts = work.store.stats().spaces
    most = sum(counts.get(name, 0) for name in visible_spaces(space))
    ids: list[str] = []
    vectors = np.zeros((0, 0), np.float32)
    own, fresh = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    newest = ""
    for memory, vector, is_new in iter_with_vectors(work, visible_spaces(space), mark):
        if memory.space == space:
            newest = "" if vector is None else newest or memory.id
        if vector is None or len(ids) == most:  # one more came meanwhile: it is for the next night
            continue
        if not len(vectors):
            vectors = np.zeros((most, len(vector)), np.float32)
        ids.append(memory.id)
        row = most - len(ids)
        vectors[row], own[row], fresh[row] = vector, memory.space == space, is_new
    return sort_by_id(
        ids[::-1],
        vectors[most - len(ids) :],
        own[most - len(ids) :],
        fresh[most - len(ids) :],
        newest,
    )


def iter_with_vectors(
    work: WorkContext, spaces: tuple[str, ...], mark: Watermark | None
) -> Iterator[tuple[Memory, Floats | None, bool]]:
    """Memories that count, newest first in each space; the vector of each, and whether it is new
    since the mark.
    """
    for space in spaces:
        seen, is_new = mark.newest.get(space) if mark else None, True
        for page in read_memory_pages(work.store, Filter(spaces=(space,), limit=PAGE)):
            here = work.store.vectors(work.embedding_model, [memory.id for memory in page])
            for memory in page:
                is_new = is_new and memory.id != seen
                yield (
                    memory,
                    here.get(memory.id),
                    is_new or mark is None or memory.updated_at > mark.at,
                )


def sort_by_id(
    ids: list[str], vectors: Floats, own: Bools, fresh: Bools, newest: str
) -> SpaceVectors:
    """The rows in the order of their ids, which is that of their making."""
    order: Ints = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    if (order == np.arange(len(ids))).all():
        return SpaceVectors(ids, vectors, own, fresh, newest)
    return SpaceVectors([ids[i] for i in order], vectors[order], own[order], fresh[order], newest)
