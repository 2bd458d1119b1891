"""What a pass of sleep is shown and what it answers.

A pass is a pure function: it gets a `View` (some memories that count, the edges between them, pairs
that lie close, a moment) and returns `Step`s. A step is a few changes that only make sense
together, with the ids that it rests on: if one of those memories is altered before the step is made
so, the pass decides anew. Nothing here reads or writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from reverie.core.model import (
    EMPTY_MAPPING,
    Add,
    Change,
    Edge,
    Link,
    Memory,
    Retire,
    Revise,
    with_fields,
)
from reverie.reconciliation.merge_rules import is_reconcilable

EdgeWeights = Mapping[tuple[str, str, str], float]  # (src, rel, dst) → weight


class ClosePair(NamedTuple):
    """Two memories whose vectors lie close; `one` is the older id."""

    one: str
    other: str
    cosine: float


class PassView(NamedTuple):
    """What a pass is shown: a batch, never the whole store."""

    now: float
    memories: Mapping[str, Memory]
    edges: EdgeWeights = MappingProxyType({})
    pairs: Sequence[ClosePair] = ()
    wordings: Mapping[str, Sequence[str]] = EMPTY_MAPPING  # further texts that a memory is known by
    settled: frozenset[frozenset[str]] = frozenset()  # pairs about which a person has decided


class PassStep(NamedTuple):
    """Changes that only make sense together, the memories they rest on, and the reason in words."""

    changes: tuple[Change, ...]
    rests_on: tuple[str, ...]
    why: str
    # what was found about a pair: (new, old, "same", "near" …)
    ruling: tuple[str, str, str] | None = None


class ConsolidationPass(NamedTuple):
    """One kind of tidying, as a row of `PASSES`."""

    name: str
    meaning: str
    over: str  # a key of `settle.sleeping.rounds.OVER`
    safe: bool  # whether sleep does it by itself, unless it is told otherwise
    decide: Callable[[PassView], list[PassStep]] | None = None
    floor: float = 0.0  # the least cosine of its pairs


def index_edges(edges: Iterable[Edge]) -> dict[tuple[str, str, str], float]:
    """Edges by their ends."""
    return {(edge.src, edge.rel, edge.dst): edge.weight for edge in edges}


def has_edge(edges: EdgeWeights, one: str, other: str, *rels: str) -> bool:
    """Whether two memories are tied by one of these relations, in either direction."""
    return any((a, rel, b) in edges for rel in rels for a, b in ((one, other), (other, one)))


def apply_to_memory(memory: Memory, changes: Iterable[Change]) -> Memory:
    """The memory as these changes leave it: the next step of the same batch sees it so."""
    for change in changes:
        match change:
            case Revise(id=id, fields=fields) if id == memory.id:
                memory = with_fields(memory, fields)
            case Retire(id=id, at=at, why=why, superseded_by=newer) if id == memory.id:
                memory = memory._replace(retired_at=at, retired_why=why, superseded_by=newer)
    return memory


def visit_pairs(
    view: PassView, judge: Callable[[PassView, Memory, Memory, float], PassStep | None]
) -> list[PassStep]:
    """Ask `judge` about every pair worth a look: both take part after the steps before it, nobody
    has decided.
    """
    there, edges, steps = dict(view.memories), dict(view.edges), list[PassStep]()
    seen = view._replace(memories=there, edges=edges)
    for pair in view.pairs:
        one, other = there.get(pair.one), there.get(pair.other)
        if one is None or other is None or frozenset((pair.one, pair.other)) in view.settled:
            continue
        if not (is_reconcilable(one, view.now) and is_reconcilable(other, view.now)):
            continue
        step = judge(seen, one, other, pair.cosine)
        if step is None:
            continue
        steps.append(step)
        there.update(
            {id: apply_to_memory(there[id], step.changes) for id in (pair.one, pair.other)}
        )
        edges.update(
            index_edges(change.edge for change in step.changes if isinstance(change, Link))
        )
    return steps


def render_step_diff(step: PassStep, texts: Mapping[str, str]) -> list[str]:
    """A step as a diff for people: − what goes, + what comes, = what stands for what goes, ~ what
    is altered.
    """
    lines = []
    for change in step.changes:
        match change:
            case Add(memory=memory):
                lines.append(f"+ {memory.text}")
            case Retire(id=id, superseded_by=newer):
                lines.append(f"− {texts.get(id, id)} ({id})")
                lines += [f"= {texts.get(newer, newer)} ({newer})"] if newer else []
            case Revise(id=id, fields=fields) if "tags" in fields and "strength" not in fields:
                lines.append(f"~ {id} tags: {', '.join(fields['tags'])}")
            case Revise(id=id, fields=fields):
                names = sorted(set(fields) - {"updated_at", "reinforcements"})
                lines.append(f"~ {texts.get(id, id)} ({', '.join(names)})")
            case Link(edge=edge):
                how = f"{edge.weight:.2f}" if edge.weight else "no longer"
                lines.append(f"~ {edge.src} —{edge.rel}→ {edge.dst} ({how})")
    return lines
