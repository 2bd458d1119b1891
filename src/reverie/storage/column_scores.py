"""BM25 of the rows of columns in memory, from postings, wherever these were read."""

from collections.abc import Iterable, Sequence

import numpy as np

from reverie.storage.arrays import Floats, Ints
from reverie.storage.bm25 import term_gain, term_weight
from reverie.storage.column_cache import Shard

# (memory numbers in ascending order, how often the term occurs in each)
Postings = tuple[Ints, Ints]


def score_postings(terms: Iterable[Postings], shards: Sequence[Shard]) -> list[Floats]:
    """BM25 of every row of every shard, by the postings of each term; 0 where none of them stands.

    How common a term is counts in these shards alone.
    """
    scores = [np.zeros(shard.n, np.float32) for shard in shards]
    total = sum(shard.n for shard in shards)
    lengths = [shard.length[: shard.n].sum() for shard in shards]
    characters = sum(map(float, lengths))
    mean = characters / total if total else 1.0
    for postings in terms:
        hits = [to_shard_rows(postings, shard) for shard in shards]
        frequency = sum(len(rows) for rows, _ in hits)
        weight = term_weight(total, frequency)
        for (rows, times), shard, score in zip(hits, shards, scores, strict=True):
            gain = term_gain(times, shard.length[rows], max(mean, 1.0))
            score[rows] += (weight * gain).astype(np.float32)
    for shard, score in zip(shards, scores, strict=True):
        score[~shard.counts[: shard.n]] = 0.0
    return scores


def to_shard_rows(postings: Postings, shard: Shard) -> Postings:
    """Postings with the rows of a shard instead of memory numbers; others are left out."""
    numbers, times = postings
    if not shard.n or not len(numbers):
        return numbers[:0], times[:0]
    first, last = shard.ends()
    # Nobody else wrote in between: the row is the distance from the first number.
    if last - first == shard.n - 1:
        low, high = np.searchsorted(numbers, (first, last + 1))
        return numbers[low:high] - first, times[low:high]
    rows = np.searchsorted(shard.num[: shard.n], numbers)
    rows[rows == shard.n] = 0
    here = shard.num[rows] == numbers
    return rows[here], times[here]
