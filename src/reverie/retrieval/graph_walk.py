"""Walks over the graph of memories, tags and clusters: what a memory brings up with it.

`walk_cascade` starts from what search found (the seeds) and goes breadth-first along edges. One hop
leads from a memory to another: straight along an edge, or through a tag, a cluster or a file that
both are tied to. A hop multiplies the score by the weight of the relation and by the decay, so a
neighbour always stands below the hit that brought it. Edges are walked both ways, but `supersedes`
only towards the newer.

A shared tag says the less, the more memories carry it: with n of them seen, its weight is divided
by 1 + ln(n / 2). For two memories that alone share a tag 0.8 is left, for ten 0.31, for thirty-two
0.21. A node of very many edges costs no more than one of MAX_FAN_OUT: the heaviest are followed,
and of equal ones the newest.

`pagerank` ranks the nodes of any graph by how much leads to them, seen from some of them.

Pure: nothing here knows a store. The same edges give the same answer whatever their order, and
walks end, because a node is gone on from only when a better way to it was found and the number of
hops is bounded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.model import Edge

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RELATION_WEIGHTS = {
    "has_tag": 0.8,
    "in_cluster": 0.6,
    "supersedes": 0.9,
    "contradicts": 0.3,
    "derived_from": 0.7,
}
"""What a relation hands on of a score; an edge `relates_to` has a weight of its own."""

# What resembles, about, and any relation that is not in the table hand on.
OTHER_WEIGHT = 0.3
# What is kept of a score at each hop.
HOP_DECAY = 0.7
# These end at a tag, a cluster or a file, not at a memory.
NODE_RELATIONS = frozenset({"has_tag", "in_cluster", "about"})
# Edges that are followed from one node, and memories that one hop starts from.
MAX_FAN_OUT = 32
# Tags, clusters and files that one hop goes through, those of the best memories.
MAX_HOP_NODES = 32
# Each time that a link is made again. Below 1: only a person ties two memories for certain.
STRONGER_BY, MAX_GROWN_WEIGHT = 0.05, 0.95
# Of PageRank: the share that goes on along links, and how often.
DAMPING, ROUNDS = 0.85, 50

Neighbours = Callable[[Sequence[str]], Sequence[Edge]]
"""Edges from or to any of these nodes."""


class ReachedMemory(NamedTuple):
    """A memory that a walk came to, by its best way."""

    id: str
    score: float
    from_id: str  # the memory before it on the way
    relation: str
    via: str = ""  # the tag, cluster or file in between, if there is one


def walk_cascade(
    seeds: Mapping[str, float],
    neighbours: Neighbours,
    *,
    depth: int,
    decay: float = HOP_DECAY,
    most: int = 50,
) -> list[ReachedMemory]:
    """What the seeds lead to within `depth` hops, best first, ties by id, at most `most` (1 or
    more).

    A seed is among them only if another one gives it a higher score than its own. Seeds without
    edges, and such as nobody knows, lead to nothing.
    """
    best = dict(seeds)
    ways: dict[str, ReachedMemory] = {}
    fresh = dict(seeds)  # what the last hop found a better way to
    for _ in range(depth):
        if not fresh:
            break
        improved: dict[str, ReachedMemory] = {}
        for way in walk_one_hop(fresh, neighbours, decay):
            if way.score > best.get(way.id, 0.0):
                best[way.id] = way.score
                improved[way.id] = way
        ways |= improved
        ranked = rank_ways(ways.values())
        # No weight is above 1: what a hop leaves below this cannot come in.
        floor = ranked[most - 1].score if len(ranked) >= most else 0.0
        strongest = rank_ways(improved.values())[:MAX_FAN_OUT]
        fresh = {way.id: way.score for way in strongest if way.score * decay > floor}
    return rank_ways(ways.values())[:most]


def rank_ways(ways: Iterable[ReachedMemory]) -> list[ReachedMemory]:
    """The ways by score, best first, ties by id."""
    return sorted(ways, key=lambda way: (-way.score, way.id))


def walk_one_hop(
    start: Mapping[str, float],
    neighbours: Neighbours,
    decay: float,
) -> list[ReachedMemory]:
    """All ways of one hop from some memories, in an order that depends on nothing but the edges."""
    found: list[ReachedMemory] = []
    # Tag, cluster or file → (score that reaches it, the memory that is tied to it).
    through: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for id, edges in select_heaviest_edges(start, neighbours(tuple(start))).items():
        for edge in edges:
            other = edge.dst if edge.src == id else edge.src
            score = start[id] * edge_weight(edge)
            if edge.rel in NODE_RELATIONS:
                through[other].append((score, id))
            # What has been replaced does not come up with what replaced it.
            elif edge.rel != "supersedes" or other == edge.src:
                found.append(ReachedMemory(other, score * decay, id, edge.rel))
    found += walk_through_nodes(through, neighbours, decay)
    # Of equally good ways to a memory the first one counts.
    return sorted(
        found,
        key=lambda way: (way.score, way.from_id, way.relation, way.via),
    )


def walk_through_nodes(
    through: Mapping[str, list[tuple[float, str]]],
    neighbours: Neighbours,
    decay: float,
) -> list[ReachedMemory]:
    """The ways through the MAX_HOP_NODES best of these tags, clusters and files."""
    ranked = sorted(
        through.items(),
        key=lambda item: (-max(item[1])[0], item[0]),
    )
    nodes = dict(ranked[:MAX_HOP_NODES])
    if not nodes:
        return []
    found: list[ReachedMemory] = []
    for node, edges in select_heaviest_edges(nodes, neighbours(tuple(nodes))).items():
        found += neighbours_by_tag(node, edges, nodes[node], decay)
    return found


def neighbours_by_tag(
    node: str,
    edges: Sequence[Edge],
    tied: Sequence[tuple[float, str]],
    decay: float,
) -> list[ReachedMemory]:
    """The memories that share a tag, reached from the strongest of those already found.

    The more memories a tag has, the less it hands on.
    """
    share = decay / (1.0 + log(max(1.0, len(edges) / 2)))
    score, strongest = max(tied)
    return [
        ReachedMemory(edge.src, score * share, strongest, edge.rel, node)
        for edge in edges
        if edge.src != strongest
    ]


def edge_weight(edge: Edge) -> float:
    """The share of a score that an edge hands on, 0..1."""
    return edge.weight if edge.rel == "relates_to" else RELATION_WEIGHTS.get(edge.rel, OTHER_WEIGHT)


def select_heaviest_edges(
    nodes: Iterable[str],
    edges: Iterable[Edge],
) -> dict[str, list[Edge]]:
    """The edges of each node, the heaviest first, of equal ones the newest, at most MAX_FAN_OUT."""
    by_node: dict[str, list[Edge]] = {node: [] for node in nodes}
    for edge in set(edges):
        for node in {edge.src, edge.dst} & by_node.keys():
            by_node[node].append(edge)
    for node, node_edges in by_node.items():
        node_edges.sort(key=edge_order, reverse=True)
        by_node[node] = node_edges[:MAX_FAN_OUT]
    return by_node


def edge_order(edge: Edge) -> tuple[float, str, str, str]:
    """The sort key of edges: by weight, then by age.

    Ids sort by the moment they were made, so the greater id is the newer memory.
    """
    return edge_weight(edge), edge.src, edge.dst, edge.rel


def strengthen_weight(weight: float, first: float = 0.5) -> float:
    """The weight of a link that is made once more: `first` for a new one (0), else STRONGER_BY more
    up to MAX_GROWN_WEIGHT.

    A link that is stronger than that stays as it is.
    """
    return max(weight, min(MAX_GROWN_WEIGHT, weight + STRONGER_BY)) if weight else first


def pagerank(links: "npt.ArrayLike", start: "npt.ArrayLike") -> "npt.NDArray[np.float64]":
    """How much of the attention that begins at `start` comes to each node, as (n,) float64.

    Personalised PageRank (Page et al., 1999). A link is a row (from, to, weight). `start` has a
    value of 0 or more for each node; all 0 means the same for all. What has no links gives its
    share back to the start. The ranks sum to 1; a node's is exact to about DAMPING ** ROUNDS.
    """
    import numpy as np

    begin = np.asarray(start, float)
    size = len(begin)
    if not size:
        return begin
    begin = begin / begin.sum() if begin.sum() > 0 else np.full(size, 1 / size)
    table = np.asarray(links, float).reshape(-1, 3)
    src, dst = table[:, :2].astype(int).T
    weights = table[:, 2]
    out = np.bincount(src, weights, size)
    share = weights / out[src]
    rank = begin
    for _ in range(ROUNDS):
        flow = np.bincount(dst, rank[src] * share, size)
        dangling = rank[out == 0].sum()
        rank = DAMPING * (flow + dangling * begin) + (1 - DAMPING) * begin
    return np.asarray(rank)


def trace_led_to(
    start: str,
    links: Callable[[Sequence[str]], Iterable[Edge]],
    *,
    back: bool,
    most: int,
) -> list[str]:
    """The ids of what led to something (`back`), or of what came of it, step by step, at most
    `most`.

    Each is told once; those of one step stand in order of id. `links` gives the edges `led_to` from
    or to some memories.
    """
    found, front = {start: None}, [start]
    while front and len(found) <= most:
        step: set[str] = set()
        for edge in links(front):
            here, to = (edge.dst, edge.src) if back else (edge.src, edge.dst)
            if here in front and to not in found:
                step.add(to)
        front = sorted(step)
        found.update(dict.fromkeys(front))
    return list(found)[1 : most + 1]
