"""The candidates of one query with all that ranking looks at, as columns.

They come from both channels: the best by embedding, the best by words, and the turns around the
very best, because an answer often stands beside the words that were asked for. How many depends on
nothing but the constants here, so a store of 100,000 memories ranks as many candidates as one of
1,000.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reverie.core.kinds import EXCERPT
from reverie.storage.column_cache import Corpus, Floats, Ints, Shard, sort_distinct

# 100 by embedding and 100 by words: 200 and 50 gained 0.006 of recall for 1.5 times the work
# (docs/why-ranking.md).
CANDIDATES_PER_CHANNEL = 100
# The best of each channel, whose neighbouring turns are candidates too.
EXPANDED_PER_CHANNEL = 20
NO_CODE = -1  # of a kind that no memory here has
NEIGHBOUR_OFFSETS = (-2, -1, 1, 2)


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """The candidates of one query; every array has one entry a candidate."""

    ids: list[str]
    dense: Floats  # cosine, NaN where there is no vector
    words: Floats  # BM25, 0 where no word occurs
    near_dense: Floats  # (n, 4) cosines of the turns at NEIGHBOUR_OFFSETS, NaN where there is none
    near_words: Floats  # (n, 4) BM25 of the same turns
    session: Ints  # code; 0 means none
    speaker: Ints
    at: npt.NDArray[np.float64]  # when it was said, seconds since 1970
    length: Ints  # characters
    asks: npt.NDArray[np.bool_]  # ends in a question mark
    asked: npt.NDArray[np.bool_]  # the turn before does
    named: Floats  # 1 where an identifier of the question occurs
    excerpt: npt.NDArray[np.bool_]  # a passage that left a context, cut to a length by us
    names: Sequence[str]  # what codes of speakers stand for
    mean: float  # of the cosines of unrelated texts to this query: the background
    spread: float  # their standard deviation
    typical: float  # median length of a text
    sessions: int  # how many sessions the candidates come from

    def __len__(self) -> int:
        return len(self.ids)


def gather_candidates(
    corpus: Corpus,
    scores: Sequence[Floats],
    vector: Floats,
    named: Sequence[Floats],
    allowed: Callable[[Shard], npt.NDArray[np.bool_] | None] = lambda _shard: None,
    each: int = CANDIDATES_PER_CHANNEL,
) -> CandidatePool:
    """The candidates of a corpus.

    For each shard, `scores` hold the BM25 of all its rows, `named` that of the rows where an
    identifier of the question occurs, and `allowed` says which rows may be candidates (None: all).
    `each` is how many candidates a channel proposes.
    """
    parts = []
    for shard, score, name in zip(corpus.shards, scores, named, strict=True):
        rows = choose_rows(shard, score, vector, name, allowed(shard), each)
        part = build_candidate_columns(shard, rows, score, vector, name)
        part["excerpt"] = shard.kind[rows] == corpus.codes.get(EXCERPT, NO_CODE)
        parts.append(part)
    largest = max(corpus.shards, key=lambda shard: shard.n)
    mean, spread = largest.background(vector)
    ids = [id for part in parts for id in part.pop("ids")]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    session = columns["session"]
    return CandidatePool(
        ids=ids,
        names=corpus.names,
        mean=mean,
        spread=spread,
        typical=largest.median_length(),
        sessions=len(sort_distinct(session[session > 0])),
        **columns,
    )


def choose_rows(
    shard: Shard,
    score: Floats,
    vector: Floats,
    named: Floats,
    allowed: npt.NDArray[np.bool_] | None,
    each: int,
) -> Ints:
    """The rows of one shard's candidates, ascending."""
    near, cosines = shard.nearest(vector, each, allowed)
    nearest = near[np.argsort(-cosines)]
    counted = (
        score
        if allowed is None
        else np.where(
            allowed,
            score,
            np.float32(0.0),
        )
    )
    by_words = select_best_rows(counted, each)
    first = np.concatenate([nearest[:EXPANDED_PER_CHANNEL], by_words[:EXPANDED_PER_CHANNEL]])
    around = [shard.beside(first, offset) for offset in NEIGHBOUR_OFFSETS]
    proposed = np.concatenate([near, by_words, np.flatnonzero(named), *around])
    rows = sort_distinct(proposed[proposed >= 0])
    # A neighbour or a named one may be retired, or not allowed.
    rows = rows[shard.counts[rows]]
    return rows if allowed is None else rows[allowed[rows]]


def build_candidate_columns(
    shard: Shard,
    rows: Ints,
    score: Floats,
    vector: Floats,
    named: Floats,
) -> dict[str, Any]:
    """All columns of some rows, by name. Each row's cosine is computed once, however many rows it
    stands beside.
    """
    beside = np.stack(
        [shard.beside(rows, offset) for offset in NEIGHBOUR_OFFSETS],
        axis=1,
    )
    every, where = np.unique(
        np.concatenate([rows, beside.ravel()]),
        return_inverse=True,
    )
    cosines = shard.cosines(every, vector)[where]
    before = beside[:, NEIGHBOUR_OFFSETS.index(-1)]
    return {
        "ids": [shard.ids[row] for row in rows.tolist()],
        "dense": cosines[: len(rows)],
        "words": score[rows],
        "near_dense": cosines[len(rows) :].reshape(beside.shape),
        "near_words": np.where(
            beside >= 0,
            score[beside],
            np.float32(0.0),
        ),
        "session": shard.session[rows],
        "speaker": shard.speaker[rows],
        "at": shard.at[rows],
        "length": shard.length[rows],
        "asks": shard.asks[rows],
        "asked": (before >= 0) & shard.asks[before],
        "named": (named[rows] > 0).astype(np.float32),
    }


def select_best_rows(scores: Floats, limit: int) -> Ints:
    """The rows of the highest scores above 0, best first, ties by row."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        rows = rows[np.argpartition(-scores[rows], limit)[:limit]]
    order: Ints = rows[np.lexsort((rows, -scores[rows]))]
    return order
