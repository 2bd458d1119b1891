"""Tags that differ only in how they are written become one (B128), and edges of tags that nobody
carries go (B129).

Variants share a key: lower case, no hyphen, underscore, dot or blank, no plural. The one that most
memories carry stays; of equals the shorter, then the first in the alphabet.
"""

import re
from collections.abc import Callable, Mapping

from reverie.core.model import Change, Edge, Link, Memory, Revise
from reverie.reconciliation.pass_view import EdgeWeights, PassStep, PassView

SHORT_TAG_LETTERS = (
    3  # letters below which an s at the end is not taken for a plural: aws, css, tls
)
SINGULAR_ENDINGS = ("ss", "us", "is", "os", "js")  # class, status, redis, macos, nodejs
TAG_NODE_PREFIX = "tag:"


def normalize_tag(tag: str) -> str:
    """What variants of a tag share.

    >>> key("unit-tests") == key("Unit_Test")
    True
    """
    plain = re.sub(r"[\s\-_.]+", "", tag.lower()) or tag.lower()
    if (
        len(plain) <= SHORT_TAG_LETTERS
        or not plain.endswith("s")
        or plain.endswith(SINGULAR_ENDINGS)
    ):
        return plain
    return (
        plain[:-3] + "y"
        if plain.endswith("ies") and len(plain) > SHORT_TAG_LETTERS + 2
        else plain[:-1]
    )


def map_tag_variants(counts: Mapping[str, int]) -> dict[str, str]:
    """Tag → the tag that stands for it, for those that another one stands for."""
    groups: dict[str, list[str]] = {}
    for tag in counts:
        groups.setdefault(normalize_tag(tag), []).append(tag)
    best = {
        k: min(tags, key=lambda tag: (-counts[tag], len(tag), tag)) for k, tags in groups.items()
    }
    return {
        tag: best[normalize_tag(tag)] for tag in sorted(counts) if best[normalize_tag(tag)] != tag
    }


def retag_memories(view: PassView, instead: Mapping[str, str]) -> list[PassStep]:
    """Every memory that carries a variant carries the tag that stands for it."""
    return [
        PassStep(retag_memory(memory, instead, view), (memory.id,), "tags that mean the same")
        for memory in view.memories.values()
        if any(tag in instead for tag in memory.tags)
    ]


def retag_memory(memory: Memory, instead: Mapping[str, str], view: PassView) -> tuple[Change, ...]:
    """One memory with other tags. A tag's edge of an odd weight is noted, so that undo brings that
    weight back.
    """
    tags = tuple(dict.fromkeys(instead.get(tag, tag) for tag in memory.tags))
    gone = [
        Edge(memory.id, "has_tag", TAG_NODE_PREFIX + tag, 0.0)
        for tag in memory.tags
        if tag in instead
        and view.edges.get((memory.id, "has_tag", TAG_NODE_PREFIX + tag), 1.0) != 1.0
    ]
    return (*map(Link, gone), Revise(memory.id, {"tags": tags, "updated_at": view.now}))


def drop_orphan_edges(
    memories: Mapping[str, Memory], edges: EdgeWeights, carried: Callable[[str], bool]
) -> list[PassStep]:
    """Edges of a tag's node that outlived the tag: its memory carries it no more, or
    nobody does.
    """
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
    ends: tuple[str, str, str], memories: Mapping[str, Memory], carried: Callable[[str], bool]
) -> bool:
    """Whether an edge leads to a tag that is no more. What was let go keeps its tags."""
    src, rel, dst = ends
    if rel == "has_tag":
        return src in memories and dst.removeprefix(TAG_NODE_PREFIX) not in memories[src].tags
    return not all(carried(end) for end in (src, dst) if end.startswith(TAG_NODE_PREFIX))
