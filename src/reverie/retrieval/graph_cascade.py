"""What the best hits bring up with them: their neighbours in the graph, below the hit that brought
each.

A stage like the others: hits in, hits out. It starts from the best hits, follows tags, clusters and
links as `graph_walk.walk_cascade` does, and adds what counts, may be seen and fits the filters. A
neighbour that was found anyway keeps the better of its two scores and both reasons. What
contradicts a hit comes along flagged, however good the other answers are, so that whoever reads a
belief sees that it is disputed.
"""

from collections.abc import Sequence

from reverie.core.kinds import EXPLICIT_KINDS
from reverie.core.model import Edge, Hit, Memory
from reverie.retrieval.graph_walk import MAX_FAN_OUT, ReachedMemory, walk_cascade
from reverie.retrieval.rescoring import mark_outdated, sort_hits
from reverie.retrieval.search_query import SearchQuery, filter_admissible
from reverie.storage import Store

# Neighbours that one question may bring up.
MAX_NEIGHBOURS = 50
# Neighbours that are looked at where a filter leaves out some of them.
MAX_FILTERED_NEIGHBOURS = 200
# Of so many answers, one place may go to what contradicts them.
HITS_PER_DISPUTE = 5


def add_graph_neighbours(
    store: Store,
    hits: Sequence[Hit],
    query: SearchQuery,
    first: Sequence[Edge],
    seeds: int,
) -> list[Hit]:
    """The hits with the graph neighbours of the `seeds` best, best first, ties by id.

    `first` are the edges around those best.
    """
    start = {hit.memory.id: hit.score for hit in hits[:seeds]}

    def neighbours(nodes: Sequence[str]) -> Sequence[Edge]:
        if nodes == tuple(start):  # the caller has read these already
            return first
        return store.edges_around(nodes, query.spaces, MAX_FAN_OUT)

    filtered = query.kinds or query.tags or query.without != EXPLICIT_KINDS
    most = MAX_FILTERED_NEIGHBOURS if filtered else MAX_NEIGHBOURS
    reached = walk_cascade(
        start,
        neighbours,
        depth=query.depth,
        decay=query.decay,
        most=most,
    )
    ways = {way.id: way for way in reached}
    ranked = {hit.memory.id for hit in hits}
    unranked = store.get([id for id in ways if id not in ranked])
    new = [Hit(memory, 0.0) for memory in unranked]
    every = [*hits, *filter_admissible(new, query)]
    return sort_hits(merge_way_into_hit(hit, ways.get(hit.memory.id), first) for hit in every)


def find_graph_neighbours(
    store: Store,
    memory: Memory,
    query: SearchQuery,
) -> list[Hit]:
    """The neighbourhood of one memory in the graph, nearest first, whatever is asked."""
    edges = store.edges_around([memory.id], query.spaces, MAX_FAN_OUT)
    found = add_graph_neighbours(store, [Hit(memory, 1.0)], query, edges, 1)
    others = [hit for hit in found if hit.memory.id != memory.id]
    return mark_outdated(others[: query.limit], query.now)


def merge_way_into_hit(
    hit: Hit,
    way: ReachedMemory | None,
    edges: Sequence[Edge],
) -> Hit:
    """The hit with the way that leads to it, if any, and a note of what it replaces or
    contradicts.
    """
    score = hit.score
    why = [*hit.why, *list_relation_notes(hit.memory.id, edges)]
    if way is not None:
        score = max(score, way.score)
        if way.relation != "contradicts":  # that is among the notes
            why.append(describe_way(way))
    return Hit(hit.memory, score, tuple(dict.fromkeys(why)))


def list_relation_notes(id: str, edges: Sequence[Edge]) -> list[str]:
    """What a reader of this memory must know, whichever way led to it: what it replaces or
    contradicts.
    """
    replaced, disputed = [], []
    for edge in edges:
        if edge.rel == "supersedes" and edge.src == id:
            replaced.append(f"supersedes {edge.dst}")
        elif edge.rel == "contradicts" and id in (edge.src, edge.dst):
            disputed.append(f"contradicts {edge.dst if edge.src == id else edge.src}")
    return replaced + disputed


def describe_way(way: ReachedMemory) -> str:
    """Why a neighbour is there, in words."""
    if way.via:
        return f"shares {way.via} with {way.from_id}"
    return f"linked to {way.from_id} by {way.relation}"


def add_disputed_hits(
    shown: Sequence[Hit],
    hits: Sequence[Hit],
    limit: int,
) -> list[Hit]:
    """The answer `shown`, where one place of every HITS_PER_DISPUTE may go to what contradicts it.

    Places that are free anyway may be taken too. `hits` are all that were ranked, best first.
    """
    notes = {f"contradicts {hit.memory.id}" for hit in shown}
    shown_ids = {hit.memory.id for hit in shown}
    against = [
        hit for hit in hits if hit.memory.id not in shown_ids and not notes.isdisjoint(hit.why)
    ]
    # Places that are free cost nobody anything.
    against = against[: max(limit // HITS_PER_DISPUTE, limit - len(shown))]
    return [*shown[: limit - len(against)], *against]
