"""From a ranking to an answer: bounded priors, equal texts, and what of it surfaces unasked.

The relevance gate has said how likely a turn needs each hit; `can_surface` leaves out by kind,
review and validity, and `select_surfacing` what is too unlikely.

A prior says how much a memory deserves to be believed and recalled, whatever is asked. Each
multiplies the odds of a hit by a factor within 1 ± PRIOR_BOUND (`list_prior_factors`; a property
test holds each of them to it), so that none can bury what fits the question well. Beyond that goes
UNVERIFIED_FACTOR alone, and only downwards. Reading never changes a prior's inputs.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import takewhile

from reverie.core.code_anchors import CHANGED, GONE, outdated_notice, outdated_state
from reverie.core.doubt import describe_doubt, is_in_doubt
from reverie.core.kinds import (
    EXCERPT,
    is_mature,
    is_pending_intention,
    is_unverified,
    kind_of,
    retention,
)
from reverie.core.model import Hit, Memory
from reverie.core.validity import describe_validity, is_valid_at
from reverie.retrieval.trigger_search import is_triggered
from reverie.text.tokenization import fold_text

# How far one prior may move the odds, either way. Trust, and how often it was said again, are
# clipped there; the others are bounded by constants of their own that do not exceed it.
PRIOR_BOUND = 0.25
# What has faded altogether has this factor; what is wholly present, so much more.
FADED_FACTOR = 0.9
RETENTION_SWING = 0.2
# The recency boost 1 + RECENCY_BOOST·e^(−hours since last use / RECENCY_HOURS).
RECENCY_BOOST = 0.25
RECENCY_HOURS = 24.0
# What success adds at a rate of 1, and failure takes at 0.
SUCCESS_SWING = 0.25
EMOTION_FACTORS = {
    "low": 1.05,
    "medium": 1.15,
    "high": 1.25,
}
# A factor for what was kept in a time of the same name, such as release-week.
SAME_SEASON_FACTOR = 1.1

# A factor on the odds of what others wrote, which no other prior can make up for.
UNVERIFIED_FACTOR = 0.5
# One in so many memories of a block may be such, and one in any case.
HITS_PER_UNVERIFIED = 3

# Of what was said about code that is not so any more, or not there.
OUTDATED_FACTORS = {CHANGED: 0.85, GONE: 0.75}
# Of what is not true now, by what it says itself. It is still found, for who asks about the past:
# behind what is true unless that hardly fits.
INVALID_FACTOR = 0.1
# Of what is in doubt because its reason has changed: it may still be so.
DOUBT_FACTOR = 0.15

# The chance from which on something surfaces; set so that nine quiet turns in ten stay clean
# (docs/why-ranking.md).
MIN_SHOWN_CHANCE = 0.5
# What surfaces beside the best has at least so much of its odds. A share of the chance itself would
# let everything through: near 1 all chances are alike.
BESIDE_ODDS = math.exp(-1.0)


def can_surface(memory: Memory, now: float) -> bool:
    """True if the memory may surface unasked.

    Its kind surfaces, it is valid now, it waits for no review and no moment, and the code that it
    speaks of is still there.
    """
    return (
        kind_of(memory.kind).surfaces
        and is_valid_at(memory, now)
        and is_mature(memory)
        and not is_pending_intention(memory)
        and outdated_state(memory) != GONE
    )


def compute_prior(
    memory: Memory,
    now: float,
    season: str = "",
) -> float:
    """The factor by which the odds of a memory are multiplied, whatever is asked: above 0.

    The product of its priors; what others wrote has UNVERIFIED_FACTOR of that, and at most.
    """
    product = math.prod(list_prior_factors(memory, now, season))
    return UNVERIFIED_FACTOR * min(1.0, product) if is_unverified(memory) else product


def list_prior_factors(
    memory: Memory,
    now: float,
    season: str = "",
) -> list[float]:
    """The priors: whether it holds now, and, each within 1 ± PRIOR_BOUND, retention, recency,
    trust, strength, emotion, success, season, and whether the code that it speaks of is as it was.
    """
    factors = [
        1.0 if is_valid_at(memory, now) else INVALID_FACTOR,
        FADED_FACTOR + RETENTION_SWING * retention(memory, now),
        recency_factor(memory, now),
        # Neutral at 0.64: trust and confidence of 0.8 each, as of what an agent observed.
        clip_prior(1.0 + 0.5 * (memory.trust * memory.confidence - 0.64)),
        clip_prior(1.0 + 0.05 * math.log(max(1, memory.strength))),
    ]
    if memory.details:
        factors += [
            emotion_factor(memory),
            success_factor(memory),
            SAME_SEASON_FACTOR if season and memory.details.get("season") == season else 1.0,
            OUTDATED_FACTORS.get(outdated_state(memory), 1.0),
            DOUBT_FACTOR if is_in_doubt(memory) else 1.0,
        ]
    return factors


def clip_prior(factor: float) -> float:
    """The factor, within 1 ± PRIOR_BOUND."""
    return min(max(factor, 1 - PRIOR_BOUND), 1 + PRIOR_BOUND)


def recency_factor(memory: Memory, now: float) -> float:
    """1 for what was never used, up to 1 + RECENCY_BOOST for what proved useful just now."""
    if memory.last_accessed_at is None:
        return 1.0
    idle_hours = max(0.0, now - memory.last_accessed_at) / 3_600
    return 1.0 + RECENCY_BOOST * math.exp(-idle_hours / RECENCY_HOURS)


def emotion_factor(memory: Memory) -> float:
    """The factor of how strongly it was felt: 1 where nothing was, or the details hold no
    feeling.
    """
    feeling = memory.details.get("emotion")
    if not isinstance(feeling, dict):
        return 1.0
    return EMOTION_FACTORS.get(str(feeling.get("intensity")), 1.0)


def success_factor(memory: Memory) -> float:
    """The factor of how well a procedure lately worked: a success rate of 0.5 is neutral."""
    rate = memory.details.get("rate")
    if not isinstance(rate, float):
        return 1.0
    return 1.0 + 2 * SUCCESS_SWING * (min(max(rate, 0.0), 1.0) - 0.5)


def apply_priors(
    hits: Sequence[Hit],
    now: float,
    season: str = "",
) -> list[Hit]:
    """The hits with their odds multiplied by their priors, best first, ties by id."""
    weighed = []
    for hit in hits:
        prior = compute_prior(hit.memory, now, season)
        weighed.append(hit._replace(score=multiply_odds(hit.score, prior)))
    return sort_hits(weighed)


def sort_hits(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, best first, ties by id."""
    return sorted(
        hits,
        key=lambda hit: (-hit.score, hit.memory.id),
    )


def mark_outdated(hits: Iterable[Hit], now: float) -> list[Hit]:
    """The same hits; those that speak of code that has changed since, or do not hold now, say so in
    `why`.
    """
    marked = []
    for hit in hits:
        notices = (
            outdated_notice(hit.memory),
            describe_validity(hit.memory, now),
            describe_doubt(hit.memory),
        )
        why = dict.fromkeys((*hit.why, *filter(None, notices)))
        marked.append(hit._replace(why=tuple(why)))
    return marked


def multiply_odds(score: float, factor: float) -> float:
    """A score of 0..1 with its odds multiplied by `factor`; a score of 1 counts as the number below
    it.
    """
    score = min(max(score, 0.0), 1.0 - 1e-9)
    odds = score / (1.0 - score) * factor
    return odds / (1.0 + odds)


def to_odds(chance: float) -> float:
    """How many times likelier than not a chance of 0..1 is; finite for 1 too."""
    return chance / max(1.0 - chance, 1e-9)


def select_surfacing(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Which of some ranked hits surface by themselves, at most `limit`.

    Those are what a trigger called up and, if the best of the others reaches MIN_SHOWN_CHANCE, what
    stands beside it. What others wrote comes behind all else, and few of it; whether the rest
    surfaces is decided as if it were not there.
    """
    others = [hit for hit in hits if not is_triggered(hit)]
    firm = select_beside_best([hit for hit in others if not is_unverified(hit.memory)])
    doubtful = [hit for hit in select_beside_best(others) if is_unverified(hit.memory)]
    return order_unverified_last([*filter(is_triggered, hits), *firm, *doubtful], limit)


def select_beside_best(hits: Sequence[Hit]) -> list[Hit]:
    """The best of some ranked hits and those with at least BESIDE_ODDS of its odds.

    Empty if the best does not reach MIN_SHOWN_CHANCE.
    """
    if not hits or hits[0].score < MIN_SHOWN_CHANCE:
        return []
    least = BESIDE_ODDS * to_odds(hits[0].score)
    return list(takewhile(lambda hit: to_odds(hit.score) >= least, hits))


def order_unverified_last(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """At most `limit` hits in their order, but what others wrote last, and few of it.

    Such memories may be `limit` // HITS_PER_UNVERIFIED at most, and one in any case.
    """
    verified = [hit for hit in hits if not is_unverified(hit.memory)]
    unverified = [hit for hit in hits if is_unverified(hit.memory)]
    most = max(1, limit // HITS_PER_UNVERIFIED)
    return [*verified, *unverified[:most]][:limit]


def finalize_hits(
    hits: Sequence[Hit],
    limit: int,
    *,
    automatic: bool,
) -> list[Hit]:
    """The answer: different texts, at most `limit`; if `automatic`, only what is likely needed."""
    distinct = put_newer_first(drop_duplicate_texts(hits))
    return select_surfacing(distinct, limit) if automatic else distinct[:limit]


def put_newer_first(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, with what contradicts one before that, if it is newer and at least as trusted.

    Nobody has decided between the two: both stay, and what was said last is likelier to be so.
    """
    ordered = list(hits)
    for hit in hits:
        if not hit.memory.conflicts_with:
            continue
        here = ordered.index(hit)
        place = next(
            (at for at, other in enumerate(ordered[:here]) if overrides(hit.memory, other.memory)),
            here,
        )
        if place < here:
            ordered.insert(place, ordered.pop(here)._replace(score=ordered[place].score))
    return ordered


def overrides(memory: Memory, other: Memory) -> bool:
    """True if a memory contradicts another, is newer and at least as trusted; not if it says itself
    when it is so, or is in doubt.
    """
    return (
        other.id in memory.conflicts_with
        and memory.valid_from is None
        and memory.valid_to is None
        and memory.at > other.at
        and memory.trust >= other.trust
        and not is_in_doubt(memory)
    )


def drop_duplicate_texts(hits: Sequence[Hit]) -> list[Hit]:
    """The first hit of each text, letter case and white space apart, in its place.

    A passage of a conversation gives its place to what was kept of it, whichever came first.
    """
    by_text: dict[str, Hit] = {}
    for hit in hits:
        text = fold_text(hit.memory.text)
        first = by_text.setdefault(text, hit)
        replaces_excerpt = first.memory.kind == EXCERPT != hit.memory.kind
        if replaces_excerpt and not is_unverified(hit.memory):
            by_text[text] = hit._replace(score=max(first.score, hit.score))
    return list(by_text.values())
