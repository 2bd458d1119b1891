"""Which sentences say most of what a stretch of conversation told, without a model.

A sentence is worth what it tells for each token: the rarities of its words in this stretch, as the
window counts them for whole messages (`pruning_strategies.score_by_information`), times the
importance of its message. A sentence that repeats a chosen one is passed over. LexRank (Erkan &
Radev 2004), which ranks sentences by how much they are like all others, was tried first: it brings
up what all repeat, and kept less of what was needed later (docs/why-condense.md).
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from reverie.context_window.condensing.summary_lines import SummaryLine
from reverie.context_window.item_topics import WORD
from reverie.context_window.pruning_strategies import DEFAULT_WEIGHTS
from reverie.text.tokenization import STOP_WORDS

# Share of what a sentence tells that others may have told.
MAX_REPEATED = 0.9
# Sentences that are tried, those that tell most.
MAX_RANKED = 4_000


def rank_summary_lines(
    lines: Sequence[SummaryLine],
    weights: Sequence[float],
    room: int,
    count: Callable[[str], int],
) -> list[SummaryLine]:
    """The lines that are worth most and take at most `room` tokens, the best first."""
    words = [frozenset(WORD.findall(line.text)) - STOP_WORDS for line in lines]
    counts = Counter(word for of_line in words for word in of_line)
    rarity = {word: math.log(1 + len(lines) / often) for word, often in counts.items()}
    telling = [sum(rarity[word] for word in of_line) for of_line in words]
    costs = [count(str(line)) + 1 for line in lines]
    worth = [
        weight * min(tells, DEFAULT_WEIGHTS.enough) ** DEFAULT_WEIGHTS.telling / cost
        for weight, tells, cost in zip(weights, telling, costs, strict=True)
    ]
    best_first = sorted(range(len(lines)), key=lambda place: (-worth[place], place))
    chosen: list[SummaryLine] = []
    told: set[str] = set()
    left = room
    for place in best_first[:MAX_RANKED]:
        repeated = sum(rarity[word] for word in words[place] & told)
        tells_enough = telling[place] and repeated <= MAX_REPEATED * telling[place]
        if costs[place] <= left and tells_enough:
            chosen.append(lines[place])
            told |= words[place]
            left -= costs[place]
    return chosen
