"""What a person is asked about pairs of memories, and the changes that follow from the answer.

A pair waits while both are active and an edge of UNDECIDED_RELATIONS ties them: they contradict
each other, or one may repeat the other. Every answer takes that edge away. Pure: values in, changes
out; a decision can be undone like any other event.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import UNDECIDED_RELATIONS, Change, Edge, Link, Memory
from reverie.memory.memory_changes import require_visible_successor, supersede_memory

CASE_KINDS = {"contradicts": "contradiction", "resembles": "near-duplicate"}
DECISIONS = ("one", "other", "both", "merge", "edit")


class ReviewCase(NamedTuple):
    """Two memories about which somebody should decide."""

    kind: str  # a value of CASE_KINDS
    one: Memory  # the older one
    other: Memory
    why: str  # in words
    since: float  # seconds since 1970
    event: int  # the event that tied them


def apply_decision(
    one: Memory,
    other: Memory,
    decision: str,
    edges: Sequence[Edge],
    now: float,
) -> list[Change]:
    """The changes of an answer: keep "one", keep the "other", keep "both", or "merge" the other
    into the one.

    After "edit" the one has been given its new text already and takes the other in. BadInput for
    any other word.
    """
    if decision not in DECISIONS:
        raise BadInput(f"{decision!r} is not a decision; there are {', '.join(DECISIONS)}")
    # Whoever only looks at questions needs none of the rules: a tenth of a second to load.
    from reverie.reconciliation.merge_rules import RELATES_WEIGHT, plan_merge

    one, other, untied = clear_question(one, other, edges)
    match decision:
        case "one":
            changes = supersede_memory(other, one, now)
        case "other":
            changes = supersede_memory(one, other, now)
        case "both":
            changes = [Link(Edge(one.id, "relates_to", other.id, RELATES_WEIGHT))]
        case _:
            require_visible_successor(other, one)
            changes = plan_merge(one, other, now)
    return [*untied, *changes]


def clear_question(
    one: Memory,
    other: Memory,
    edges: Sequence[Edge],
) -> tuple[Memory, Memory, list[Change]]:
    """Both memories without the question between them, and the changes that take it away."""
    from reverie.reconciliation.merge_rules import diff_memory

    pair = {one.id, other.id}
    changes: list[Change] = [
        Link(edge._replace(weight=0.0))
        for edge in edges
        if edge.rel in UNDECIDED_RELATIONS and {edge.src, edge.dst} == pair
    ]
    cleared = []
    for memory in (one, other):
        conflicts = tuple(id for id in memory.conflicts_with if id not in pair)
        cleared.append(memory._replace(conflicts_with=conflicts))
        changes += diff_memory(memory, cleared[-1])
    return cleared[0], cleared[1], changes
