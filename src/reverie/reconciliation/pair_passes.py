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

from reverie.core.model import UNDECIDED, Add, Change, Edge, Link, Memory, lineage
from reverie.memory.memory_changes import contradicting
from reverie.reconciliation.merge_rules import (
    MOST_CASES,
    altered,
    may_merge,
    merging,
    mixed,
    one_family,
    retired,
    worth_a_look,
)
from reverie.reconciliation.model_opinion import SURE
from reverie.reconciliation.paraphrase.statement_comparison import Verdict, compare
from reverie.reconciliation.pass_view import Edges, Step, View, after, each_pair, tied
from reverie.reconciliation.stand_in_rules import holds, replaces, telling
from reverie.text.tokenization import query_terms

# CONSTANTS: duplicate deep, on write, contradiction probe
MERGE, NEAR, PROBE, RELATED = (
    0.95,
    0.80,
    0.50,
    0.60,
)
BEGINNING = 5
"""Letters by which words are taken for one. Pairs farther than NEAR without such a word in common
are not read: of 355 labelled contradictions and updates (bench/reconcile) one is missed by it, and
most of the time is saved.
"""
RELATES = 0.5  # CONSTANTS: RelatesTo default
MOVED = ("relates_to", "about", "in_cluster")  # edges that the one that stays takes over


USERS_OWN = {"user_corrected", "user_stated"}  # provenances whose words nobody rewrites

MergeText = Callable[[str, str], str]
"""Puts two texts into one. What it answers is checked as anybody's words would be: see `united`."""

Relate = Callable[[Memory, Memory], tuple[str, float, str] | None]
"""How two memories belong together ("relates_to", "contradicts", "none"), how sure that is (0..1),
and why.
"""


def verdict(
    view: View, one: Memory, other: Memory, cosine: float
) -> tuple[Memory, Memory, Verdict]:
    """The older, the newer, and what the newer is to the older."""
    old, new = (one, other) if (one.at, one.id) <= (other.at, other.id) else (other, one)
    return old, new, compare(old, new, cosine, wordings=view.wordings.get(old.id, ()))


def kin(view: View, one: Memory, other: Memory, cosine: float) -> bool:
    """Whether all wordings by which the two are known show that they are the same, and nothing was
    flagged.
    """
    return not tied(view.edges, one.id, other.id, "contradicts", "supersedes") and one_family(
        one, view.wordings.get(one.id, ()), other, view.wordings.get(other.id, ()), cosine
    )


def merged(view: View, one: Memory, other: Memory, cosine: float) -> Step | None:
    """The same thing kept twice becomes one memory, the stronger for it."""
    if one.space != other.space:
        return None
    old, new, found = verdict(view, one, other, cosine)
    if not may_merge(old, new) or not (found.relation == "same" or kin(view, old, new, cosine)):
        return None
    for keep, gone in sorted(
        ((old, new), (new, old)), key=lambda two: (-two[0].trust, -two[0].strength)
    ):
        if replaces(keep, gone, view.wordings.get(keep.id, ())):
            changes = (*merging(keep, gone, view.now), *moved(keep, gone, view.edges))
            return Step(
                changes, (keep.id, gone.id), f"the same ({cosine:.2f})", (new.id, old.id, "same")
            )
    return None


def moved(keep: Memory, gone: Memory, edges: Edges) -> list[Change]:
    """What the one that goes was tied to, the one that stays is tied to."""
    return [
        Link(Edge(keep.id, rel, dst, weight))
        if src == gone.id
        else Link(Edge(src, rel, keep.id, weight))
        for (src, rel, dst), weight in edges.items()
        if rel in MOVED
        and gone.id in (src, dst)
        and keep.id not in (src, dst)
        and not tied(edges, keep.id, dst if src == gone.id else src, rel)
    ]


def resembling(view: View, one: Memory, other: Memory, cosine: float) -> Step | None:
    """Two memories that may say the same: an edge for a person to decide, to the nearest only
    (B110, B123).
    """
    if apart(one, other) or tied(
        view.edges, one.id, other.id, "resembles", "contradicts", "supersedes"
    ):
        return None
    old, new, found = verdict(view, one, other, cosine)
    if (
        found.relation not in ("near", "same")
        or not worth_a_look(old, new, cosine)
        or enough(view, one, other)
    ):
        return None
    if any(src == new.id and rel == "resembles" for src, rel, _ in view.edges):
        return None
    edge = Edge(new.id, "resembles", old.id, round(min(1.0, cosine), 2))
    return Step(
        (Link(edge),),
        (old.id, new.id),
        f"may say the same ({cosine:.2f}): {found.why}",
        (new.id, old.id, "near"),
    )


def apart(one: Memory, other: Memory) -> bool:
    """Whether there is no question between two: they lie in different spaces, or others wrote one
    of them.
    """
    return one.space != other.space or mixed(one, other)


def enough(view: View, one: Memory, other: Memory) -> bool:
    """Whether a person is asked about one of two as often as may be. The edges may name memories
    that count no longer;

    so this rather keeps a question back.
    """
    pairs = {frozenset((src, dst)) for src, rel, dst in view.edges if rel in UNDECIDED}
    return any(sum(memory.id in pair for pair in pairs) >= MOST_CASES for memory in (one, other))


@lru_cache(maxsize=8_192)
def beginnings(text: str) -> frozenset[str]:
    """How the words of a text begin: near enough to what they have in common whatever their
    endings.
    """
    return frozenset(word[:BEGINNING] for word in query_terms(text))


def conflicting(view: View, one: Memory, other: Memory, cosine: float) -> Step | None:
    """Two memories that cannot both be so: flagged on both, nobody loses while its owner sleeps
    (B111, B124).

    Only within a space: what holds in one project overrides what was said for all, and takes
    nothing from it.
    """
    if apart(one, other) or tied(view.edges, one.id, other.id, "contradicts", "supersedes"):
        return None
    if cosine < NEAR and beginnings(one.text).isdisjoint(beginnings(other.text)):
        return None
    old, new, found = verdict(view, one, other, cosine)
    if found.relation not in ("contradicts", "updates") or enough(view, one, other):
        return None
    return Step(
        tuple(contradicting(new, old, view.now)),
        (old.id, new.id),
        found.why,
        (new.id, old.id, found.relation),
    )


def visible(one: Memory, other: Memory) -> bool:
    """Whether somebody can see both: two projects never meet."""
    return one.space in lineage(other.space) or other.space in lineage(one.space)


def related(view: View, one: Memory, other: Memory, relate: Relate | None = None) -> Step | None:
    """Two sessions met one thing: close in meaning, and a file or a rare mark in common, or as
    `relate` says (B116).
    """
    if not one.session or one.session == other.session or not visible(one, other):
        return None
    if any({src, dst} == {one.id, other.id} for src, _, dst in view.edges):
        return None
    if common := set(one.files) & set(other.files) or telling(one.text) & telling(other.text):
        return bound(one, other, f"two sessions, one subject: {', '.join(sorted(common)[:3])}")
    return inferred(view, one, other, relate(one, other) if relate else None)


def inferred(
    view: View, one: Memory, other: Memory, said: tuple[str, float, str] | None
) -> Step | None:
    """What follows from an opinion on how two belong together: a tie, or flags on both, for a
    person to decide.
    """
    relation, sure, why = said or ("none", 0.0, "")
    if sure < SURE or relation == "none":
        return None
    if relation == "relates_to":
        return bound(one, other, why)
    if apart(one, other) or enough(view, one, other):
        return None
    return Step(
        tuple(contradicting(other, one, view.now)),
        (one.id, other.id),
        why,
        (other.id, one.id, relation),
    )


def bound(one: Memory, other: Memory, why: str) -> Step:
    """A tie between two memories."""
    return Step((Link(Edge(one.id, "relates_to", other.id, RELATES)),), (one.id, other.id), why)


def merge(
    view: View, merge_text: MergeText | None = None, new_id: Callable[[], str] | None = None
) -> list[Step]:
    """What was kept twice is kept once; with `merge_text`, also where neither of the
    two holds all.
    """

    def judge(seen: View, one: Memory, other: Memory, cosine: float) -> Step | None:
        step = merged(seen, one, other, cosine)
        if step is None and merge_text is not None and new_id is not None:
            step = united(seen, one, other, cosine, merge_text, new_id)
        return step

    return each_pair(view, judge)


def redundancy(view: View) -> list[Step]:
    """What may be kept twice is shown to a person."""
    return each_pair(view, resembling)


def contradictions(view: View) -> list[Step]:
    """What cannot both be so is flagged."""
    return each_pair(view, conflicting)


def relations(view: View, relate: Relate | None = None) -> list[Step]:
    """What belongs together is tied together; with `relate`, also where it has no word
    in common.
    """
    return each_pair(view, lambda seen, one, other, _cosine: related(seen, one, other, relate))


def united(
    view: View,
    one: Memory,
    other: Memory,
    cosine: float,
    merge_text: MergeText,
    new_id: Callable[[], str],
) -> Step | None:
    """Two memories that say the same, of which neither holds all, become a third that does (A80).

    What `merge_text` answers is only somebody's words: empty, partial or malformed, and nothing
    happens (CC-71). Both come from as good a source, so that the third takes nobody's place who is
    better believed; what the user said stays in the user's own words.
    """
    old, new, found = verdict(view, one, other, cosine)
    if (
        old.space != new.space
        or old.kind != new.kind
        or found.relation != "same"
        or not may_merge(old, new)
    ):
        return None
    if old.trust != new.trust or {old.provenance, new.provenance} & USERS_OWN:
        return None
    text = merge_text(old.text, new.text)
    if (
        not isinstance(text, str)
        or not text.strip()
        or len(text) > 2 * (len(old.text) + len(new.text))
    ):
        return None
    if not (holds(text, old.text) and holds(text, new.text)):
        return None
    third = after(old, merging(old, new, view.now))._replace(
        id=new_id(), text=text, created_at=view.now, confidence=min(old.confidence, new.confidence)
    )
    gone = [
        change
        for memory in (old, new)
        for change in (
            *altered(memory, retired(memory, view.now, "merged", third.id)),
            Link(Edge(third.id, "derived_from", memory.id)),
            *moved(third, memory, view.edges),
        )
    ]
    return Step(
        (Add(third), *gone),
        (old.id, new.id),
        f"two wordings of one thing ({cosine:.2f})",
        (new.id, old.id, "same"),
    )
