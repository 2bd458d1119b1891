"""A ranking in which nothing is learned: fixed weights over reciprocal ranks, which have no scale.

It is a little worse than coefficients on the kinds of memories that those were learned on, and much
better on others, so `ranker` joins both for what stands alone. How each does on eleven kinds of
memories: `python -m bench.transfer`, docs/why-ranking.md.

Always true: all else equal, a better match by words or by meaning never lowers the score.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Column = npt.NDArray[np.floating]

# Reciprocal ranks are (K + 1) / (K + 1 + place), 1 for the best. With 60, the usual value, the
# second channel's noise weighs as much as the first one's best.
RANK_K = 10
# Standard deviations that count as one in a margin, which lies between these bounds.
MARGIN_UNIT, LEAST_MARGIN, MOST_MARGIN = 4.0, -1.0, 2.0
# What a rank by either channel is worth, and how far a cosine stands out.
RANK_WEIGHT, MARGIN_WEIGHT = 1.15, 0.15
# What else is worth something: of a candidate that somebody said, by name in `compute_features`.
# A question is seldom the answer to one; what is in no talk has nothing around it to speak for it.
OTHER_WEIGHTS = {"speaker": 0.5, "role": 0.3, "date": 0.5, "asks": -0.2, "stands alone": 0.5}


def fuse_ranks(features: Mapping[str, Column], words: Column) -> Floats:
    """The fixed score of each candidate, of the features of `ranker.compute_features` and of its
    BM25.
    """
    z = features["meaning"]
    ranks = rank_reciprocally(z, np.sort(z)) + rank_matches(words, np.sort(words))
    scores = RANK_WEIGHT * ranks + MARGIN_WEIGHT * cap_margins(z)
    for name, weight in OTHER_WEIGHTS.items():
        scores += weight * features[name]
    return np.asarray(scores)


def rank_reciprocally(values: Column, ordered: Column) -> Floats:
    """(K + 1) / (K + 1 + place) of values among others, which are given in ascending order: 1 for
    the highest, equal ones have the same.
    """
    place = len(ordered) - ordered.searchsorted(values, side="right")
    return (RANK_K + 1) / (RANK_K + 1.0 + place)


def rank_matches(words: Column, ordered: Column) -> Floats:
    """The same of BM25, where 0 is no match and gives 0."""
    return rank_reciprocally(words, ordered) * (words > 0)


def cap_margins(z: Column) -> Column:
    """Standard deviations above unrelated texts, within bounds."""
    margins: Column = np.minimum(np.maximum(z / MARGIN_UNIT, LEAST_MARGIN), MOST_MARGIN)
    return margins
