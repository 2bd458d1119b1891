"""What waits for a person, as one queue of cards: pairs that contradict each other or say the same,
memories in doubt, candidates that nobody has approved, questions without an answer.

A card has a key, by which it is answered whatever has come before it since, and the answers that it
takes: "accept" and "reject" mean the likelier and the other way, "edit" goes with a new text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.code_anchors import outdated_notice
from reverie.core.doubt import describe_doubt, is_in_doubt
from reverie.core.kinds import is_unverified, maturity_of
from reverie.core.model import Memory
from reverie.reconciliation.review_questions import ReviewCase

if TYPE_CHECKING:
    from reverie.extraction.knowledge_gaps import KnowledgeGap

PAIR, MEMORY, GAP = "pair", "memory", "gap"
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
MEMORY_LABELS: Mapping[str, str] = {ACCEPT: "It holds", REJECT: "Put it away", EDIT: "Correct it"}
GAP_LABELS: Mapping[str, str] = {EDIT: "Write the answer"}
CURATED_AS = {ACCEPT: "validated", REJECT: "dismissed"}


class ReviewCard(NamedTuple):
    """Something to decide."""

    key: str
    kind: str  # contradiction, near-duplicate, in doubt, untrusted, candidate, outdated, gap
    why: str  # what is asked, in words
    since: float
    answers: Mapping[str, str]  # answer → what it does, in words
    memories: Sequence[Memory] = ()  # of a pair the older one first
    asked: str = ""  # of a gap: the question


def build_queue(
    cases: Sequence[ReviewCase],
    pending: Sequence[Memory],
    gaps: Sequence[KnowledgeGap],
) -> Iterator[ReviewCard]:
    """The cards: what is disputed first, then what nobody has approved, then what is missing."""
    yield from map(build_pair_card, cases)
    cards = list(map(build_memory_card, pending))
    yield from sorted(cards, key=lambda card: card.kind != "in doubt")
    yield from map(build_gap_card, gaps)


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
    key = f"{MEMORY}:{memory.id}"
    return ReviewCard(key, kind, why, memory.at, MEMORY_LABELS, (memory,))


def build_gap_card(gap: KnowledgeGap) -> ReviewCard:
    """A question that nothing answered."""
    mark = sha256(gap.asked.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    often = f"asked {gap.times} times, " if gap.times > 1 else ""
    why = f"{often}and nothing in memory answered"
    return ReviewCard(f"{GAP}:{mark}", GAP, why, gap.at, GAP_LABELS, (), gap.asked)
