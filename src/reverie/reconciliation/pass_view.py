"""What a consolidation pass over memories is shown and what it answers.

A pass is a pure function: it gets a `PassView` (some active memories, the edges between them, pairs
that lie close, a moment) and returns `PassStep`s. A step is a few changes that only make sense
together, with the ids that it rests on: if one of those memories is altered before the step is
applied, the pass decides anew. Nothing here reads or writes.
"""

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
from reverie.reconciliation.merge_rules import IdPair, KnownMemory, PairRuling, is_reconcilable

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
    wordings: Mapping[str, Sequence[str]] = EMPTY_MAPPING  # further texts of a memory
    settled: frozenset[IdPair] = frozenset()  # pairs about which a person has decided

    def to_known(self, memory: Memory) -> KnownMemory:
        """A memory with the further texts by which it is known."""
        return KnownMemory(memory, self.wordings.get(memory.id, ()))


class PassStep(NamedTuple):
    """Changes that only make sense together, the memories they rest on, and the reason in words."""

    changes: tuple[Change, ...]
    rests_on: tuple[str, ...]
    why: str
    ruling: PairRuling | None = None  # what was found out about a pair


class PairInView(NamedTuple):
    """Two memories of a view, as the steps before have left them."""

    view: PassView
    one: Memory
    other: Memory
    cosine: float

    def has_edge(self, *rels: str) -> bool:
        """True if one of these relations links the two, in either direction."""
        return has_edge(
            self.view.edges,
            self.one.id,
            self.other.id,
            *rels,
        )


class ConsolidationPass(NamedTuple):
    """One pass, as a row of `sleep_passes.PASSES`."""

    name: str
    meaning: str
    over: str  # what it goes over: "pairs", "log" …
    safe: bool  # done by every consolidation unless it is told otherwise
    decide: Callable[[PassView], list[PassStep]] | None = None
    floor: float = 0.0  # the least cosine of its pairs


def index_edges(edges: Iterable[Edge]) -> dict[tuple[str, str, str], float]:
    """Edge weights by (src, rel, dst)."""
    return {(edge.src, edge.rel, edge.dst): edge.weight for edge in edges}


def has_edge(edges: EdgeWeights, one: str, other: str, *rels: str) -> bool:
    """True if one of these relations links two memories, in either direction."""
    return any((one, rel, other) in edges or (other, rel, one) in edges for rel in rels)


def apply_to_memory(memory: Memory, changes: Iterable[Change]) -> Memory:
    """The memory as these changes leave it, for the next step of the same batch."""
    for change in changes:
        match change:
            case Revise(id=id, fields=fields) if id == memory.id:
                memory = with_fields(memory, fields)
            case Retire(id=id, at=at, why=why, superseded_by=newer) if id == memory.id:
                memory = memory._replace(
                    retired_at=at,
                    retired_why=why,
                    superseded_by=newer,
                )
    return memory


def visit_pairs(
    view: PassView,
    judge: Callable[[PairInView], PassStep | None],
) -> list[PassStep]:
    """The steps that `judge` answers for the pairs of a view, in order.

    Each pair is shown as the steps before it leave it. Passed over are settled pairs and those of
    which one no longer takes part.
    """
    memories = dict(view.memories)
    edges = dict(view.edges)
    current = view._replace(memories=memories, edges=edges)
    steps: list[PassStep] = []
    for pair in view.pairs:
        both = select_pair(current, pair)
        if both is None:
            continue
        step = judge(both)
        if step is None:
            continue
        steps.append(step)
        for memory in (both.one, both.other):
            memories[memory.id] = apply_to_memory(memory, step.changes)
        edges.update(index_edges(c.edge for c in step.changes if isinstance(c, Link)))
    return steps


def select_pair(view: PassView, pair: ClosePair) -> PairInView | None:
    """A pair with its memories; None if it is settled, or one of them no longer takes part."""
    one, other = view.memories.get(pair.one), view.memories.get(pair.other)
    if one is None or other is None or frozenset((pair.one, pair.other)) in view.settled:
        return None
    if not (is_reconcilable(one, view.now) and is_reconcilable(other, view.now)):
        return None
    return PairInView(view, one, other, pair.cosine)


def render_step_diff(step: PassStep, texts: Mapping[str, str]) -> list[str]:
    """A step as a diff for people: − what goes, + what comes, = what stands for it, ~ what changes.

    `texts` are the texts of memories by id; one that is not there is named by its id.
    """
    lines = []
    for change in step.changes:
        match change:
            case Add(memory=memory):
                lines.append(f"+ {memory.text}")
            case Retire(id=id, superseded_by=newer):
                lines.append(f"− {texts.get(id, id)} ({id})")
                if newer:
                    lines.append(f"= {texts.get(newer, newer)} ({newer})")
            case Revise(id=id, fields=fields) if "tags" in fields and "strength" not in fields:
                lines.append(f"~ {id} tags: {', '.join(fields['tags'])}")
            case Revise(id=id, fields=fields):
                names = sorted(set(fields) - {"updated_at", "reinforcements"})
                lines.append(f"~ {texts.get(id, id)} ({', '.join(names)})")
            case Link(edge=edge):
                weight = f"{edge.weight:.2f}" if edge.weight else "no longer"
                lines.append(f"~ {edge.src} —{edge.rel}→ {edge.dst} ({weight})")
    return lines
