"""What a memory has to do with others, for who wants to go there. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reverie.core.model import Edge, Memory
from reverie.memory.explanation import RELATION_PHRASES


class Relation(NamedTuple):
    """One end of a link, and how the sentence about it begins."""

    phrase: str
    end: str  # the id of a memory, or the name of a tag, a group, a file
    memory: Memory | None  # None where the end is no memory
    weight: float
    stands_on_it: bool  # it was made from this memory, or holds because of it


def list_relations(
    memory: Memory, edges: Sequence[Edge], others: Mapping[str, Memory]
) -> list[Relation]:
    """The links of a memory, strongest first; tags, which stand with the memory, are left out."""
    found = []
    for edge in sorted(edges, key=lambda edge: (-edge.weight, edge.src, edge.dst)):
        if edge.rel == "has_tag":
            continue
        is_source = edge.src == memory.id
        end = edge.dst if is_source else edge.src
        key = (edge.rel, is_source or (edge.rel, False) not in RELATION_PHRASES)
        found.append(
            Relation(
                RELATION_PHRASES.get(key, "It is tied to").rstrip(":"),
                end,
                others.get(end),
                edge.weight,
                not is_source and edge.rel in ("derived_from", "depends_on"),
            )
        )
    return found
