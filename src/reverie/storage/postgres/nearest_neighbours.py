"""The memories nearest to some memories.

For a few the database compares, or the index proposes. For many, as when a file was imported, the
vectors of a space are read block by block and compared here: one product of matrices for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from reverie.storage.arrays import Floats, Ints
from reverie.storage.candidates import NearMemory, NeighbourRequest
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.half_vectors import read_half_rows, to_half_vector
from reverie.storage.postgres.space_figures import SearchedSpace
from reverie.storage.postgres.vector_search import (
    VectorIndex,
    find_vector_index,
    is_worth_index,
    model_literal,
    set_index_breadth,
)

# Memories up to which each is a question to the database. Reading a vector costs as much as
# comparing it there ten times.
MAX_ASKED_ALONE = 8
# Vectors compared at a time: 6 MB of them, and as much as that for 200 memories' cosines.
BLOCK_ROWS = 8_192
# Pairs that are kept before all but the best of each memory are let go.
MAX_PAIRS = 200_000
# Proposals of the index beyond twice what is wanted: some are retired, or younger.
EXTRA_PROPOSALS = 50

FIND_OWN = """
    select id, num, space from memory where tenant = %(tenant)s and id = any(%(ids)s::text[])
"""
NEAREST = """
    select m.id, n.cosine
    from (
        select v.num,
               -case when vector_dims(v.vec) = %(dims)s then v.vec <#> %(vector)s::halfvec end
                   as cosine
        from vector v
        where v.tenant = %(tenant)s and v.space = %(space)s and v.model = %(model)s
          and v.num <> %(own)s and v.num < %(before)s
        offset 0
    ) as n
    join memory m on m.tenant = %(tenant)s and m.num = n.num
    where n.cosine >= %(floor)s and {state}
    order by n.cosine desc, m.id
    limit %(most)s
"""
# Those of the index; whether there may be more of them says the last column.
INDEXED_NEAREST = """
    select m.id, n.cosine, m.num <> %(own)s and m.num < %(before)s and {state}
    from (
        select v.num, 1 - (v.vec::halfvec({dims}) <=> %(vector)s::halfvec({dims})) as cosine
        from vector v
        where v.tenant = %(tenant)s and v.space = %(space)s and v.model = {model}
        order by v.vec::halfvec({dims}) <=> %(vector)s::halfvec({dims})
        limit %(most)s
    ) as n
    join memory m on m.tenant = %(tenant)s and m.num = n.num
    where n.cosine >= %(floor)s
"""
BLOCK = """
    select m.num, m.id, halfvec_send(v.vec)
    from memory m
    join vector v on v.tenant = m.tenant and v.num = m.num and v.model = %(model)s
    where m.tenant = %(tenant)s and m.space = %(space)s and m.num > %(after)s
      and m.num < %(before)s and {state} and vector_dims(v.vec) = %(dims)s
    order by m.num
    limit %(rows)s
"""
LAST_NUMBER = 2**62  # beyond every number


class OwnPlace(NamedTuple):
    """Where a memory asked about stands; nowhere if it is gone."""

    num: int
    space: str


NOWHERE = OwnPlace(0, "")


def find_neighbours(
    db: TenantConnection,
    request: NeighbourRequest,
    spaces: Sequence[SearchedSpace],
) -> dict[str, list[NearMemory]]:
    """For each memory asked about its neighbours, best first, ties by id."""
    found: dict[str, list[NearMemory]] = {id: [] for id in request.ids}
    if not request.ids or not spaces:
        return found
    rows = db.fetch_rows(FIND_OWN, ids=list(request.ids))
    own = {id: OwnPlace(num, space) for id, num, space in rows}
    index = None
    if not request.retired:
        index = find_vector_index(db, request.model, request.vectors.shape[1])
    for space in spaces:
        worth = index if is_worth_index(space.figures.memories, index) else None
        if worth or len(request.ids) <= MAX_ASKED_ALONE:
            for id, vector in zip(request.ids, request.vectors, strict=True):
                place = own.get(id, NOWHERE)
                found[id] += ask_nearest(db, request, space.name, place, vector, worth)
        else:
            for id, near in compare_space(db, request, space.name, own):
                found[id].append(near)
    for neighbours in found.values():
        neighbours.sort(key=lambda near: (-near.cosine, near.id))
    return found


def build_state(request: NeighbourRequest) -> str:
    """The condition that a memory `m` may be a neighbour."""
    return f"m.retired_at is {'not ' if request.retired else ''}null"


def last_before(request: NeighbourRequest, space: str, place: OwnPlace) -> int:
    """The number before which a memory's neighbours in a space must stand."""
    return place.num if request.older and place.space == space else LAST_NUMBER


def ask_nearest(
    db: TenantConnection,
    request: NeighbourRequest,
    space: str,
    place: OwnPlace,
    vector: Floats,
    index: VectorIndex | None,
) -> list[NearMemory]:
    """The neighbours of one memory in one space, found by the database."""
    values: dict[str, Any] = {
        "vector": to_half_vector(vector),
        "dims": len(vector),
        "space": space,
        "model": request.model,
        "own": place.num,
        "before": last_before(request, space, place),
        "floor": request.floor,
    }
    if index:
        most = 2 * request.limit + EXTRA_PROPOSALS
        set_index_breadth(db, most)
        query = INDEXED_NEAREST.format(
            dims=int(index.dims), model=model_literal(index.model), state=build_state(request)
        )
        rows = db.fetch_rows(query, most=most, **values)
        near = [NearMemory(id, cosine) for id, cosine, allowed in rows if allowed]
        near.sort(key=lambda one: (-one.cosine, one.id))
        # Otherwise what is not allowed has taken the places of others.
        if len(near) >= request.limit or len(rows) < most:
            return near[: request.limit]
    query = NEAREST.format(state=build_state(request))
    rows = db.fetch_rows(query, most=request.limit, **values)
    return [NearMemory(id, cosine) for id, cosine in rows]


def compare_space(
    db: TenantConnection,
    request: NeighbourRequest,
    space: str,
    own: dict[str, OwnPlace],
) -> Iterator[tuple[str, NearMemory]]:
    """The neighbours of all memories asked about in one space, compared here."""
    places = [own.get(id, NOWHERE) for id in request.ids]
    own_nums = np.array([place.num for place in places], np.int64)[:, None]
    before = np.array([last_before(request, space, place) for place in places], np.int64)[:, None]
    names: dict[int, str] = {}
    best: tuple[Ints, Ints, Floats] = (
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0, np.float32),
    )
    for nums, ids, vectors in read_blocks(db, request, space, int(before.max())):
        cosines = request.vectors @ vectors.T
        near = (cosines >= request.floor) & (nums != own_nums) & (nums < before)
        asked, rows = np.nonzero(near)
        names.update((int(nums[row]), ids[row]) for row in set(rows.tolist()))
        best = (
            np.concatenate([best[0], asked]),
            np.concatenate([best[1], nums[rows]]),
            np.concatenate([best[2], cosines[asked, rows]]),
        )
        if len(best[0]) > MAX_PAIRS:
            best = keep_best(best, request.limit)
    for asked, num, cosine in zip(*keep_best(best, request.limit), strict=True):
        yield request.ids[asked], NearMemory(names[int(num)], float(cosine))


def read_blocks(
    db: TenantConnection,
    request: NeighbourRequest,
    space: str,
    before: int,
) -> Iterator[tuple[Ints, list[str], Floats]]:
    """Numbers, ids and vectors of a space, block by block, in the order of numbers."""
    dims = request.vectors.shape[1]
    after = 0
    while True:
        rows = db.fetch_rows(
            BLOCK.format(state=build_state(request)),
            space=space,
            model=request.model,
            after=after,
            before=before,
            dims=dims,
            rows=BLOCK_ROWS,
        )
        if rows:
            nums, ids, sent = zip(*rows, strict=True)
            vectors = read_half_rows(b"".join(sent), dims).astype(np.float32)
            yield np.array(nums, np.int64), list(ids), vectors
            after = nums[-1]
        if len(rows) < BLOCK_ROWS:
            return


def keep_best(
    pairs: tuple[Ints, Ints, Floats],
    limit: int,
) -> tuple[Ints, Ints, Floats]:
    """The `limit` best pairs of each memory asked about: (asked, number, cosine) as columns."""
    asked, nums, cosines = pairs
    order = np.lexsort((nums, -cosines, asked))
    starts = np.searchsorted(asked[order], asked[order])
    rank = np.arange(len(order)) - starts
    kept = order[rank < limit]
    return asked[kept], nums[kept], cosines[kept]
