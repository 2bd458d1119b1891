"""The nearest relatives of new memories: by meaning where there are vectors, by words where there
are none.

Looked for are memories that count, and wordings that were merged into one that counts: whoever says
it in those words means the same. All new memories of an event are compared in one go, block by
block, so that the memory needed does not grow with the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from reverie.core.model import Memory, visible_spaces
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.merge_rules import Neighbour
from reverie.storage.column_cache import Floats, Ints, Shard
from reverie.text.tokenization import tokenize_query

# that count; ten of them are held against it (`reconcile.TEN`), the rest may be turns of talk
MAX_NEIGHBOURS = 30
MAX_MERGED_NEIGHBOURS = 5  # wordings that were merged into something
MIN_COSINE = 0.5  # cosine below which nothing is a relative (CONSTANTS: contradiction probe)
MIN_WORD_COSINE = (
    0.3  # cosine from which words in common make a relative: short texts of one meaning
)
MAX_WORD_NEIGHBOURS = 10  # looked up by words, where fewer are near by meaning
# characters up to which this is so: a longer text says enough to be found by its meaning
SHORT_TEXT_CHARS = 100
# new memories of one event up to which words are asked as well: not for what is loaded in bulk
MAX_FRESH_FOR_WORDS = 50
BLOCK_ROWS = 8_192  # rows compared at a time: with 500 new ones 16 MB


def find_neighbours(
    work: WorkContext, fresh: Sequence[Memory], *, older: bool
) -> dict[str, list[Neighbour]]:
    """The neighbours of each new memory, in its space and above; with `older` only what was there
    before it.
    """
    found: dict[str, list[Neighbour]] = {}
    vectors = (
        work.store.vectors(work.embedding_model, [memory.id for memory in fresh])
        if work.embedder
        else {}
    )
    few = len(fresh) <= MAX_FRESH_FOR_WORDS
    for space in dict.fromkeys(memory.space for memory in fresh):
        here = [memory for memory in fresh if memory.space == space]
        known = [memory for memory in here if memory.id in vectors]
        found |= find_by_vector(work, known, vectors, older=older) if known else {}
        for memory in known if few else ():
            found[memory.id] += find_farther_by_words(
                work, memory, vectors[memory.id], found[memory.id], older=older
            )
        found |= {
            memory.id: find_by_words(work, memory, older=older)
            for memory in here
            if memory.id not in vectors
        }
    return found


def find_by_words(work: WorkContext, new: Memory, *, older: bool) -> list[Neighbour]:
    """Memories that share words with this one, best first."""
    found = work.store.search_words(
        tokenize_query(new.text), visible_spaces(new.space), MAX_NEIGHBOURS + 1, now=work.now
    )
    return [Neighbour(id, None) for id, _ in found if id != new.id and (id < new.id or not older)]


def find_farther_by_words(
    work: WorkContext, new: Memory, vector: Floats, known: Sequence[Neighbour], *, older: bool
) -> list[Neighbour]:
    """Memories that share words and of which the cosine alone says little: "PRs" lies far from
    "pull requests".
    """
    if len(known) >= MAX_WORD_NEIGHBOURS or len(new.text) > SHORT_TEXT_CHARS:
        return []
    there = {one.id for one in known}
    some = [one.id for one in find_by_words(work, new, older=older) if one.id not in there][
        :MAX_WORD_NEIGHBOURS
    ]
    cosines = {
        id: float(other @ vector)
        for id, other in work.store.vectors(work.embedding_model, some).items()
    }
    return [
        Neighbour(id, cosines[id])
        for id in some
        if MIN_WORD_COSINE <= cosines.get(id, -1.0) < MIN_COSINE
    ]


def find_by_vector(
    work: WorkContext, fresh: Sequence[Memory], vectors: Mapping[str, Floats], *, older: bool
) -> dict[str, list[Neighbour]]:
    """Memories of a high cosine, best first. All `fresh` are of one space."""
    asked = np.stack([vectors[memory.id] for memory in fresh]).astype(np.float32)
    found: dict[str, list[Neighbour]] = {memory.id: [] for memory in fresh}
    for shard in work.store.corpus(work.embedding_model, visible_spaces(fresh[0].space)).shards:
        if shard.dims != asked.shape[1]:
            continue
        own = find_shard_rows(shard, [memory.id for memory in fresh])
        for counts, most in ((True, MAX_NEIGHBOURS), (False, MAX_MERGED_NEIGHBOURS)):
            allowed = shard.known[: shard.n] & (shard.counts[: shard.n] == counts)
            where, cosines = find_nearest_rows(shard, asked, allowed, own, most, older=older)
            for memory, rows, likes in zip(fresh, where.tolist(), cosines.tolist(), strict=True):
                found[memory.id] += [
                    Neighbour(shard.ids[row], like)
                    for row, like in zip(rows, likes, strict=True)
                    if row >= 0
                ]
    return {
        id: sorted(some, key=lambda one: (-(one.cosine or 0.0), one.id))
        for id, some in found.items()
    }


def find_shard_rows(shard: Shard, ids: Sequence[str]) -> Ints:
    """The row of each memory, -1 where it is not in this shard. New ones stand at its end."""
    wanted = dict.fromkeys(ids, -1)
    left = len(wanted)
    for row in range(shard.n - 1, -1, -1):
        if shard.ids[row] in wanted:
            wanted[shard.ids[row]] = row
            left -= 1
            if not left:
                break
    return np.array([wanted[id] for id in ids], np.int64)


def find_nearest_rows(
    shard: Shard,
    asked: Floats,
    allowed: npt.NDArray[np.bool_],
    own: Ints,
    most: int,
    *,
    older: bool,
) -> tuple[Ints, Floats]:
    """The rows of the highest cosine for each asked vector, and these; -1 where there are fewer
    above FLOOR.

    `own` is each asked memory's row, which is left out; with `older` also what came after it.
    """
    each = np.arange(len(asked))
    best = np.full((len(asked), most), -1.0, np.float32)
    where = np.full((len(asked), most), -1, np.int64)
    last = int(own.max()) + 1 if older and (own >= 0).all() else shard.n
    for start in range(0, last, BLOCK_ROWS):
        rows = start + np.flatnonzero(allowed[start : min(start + BLOCK_ROWS, last)])
        cosines = asked @ take_vectors(shard, rows).T
        hidden = (rows >= own[:, None]) & (own[:, None] >= 0) if older else rows == own[:, None]
        cosines[hidden] = -1.0
        better = each[cosines.max(axis=1, initial=-1.0) > np.maximum(best.min(axis=1), MIN_COSINE)]
        both = np.concatenate([best[better], cosines[better]], axis=1)
        sources = np.concatenate(
            [where[better], np.broadcast_to(rows, (len(better), len(rows)))], axis=1
        )
        top = np.argpartition(-both, most - 1, axis=1)[:, :most]
        best[better] = np.take_along_axis(both, top, axis=1)
        where[better] = np.take_along_axis(sources, top, axis=1)
    where[best < MIN_COSINE] = -1
    return where, best


def take_vectors(shard: Shard, rows: Ints) -> Floats:
    """The vectors of some rising rows; without a copy where none is left out."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return shard.vectors[rows[0] : rows[-1] + 1]
    return shard.vectors[rows]
