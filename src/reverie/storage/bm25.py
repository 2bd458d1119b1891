"""BM25 (Robertson and Zaragoza, 2009) with k1 = 1.2 and b = 0.75, on columns.

Lengths are in characters over their mean. Every backend weighs words by these two functions, so
that one ranking serves all.
"""

from math import log
from typing import Any

import numpy.typing as npt

K1, B = 1.2, 0.75
# A word that most memories contain says next to nothing, but still more than its absence.
IDF_FLOOR = 1e-6


def term_weight(total: int, frequency: int) -> float:
    """The inverse document frequency of a term that stands in `frequency` of `total` memories."""
    if not frequency:
        return 0.0
    odds = (total - frequency + 0.5) / (frequency + 0.5)
    return max(IDF_FLOOR, log(odds)) if odds > 0 else IDF_FLOOR


def term_gain(
    times: npt.NDArray[Any],
    length: npt.NDArray[Any],
    mean: float,
) -> npt.NDArray[Any]:
    """What the occurrences of a term in memories of these lengths count, before its weight."""
    size = K1 * (1 - B + B * length / mean)
    return times * (K1 + 1) / (times + size)
