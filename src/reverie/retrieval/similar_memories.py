"""More like this one: by meaning, and by the tags, clusters and links that it shares with others
(B30).
"""

from typing import TYPE_CHECKING

from reverie.core.model import Hit, Memory
from reverie.retrieval import search_memories
from reverie.retrieval.graph_cascade import find_graph_neighbours
from reverie.retrieval.search_query import SearchQuery

if TYPE_CHECKING:
    from reverie.storage import Store


def find_similar_memories(store: "Store", memory: Memory, query: SearchQuery) -> list[Hit]:
    """What resembles a memory, best first: the score is the better of likeness and ties, `why`
    names both.

    Where the memory has no vector, words must do.
    """
    mode = "words" if query.vector is None else "dense"
    alike = search_memories(
        store, query._replace(text=memory.text, mode=mode, exclude=frozenset((memory.id,)), depth=0)
    )
    found = {hit.memory.id: hit for hit in alike}
    for hit in find_graph_neighbours(store, memory, query._replace(depth=1)):
        old = found.get(hit.memory.id, hit._replace(why=()))
        found[hit.memory.id] = Hit(
            hit.memory, max(old.score, hit.score), tuple(dict.fromkeys((*old.why, *hit.why)))
        )
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.memory.id))[: query.limit]
