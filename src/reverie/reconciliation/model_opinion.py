"""What follows from a language model's opinion about two memories between which a question is open.

Pure: values in, changes out. The opinion is data: it can answer the question only as rules would
have been allowed to.

- One memory goes only where the other comes from as good a source, and holds every number,
  identifier and name of it if they are to say the same. What the user put right yields to nothing
  that is weaker.
- What cannot be decided so stays as it is, or becomes a flag, for a person.

Always true: nothing is erased and no text is altered; every outcome is one of `Outcome`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reverie.core.model import Change, Edge, Memory
from reverie.memory.memory_changes import contradicting, superseded
from reverie.reconciliation.merge_rules import (
    OPPOSED,
    may_merge,
    may_yield,
    merging,
    mixed,
    stronger,
    sure,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.review_questions import untied

SURE = 0.7
"""Below this an opinion that two say the same, or have nothing to do with each other, is left to a
person: what rules need to make one memory of two (reconcile.SURE_BRIDGE). A model that does not say
how sure it is counts as 0.5.
"""

Outcome = Literal[
    "merged",  # they say the same and one stands for both
    "superseded",  # the newer one took the place of the older
    "flagged",  # they contradict each other, and a person is asked
    "parted",  # they have nothing to do with each other, and nobody is asked any more
    "left",  # for a person to decide, as before
]


def follows(
    old: Memory, new: Memory, said: Verdict, ties: Sequence[Edge], now: float
) -> tuple[Outcome, list[Change]]:
    """The outcome, and the changes that make it so. `ties` are the edges that hold the question
    open.
    """
    older, newer, undone = untied(old, new, ties)
    if said.relation == "same" and said.confidence >= SURE and (two := stand_in(older, newer)):
        return "merged", [*undone, *merging(*two, now)]
    if said.relation == "apart" and said.confidence >= SURE:
        return "parted", undone
    if said.relation in OPPOSED:
        winner = stronger(older, newer, max(older.at, newer.at))
        if winner is newer and sure(said, newer) and may_yield(older, newer):
            return "superseded", [*undone, *superseded(older, newer, now)]
        if not mixed(older, newer) and not any(tie.rel == "contradicts" for tie in ties):
            return "flagged", [*undone, *contradicting(newer, older, now)]
    return "left", []


def stand_in(old: Memory, new: Memory) -> tuple[Memory, Memory] | None:
    """(the one that stays, the one that goes), if one of two that say the same can stand for the
    other.
    """
    from reverie.reconciliation.stand_in_rules import replaces

    if not may_merge(old, new):
        return None
    both = sorted((old, new), key=lambda memory: (not_corrected(memory), -memory.trust))
    for keep, gone in (both, both[::-1]):
        if replaces(keep, gone) and not_corrected(keep) <= not_corrected(gone):
            return keep, gone
    return None


def not_corrected(memory: Memory) -> bool:
    """Whether it is anything but a correction by the user."""
    return memory.provenance != "user_corrected"
