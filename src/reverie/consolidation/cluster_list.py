"""The clusters that are there, as a person reads them: name, number of members, the most typical.

Read from the edges `in_cluster`, so that no count of it can be out of date: what was retired since
the last night is no member. The weight of an edge is how near the member lies to the centre.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.model import Edge, Filter, Memory
from reverie.storage import Store
from reverie.storage.paging import read_memory_pages

# memories whose edges are read at once
PAGE = 500


class MemoryCluster(NamedTuple):
    """A group that nobody tagged, found in the vectors of a space."""

    name: str
    space: str
    size: int  # how many members count
    members: tuple[Memory, ...]  # the most typical, nearest to the centre first


def list_clusters(store: Store, spaces: Sequence[str], most: int) -> list[MemoryCluster]:
    """The clusters of these spaces, the largest first, each with at most so many members."""
    edges: dict[str, list[Edge]] = {}
    for page in read_memory_pages(store, Filter(spaces=tuple(spaces), limit=PAGE)):
        for edge in store.edges([memory.id for memory in page], ("in_cluster",)):
            edges.setdefault(edge.dst, []).append(edge)
    found = []
    for node, ties in edges.items():
        typical = sorted(ties, key=lambda edge: (-edge.weight, edge.src))[:most]
        # A space has no colon, a name none either.
        _, space, name = node.split(":", 2)
        members = tuple(store.get([edge.src for edge in typical]))
        found.append(MemoryCluster(name, space, len(ties), members))
    return sorted(found, key=lambda one: (-one.size, one.name))
