"""Which sentences say most of what a stretch of conversation was about, without a model: LexRank.

Erkan & Radev 2004: sentences recommend each other by how alike they are (cosine over words weighted by rarity), and the
stationary distribution of that walk is their rank; damping as PageRank's. What a sentence is worth here is its rank
times how much it tells (the sum of the rarities of its words), so that what all repeat does not win over what one
says. A sentence that repeats a chosen one is passed over. Libraries that offer this (sumy, lexrank) bring nltk with
corpora to be fetched at run time, or cut languages that they know; the walk itself is ten lines of numpy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from reverie.lifecycle.condense.lines import Line
from reverie.words import STOP, query_terms

if TYPE_CHECKING:
    import numpy as np

DAMPING = 0.85
STEPS = 30
MOST = 1_000             # sentences that are compared; of more, those that tell most
TERMS = 40               # words of one sentence
REPEATS = 0.6            # cosine from which a sentence repeats another


def ranked(lines: Sequence[Line], weights: Sequence[float], room: int, count: Callable[[str], int]) -> list[Line]:
    """The lines that are worth most and take at most `room` tokens, the best first."""
    import numpy as np
    said = [frozenset(query_terms(line.text, limit=TERMS)) - STOP for line in lines]
    often = Counter(word for words in said for word in words)
    rarity = {word: math.log(1 + len(lines) / many) for word, many in often.items()}
    telling = np.array([sum(rarity[word] for word in words) for words in said]) * np.array(weights)
    best = sorted(range(len(lines)), key=lambda place: (-telling[place], place))[:MOST]
    alike = likeness([said[place] for place in best], rarity)
    worth = central(alike) * telling[best]
    chosen: list[int] = []
    left = room
    for place in sorted(range(len(best)), key=lambda place: (-worth[place], best[place])):
        cost = count(str(lines[best[place]])) + 1
        if cost <= left and not any(alike[place, other] > REPEATS for other in chosen):
            chosen.append(place)
            left -= cost
    return [lines[best[place]] for place in chosen]


def likeness(said: Sequence[frozenset[str]], rarity: dict[str, float]) -> np.ndarray[Any, Any]:
    """The cosines of sentences over words weighted by rarity."""
    import numpy as np
    column = {word: place for place, word in enumerate(sorted(frozenset[str]().union(*said)))}
    matrix = np.zeros((len(said), len(column) or 1), np.float32)
    for row, words in enumerate(said):
        for word in words:
            matrix[row, column[word]] = rarity[word]
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return matrix @ matrix.T


def central(alike: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The stationary distribution of a walk along likeness, times the number of sentences."""
    import numpy as np
    if not len(alike):
        return np.zeros(0)
    steps = alike / np.maximum(alike.sum(axis=1, keepdims=True), 1e-9)
    rank = np.ones(len(alike))
    for _ in range(STEPS):
        rank = (1 - DAMPING) + DAMPING * rank @ steps
    return rank
