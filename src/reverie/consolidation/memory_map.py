"""A map of what is remembered: memories, tags, clusters and code, and what ties them.

Of a large home some are chosen: from each stretch of the past, the nearer the shorter, so that the
whole past is there. What no longer counts belongs to it, with the time at which it ended. What was
chosen, and where it stands, is kept in the home's cache folder, so that the map looks the same on
the next visit and is there at once: ids and digests, no word of anybody. It may be deleted at any
time.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import log1p
from pathlib import Path
from typing import NamedTuple

from reverie.consolidation.map_layout import (
    Tie,
    begin_beside,
    find_communities,
    find_starts,
    lay_out,
)
from reverie.core.atomic_file import write_atomically
from reverie.core.kinds import DAY, retention
from reverie.core.model import (
    EMPTY_MAPPING,
    MEMORY_RELATIONS,
    Edge,
    Filter,
    Memory,
    index_memories,
    visible_spaces,
)
from reverie.storage import Store
from reverie.text.tokenization import shorten_line

MEMORY, TAG, CLUSTER, FILE = "memory", "tag", "cluster", "file"
MAX_NODES = 2_000
# Of them, memories; the rest are tags, clusters and files.
MEMORY_SHARE = 0.8
MAX_LABEL_CHARS = 90
# The past is looked at in stretches, each twice as long as the next nearer one: about 45 years.
STRETCHES = 14
# Two memories are alike from this cosine on; each is tied to so many.
SIMILAR_LEAST, SIMILAR_EACH = 0.55, 2
STRENGTHS = {"has_tag": 0.3, "in_cluster": 0.6, "about": 0.6, "similar": 0.4}
MAX_LINKS = 8_000
MAX_CACHE_BYTES = 4_000_000
# How long the choice of memories stays, but for what is new.
KEPT_SECONDS = DAY


class MapNode(NamedTuple):
    """A thing on the map."""

    id: str
    what: str  # "memory", "tag", "cluster" or "file"
    label: str
    kind: str  # of a memory
    x: float
    y: float
    links: int
    community: int
    heat: float  # how much of a memory is left, 0..1
    began: float  # from when on it was so
    ended: float  # until when; 0: it still is
    author: str


class MapLink(NamedTuple):
    """A tie between two nodes, by their places in the list."""

    one: int
    other: int
    relation: str


class MapCommunity(NamedTuple):
    """Nodes that hang together."""

    number: int
    name: str
    size: int


class MemoryMap(NamedTuple):
    """All of it."""

    nodes: Sequence[MapNode]
    links: Sequence[MapLink]
    communities: Sequence[MapCommunity]  # the largest first; those of one node are left out
    began: float
    ended: float
    chosen: bool  # there are more memories than were put on the map
    is_draft: bool = False  # in haste: nodes stand where they begin, nobody has looked who is alike
    is_due: bool = False  # a better one is worth the wait of somebody else


class MapRequest(NamedTuple):
    """Which map is asked for."""

    spaces: Sequence[str]  # what is seen
    now: float
    most: int  # nodes
    model: str  # whose vectors tell which memories are alike; empty: nobody looks
    cache: Path | None  # a file of what is kept until the next visit


def draw_map(
    store: Store, asked: MapRequest, *, in_haste: bool = False, afresh: bool = False
) -> MemoryMap:
    """The map that is asked for.

    `in_haste`: a draft where nothing is kept, an old choice where that is all there is, and what is
    new beside what it is tied to; none of these is kept. `afresh`: memories are chosen anew,
    whatever is kept; what stays has its place.
    """
    spaces, now, most, model, cache = asked
    before = kept = read_kept(cache)
    room = max(1, int(most * MEMORY_SHARE))
    memories = None if afresh else renew_choice(store, spaces, now, kept, room)
    if in_haste and memories is None:
        return draw_in_haste(store, asked, kept)
    similar, chosen = kept.similar, kept.chosen
    if memories is None:
        memories, chosen = choose_memories(store, spaces, now, room)
        similar = find_similar(store, model, memories) if model else []
        kept = kept._replace(at=now, ids=[memory.id for memory in memories])
    graph = tie_memories(store, memories, similar, most)
    known = recall_places(kept, graph.ids)
    if in_haste and len(known) < len(graph.ids):
        # The forces take a fifth of a second, for a few nodes that will move a little.
        standing = begin_beside(graph.ids, graph.groups, graph.ties, known)
        return build_map(graph, standing, now, chosen)._replace(is_due=True)
    standing = lay_out(graph.ids, graph.groups, graph.ties, known)
    places_now = {digest_of(id): place for id, place in zip(graph.ids, standing, strict=True)}
    new = kept._replace(chosen=chosen, similar=similar, places=places_now)
    if new != before:
        write_kept(cache, new)
    return build_map(graph, standing, now, chosen)


def redraw_kept_maps(store: Store, home: Path, model: str, now: float) -> int:
    """Choose and lay out anew the maps that somebody has looked at; how many there were. So nobody
    waits for it on the first visit of the day.
    """
    folder, count = home / "cache", 0
    for space in store.stats().spaces if folder.is_dir() else ():
        cache = cache_file(folder, space)
        if cache.is_file():
            asked = MapRequest(visible_spaces(space), now, MAX_NODES, model, cache)
            draw_map(store, asked, afresh=True)
            count += 1
    return count


def draw_in_haste(store: Store, asked: MapRequest, kept: KeptMap) -> MemoryMap:
    """A map within a tenth of a second: the old choice with its places, or, where there is none,
    a draft.
    """
    spaces, now, most = asked[:3]
    if kept.ids:
        memories, chosen = get_visible(store, kept.ids, spaces), kept.chosen
    else:
        memories, chosen = choose_memories(store, spaces, now, max(1, int(most * MEMORY_SHARE)))
    graph = tie_memories(store, memories, kept.similar, most)
    standing = find_starts(graph.ids, graph.groups, recall_places(kept, graph.ids))
    drawn = build_map(graph, standing, now, chosen)
    return drawn._replace(is_draft=not kept.ids and bool(memories), is_due=True)


class MapGraph(NamedTuple):
    """What is tied to what, before anything has a place."""

    ids: Sequence[str]
    known: Mapping[str, Memory]
    links: Sequence[MapLink]
    ties: Sequence[Tie]
    groups: Sequence[int]  # the community of each


def tie_memories(
    store: Store, memories: Sequence[Memory], similar: Sequence[tuple[str, str]], most: int
) -> MapGraph:
    """The memories with the tags, clusters and files that tie them, at most so many nodes."""
    edges = store.edges([memory.id for memory in memories]) if memories else []
    edges = [*edges, *(Edge(one, "similar", other) for one, other in similar)]
    known = index_memories(memories)
    ids = [*known, *choose_nodes(edges, known, most - len(memories))]
    places = {id: place for place, id in enumerate(ids)}
    links = choose_links(edges, places)
    ties = [Tie(link.one, link.other, STRENGTHS.get(link.relation, 1.0)) for link in links]
    return MapGraph(ids, known, links, ties, find_communities(len(ids), ties))


def build_map(
    graph: MapGraph, standing: Sequence[tuple[float, float]], now: float, chosen: bool
) -> MemoryMap:
    """The map of a graph whose nodes have their places."""
    nodes = build_nodes(graph.ids, graph.known, graph.links, graph.groups, standing, now)
    began = min((node.began for node in nodes), default=now)
    return MemoryMap(nodes, graph.links, name_communities(nodes), began, now, chosen)


def choose_memories(
    store: Store, spaces: Sequence[str], now: float, most: int
) -> tuple[list[Memory], bool]:
    """(memories from each stretch of the past, newest first; whether there are more)."""
    newest = store.browse(Filter(spaces=tuple(spaces), active=None, limit=most + 1))
    if len(newest) <= most:
        return newest, False
    share = max(1, most // STRETCHES)
    stretches = [browse_stretch(store, spaces, *ends, 2 * share) for ends in list_stretches(now)]
    # Each stretch has its share first: a busy week leaves room for the years before it.
    found = {memory.id: memory for some in stretches for memory in some[:share]}
    rest = [memory for some in stretches for memory in some[share:]]
    for memory in [*rest, *newest]:
        if len(found) >= most:
            break
        found.setdefault(memory.id, memory)
    return sorted(found.values(), key=lambda one: (-one.at, one.id)), True


def browse_stretch(
    store: Store, spaces: Sequence[str], begin: float | None, end: float | None, most: int
) -> list[Memory]:
    """The newest memories of a stretch of the past, by when they were so."""
    where = Filter(
        spaces=tuple(spaces), active=None, limit=most, since=begin, until=end, by_time=True
    )
    return store.browse(where)


def list_stretches(now: float) -> list[tuple[float | None, float | None]]:
    """From when to when each stretch of the past goes, the nearest first."""
    ends = [DAY * 2**number for number in range(STRETCHES - 1)]
    begins = [now - end for end in ends]
    return [(begin, end) for begin, end in zip([*begins, None], [None, *begins], strict=True)]


def choose_nodes(edges: Iterable[Edge], known: Mapping[str, Memory], most: int) -> list[str]:
    """The tags, clusters and files that tie most memories; a tag of one memory ties nothing."""
    counts = Counter(
        simple_end(edge.dst) for edge in edges if edge.src in known and what_is(edge.dst) != MEMORY
    )
    telling = [id for id, times in counts.items() if times > 1 or what_is(id) == FILE]
    return sorted(telling, key=lambda id: (-counts[id], id))[: max(0, most)]


def simple_end(node: str) -> str:
    """The node of the map that an edge's end belongs to: a symbol stands in its file."""
    if node.startswith("symbol:"):
        return f"file:{node.removeprefix('symbol:').rpartition('#')[0]}"
    return node


def what_is(node: str) -> str:
    """What a node is, by its name."""
    head = node.partition(":")[0]
    return {"tag": TAG, "cluster": CLUSTER, "file": FILE, "symbol": FILE}.get(head, MEMORY)


def choose_links(edges: Iterable[Edge], places: Mapping[str, int]) -> list[MapLink]:
    """The ties between nodes of the map, each pair once; what people or sleep said comes first."""
    found: dict[tuple[int, int], str] = {}
    ordered = sorted(edges, key=lambda edge: edge.rel not in MEMORY_RELATIONS)
    for edge in ordered:
        one, other = places.get(edge.src), places.get(simple_end(edge.dst))
        if one is None or other is None or one == other:
            continue
        found.setdefault((min(one, other), max(one, other)), edge.rel)
    return [MapLink(one, other, rel) for (one, other), rel in found.items()][:MAX_LINKS]


def find_similar(store: Store, model: str, memories: Sequence[Memory]) -> list[tuple[str, str]]:
    """For each memory those that are most alike, as pairs of ids."""
    import numpy as np

    vectors = store.vectors(model, [memory.id for memory in memories])
    ids = list(vectors)
    if len(ids) < SIMILAR_EACH + 1:
        return []
    matrix = np.stack([vectors[id] for id in ids])
    near = matrix @ matrix.T
    np.fill_diagonal(near, -1.0)
    rows = np.arange(len(ids))
    found: list[tuple[int, int]] = []
    # The best few one after the other: a tenth of the time of ordering each row.
    for _ in range(SIMILAR_EACH):
        best = near.argmax(axis=1)
        is_near = near[rows, best] >= SIMILAR_LEAST
        found += zip(rows[is_near].tolist(), best[is_near].tolist(), strict=True)
        near[rows, best] = -1.0
    return [(ids[one], ids[other]) for one, other in sorted(found)]


def build_nodes(
    ids: Sequence[str],
    known: Mapping[str, Memory],
    links: Sequence[MapLink],
    groups: Sequence[int],
    standing: Sequence[tuple[float, float]],
    now: float,
) -> list[MapNode]:
    """The nodes with their places; what is no memory lives as long as what it is tied to."""
    around: dict[int, list[int]] = defaultdict(list)
    for link in links:
        around[link.one].append(link.other)
        around[link.other].append(link.one)
    spans = {id: span_of(memory, now) for id, memory in known.items()}
    nodes = []
    for place, id in enumerate(ids):
        x, y = standing[place]
        memory = known.get(id)
        if memory:
            heat, began, ended = spans[id]
        else:
            tied = [spans[ids[other]] for other in around[place] if ids[other] in spans]
            heat, began, ended = span_of_all(tied, now)
        nodes.append(
            MapNode(
                id,
                MEMORY if memory else what_is(id),
                label_of(id, memory),
                memory.kind if memory else "",
                x,
                y,
                len(around[place]),
                groups[place],
                round(heat, 3),
                began,
                ended,
                author_of(memory) if memory else "",
            )
        )
    return nodes


class LifeSpan(NamedTuple):
    """How much is left of a node, and from when until when it was so."""

    heat: float
    began: float
    ended: float  # 0: it still is


def span_of(memory: Memory, now: float) -> LifeSpan:
    """That of a memory."""
    return LifeSpan(retention(memory, now), began_at(memory), ended_at(memory))


def span_of_all(spans: Sequence[LifeSpan], now: float) -> LifeSpan:
    """That of what lives as long as any of these; from now on for none."""
    if not spans:
        return LifeSpan(0.0, now, 0.0)
    heats, begins, ends = zip(*spans, strict=True)
    return LifeSpan(max(heats), min(begins), max(ends) if all(ends) else 0.0)


def label_of(id: str, memory: Memory | None) -> str:
    """What stands beside a node."""
    if memory:
        return shorten_line(memory.title or memory.text, MAX_LABEL_CHARS)
    return shorten_line(
        id.rpartition(":")[2] if what_is(id) == CLUSTER else id.partition(":")[2], 60
    )


def author_of(memory: Memory) -> str:
    """Who said it, or how it came to be known."""
    return memory.speaker or memory.provenance


def began_at(memory: Memory) -> float:
    """From when on a memory was so."""
    return memory.at if memory.valid_from is None else memory.valid_from


def ended_at(memory: Memory) -> float:
    """When a memory ceased to be so; 0 if it has not."""
    ends = [end for end in (memory.valid_to, memory.retired_at) if end is not None]
    return min(ends, default=0.0)


def name_communities(nodes: Sequence[MapNode]) -> list[MapCommunity]:
    """What each community is about: its cluster, tag or file with most ties, else its memory."""
    members: dict[int, list[MapNode]] = defaultdict(list)
    for node in nodes:
        members[node.community].append(node)
    named = []
    for number in sorted(members):
        if len(members[number]) > 1:
            best = min(members[number], key=naming_key)
            named.append(MapCommunity(number, best.label, len(members[number])))
    return named


def naming_key(node: MapNode) -> tuple[bool, int, str]:
    """Names that were given come before texts."""
    return (node.what == MEMORY, -node.links, node.id)


def size_of(node: MapNode) -> float:
    """How large a node is drawn."""
    return 2.5 + 1.4 * log1p(node.links)


def cache_file(folder: Path, space: str) -> Path:
    """Where the places of a space's map are kept."""
    return folder / f"map-{sha256(space.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"


def digest_of(id: str) -> str:
    """The name of a node in the file of places; tags and files are words of people."""
    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class KeptMap(NamedTuple):
    """What is kept of a map until the next visit."""

    at: float = 0.0  # when the memories were chosen; 0: never
    chosen: bool = False
    ids: Sequence[str] = ()
    similar: Sequence[tuple[str, str]] = ()
    places: Mapping[str, tuple[float, float]] = EMPTY_MAPPING  # by digest


def renew_choice(
    store: Store, spaces: Sequence[str], now: float, kept: KeptMap, room: int
) -> list[Memory] | None:
    """The memories of the last visit with the few that are new; None to choose afresh."""
    if not kept.ids or not kept.at <= now < kept.at + KEPT_SECONDS:
        return None
    few = max(5, len(kept.ids) // 20)
    newest = store.browse(Filter(spaces=tuple(spaces), active=None, limit=few + 1))
    known = set(kept.ids)
    new = [memory for memory in newest if memory.id not in known and memory.id > max(known)]
    if len(new) > few or (len(kept.ids) + len(new) > room and not kept.chosen):
        return None
    return [*new, *get_visible(store, kept.ids, spaces)]


def get_visible(store: Store, ids: Sequence[str], spaces: Sequence[str]) -> list[Memory]:
    """These memories, as far as they still lie in the spaces."""
    visible = set(spaces)
    return [one for one in store.get(ids) if one.space in visible]


def read_kept(cache: Path | None) -> KeptMap:
    """What was kept; nothing where the file is not what it should be."""
    try:
        if cache is None or cache.stat().st_size > MAX_CACHE_BYTES:
            return KeptMap()
        row = json.loads(cache.read_text("utf-8"))
        return KeptMap(
            float(row["at"]),
            bool(row["chosen"]),
            [str(id) for id in row["ids"]],
            [(str(one), str(other)) for one, other in row["similar"]],
            {str(name): (float(x), float(y)) for name, (x, y) in row["places"].items()},
        )
    except (OSError, ValueError, TypeError, AttributeError, LookupError):
        return KeptMap()


def recall_places(kept: KeptMap, ids: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Where these nodes stood on an earlier visit."""
    return {id: kept.places[name] for id in ids if (name := digest_of(id)) in kept.places}


def write_kept(cache: Path | None, kept: KeptMap) -> None:
    """Keep it for the next visit."""
    if cache is None:
        return
    try:
        cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(cache, json.dumps(kept._asdict()).encode(), durable=False)
    except OSError:
        # A full or read-only disk takes nothing but the next visit's time.
        return
