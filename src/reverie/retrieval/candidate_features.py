"""The candidates of one query with all that ranking looks at, as columns.

Gathered from both channels: the best by meaning, the best by words, and the turns around the very
best, because an answer often stands beside the words that were asked for. How many depends on
nothing but the constants here, so a store of 100,000 memories ranks as many candidates as one of
1,000.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reverie.storage.column_cache import Corpus, Floats, Ints, Shard

CANDIDATES_PER_CHANNEL = 100  # candidates by meaning, and as many by words
EXPANDED_PER_CHANNEL = 20  # of each, whose neighbouring turns are candidates too
NEIGHBOUR_OFFSETS = (-2, -1, 1, 2)


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Candidates; every array has one entry a candidate."""

    ids: list[str]
    dense: Floats  # cosine, NaN where there is no vector
    words: Floats  # BM25, 0 where no word occurs
    near_dense: Floats  # [n, 4] cosines of the turns at OFFSETS, NaN where there is none
    near_words: Floats  # [n, 4]
    session: Ints  # code; 0 means none
    speaker: Ints
    at: npt.NDArray[np.float64]  # when it was said, seconds since 1970
    length: Ints  # characters
    asks: npt.NDArray[np.bool_]  # ends in a question mark
    asked: npt.NDArray[np.bool_]  # the turn before does
    named: Floats  # 1 where an identifier of the question occurs
    names: Sequence[str]  # what codes of speakers stand for
    mean: float  # of cosines that mean nothing here
    spread: float
    typical: float  # median length of a text
    sessions: int  # how many sessions the candidates come from

    def __len__(self) -> int:
        return len(self.ids)


def gather_candidates(
    corpus: Corpus,
    scores: Sequence[Floats],
    vector: Floats,
    named: Sequence[Floats],
    allowed: Callable[[Shard], npt.NDArray[np.bool_] | None] | None = None,
    each: int = CANDIDATES_PER_CHANNEL,
) -> CandidatePool:
    """The candidates of a corpus, given the BM25 of all its rows and of those where an identifier
    occurs.
    """
    parts = [
        gather_shard_candidates(
            shard, score, vector, name, allowed(shard) if allowed else None, each
        )
        for shard, score, name in zip(corpus.shards, scores, named, strict=True)
    ]
    largest = max(corpus.shards, key=lambda shard: shard.n)
    mean, spread = largest.background(vector)
    columns = {name: np.concatenate([p[name] for p in parts]) for name in parts[0] if name != "ids"}
    sessions = len(np.unique(columns["session"][columns["session"] > 0]))
    return CandidatePool(
        ids=[id for p in parts for id in p["ids"]],
        names=corpus.names,
        mean=mean,
        spread=spread,
        typical=largest.median_length(),
        sessions=sessions,
        **columns,
    )


def gather_shard_candidates(
    shard: Shard,
    score: Floats,
    vector: Floats,
    named: Floats,
    allowed: npt.NDArray[np.bool_] | None,
    each: int,
) -> dict[str, Any]:
    """One shard's candidates."""
    near, cosines = shard.nearest(vector, each, allowed)
    by_words = select_best_rows(
        score if allowed is None else np.where(allowed, score, np.float32(0.0)), each
    )
    first = np.concatenate(
        [near[np.argsort(-cosines)][:EXPANDED_PER_CHANNEL], by_words[:EXPANDED_PER_CHANNEL]]
    )
    around = (
        np.concatenate([shard.beside(first, offset) for offset in NEIGHBOUR_OFFSETS])
        if len(first)
        else first
    )
    rows = np.unique(np.concatenate([near, by_words, np.flatnonzero(named), around]))
    rows = rows[rows >= 0]
    rows = rows[shard.counts[rows] & (True if allowed is None else allowed[rows])]
    return build_candidate_columns(shard, rows, score, vector, named)


def build_candidate_columns(
    shard: Shard, rows: Ints, score: Floats, vector: Floats, named: Floats
) -> dict[str, Any]:
    """All columns of some rows. Each row's cosine is worked out once, however many rows it stands
    beside.
    """
    beside = (
        np.stack([shard.beside(rows, offset) for offset in NEIGHBOUR_OFFSETS], axis=1)
        if len(rows)
        else np.zeros((0, len(NEIGHBOUR_OFFSETS)), np.int64)
    )
    every, where = np.unique(np.concatenate([rows, beside.ravel()]), return_inverse=True)
    cosines = shard.cosines(every, vector)[where]
    before = beside[:, NEIGHBOUR_OFFSETS.index(-1)]
    return {
        "ids": [shard.ids[row] for row in rows.tolist()],
        "dense": cosines[: len(rows)],
        "words": score[rows],
        "near_dense": cosines[len(rows) :].reshape(beside.shape),
        "near_words": np.where(beside >= 0, score[beside], np.float32(0.0)),
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
