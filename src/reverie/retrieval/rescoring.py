"""From a ranking to an answer: bounded priors, the gate, diversity.

Priors say how much a memory deserves to be believed and recalled, whatever is asked. Each moves the
odds of a hit by a quarter at most, so that none can bury what fits the question well (CONSTANTS row
17). Reading never changes them.
"""

import math
from collections.abc import Iterable, Sequence

from reverie.core.code_anchors import CHANGED, GONE, outdated_notice, outdated_state
from reverie.core.kinds import (
    EXCERPT,
    is_mature,
    is_pending_intention,
    is_unverified,
    is_valid_at,
    kind_of,
    retention,
)
from reverie.core.model import Hit, Memory
from reverie.retrieval.trigger_search import is_triggered
from reverie.text.tokenization import fold_text

PRIOR_BOUND = 0.25  # how far one prior may move the odds, either way
RECENCY_HOURS = 24.0  # recency boost 1 + 0.25·e^(−hours since last use / 24) (B57, bounded)
EMOTION_FACTORS = {"low": 1.05, "medium": 1.15, "high": 1.25}
SAME_SEASON_FACTOR = 1.1  # of what was kept in a time of the same name, such as release-week (B56)

UNVERIFIED_FACTOR = 0.5  # of the odds of what others wrote, which no other prior can make up for
HITS_PER_UNVERIFIED = 3  # one in so many memories of a block may be such, and one in any case

OUTDATED_FACTORS = {
    CHANGED: 0.85,
    GONE: 1 - PRIOR_BOUND,
}  # of what was said about code that is not so any more, or not there

GATE_KEEP, GATE_DROP = 0.90, 0.95  # CONSTANTS: score gate rel / drop
# the chance from which on something surfaces; set so that nine quiet turns in ten stay clean
MIN_SHOWN_CHANCE = 0.5
# what surfaces beside the best has at least so much of its odds; `search.gate` tells chances
BESIDE_ODDS = math.exp(-1.0)


def can_surface(memory: Memory, now: float) -> bool:
    """Whether it may surface unasked: its kind does, it is true now, it waits for no look and no
    moment, and the code that it speaks of is there.
    """
    return (
        kind_of(memory.kind).surfaces
        and is_valid_at(memory, now)
        and is_mature(memory)
        and not is_pending_intention(memory)
        and outdated_state(memory) != GONE
    )


def compute_prior(memory: Memory, now: float, season: str = "") -> float:
    """The product of the bounded priors: retention, recency, trust, strength, emotion, success,
    season, and whether the code that it speaks of is as it was.
    """
    factors = (
        0.9 + 0.2 * retention(memory, now),
        recency_factor(memory, now),
        1.0 + 0.5 * (memory.trust * memory.confidence - 0.64),
        1.0 + 0.05 * math.log(max(1, memory.strength)),
        emotion_factor(memory) if memory.details else 1.0,
        success_factor(memory) if memory.details else 1.0,
        SAME_SEASON_FACTOR if season and memory.details.get("season") == season else 1.0,
        OUTDATED_FACTORS.get(outdated_state(memory), 1.0) if memory.details else 1.0,
    )
    product = 1.0
    for factor in factors:
        product *= (
            1 - PRIOR_BOUND
            if factor < 1 - PRIOR_BOUND
            else 1 + PRIOR_BOUND
            if factor > 1 + PRIOR_BOUND
            else factor
        )
    return UNVERIFIED_FACTOR * min(1.0, product) if is_unverified(memory) else product


def recency_factor(memory: Memory, now: float) -> float:
    """What proved useful lately is likely to again."""
    if memory.last_accessed_at is None:
        return 1.0
    return 1.0 + PRIOR_BOUND * math.exp(
        -max(0.0, now - memory.last_accessed_at) / 3_600 / RECENCY_HOURS
    )


def emotion_factor(memory: Memory) -> float:
    """What was felt strongly is remembered better (C51)."""
    tag = memory.details.get("emotion")
    return EMOTION_FACTORS.get(str(tag.get("intensity")), 1.0) if isinstance(tag, dict) else 1.0


def success_factor(memory: Memory) -> float:
    """A procedure that lately worked is recommended, one that failed is less so: 0.5 is neutral."""
    rate = memory.details.get("rate")
    return (
        1.0 + 2 * PRIOR_BOUND * (min(max(rate, 0.0), 1.0) - 0.5) if isinstance(rate, float) else 1.0
    )


def apply_priors(hits: Sequence[Hit], now: float, season: str = "") -> list[Hit]:
    """Hits with their odds weighed by the priors, best first, ties by id."""
    weighed = [
        Hit(hit.memory, multiply_odds(hit.score, compute_prior(hit.memory, now, season)), hit.why)
        for hit in hits
    ]
    return sorted(weighed, key=lambda hit: (-hit.score, hit.memory.id))


def mark_outdated(hits: Iterable[Hit]) -> list[Hit]:
    """The same hits; those that speak of code that has changed since say so in `why`."""
    return [
        hit._replace(why=tuple(dict.fromkeys((*hit.why, mark))))
        if hit.memory.details and (mark := outdated_notice(hit.memory))
        else hit
        for hit in hits
    ]


def multiply_odds(score: float, factor: float) -> float:
    """A score between 0 and 1 with its odds multiplied."""
    score = min(max(score, 0.0), 1.0 - 1e-9)
    odds = score / (1.0 - score) * factor
    return odds / (1.0 + odds)


def count_standing_out(
    scores: Sequence[float], most: int, keep: float = GATE_KEEP, drop: float = GATE_DROP
) -> int:
    """How many of some falling scores stand out: those within `keep` of the best, up to the first
    fall below `drop`

    of the one before, but never more than `most` (X6; CC-27).
    """
    taken = 0
    for place, score in enumerate(scores[:most]):
        if place and (score < keep * scores[0] or score < drop * scores[place - 1]):
            break
        taken += 1
    return taken


def to_odds(chance: float) -> float:
    """How many times likelier than not."""
    return chance / max(1.0 - chance, 1e-9)


def select_surfacing(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Which of some ranked hits surface by themselves, at most `limit`: what a trigger called up,
    and, if the best of the others reaches `SHOW`, those that stand beside it; of what others wrote,
    few, and behind all else, of which none is held against it.
    """
    others = [hit for hit in hits if not is_triggered(hit)]
    firm = select_beside_best([hit for hit in others if not is_unverified(hit.memory)])
    doubtful = [hit for hit in select_beside_best(others) if is_unverified(hit.memory)]
    return order_unverified_last([*filter(is_triggered, hits), *firm, *doubtful], limit)


def select_beside_best(hits: Sequence[Hit]) -> list[Hit]:
    """Of some ranked hits the best, if it reaches `SHOW`, and those that stand beside it."""
    opened = bool(hits) and hits[0].score >= MIN_SHOWN_CHANCE
    return (
        list(
            hits[
                : count_standing_out(
                    [to_odds(hit.score) for hit in hits], len(hits), BESIDE_ODDS, 0.0
                )
            ]
        )
        if opened
        else []
    )


def order_unverified_last(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """At most `limit` hits, in order, but what others wrote behind all that somebody stands behind,
    and few of it.
    """
    doubtful = [hit for hit in hits if is_unverified(hit.memory)]
    if not doubtful:
        return list(hits[:limit])
    firm = [hit for hit in hits if not is_unverified(hit.memory)]
    return [*firm, *doubtful[: max(1, limit // HITS_PER_UNVERIFIED)]][:limit]


def finalize_hits(hits: Sequence[Hit], limit: int, *, automatic: bool) -> list[Hit]:
    """The final list: different from each other, and for an automatic one only what is likely
    needed.
    """
    some = drop_duplicate_texts(hits)
    return select_surfacing(some, limit) if automatic else some[:limit]


def drop_duplicate_texts(hits: Sequence[Hit]) -> list[Hit]:
    """Hits of different texts, letter case and white space apart: of those with one text the first,
    in its place. A passage of a conversation steps back for what was kept of it, whichever of the
    two came first.
    """
    kept: dict[str, Hit] = {}
    for hit in hits:
        words = fold_text(hit.memory.text)
        first = kept.setdefault(words, hit)
        if first.memory.kind == EXCERPT != hit.memory.kind and not is_unverified(hit.memory):
            kept[words] = hit._replace(score=max(first.score, hit.score))
    return list(kept.values())
