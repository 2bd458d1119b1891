"""Map: what is remembered as a graph, with a slider of time, and the same as a table."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.consolidation.memory_map import MapCommunity, MapNode, MemoryMap
from reverie.interfaces.map_picture import MapPicture, picture_map
from reverie.interfaces.web.page import Page, View, WebRequest

PER_PAGE = 50
MAX_NODES = 2_000
LAYING_OUT = threading.Lock()
VIEWS = {"community": "Community", "heat": "Heat", "age": "Age", "author": "Author"}


class MapShell(NamedTuple):
    """What stands on the page before the map is there."""

    by: str  # what colours tell
    views: dict[str, str] = VIEWS


def show_map(_mind: Mind, asked: WebRequest) -> MapShell:
    """The page at once; the map follows, for it may have to be laid out first."""
    by = asked.text("by")
    return MapShell(by if by in VIEWS else "community")


def read_map(mind: Mind, asked: WebRequest) -> MemoryMap:
    """The whole map; where it has to be laid out first, a draft of it."""
    most = asked.number("nodes", MAX_NODES, most=MAX_NODES)
    return mind.data.map(space=asked.space, limit=most, in_haste=True)


def lay_out_map(mind: Mind, asked: WebRequest, shown: MemoryMap | DrawnMap | MapTable) -> None:
    """What the next look at a map is spared."""
    if shown.is_due:
        # Of two that look at once, one lays it out.
        with LAYING_OUT:
            mind.data.map(space=asked.space)


class DrawnMap(NamedTuple):
    """A picture for who has no scripts, and what belongs together."""

    picture: MapPicture
    communities: Sequence[MapCommunity]
    nodes: int
    is_draft: bool
    is_due: bool


def show_picture(mind: Mind, asked: WebRequest) -> DrawnMap:
    """The map as it is drawn without scripts."""
    drawn = read_map(mind, asked)
    return DrawnMap(
        picture_map(drawn), drawn.communities, len(drawn.nodes), drawn.is_draft, drawn.is_due
    )


class MapTable(NamedTuple):
    """A page of the map as a table."""

    nodes: Sequence[MapNode]
    total: int
    skip: int
    next: int  # how many the next page leaves out; 0: there is none
    names: dict[int, str]  # of communities, by number
    is_due: bool


def show_table(mind: Mind, asked: WebRequest) -> MapTable:
    """What hangs together stands together; in it what has most ties comes first."""
    drawn = read_map(mind, asked)
    limit, skip = asked.number("limit", PER_PAGE), asked.number("skip", 0, most=MAX_NODES)
    ordered = sorted(drawn.nodes, key=lambda node: (node.community, -node.links, node.id))
    more = skip + limit if len(ordered) > skip + limit else 0
    names = {community.number: community.name for community in drawn.communities}
    return MapTable(ordered[skip : skip + limit], len(ordered), skip, more, names, drawn.is_due)


PAGE = Page(
    "map",
    "Map",
    (
        View("/map", show_map, "map.html"),
        View("/map/graph", read_map, "map_graph.html", scripts=(), after=lay_out_map),
        View("/map/picture", show_picture, "map_picture.html", scripts=(), after=lay_out_map),
        View("/map/table", show_table, "map_table.html", scripts=(), after=lay_out_map),
    ),
    place=5,
    key="m",
    scripts=("graphology.min.js", "sigma.min.js", "map.js"),
    styles=("map.css",),
)
