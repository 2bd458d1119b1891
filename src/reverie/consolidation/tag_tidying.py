"""Variants of a tag are merged, and edges of tags that no memory carries are removed.

Variants share a key: lower case, no hyphen, underscore, dot or blank, no plural. The one that most
memories carry stays; of equals the shorter, then the first in the alphabet.
"""

import re
from collections.abc import Callable, Mapping

from reverie.core.model import Change, Edge, Link, Memory, Revise
from reverie.reconciliation.pass_view import EdgeWeights, PassStep, PassView

# In so short a tag an s at the end is not taken for a plural: aws, css, tls.
SHORT_TAG_LETTERS = 3
# class, status, redis, macos, nodejs
SINGULAR_ENDINGS = ("ss", "us", "is", "os", "js")
TAG_NODE_PREFIX = "tag:"


def normalize_tag(tag: str) -> str:
    """The key that variants of a tag share.

    >>> normalize_tag("unit-tests") == normalize_tag("Unit_Test")
    True
    """
    plain = re.sub(r"[\s\-_.]+", "", tag.lower()) or tag.lower()
    if len(plain) <= SHORT_TAG_LETTERS or not plain.endswith("s"):
        return plain
    if plain.endswith(SINGULAR_ENDINGS):
        return plain
    if plain.endswith("ies") and len(plain) > SHORT_TAG_LETTERS + 2:
        return plain[:-3] + "y"
    return plain[:-1]


def map_tag_variants(counts: Mapping[str, int]) -> dict[str, str]:
    """Tag → the tag that stands for it, for those that another one stands for."""
    groups: dict[str, list[str]] = {}
    for tag in counts:
        groups.setdefault(normalize_tag(tag), []).append(tag)
    instead: dict[str, str] = {}
    for tags in groups.values():
        best = min(
            tags,
            key=lambda tag: (-counts[tag], len(tag), tag),
        )
        instead |= {tag: best for tag in tags if tag != best}
    return dict(sorted(instead.items()))


def retag_memories(view: PassView, instead: Mapping[str, str]) -> list[PassStep]:
    """Steps that replace variants by the tag that stands for them."""
    return [
        PassStep(retag_memory(memory, instead, view), (memory.id,), "tags that mean the same")
        for memory in view.memories.values()
        if any(tag in instead for tag in memory.tags)
    ]


def retag_memory(
    memory: Memory,
    instead: Mapping[str, str],
    view: PassView,
) -> tuple[Change, ...]:
    """The changes that give one memory other tags.

    A tag's edge of an odd weight is removed by itself, so that undo brings that weight back.
    """
    changes: list[Change] = []
    for tag in memory.tags:
        ends = memory.id, "has_tag", TAG_NODE_PREFIX + tag
        if tag in instead and view.edges.get(ends, 1.0) != 1.0:
            changes.append(Link(Edge(*ends, 0.0)))
    tags = tuple(dict.fromkeys(instead.get(tag, tag) for tag in memory.tags))
    return (
        *changes,
        Revise(
            memory.id,
            {"tags": tags, "updated_at": view.now},
        ),
    )


def drop_orphan_edges(
    memories: Mapping[str, Memory],
    edges: EdgeWeights,
    carried: Callable[[str], bool],
) -> list[PassStep]:
    """Steps that remove edges of a tag's node whose memory, or any memory, carries it no more."""
    return [
        PassStep(
            (Link(Edge(*ends, 0.0)),),
            tuple(id for id in ends[::2] if id in memories),
            "nobody carries the tag",
        )
        for ends in edges
        if is_orphan_edge(ends, memories, carried)
    ]


def is_orphan_edge(
    ends: tuple[str, str, str],
    memories: Mapping[str, Memory],
    carried: Callable[[str], bool],
) -> bool:
    """True if an edge leads to a tag that is no more. Retired memories keep their tags."""
    src, rel, dst = ends
    if rel == "has_tag":
        return src in memories and dst.removeprefix(TAG_NODE_PREFIX) not in memories[src].tags
    return not all(carried(end) for end in (src, dst) if end.startswith(TAG_NODE_PREFIX))
