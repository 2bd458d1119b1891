"""What follows from a language model's opinion about two memories between which a question is open.

The opinion is data: it can answer the question only as the rules would have been allowed to.

- One memory is retired only where the other comes from as good a source and, if they are to say the
  same, holds its every number, identifier and name. What the user corrected yields to nothing
  weaker.
- What cannot be decided so stays as it is, or becomes a flag, for a person.

Pure: values in, changes out. Always true: nothing is erased and no text is altered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reverie.core.model import Change, Edge, Memory
from reverie.memory.memory_changes import flag_contradiction, supersede_memory
from reverie.reconciliation.merge_rules import (
    SURE_BRIDGE,
    can_merge,
    is_mixed_authorship,
    pick_successor,
    plan_merge,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.paraphrase.wording_vote import OPPOSED_RELATIONS
from reverie.reconciliation.review_questions import clear_question

# Below this an opinion that two say the same, or have nothing to do with each other, is left to a
# person: no less than the rules need. A model that does not say how sure it is counts as 0.5.
MIN_CONFIDENCE = SURE_BRIDGE

OpinionOutcome = Literal[
    "merged",  # they say the same and one stands for both
    "superseded",  # the newer one took the place of the older
    "flagged",  # they contradict each other, and a person is asked
    "parted",  # they have nothing to do with each other, and nobody is asked any more
    "left",  # for a person to decide, as before
]


def apply_opinion(
    old: Memory, new: Memory, opinion: Verdict, ties: Sequence[Edge], now: float
) -> tuple[OpinionOutcome, list[Change]]:
    """The outcome of an opinion, and its changes. `ties` are the edges that keep the question
    open.
    """
    older, newer, untied = clear_question(old, new, ties)
    confident = opinion.confidence >= MIN_CONFIDENCE
    if opinion.relation == "same" and confident and (pair := choose_stand_in(older, newer)):
        return "merged", [*untied, *plan_merge(*pair, now)]
    if opinion.relation == "apart" and confident:
        return "parted", untied
    if opinion.relation in OPPOSED_RELATIONS:
        # Said last by whoever is newer, so that only the older one can lose.
        if pick_successor(older, newer, opinion, max(older.at, newer.at)):
            return "superseded", [*untied, *supersede_memory(older, newer, now)]
        already_flagged = any(tie.rel == "contradicts" for tie in ties)
        if not already_flagged and not is_mixed_authorship(older, newer):
            return "flagged", [*untied, *flag_contradiction(newer, older, now)]
    return "left", []


def choose_stand_in(old: Memory, new: Memory) -> tuple[Memory, Memory] | None:
    """(the one that stays, the one that goes) of two that say the same; None if neither can stand
    for the other.
    """
    from reverie.reconciliation.stand_in_rules import can_replace

    if not can_merge(old, new):
        return None
    ranked = sorted((old, new), key=lambda memory: (is_not_correction(memory), -memory.trust))
    for keep, gone in (ranked, ranked[::-1]):
        if can_replace(keep, gone) and is_not_correction(keep) <= is_not_correction(gone):
            return keep, gone
    return None


def is_not_correction(memory: Memory) -> bool:
    """True for anything but a correction by the user; sorts corrections first."""
    return memory.provenance != "user_corrected"
