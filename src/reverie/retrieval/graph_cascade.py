"""What the best hits bring up with them: their neighbours in the graph, below the hit that brought
each.

A stage like the others: hits in, hits out. It starts from the ten best (B34), follows tags,
clusters and links as `graph.cascade` does, and adds what counts, may be seen and fits the filters.
A neighbour that was found anyway keeps the better of its two scores and both reasons. What
contradicts a hit comes along flagged, however good the other answers are, so that whoever reads a
belief sees that it is disputed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.core.kinds import EXPLICIT_KINDS
from reverie.core.model import Edge, Hit, Memory
from reverie.retrieval.graph_walk import MAX_FAN_OUT, ReachedMemory, walk_cascade
from reverie.retrieval.rescoring import mark_outdated

if TYPE_CHECKING:
    from reverie.retrieval.search_query import SearchQuery
    from reverie.storage import Store

MAX_NEIGHBOURS = 50  # neighbours that one question may bring up
MAX_FILTERED_NEIGHBOURS = 200  # and that are looked at where a filter leaves out some of them
HITS_PER_DISPUTE = 5  # of so many answers, one place may go to what contradicts them


def add_graph_neighbours(
    store: "Store", hits: Sequence[Hit], query: "SearchQuery", first: Sequence[Edge], seeds: int
) -> list[Hit]:
    """Hits with what their `seeds` best bring up, best first; `first` are the edges
    around those.
    """
    from reverie.retrieval.search_query import is_admissible

    start = {hit.memory.id: hit.score for hit in hits[:seeds]}
    known = {tuple(start): list(first)}  # the caller has asked for these already

    def neighbours(nodes: Sequence[str]) -> Sequence[Edge]:
        asked = tuple(nodes)
        return (
            known[asked] if asked in known else store.edges_around(nodes, query.spaces, MAX_FAN_OUT)
        )

    most = (
        MAX_FILTERED_NEIGHBOURS
        if query.kinds or query.tags or query.without != EXPLICIT_KINDS
        else MAX_NEIGHBOURS
    )
    ways = {
        way.id: way
        for way in walk_cascade(start, neighbours, depth=query.depth, decay=query.decay, most=most)
    }
    there = {hit.memory.id for hit in hits}
    found = [
        *hits,
        *(
            Hit(memory, 0.0)
            for memory in store.get([id for id in ways if id not in there])
            if is_admissible(memory, query)
        ),
    ]
    told = [merge_way_into_hit(hit, ways.get(hit.memory.id), first) for hit in found]
    return sorted(told, key=lambda hit: (-hit.score, hit.memory.id))


def find_graph_neighbours(store: "Store", memory: Memory, query: "SearchQuery") -> list[Hit]:
    """What one memory brings up by itself, whatever is asked: its neighbourhood, nearest first."""
    edges = store.edges_around([memory.id], query.spaces, MAX_FAN_OUT)
    found = add_graph_neighbours(store, [Hit(memory, 1.0)], query, edges, 1)
    return mark_outdated([hit for hit in found if hit.memory.id != memory.id][: query.limit])


def merge_way_into_hit(hit: Hit, way: ReachedMemory | None, edges: Sequence[Edge]) -> Hit:
    """A hit with the way that leads to it, and what it replaces or contradicts, if anything."""
    score, why = hit.score, [*hit.why, *list_relation_notes(hit.memory.id, edges)]
    if way is not None:
        score = max(score, way.score)
        if way.relation != "contradicts":  # that is among the notes
            why.append(describe_way(way))
    return Hit(hit.memory, score, tuple(dict.fromkeys(why)))


def list_relation_notes(id: str, edges: Sequence[Edge]) -> list[str]:
    """What a reader of this memory must know, whichever way led to it."""
    replaced = [
        f"supersedes {edge.dst}" for edge in edges if edge.rel == "supersedes" and edge.src == id
    ]
    return replaced + [
        f"contradicts {edge.dst if edge.src == id else edge.src}"
        for edge in edges
        if edge.rel == "contradicts" and id in (edge.src, edge.dst)
    ]


def describe_way(way: ReachedMemory) -> str:
    """Why a neighbour is there, in words."""
    if way.via:
        return f"shares {way.via} with {way.from_id}"
    return f"linked to {way.from_id} by {way.relation}"


def add_disputed_hits(shown: Sequence[Hit], hits: Sequence[Hit], limit: int) -> list[Hit]:
    """An answer in which one place of every DISPUTES may go to what contradicts something in it."""
    told = {f"contradicts {hit.memory.id}" for hit in shown}
    there = {hit.memory.id for hit in shown}
    against = [hit for hit in hits if hit.memory.id not in there and not told.isdisjoint(hit.why)]
    against = against[: max(limit // HITS_PER_DISPUTE, limit - len(shown))]
    return [*shown[: limit - len(against)], *against]
