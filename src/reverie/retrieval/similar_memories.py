"""More like this one: by embedding, and by the tags, clusters and links that it shares with
others.
"""

from reverie.core.model import Hit, Memory
from reverie.retrieval import search_memories
from reverie.retrieval.graph_cascade import find_graph_neighbours
from reverie.retrieval.rescoring import sort_hits
from reverie.retrieval.search_query import SearchQuery
from reverie.storage import Store


def find_similar_memories(
    store: Store,
    memory: Memory,
    query: SearchQuery,
) -> list[Hit]:
    """What resembles a memory, best first, ties by id, at most `query.limit`.

    The score is the better of resemblance and graph, `why` names both. Words stand in for the
    vector where the memory has none.
    """
    mode = "words" if query.vector is None else "dense"
    like_this = query._replace(
        text=memory.text,
        mode=mode,
        exclude=frozenset((memory.id,)),
        depth=0,
    )
    found = {hit.memory.id: hit for hit in search_memories(store, like_this)}
    for hit in find_graph_neighbours(store, memory, query._replace(depth=1)):
        known = found.get(hit.memory.id, hit._replace(why=()))
        why = tuple(dict.fromkeys((*known.why, *hit.why)))
        score = max(known.score, hit.score)
        found[hit.memory.id] = Hit(hit.memory, score, why)
    return sort_hits(found.values())[: query.limit]
