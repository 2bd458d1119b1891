"""What a person is asked about pairs of memories, and what follows from the answer. Pure: values
in, changes out.

A pair waits while both count and an edge of UNDECIDED ties them: they contradict each other, or one
may repeat the other. Every answer takes that edge away; it can be undone like anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import UNDECIDED_RELATIONS, Change, Edge, Link, Memory
from reverie.memory.memory_changes import require_visible_successor, supersede_memory
from reverie.reconciliation.merge_rules import diff_memory, plan_merge

CASE_KINDS = {"contradicts": "contradiction", "resembles": "near-duplicate"}
DECISIONS = ("one", "other", "both", "merge", "edit")
RELATED_WEIGHT = 0.5  # how strongly two are tied that were looked at together and both kept


class ReviewCase(NamedTuple):
    """Two memories about which somebody should decide."""

    kind: str  # a value of KINDS_OF_CASE
    one: Memory  # the older one
    other: Memory
    why: str  # in words
    since: float  # seconds since 1970
    event: int  # the event that tied them


def apply_decision(
    one: Memory, other: Memory, decision: str, edges: Sequence[Edge], now: float
) -> list[Change]:
    """What follows from an answer: keep "one", keep the "other", keep "both", "merge" the other
    into the one.

    After "edit" the one has been given its new text already and takes the other in.
    """
    if decision not in DECISIONS:
        raise BadInput(f"{decision!r} is not a decision; there are {', '.join(DECISIONS)}")
    one, other, undone = clear_question(one, other, edges)
    match decision:
        case "one":
            made = supersede_memory(other, one, now)
        case "other":
            made = supersede_memory(one, other, now)
        case "both":
            made = [
                Link(edge=Edge(src=one.id, rel="relates_to", dst=other.id, weight=RELATED_WEIGHT))
            ]
        case _:
            require_visible_successor(other, one)
            made = plan_merge(one, other, now)
    return [*undone, *made]


def clear_question(
    one: Memory, other: Memory, edges: Sequence[Edge]
) -> tuple[Memory, Memory, list[Change]]:
    """Both without the question between them, and the changes that take it away."""
    pair = {one.id, other.id}
    changes: list[Change] = [
        Link(edge=edge._replace(weight=0.0))
        for edge in edges
        if edge.rel in UNDECIDED_RELATIONS and {edge.src, edge.dst} == pair
    ]
    freed = [
        memory._replace(conflicts_with=tuple(id for id in memory.conflicts_with if id not in pair))
        for memory in (one, other)
    ]
    changes += [
        change
        for was, free in zip((one, other), freed, strict=True)
        for change in diff_memory(was, free)
    ]
    return freed[0], freed[1], changes
