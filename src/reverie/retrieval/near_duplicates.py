"""Memories that say nearly the same in nearly the same words, for whoever keeps it once more.

Only reported, never decided: whether two are one is a matter of meaning, and `reconciliation`
settles it afterwards.
"""

from typing import NamedTuple

from reverie.core.model import Filter, Memory, visible_spaces
from reverie.storage import Store
from reverie.text.tokenization import tokenize_query

# Share of words in common (Dice) from which a near-duplicate is reported.
MIN_LIKENESS = 0.75
# Words without which a text is too short for a verdict.
MIN_WORDS = 4
# Best candidates by their words that are compared.
MAX_CANDIDATES = 20


class NearDuplicate(NamedTuple):
    """A memory that nearly says what another one says."""

    memory: Memory
    likeness: float  # 0..1: twice the words they share over the words they have


def find_near_duplicate(
    store: Store,
    memory: Memory,
    now: float,
) -> NearDuplicate | None:
    """The likest memory that counts and is seen from where this one lies; ties by id."""
    words = frozenset(tokenize_query(memory.text))
    if len(words) < MIN_WORDS:
        return None
    spaces = visible_spaces(memory.space)
    found = store.search_words(
        sorted(words),
        spaces,
        MAX_CANDIDATES,
        where=Filter(),
        now=now,
    )
    near = []
    for other in store.get([id for id, _ in found]):
        if not other.active or other.id == memory.id:
            continue
        likeness = dice_similarity(words, frozenset(tokenize_query(other.text)))
        if likeness >= MIN_LIKENESS:
            near.append(NearDuplicate(other, likeness))
    return min(
        near,
        key=lambda one: (-one.likeness, one.memory.id),
        default=None,
    )


def dice_similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Twice the words in common over the words of both (Dice, 1945), to 4 places; 0 if none."""
    if not one or not other:
        return 0.0
    return round(
        2 * len(one & other) / (len(one) + len(other)),
        4,
    )
