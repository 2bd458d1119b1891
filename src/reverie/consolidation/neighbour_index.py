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

from reverie.consolidation.clusters import CLOSE
from reverie.consolidation.nearest_neighbours import EXACT, Floats, Ints, Nearest, Stopped, nearest
from reverie.core.model import Filter, Memory, lineage
from reverie.pipeline.event_reader import Work
from reverie.reconciliation.pass_view import Pair
from reverie.storage.paging import pages

NEIGHBOURS = 10  # of each memory (CONSTANTS: contradiction probe)
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
    def text(self) -> str:
        """As it is kept."""
        return json.dumps(self._asdict(), sort_keys=True)

    @classmethod
    def read(cls, work: Work, name: str, afresh: bool) -> Watermark:
        """What was kept; nothing for another model or where all is to be looked at again."""
        kept = json.loads(work.store.meta(f"sleep.{name}") or "{}")
        if afresh or kept.get("model") != work.model:
            return cls(work.model, 0.0, {})
        return cls(kept["model"], kept["at"], kept["newest"])

    def write(self, work: Work, name: str) -> None:
        """Keep it for the next run."""
        work.store.set_meta(f"sleep.{name}", self.text)


@dataclass(slots=True)
class Soil:
    """The memories of a space that count and have a vector, and those of the spaces above it, by
    rising id.
    """

    ids: list[str]
    vectors: Floats
    own: Bools  # of the space itself
    fresh: Bools  # new to the pass
    # of the space itself: what was put down last, if no older one still waits for its vector
    newest: str


@dataclass(slots=True)
class Ground:
    """The neighbours of the rows that were asked for. The vectors are not kept."""

    ids: list[str]
    own: Bools
    fresh: Bools
    newest: str
    near: Nearest

    def pairs(self, floor: float, after: str = "") -> Iterator[Pair]:
        """Pairs of at least this cosine, one of them of the space itself and one of them new, each
        pair once.

        In the order of the newer memory's id, from `after` on; the nearest of each first.
        """
        rows, near = np.nonzero(self.near.cosines >= floor)
        others, cosines = self.near.rows[rows, near], self.near.cosines[rows, near]
        wanted = (self.own[rows] | self.own[others]) & (self.fresh[rows] | self.fresh[others])
        old, new = np.minimum(rows, others)[wanted], np.maximum(rows, others)[wanted]
        _, first = np.unique(old * len(self.ids) + new, return_index=True)
        old, new, cosines = old[first], new[first], cosines[wanted][first]
        for i in np.lexsort((old, -cosines, new)):
            if self.ids[new[i]] >= after:
                yield Pair(self.ids[old[i]], self.ids[new[i]], float(cosines[i]))


def surveyed(
    work: Work,
    space: str,
    mark: Watermark,
    known: dict[tuple[str, str], Ground],
    going: Callable[[], bool],
) -> Ground:
    """The ground of a space, from `known` if another pass that had come as far has had it surveyed.

    Empty if the run is told to stop.
    """
    key = (space, mark.text)
    if key not in known:
        soil = read(work, space, mark)
        try:
            near = neighbours(soil, going)
        except Stopped:
            return Ground(soil.ids, soil.own, soil.fresh, soil.newest, nothing(soil.vectors))
        known[key] = Ground(soil.ids, soil.own, soil.fresh, soil.newest, near)
    return known[key]


def nothing(vectors: Floats) -> Nearest:
    """No neighbours."""
    return Nearest(
        np.full((len(vectors), 1), -1, np.int64), np.full((len(vectors), 1), -1.0, np.float32)
    )


def neighbours(soil: Soil, going: Callable[[], bool]) -> Nearest:
    """The neighbours of what is new, or of all where that is less work."""
    fresh = np.flatnonzero(soil.fresh)
    if len(fresh) * len(soil.ids) > EXACT * EXACT or len(fresh) == len(soil.ids):
        return nearest(soil.vectors, NEIGHBOURS, CLOSE, going=going)
    return nearest(soil.vectors, NEIGHBOURS, CLOSE, rows=fresh, going=going)


def read(work: Work, space: str, mark: Watermark | None = None) -> Soil:
    """A space and those above it, read page by page into one matrix.

    Pages come newest first, so it is filled from its end: then it is in the order of the ids
    already, and not copied.
    """
    counts = work.store.stats().spaces
    most = sum(counts.get(name, 0) for name in lineage(space))
    ids: list[str] = []
    vectors = np.zeros((0, 0), np.float32)
    own, fresh = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    newest = ""
    for memory, vector, is_new in known(work, lineage(space), mark):
        if memory.space == space:
            newest = "" if vector is None else newest or memory.id
        if vector is None or len(ids) == most:  # one more came meanwhile: it is for the next night
            continue
        if not len(vectors):
            vectors = np.zeros((most, len(vector)), np.float32)
        ids.append(memory.id)
        row = most - len(ids)
        vectors[row], own[row], fresh[row] = vector, memory.space == space, is_new
    return by_id(
        ids[::-1],
        vectors[most - len(ids) :],
        own[most - len(ids) :],
        fresh[most - len(ids) :],
        newest,
    )


def known(
    work: Work, spaces: tuple[str, ...], mark: Watermark | None
) -> Iterator[tuple[Memory, Floats | None, bool]]:
    """Memories that count, newest first in each space; the vector of each, and whether it is new
    since the mark.
    """
    for space in spaces:
        seen, is_new = mark.newest.get(space) if mark else None, True
        for page in pages(work.store, Filter(spaces=(space,), limit=PAGE)):
            here = work.store.vectors(work.model, [memory.id for memory in page])
            for memory in page:
                is_new = is_new and memory.id != seen
                yield (
                    memory,
                    here.get(memory.id),
                    is_new or mark is None or memory.updated_at > mark.at,
                )


def by_id(ids: list[str], vectors: Floats, own: Bools, fresh: Bools, newest: str) -> Soil:
    """The rows in the order of their ids, which is that of their making."""
    order: Ints = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    if (order == np.arange(len(ids))).all():
        return Soil(ids, vectors, own, fresh, newest)
    return Soil([ids[i] for i in order], vectors[order], own[order], fresh[order], newest)
