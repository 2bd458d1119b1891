"""A ranking in which nothing is learned, with all that stands around a turn of talk: fixed weights
over reciprocal ranks. To hold the one that ships against, which has only the two channels of it
(`reverie.retrieval.rank_fusion`); why: docs/why-ranking.md.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from reverie.retrieval.rank_fusion import cap_margins, rank_matches, rank_reciprocally
from reverie.retrieval.ranker import MIN_SPREAD, compute_features, lift_identified, summarize_groups
from reverie.storage.candidates import NEIGHBOUR_OFFSETS, CandidatePool

Floats = npt.NDArray[np.float64]
Column = npt.NDArray[np.floating]

# The columns of the turn before and the turn after among those around a candidate.
BESIDE = slice(NEIGHBOUR_OFFSETS.index(-1), NEIGHBOUR_OFFSETS.index(1) + 1)
# The two channels alike, each of what stands around a turn about a third of both. Where a number
# says nothing of a memory that stands alone, that one has the mean of its own two instead; the best
# of several neighbours is high by chance, so what has none is given "stands alone".
FIXED_WEIGHTS = {
    "meaning": 0.5,
    "words": 0.5,
    "margin": 0.15,
    "neighbour": 0.3,
    "session": 0.3,
    "session words": 0.3,
    "three turns' words": 0.2,
    "three turns' meaning": 0.2,
    "speaker": 0.5,
    "role": 0.3,
    "date": 0.5,
    "asks": -0.2,  # a question is seldom the answer to one
    "stands alone": 0.5,
}
AROUND = ("neighbour", "session", "session words", "three turns' words", "three turns' meaning")


def score_fixed(text: str, pool: CandidatePool) -> Floats:
    """Scores for a question, one a candidate; only their differences mean something."""
    numbers = compute_ranks(compute_features(text, pool), pool)
    scores = sum(weight * numbers[name] for name, weight in FIXED_WEIGHTS.items())
    return lift_identified(np.asarray(scores), pool.named > 0)


def compute_ranks(features: Mapping[str, Column], pool: CandidatePool) -> dict[str, Column]:
    """The numbers about each candidate, by name.

    0..1 but for "margin", and for "speaker", "role" and "date", which speak against it below 0.
    """
    z, words = features["meaning"], pool.words
    ordered = np.sort(z), np.sort(words)
    meaning = rank_reciprocally(z, ordered[0])
    matched = rank_matches(words, ordered[1])
    own = (meaning + matched) / 2
    alone = features["stands alone"] > 0
    around = dict.fromkeys(AROUND, own)
    if not alone.all():
        near = rank_neighbours(pool, ordered)
        found = [near, *summarize_sessions(pool, own, matched), *rank_three_turns(pool, z, alone)]
        around = {
            name: np.where(alone, own, value) for name, value in zip(AROUND, found, strict=True)
        }
    kept = {name: features[name] for name in ("speaker", "role", "date", "asks", "stands alone")}
    return {"meaning": meaning, "words": matched, "margin": cap_margins(z), **around, **kept}


def rank_neighbours(pool: CandidatePool, ordered: tuple[Column, Column]) -> Column:
    """The ranks of the best turn around each, among all candidates, which are given in order by
    meaning and by words.
    """
    near_z = (pool.near_dense - pool.mean) / max(pool.spread, MIN_SPREAD)
    by_meaning = np.where(np.isnan(near_z), 0.0, rank_reciprocally(near_z, ordered[0]))
    both = by_meaning + rank_matches(pool.near_words, ordered[1])
    return np.asarray(both.max(axis=1) / 2)


def summarize_sessions(pool: CandidatePool, own: Column, matched: Column) -> tuple[Column, Column]:
    """What the best candidates of its session say of each, by both channels and by words."""
    group = np.unique(pool.session, return_inverse=True)[1]
    return summarize_groups(own, group)[1], summarize_groups(matched, group)[1]


def rank_three_turns(
    pool: CandidatePool, z: Column, alone: npt.NDArray[np.bool_]
) -> tuple[Column, Column]:
    """The ranks of each turn taken together with the one before and the one after, by words and by
    meaning, among these and what stands alone.
    """
    words: Column = pool.words + pool.near_words[:, BESIDE].sum(axis=1)
    near_z = (pool.near_dense[:, BESIDE] - pool.mean) / max(pool.spread, MIN_SPREAD)
    known = ~np.isnan(near_z)
    beside = np.where(known, near_z, 0.0).sum(axis=1)
    meaning = (z + beside) / (1 + known.sum(axis=1))
    return (
        rank_matches(words, np.sort(np.where(alone, pool.words, words))),
        rank_reciprocally(meaning, np.sort(np.where(alone, z, meaning))),
    )
