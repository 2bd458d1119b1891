"""The memories nearest to some memories, by the vectors in a shard's columns.

All are compared at once, block by block, so that the memory needed does not grow with the store.
"""

from collections.abc import Sequence

import numpy as np

from reverie.storage.arrays import Flags, Floats, Ints
from reverie.storage.candidates import NearMemory, NeighbourRequest
from reverie.storage.column_cache import Corpus, Shard

# Rows compared at a time: with 500 new memories 16 MB.
BLOCK_ROWS = 8_192


def find_near_memories(corpus: Corpus, request: NeighbourRequest) -> dict[str, list[NearMemory]]:
    """The neighbours of each memory in each shard of a corpus, best first, ties by id."""
    found: dict[str, list[NearMemory]] = {id: [] for id in request.ids}
    for shard in corpus.shards:
        if shard.dims != request.vectors.shape[1]:
            continue
        known, counts = shard.known[: shard.n], shard.counts[: shard.n]
        nearest, cosines = find_nearest_rows(
            shard,
            request.vectors,
            known & ~counts if request.retired else known & counts,
            find_shard_rows(shard, request.ids),
            request.limit,
            floor=request.floor,
            older=request.older,
        )
        for id, rows, near in zip(request.ids, nearest.tolist(), cosines.tolist(), strict=True):
            pairs = zip(rows, near, strict=True)
            found[id] += [NearMemory(shard.ids[row], like) for row, like in pairs if row >= 0]
    for neighbours in found.values():
        neighbours.sort(key=lambda one: (-one.cosine, one.id))
    return found


def find_shard_rows(shard: Shard, ids: Sequence[str]) -> Ints:
    """The row of each memory, -1 where it is not in this shard."""
    # New memories stand at the end, so the search goes backwards.
    wanted = dict.fromkeys(ids, -1)
    left = len(wanted)
    for row in reversed(range(shard.n)):
        if not left:
            break
        if shard.ids[row] in wanted:
            wanted[shard.ids[row]] = row
            left -= 1
    return np.array([wanted[id] for id in ids], np.int64)


def find_nearest_rows(
    shard: Shard,
    asked: Floats,
    allowed: Flags,
    own: Ints,
    most: int,
    *,
    floor: float,
    older: bool,
) -> tuple[Ints, Floats]:
    """For each asked vector the `most` nearest rows and their cosines, both (len(asked), most).

    A row is -1 where there are fewer from `floor` on. `own` is each asked memory's row, which is
    left out; with `older` also what came after it. In no particular order.
    """
    each = np.arange(len(asked))
    # Below every cosine, rounding included: what is hidden must not reach a floor of -1.
    best = np.full((len(asked), most), -2.0, np.float32)
    where = np.full((len(asked), most), -1, np.int64)
    places = own[:, None]
    # With `older` nothing behind the last new memory can be a neighbour.
    last = int(own.max()) + 1 if older and (own >= 0).all() else shard.n
    for start in range(0, last, BLOCK_ROWS):
        end = min(start + BLOCK_ROWS, last)
        rows = start + np.flatnonzero(allowed[start:end])
        cosines = asked @ take_vectors(shard, rows).T
        hidden = (rows >= places) & (places >= 0) if older else rows == places
        cosines[hidden] = -2.0
        # Only vectors for which this block has something nearer are merged and partitioned.
        highest = cosines.max(axis=1, initial=-2.0)
        better = each[(highest > best.min(axis=1)) & (highest >= floor)]
        sources = np.broadcast_to(rows, (len(better), len(rows)))
        both = np.concatenate([best[better], cosines[better]], axis=1)
        both_rows = np.concatenate([where[better], sources], axis=1)
        top = np.argpartition(
            -both,
            most - 1,
            axis=1,
        )[:, :most]
        best[better] = np.take_along_axis(both, top, axis=1)
        where[better] = np.take_along_axis(both_rows, top, axis=1)
    where[best < floor] = -1
    return where, best


def take_vectors(shard: Shard, rows: Ints) -> Floats:
    """The vectors of some ascending rows; a view, not a copy, where no row is left out."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return shard.vectors[rows[0] : rows[-1] + 1]
    return shard.vectors[rows]
