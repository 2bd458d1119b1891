"""Passes over pairs that lie close: say the same, may say the same, contradict each other, belong
together.

What two memories are to each other is `alike.compare`'s word, what follows is
`lifecycle.reconcile`'s, as for a new memory. Sleep sees pairs that nobody saw when they were
written: both were new, the texts got their vectors later, or ten others were nearer.

Merging never loses anything: the one that goes is kept as "merged" with a pointer to the one that
stays, and it goes only if the other holds every number, identifier and name of it (B109, B122).
What is less sure than that becomes an edge `resembles` for a person to decide; contradictions are
flagged on both sides and nobody loses (B110, B123, B124).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from reverie.core.model import UNDECIDED_RELATIONS, Add, Change, Edge, Link, Memory, visible_spaces
from reverie.memory.memory_changes import flag_contradiction
from reverie.reconciliation.merge_rules import (
    MAX_OPEN_CASES,
    can_merge,
    diff_memory,
    is_mixed_authorship,
    is_same_family,
    is_worth_review,
    mark_retired,
    plan_merge,
)
from reverie.reconciliation.model_opinion import MIN_CONFIDENCE
from reverie.reconciliation.paraphrase.statement_comparison import Verdict, compare_memories
from reverie.reconciliation.pass_view import (
    EdgeWeights,
    PassStep,
    PassView,
    apply_to_memory,
    has_edge,
    visit_pairs,
)
from reverie.reconciliation.stand_in_rules import can_replace, find_marks, holds_marks
from reverie.text.tokenization import tokenize_query

# CONSTANTS: duplicate deep, on write, contradiction probe
MERGE_COSINE, NEAR_COSINE, PROBE_COSINE, RELATED_COSINE = (
    0.95,
    0.80,
    0.50,
    0.60,
)
WORD_START_CHARS = 5
"""Letters by which words are taken for one. Pairs farther than NEAR without such a word in common
are not read: of 355 labelled contradictions and updates (bench/reconcile) one is missed by it, and
most of the time is saved.
"""
RELATES_WEIGHT = 0.5  # CONSTANTS: RelatesTo default
MOVED_RELATIONS = ("relates_to", "about", "in_cluster")  # edges that the one that stays takes over


USER_PROVENANCES = {"user_corrected", "user_stated"}  # provenances whose words nobody rewrites

MergeText = Callable[[str, str], str]
"""Puts two texts into one. What it answers is checked as anybody's words would be: see `united`."""

RelateMemories = Callable[[Memory, Memory], tuple[str, float, str] | None]
"""How two memories belong together ("relates_to", "contradicts", "none"), how sure that is (0..1),
and why.
"""


def compare_in_order(
    view: PassView, one: Memory, other: Memory, cosine: float
) -> tuple[Memory, Memory, Verdict]:
    """The older, the newer, and what the newer is to the older."""
    old, new = (one, other) if (one.at, one.id) <= (other.at, other.id) else (other, one)
    return old, new, compare_memories(old, new, cosine, wordings=view.wordings.get(old.id, ()))


def is_same_by_wordings(view: PassView, one: Memory, other: Memory, cosine: float) -> bool:
    """Whether all wordings by which the two are known show that they are the same, and nothing was
    flagged.
    """
    return not has_edge(
        view.edges, one.id, other.id, "contradicts", "supersedes"
    ) and is_same_family(
        one, view.wordings.get(one.id, ()), other, view.wordings.get(other.id, ()), cosine
    )


def merge_pair(view: PassView, one: Memory, other: Memory, cosine: float) -> PassStep | None:
    """The same thing kept twice becomes one memory, the stronger for it."""
    if one.space != other.space:
        return None
    old, new, found = compare_in_order(view, one, other, cosine)
    if not can_merge(old, new) or not (
        found.relation == "same" or is_same_by_wordings(view, old, new, cosine)
    ):
        return None
    for keep, gone in sorted(
        ((old, new), (new, old)), key=lambda two: (-two[0].trust, -two[0].strength)
    ):
        if can_replace(keep, gone, view.wordings.get(keep.id, ())):
            changes = (*plan_merge(keep, gone, view.now), *move_edges(keep, gone, view.edges))
            return PassStep(
                changes, (keep.id, gone.id), f"the same ({cosine:.2f})", (new.id, old.id, "same")
            )
    return None


def move_edges(keep: Memory, gone: Memory, edges: EdgeWeights) -> list[Change]:
    """What the one that goes was tied to, the one that stays is tied to."""
    return [
        Link(Edge(keep.id, rel, dst, weight))
        if src == gone.id
        else Link(Edge(src, rel, keep.id, weight))
        for (src, rel, dst), weight in edges.items()
        if rel in MOVED_RELATIONS
        and gone.id in (src, dst)
        and keep.id not in (src, dst)
        and not has_edge(edges, keep.id, dst if src == gone.id else src, rel)
    ]


def flag_resembling_pair(
    view: PassView, one: Memory, other: Memory, cosine: float
) -> PassStep | None:
    """Two memories that may say the same: an edge for a person to decide, to the nearest only
    (B110, B123).
    """
    if is_unquestioned(one, other) or has_edge(
        view.edges, one.id, other.id, "resembles", "contradicts", "supersedes"
    ):
        return None
    old, new, found = compare_in_order(view, one, other, cosine)
    if (
        found.relation not in ("near", "same")
        or not is_worth_review(old, new, cosine)
        or has_enough_questions(view, one, other)
    ):
        return None
    if any(src == new.id and rel == "resembles" for src, rel, _ in view.edges):
        return None
    edge = Edge(new.id, "resembles", old.id, round(min(1.0, cosine), 2))
    return PassStep(
        (Link(edge),),
        (old.id, new.id),
        f"may say the same ({cosine:.2f}): {found.why}",
        (new.id, old.id, "near"),
    )


def is_unquestioned(one: Memory, other: Memory) -> bool:
    """Whether there is no question between two: they lie in different spaces, or others wrote one
    of them.
    """
    return one.space != other.space or is_mixed_authorship(one, other)


def has_enough_questions(view: PassView, one: Memory, other: Memory) -> bool:
    """Whether a person is asked about one of two as often as may be. The edges may name memories
    that count no longer;

    so this rather keeps a question back.
    """
    pairs = {frozenset((src, dst)) for src, rel, dst in view.edges if rel in UNDECIDED_RELATIONS}
    return any(
        sum(memory.id in pair for pair in pairs) >= MAX_OPEN_CASES for memory in (one, other)
    )


@lru_cache(maxsize=8_192)
def word_starts(text: str) -> frozenset[str]:
    """How the words of a text begin: near enough to what they have in common whatever their
    endings.
    """
    return frozenset(word[:WORD_START_CHARS] for word in tokenize_query(text))


def flag_conflicting_pair(
    view: PassView, one: Memory, other: Memory, cosine: float
) -> PassStep | None:
    """Two memories that cannot both be so: flagged on both, nobody loses while its owner sleeps
    (B111, B124).

    Only within a space: what holds in one project overrides what was said for all, and takes
    nothing from it.
    """
    if is_unquestioned(one, other) or has_edge(
        view.edges, one.id, other.id, "contradicts", "supersedes"
    ):
        return None
    if cosine < NEAR_COSINE and word_starts(one.text).isdisjoint(word_starts(other.text)):
        return None
    old, new, found = compare_in_order(view, one, other, cosine)
    if found.relation not in ("contradicts", "updates") or has_enough_questions(view, one, other):
        return None
    return PassStep(
        tuple(flag_contradiction(new, old, view.now)),
        (old.id, new.id),
        found.why,
        (new.id, old.id, found.relation),
    )


def is_visible_together(one: Memory, other: Memory) -> bool:
    """Whether somebody can see both: two projects never meet."""
    return one.space in visible_spaces(other.space) or other.space in visible_spaces(one.space)


def relate_pair(
    view: PassView, one: Memory, other: Memory, relate: RelateMemories | None = None
) -> PassStep | None:
    """Two sessions met one thing: close in meaning, and a file or a rare mark in common, or as
    `relate` says (B116).
    """
    if not one.session or one.session == other.session or not is_visible_together(one, other):
        return None
    if any({src, dst} == {one.id, other.id} for src, _, dst in view.edges):
        return None
    if common := set(one.files) & set(other.files) or find_marks(one.text) & find_marks(other.text):
        return tie_memories(
            one, other, f"two sessions, one subject: {', '.join(sorted(common)[:3])}"
        )
    return relate_by_judgement(view, one, other, relate(one, other) if relate else None)


def relate_by_judgement(
    view: PassView, one: Memory, other: Memory, said: tuple[str, float, str] | None
) -> PassStep | None:
    """What follows from an opinion on how two belong together: a tie, or flags on both, for a
    person to decide.
    """
    relation, sure, why = said or ("none", 0.0, "")
    if sure < MIN_CONFIDENCE or relation == "none":
        return None
    if relation == "relates_to":
        return tie_memories(one, other, why)
    if is_unquestioned(one, other) or has_enough_questions(view, one, other):
        return None
    return PassStep(
        tuple(flag_contradiction(other, one, view.now)),
        (one.id, other.id),
        why,
        (other.id, one.id, relation),
    )


def tie_memories(one: Memory, other: Memory, why: str) -> PassStep:
    """A tie between two memories."""
    return PassStep(
        (Link(Edge(one.id, "relates_to", other.id, RELATES_WEIGHT)),), (one.id, other.id), why
    )


def merge_duplicates(
    view: PassView, merge_text: MergeText | None = None, new_id: Callable[[], str] | None = None
) -> list[PassStep]:
    """What was kept twice is kept once; with `merge_text`, also where neither of the
    two holds all.
    """

    def judge(seen: PassView, one: Memory, other: Memory, cosine: float) -> PassStep | None:
        step = merge_pair(seen, one, other, cosine)
        if step is None and merge_text is not None and new_id is not None:
            step = unite_pair(seen, one, other, cosine, merge_text, new_id)
        return step

    return visit_pairs(view, judge)


def flag_near_duplicates(view: PassView) -> list[PassStep]:
    """What may be kept twice is shown to a person."""
    return visit_pairs(view, flag_resembling_pair)


def flag_contradictions(view: PassView) -> list[PassStep]:
    """What cannot both be so is flagged."""
    return visit_pairs(view, flag_conflicting_pair)


def relate_memories(view: PassView, relate: RelateMemories | None = None) -> list[PassStep]:
    """What belongs together is tied together; with `relate`, also where it has no word
    in common.
    """
    return visit_pairs(
        view, lambda seen, one, other, _cosine: relate_pair(seen, one, other, relate)
    )


def unite_pair(
    view: PassView,
    one: Memory,
    other: Memory,
    cosine: float,
    merge_text: MergeText,
    new_id: Callable[[], str],
) -> PassStep | None:
    """Two memories that say the same, of which neither holds all, become a third that does (A80).

    What `merge_text` answers is only somebody's words: empty, partial or malformed, and nothing
    happens (CC-71). Both come from as good a source, so that the third takes nobody's place who is
    better believed; what the user said stays in the user's own words.
    """
    old, new, found = compare_in_order(view, one, other, cosine)
    if (
        old.space != new.space
        or old.kind != new.kind
        or found.relation != "same"
        or not can_merge(old, new)
    ):
        return None
    if old.trust != new.trust or {old.provenance, new.provenance} & USER_PROVENANCES:
        return None
    text = merge_text(old.text, new.text)
    if (
        not isinstance(text, str)
        or not text.strip()
        or len(text) > 2 * (len(old.text) + len(new.text))
    ):
        return None
    if not (holds_marks(text, old.text) and holds_marks(text, new.text)):
        return None
    third = apply_to_memory(old, plan_merge(old, new, view.now))._replace(
        id=new_id(), text=text, created_at=view.now, confidence=min(old.confidence, new.confidence)
    )
    gone = [
        change
        for memory in (old, new)
        for change in (
            *diff_memory(memory, mark_retired(memory, view.now, "merged", third.id)),
            Link(Edge(third.id, "derived_from", memory.id)),
            *move_edges(third, memory, view.edges),
        )
    ]
    return PassStep(
        (Add(third), *gone),
        (old.id, new.id),
        f"two wordings of one thing ({cosine:.2f})",
        (new.id, old.id, "same"),
    )
