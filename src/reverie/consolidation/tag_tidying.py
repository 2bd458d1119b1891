"""Tags that differ only in how they are written become one (B128), and edges of tags that nobody
carries go (B129).

Variants share a key: lower case, no hyphen, underscore, dot or blank, no plural. The one that most
memories carry stays; of equals the shorter, then the first in the alphabet.
"""

import re
from collections.abc import Callable, Mapping

from reverie.core.model import Change, Edge, Link, Memory, Revise
from reverie.reconciliation.pass_view import Edges, Step, View

SHORT = 3  # letters below which an s at the end is not taken for a plural: aws, css, tls
NO_PLURAL = ("ss", "us", "is", "os", "js")  # class, status, redis, macos, nodejs
TAG = "tag:"


def key(tag: str) -> str:
    """What variants of a tag share.

    >>> key("unit-tests") == key("Unit_Test")
    True
    """
    plain = re.sub(r"[\s\-_.]+", "", tag.lower()) or tag.lower()
    if len(plain) <= SHORT or not plain.endswith("s") or plain.endswith(NO_PLURAL):
        return plain
    return plain[:-3] + "y" if plain.endswith("ies") and len(plain) > SHORT + 2 else plain[:-1]


def variants(counts: Mapping[str, int]) -> dict[str, str]:
    """Tag → the tag that stands for it, for those that another one stands for."""
    groups: dict[str, list[str]] = {}
    for tag in counts:
        groups.setdefault(key(tag), []).append(tag)
    best = {
        k: min(tags, key=lambda tag: (-counts[tag], len(tag), tag)) for k, tags in groups.items()
    }
    return {tag: best[key(tag)] for tag in sorted(counts) if best[key(tag)] != tag}


def retagged(view: View, instead: Mapping[str, str]) -> list[Step]:
    """Every memory that carries a variant carries the tag that stands for it."""
    return [
        Step(renamed(memory, instead, view), (memory.id,), "tags that mean the same")
        for memory in view.memories.values()
        if any(tag in instead for tag in memory.tags)
    ]


def renamed(memory: Memory, instead: Mapping[str, str], view: View) -> tuple[Change, ...]:
    """One memory with other tags. A tag's edge of an odd weight is noted, so that undo brings that
    weight back.
    """
    tags = tuple(dict.fromkeys(instead.get(tag, tag) for tag in memory.tags))
    gone = [
        Edge(memory.id, "has_tag", TAG + tag, 0.0)
        for tag in memory.tags
        if tag in instead and view.edges.get((memory.id, "has_tag", TAG + tag), 1.0) != 1.0
    ]
    return (*map(Link, gone), Revise(memory.id, {"tags": tags, "updated_at": view.now}))


def orphans(
    memories: Mapping[str, Memory], edges: Edges, carried: Callable[[str], bool]
) -> list[Step]:
    """Edges of a tag's node that outlived the tag: its memory carries it no more, or
    nobody does.
    """
    return [
        Step(
            (Link(Edge(*ends, 0.0)),),
            tuple(id for id in ends[::2] if id in memories),
            "nobody carries the tag",
        )
        for ends in edges
        if outlived(ends, memories, carried)
    ]


def outlived(
    ends: tuple[str, str, str], memories: Mapping[str, Memory], carried: Callable[[str], bool]
) -> bool:
    """Whether an edge leads to a tag that is no more. What was let go keeps its tags."""
    src, rel, dst = ends
    if rel == "has_tag":
        return src in memories and dst.removeprefix(TAG) not in memories[src].tags
    return not all(carried(end) for end in (src, dst) if end.startswith(TAG))
