"""Which sentences say most of what a stretch of conversation told, without a model.

A sentence is worth what it tells for each token: the rarities of its words in this stretch, as the
window counts them for whole messages (`window.strategies.ours`), times the importance of its
message. A sentence that repeats a chosen one is passed over. LexRank (Erkan & Radev 2004), which
ranks sentences by how much they are like all others, was tried first: it brings up what all repeat,
and kept less of what was needed later (docs/why-condense.md).
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from reverie.context_window.condensing.summary_lines import SummaryLine
from reverie.context_window.item_topics import WORD
from reverie.context_window.pruning_strategies import DEFAULT_WEIGHTS
from reverie.text.tokenization import STOP_WORDS

MAX_REPEATED = 0.9  # share of what a sentence tells that another may have told
MAX_RANKED = 4_000  # sentences that are looked at, those that tell most


def rank_summary_lines(
    lines: Sequence[SummaryLine], weights: Sequence[float], room: int, count: Callable[[str], int]
) -> list[SummaryLine]:
    """The lines that are worth most and take at most `room` tokens, the best first."""
    said = [frozenset(WORD.findall(line.text)) - STOP_WORDS for line in lines]
    often = Counter(word for words in said for word in words)
    rarity = {word: math.log(1 + len(lines) / many) for word, many in often.items()}
    telling = [sum(rarity[word] for word in words) for words in said]
    costs = [count(str(line)) + 1 for line in lines]
    worth = [
        weight * min(tells, DEFAULT_WEIGHTS.enough) ** DEFAULT_WEIGHTS.telling / cost
        for weight, tells, cost in zip(weights, telling, costs, strict=True)
    ]
    chosen: list[SummaryLine] = []
    told: set[str] = set()
    left = room
    for place in sorted(range(len(lines)), key=lambda place: (-worth[place], place))[:MAX_RANKED]:
        known = sum(rarity[word] for word in said[place] & told)
        if costs[place] <= left and telling[place] and known <= MAX_REPEATED * telling[place]:
            chosen.append(lines[place])
            told |= said[place]
            left -= costs[place]
    return chosen
