"""What says nearly the same in nearly the same words: told to who keeps it once more (CC-86, CC-87,
X42).

Only reported, never decided: whether two are one is a matter of meaning, and `lifecycle.alike` sees
to it in settling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reverie.core.model import Filter, Memory, visible_spaces
from reverie.text.tokenization import tokenize_query

if TYPE_CHECKING:
    from reverie.storage import Store

# share of words in common (Dice) from which it is told (CONSTANTS row 7: duplicate, jaato)
MIN_LIKENESS = 0.75
MIN_WORDS = 4  # words without which a text is too short for a verdict
MAX_CANDIDATES = 20  # best candidates by their words


class NearDuplicate(NamedTuple):
    """A memory that nearly says what another one says."""

    memory: Memory
    likeness: float  # 0..1: twice the words they share over the words they have


def find_near_duplicate(store: Store, memory: Memory, now: float) -> NearDuplicate | None:
    """The likest memory that counts and is seen from where this one lies; ties by id."""
    mine = frozenset(tokenize_query(memory.text))
    if len(mine) < MIN_WORDS:
        return None
    found = store.search_words(
        sorted(mine), visible_spaces(memory.space), MAX_CANDIDATES, where=Filter(), now=now
    )
    others = [
        other
        for other in store.get([id for id, _ in found])
        if other.active and other.id != memory.id
    ]
    alike = [
        NearDuplicate(other, dice_similarity(mine, frozenset(tokenize_query(other.text))))
        for other in others
    ]
    return min(
        (one for one in alike if one.likeness >= MIN_LIKENESS),
        key=lambda one: (-one.likeness, one.memory.id),
        default=None,
    )


def dice_similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Twice the words in common over the words of both (Dice); 0 where there are none."""
    return round(2 * len(one & other) / (len(one) + len(other)), 4) if one and other else 0.0
