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
from reverie.memory.memory_changes import flag_contradiction, supersede_memory
from reverie.reconciliation.merge_rules import (
    OPPOSED_RELATIONS,
    can_merge,
    can_yield,
    is_mixed_authorship,
    is_sure_conflict,
    pick_believed,
    plan_merge,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.review_questions import clear_question

MIN_CONFIDENCE = 0.7
"""Below this an opinion that two say the same, or have nothing to do with each other, is left to a
person: what rules need to make one memory of two (reconcile.SURE_BRIDGE). A model that does not say
how sure it is counts as 0.5.
"""

OpinionOutcome = Literal[
    "merged",  # they say the same and one stands for both
    "superseded",  # the newer one took the place of the older
    "flagged",  # they contradict each other, and a person is asked
    "parted",  # they have nothing to do with each other, and nobody is asked any more
    "left",  # for a person to decide, as before
]


def apply_opinion(
    old: Memory, new: Memory, said: Verdict, ties: Sequence[Edge], now: float
) -> tuple[OpinionOutcome, list[Change]]:
    """The outcome, and the changes that make it so. `ties` are the edges that hold the question
    open.
    """
    older, newer, undone = clear_question(old, new, ties)
    if (
        said.relation == "same"
        and said.confidence >= MIN_CONFIDENCE
        and (two := choose_stand_in(older, newer))
    ):
        return "merged", [*undone, *plan_merge(*two, now)]
    if said.relation == "apart" and said.confidence >= MIN_CONFIDENCE:
        return "parted", undone
    if said.relation in OPPOSED_RELATIONS:
        winner = pick_believed(older, newer, max(older.at, newer.at))
        if winner is newer and is_sure_conflict(said, newer) and can_yield(older, newer):
            return "superseded", [*undone, *supersede_memory(older, newer, now)]
        if not is_mixed_authorship(older, newer) and not any(
            tie.rel == "contradicts" for tie in ties
        ):
            return "flagged", [*undone, *flag_contradiction(newer, older, now)]
    return "left", []


def choose_stand_in(old: Memory, new: Memory) -> tuple[Memory, Memory] | None:
    """(the one that stays, the one that goes), if one of two that say the same can stand for the
    other.
    """
    from reverie.reconciliation.stand_in_rules import can_replace

    if not can_merge(old, new):
        return None
    both = sorted((old, new), key=lambda memory: (is_not_correction(memory), -memory.trust))
    for keep, gone in (both, both[::-1]):
        if can_replace(keep, gone) and is_not_correction(keep) <= is_not_correction(gone):
            return keep, gone
    return None


def is_not_correction(memory: Memory) -> bool:
    """Whether it is anything but a correction by the user."""
    return memory.provenance != "user_corrected"
