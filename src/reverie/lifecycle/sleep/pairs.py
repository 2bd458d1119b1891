"""Passes over pairs that lie close: say the same, may say the same, contradict each other, belong together.

Merging never loses anything: the one that goes is kept as "merged" with a pointer to the one that stays, and it goes
only if the other holds every number, identifier and name of it (B109, B122). What is less sure than that becomes an
edge `resembles` for a person to decide; contradictions are flagged on both sides and nobody loses (B110, B123, B124).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from reverie.kinds import kind_of
from reverie.lifecycle.change import MOST_REINFORCEMENTS, contradicting
from reverie.lifecycle.compare import compare
from reverie.lifecycle.sleep.plan import Edges, Step, View, after, each_pair, tied
from reverie.model import Add, Change, Edge, Link, Memory, Reinforcement, Retire, Revise, lineage

MERGE, NEAR, PROBE, RELATED = 0.95, 0.80, 0.50, 0.60    # CONSTANTS: duplicate deep, on write, contradiction probe
RELATES = 0.5                                           # CONSTANTS: RelatesTo default
MOVED = ("relates_to", "about", "derived_from", "in_cluster")    # edges that the one that stays takes over
WHEN = ("valid_from", "valid_to", "expires_at")

TELLING = re.compile(r"https?://\S+|`[^`]+`|\"[^\"]+\"|\w*\d[\w.,:/%+-]*|\w+(?:[_./:@#\\-]+\w+)+|\w*[a-z][A-Z]\w*")
NAME = re.compile(r"(?<![.!?\n]\s)(?<!^)\b[A-Z]\w+")

MergeText = Callable[[str, str], str]
"""Puts two texts into one. What it answers is checked as anybody's words would be: see `united`."""


def telling(text: str) -> frozenset[str]:
    """What must not be lost of a text: its numbers, identifiers, quotations, addresses and names."""
    found = [*TELLING.findall(text), *NAME.findall(text)]
    return frozenset(mark.strip("`\".,:;").lower() for mark in found)


def holds(text: str, other: str) -> bool:
    """Whether a text holds every number, identifier and name of the other, as a word and not as a part of one."""
    said = text.lower()
    return all(re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", said) for mark in telling(other))


def replaces(keep: Memory, gone: Memory) -> bool:
    """Whether one memory can stand for another: all it says, as long, from as good a source."""
    return (holds(keep.text, gone.text) and keep.trust >= gone.trust
            and all(getattr(keep, name) == getattr(gone, name) for name in WHEN)
            and all(keep.details.get(key) == value for key, value in gone.details.items()
                    if key not in ("rule", "redacted")))


def merged(view: View, one: Memory, other: Memory, cosine: float) -> Step | None:
    """The same thing kept twice becomes one memory, the stronger for it."""
    if (one.space, one.kind) != (other.space, other.kind) or kind_of(one.kind).type == "prospective":
        return None
    old, new = in_time(one, other)
    if compare(old, new, cosine, wordings=wordings(old)).relation != "same":
        return None
    for keep, gone in sorted(((old, new), (new, old)), key=lambda two: (-two[0].trust, -two[0].strength)):
        if replaces(keep, gone):
            return Step(absorbing(keep, gone, view.now, view.edges), (keep.id, gone.id), f"the same ({cosine:.2f})")
    return None


def in_time(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """The two, the one that was said first before the other."""
    return (one, other) if (one.at, one.id) <= (other.at, other.id) else (other, one)


def wordings(memory: Memory) -> tuple[str, ...]:
    """Further texts that a memory is known by."""
    found = memory.details.get("wordings", ())
    return tuple(text for text in found if isinstance(text, str)) if isinstance(found, (list, tuple)) else ()


def absorbing(keep: Memory, gone: Memory, now: float, edges: Edges) -> tuple[Change, ...]:
    """The changes that make two memories one: what spoke for either speaks for the one that stays."""
    heard = Reinforcement(session=gone.session, at=gone.at, message=gone.messages[0] if gone.messages else None)
    trail = tuple(sorted({*keep.reinforcements, *gone.reinforcements, heard}, key=lambda r: (r.at, r.session)))
    fields: dict[str, Any] = {
        "strength": keep.strength + gone.strength, "access_count": keep.access_count + gone.access_count,
        "confidence": max(keep.confidence, gone.confidence), "salience": max(keep.salience, gone.salience),
        "last_accessed_at": max((m.last_accessed_at for m in (keep, gone) if m.last_accessed_at is not None),
                                default=None),
        "reinforcements": trail[-MOST_REINFORCEMENTS:],
        "conflicts_with": joined(keep.conflicts_with, [id for id in gone.conflicts_with if id != keep.id]),
        "updated_at": now,
        **{name: joined(getattr(keep, name), getattr(gone, name)) for name in ("tags", "files", "triggers")},
    }
    moved = [Link(Edge(keep.id, rel, dst, weight)) if src == gone.id else Link(Edge(src, rel, keep.id, weight))
             for (src, rel, dst), weight in edges.items()
             if rel in MOVED and gone.id in (src, dst) and keep.id not in (src, dst)
             and not tied(edges, keep.id, dst if src == gone.id else src, rel)]
    return (Revise(keep.id, fields), Retire(gone.id, now, why="merged", superseded_by=keep.id),
            Link(Edge(keep.id, "supersedes", gone.id)), *moved)


def joined(mine: tuple[str, ...], theirs: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Both lists, each entry once."""
    return tuple(dict.fromkeys((*mine, *theirs)))


def resembling(view: View, one: Memory, other: Memory, cosine: float) -> Step | None:
    """Two memories that may say the same: an edge for a person to decide (B110, B123)."""
    if not visible(one, other) or tied(view.edges, one.id, other.id, "resembles", "contradicts", "supersedes"):
        return None
    old, new = in_time(one, other)
    verdict = compare(old, new, cosine, wordings=wordings(old))
    if verdict.relation not in ("near", "same"):
        return None
    edge = Edge(new.id, "resembles", old.id, round(min(1.0, cosine), 2))
    return Step((Link(edge),), (old.id, new.id), f"may say the same ({cosine:.2f}): {verdict.why}")


def conflicting(view: View, one: Memory, other: Memory, cosine: float) -> Step | None:
    """Two memories that cannot both be so: flagged on both, nobody loses while its owner sleeps (B111, B124)."""
    if not visible(one, other) or tied(view.edges, one.id, other.id, "contradicts", "supersedes"):
        return None
    if not (kind_of(one.kind).contradictable and kind_of(other.kind).contradictable):
        return None
    old, new = in_time(one, other)
    verdict = compare(old, new, cosine, wordings=wordings(old))
    if verdict.relation not in ("contradicts", "updates"):
        return None
    return Step(tuple(contradicting(new, old, view.now)), (old.id, new.id), verdict.why)


def visible(one: Memory, other: Memory) -> bool:
    """Whether somebody can see both: two projects never meet."""
    return one.space in lineage(other.space) or other.space in lineage(one.space)


def related(view: View, one: Memory, other: Memory, _cosine: float) -> Step | None:
    """Two sessions met the same thing: close in meaning, and a file or a rare mark in common (B116)."""
    if not one.session or one.session == other.session or not visible(one, other):
        return None
    if any({src, dst} == {one.id, other.id} for src, _, dst in view.edges):
        return None
    common = set(one.files) & set(other.files) or telling(one.text) & telling(other.text)
    if not common:
        return None
    edge = Edge(one.id, "relates_to", other.id, RELATES)
    return Step((Link(edge),), (one.id, other.id), f"two sessions, one subject: {', '.join(sorted(common)[:3])}")


def merge(view: View, merge_text: MergeText | None = None, new_id: Callable[[], str] | None = None) -> list[Step]:
    """What was kept twice is kept once; with `merge_text`, also where neither of the two holds all."""
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


def relations(view: View) -> list[Step]:
    """What belongs together is tied together."""
    return each_pair(view, related)


def united(view: View, one: Memory, other: Memory, cosine: float, merge_text: MergeText,
           new_id: Callable[[], str]) -> Step | None:
    """Two memories that say the same, of which neither holds all, become a third that does (A80).

    What `merge_text` answers is only somebody's words: empty, partial or malformed, and nothing happens (CC-71). The
    third is no better believed than the worse of the two.
    """
    old, new = in_time(one, other)
    if (old.space, old.kind) != (new.space, new.kind) or compare(old, new, cosine).relation != "same":
        return None
    text = merge_text(old.text, new.text)
    if not isinstance(text, str) or not text.strip() or len(text) > 2 * (len(old.text) + len(new.text)):
        return None
    if not (holds(text, old.text) and holds(text, new.text)):
        return None
    both = after(old, absorbing(old, new, view.now, view.edges))._replace(
        id=new_id(), text=text, created_at=view.now, trust=min(old.trust, new.trust),
        confidence=min(old.confidence, new.confidence))
    gone = [change for memory in (old, new) for change in absorbing(both, memory, view.now, view.edges)
            if not isinstance(change, Revise)]
    return Step((Add(both), *gone), (old.id, new.id), f"two wordings of one thing ({cosine:.2f})")
