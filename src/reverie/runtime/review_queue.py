"""What waits for a person, as one queue of cards: memories that were edited on both sides, pairs
that contradict each other or say the same, memories in doubt, candidates that nobody has approved,
questions without an answer, lines that others wrote.

A card has a key, by which it is answered whatever has come before it since, and the answers that it
takes: "accept" and "reject" mean the likelier and the other way, "edit" goes with a new text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.code_anchors import outdated_notice
from reverie.core.doubt import describe_doubt, is_in_doubt
from reverie.core.kinds import is_unverified, maturity_of
from reverie.core.model import Memory

if TYPE_CHECKING:
    from reverie.extraction.knowledge_gaps import KnowledgeGap
    from reverie.reconciliation.review_questions import ReviewCase
    from reverie.runtime.both_sided_edits import BothSidedEdit

EDITED, PAIR, MEMORY, GAP = "edited", "pair", "memory", "gap"
ACCEPT, REJECT, BOTH, MERGE, EDIT = "accept", "reject", "both", "merge", "edit"
# What an answer about a pair decides; `review_questions.DECISIONS`. The one is the older.
PAIR_DECISIONS: Mapping[str, Mapping[str, str]] = {
    "contradiction": {ACCEPT: "other", REJECT: "one", BOTH: "both", MERGE: "merge", EDIT: "edit"},
    "near-duplicate": {ACCEPT: "merge", REJECT: "both", EDIT: "edit"},
}
PAIR_LABELS: Mapping[str, Mapping[str, str]] = {
    "contradiction": {
        ACCEPT: "Keep the newer",
        REJECT: "Keep the older",
        BOTH: "Keep both",
        MERGE: "Merge into the older",
        EDIT: "Edit and merge",
    },
    "near-duplicate": {ACCEPT: "Merge", REJECT: "Not the same", EDIT: "Edit and merge"},
}
# What an answer about a both-sided edit decides; `both_sided_edits.decide_both_sided_edit`.
EDITED_DECISIONS: Mapping[str, str] = {ACCEPT: "one", REJECT: "other", BOTH: "both", EDIT: "edit"}
MEMORY_LABELS: Mapping[str, str] = {ACCEPT: "It holds", REJECT: "Put it away", EDIT: "Correct it"}
VOUCH_LABELS: Mapping[str, str] = {**MEMORY_LABELS, ACCEPT: "I vouch for it"}
GAP_LABELS: Mapping[str, str] = {EDIT: "Write the answer", REJECT: "It wants no answer"}
WHY_EDITED: Mapping[str, str] = {
    "page": "you changed its line on a page while it was changed here: your word holds",
    "team": "it was changed on two sides of the team's server: the later holds",
}
CURATED_AS = {ACCEPT: "validated", REJECT: "dismissed"}


class CardSide(NamedTuple):
    """What is to be said of one of two versions."""

    name: str
    by: str  # who made it
    at: float  # when


class ReviewCard(NamedTuple):
    """Something to decide."""

    key: str
    # both-sided edit, contradiction, near-duplicate, in doubt, untrusted, candidate, outdated, gap
    kind: str
    why: str  # what is asked, in words
    since: float
    answers: Mapping[str, str]  # answer → what it does, in words
    memories: Sequence[Memory] = ()  # of a pair the older one first
    asked: str = ""  # of a gap: the question
    sides: Sequence[CardSide] = ()  # of a both-sided edit: what is to be said of each memory


def build_queue(
    edits: Sequence[BothSidedEdit],
    cases: Sequence[ReviewCase],
    pending: Sequence[Memory],
    gaps: Sequence[KnowledgeGap],
    untrusted: Sequence[Memory] = (),
) -> Iterator[ReviewCard]:
    """The cards: both-sided edits, what is disputed, what nobody has approved, what is missing,
    and last, for an import may bring thousands of them, what others wrote.
    """
    yield from map(build_edited_card, edits)
    yield from map(build_pair_card, cases)
    cards = list(map(build_memory_card, pending))
    yield from sorted(cards, key=lambda card: card.kind != "in doubt")
    yield from map(build_gap_card, gaps)
    yield from map(build_memory_card, untrusted)


def build_edited_card(edit: BothSidedEdit) -> ReviewCard:
    """A memory that two edited without knowing of each other."""
    holds, other = edit.holds, edit.gave_way
    key = f"{EDITED}:{edit.id}:{edit.event}"
    sides = (CardSide("Gave way", other.by, other.at), CardSide("Holds now", holds.by, holds.at))
    versions = (other.memory, holds.memory)
    return ReviewCard(
        key,
        "both-sided edit",
        WHY_EDITED[edit.where],
        edit.at,
        label_edit(edit),
        versions,
        "",
        sides,
    )


def label_edit(edit: BothSidedEdit) -> Mapping[str, str]:
    """What the answers about a both-sided edit do."""
    holds, other = edit.holds.memory, edit.gave_way.memory
    labels = {
        ACCEPT: "Keep what holds" if holds.active else "Leave it forgotten",
        REJECT: "Keep the other" if other.active else "Forget it",
    }
    if holds.active and other.active and holds.text != other.text:
        labels[BOTH] = "Keep both"
    return {**labels, EDIT: "Merge by hand"}


def build_pair_card(case: ReviewCase) -> ReviewCard:
    """A pair about which somebody should decide."""
    labels = PAIR_LABELS[case.kind]
    key = f"{PAIR}:{case.one.id}:{case.other.id}"
    return ReviewCard(key, case.kind, case.why, case.since, labels, (case.one, case.other))


def build_memory_card(memory: Memory) -> ReviewCard:
    """A memory at which somebody should look."""
    notice = outdated_notice(memory)
    if is_in_doubt(memory):
        kind, why = "in doubt", describe_doubt(memory)
    elif notice:
        kind, why = "outdated", notice
    elif is_unverified(memory):
        kind, why = "untrusted", "others wrote this, and nobody has vouched for it"
    else:
        passed_on = maturity_of(memory) == "escalated"
        kind = "candidate"
        why = "it was passed on to you" if passed_on else "it was concluded, and nobody said it"
    labels = VOUCH_LABELS if kind == "untrusted" else MEMORY_LABELS
    return ReviewCard(f"{MEMORY}:{memory.id}", kind, why, memory.at, labels, (memory,))


def build_gap_card(gap: KnowledgeGap) -> ReviewCard:
    """A question that nothing answered."""
    from reverie.extraction.knowledge_gaps import mark_question

    often = f"asked {gap.times} times, " if gap.times > 1 else ""
    why = f"{often}and nothing in memory answered"
    return ReviewCard(
        f"{GAP}:{mark_question(gap.asked)}", GAP, why, gap.at, GAP_LABELS, (), gap.asked
    )
