"""From a question to hits: query → channels → fuse → shape → cascade → gate → diversity.

Each stage takes and returns values.

A channel is one function that proposes memories: by words, by meaning, by trigger patterns, by
recency. Fusion makes one ranking of what they propose; shaping weighs it, within bounds, by how
fresh, trusted and proven a memory is; where somebody asks, the cascade adds what links, tags and
clusters lead to, below the hit that brought it; for a block that is injected by itself, the gate
keeps only what stands out, which is usually nothing.

Always true: the same question gives the same answer (ties break by id); what no longer counts never
surfaces; vectors of another model are never compared; a store without any vector still answers by
words.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.core.clock import ticks
from reverie.core.errors import BadInput
from reverie.core.model import Filter, Hit, Memory
from reverie.core.trigger_patterns import Scene, spoken
from reverie.retrieval import rescoring, trigger_search
from reverie.retrieval.graph_walk import FAN
from reverie.retrieval.search_query import MODES, Query, admitted, alive
from reverie.retrieval.word_search import by_words, enough

if TYPE_CHECKING:
    from reverie.storage import Store

# how many times the limit is looked for while too little of what is found counts
WIDER = (
    1,
    4,
    16,
    64,
)
SEEDS = 10  # best hits whose neighbours in the graph may come along (B34, B41)


def search(store: "Store", query: Query) -> list[Hit]:
    """Hits for a query, best first, at most `query.limit`."""
    if query.mode not in MODES:
        raise BadInput(f"{query.mode!r} is not a way of searching; there are {', '.join(MODES)}")
    if query.limit <= 0:
        return []
    if not query.text.strip():
        return [] if query.automatic else rescoring.marked(newest(store, query))
    end = None if query.within is None else ticks() + query.within
    called = called_up(store, query, end)
    hits: list[Hit] = []
    for wider in WIDER:
        found = fused(store, query._replace(limit=wider * query.limit, within=left(end)))
        if len(found) < len(hits):  # out of time: what was found before is more
            break
        hits = found
        if enough(found, query, wider) or left(end) == 0.0:
            break
    hits = trigger_search.merged(rescoring.shaped(hits, query.now, query.season), called)
    return rescoring.marked(answered(store, admitted(hits, query), query))


def answered(store: "Store", hits: list[Hit], query: Query) -> list[Hit]:
    """The answer: with what the best hits bring up, as far as the graph is to be asked and knows
    anything.
    """
    seeds = [hit.memory.id for hit in hits[:SEEDS]] if query.depth > 0 else []
    edges = store.around(seeds, query.spaces, FAN) if seeds else []
    if not edges:
        return rescoring.settled(hits, query.limit, automatic=query.gated)
    from reverie.retrieval.graph_cascade import cascaded, disputed

    hits = cascaded(store, hits, query, edges, SEEDS)
    shown = rescoring.settled(hits, query.limit, automatic=query.gated)
    return shown if query.automatic else disputed(shown, hits, query.limit)


def left(end: float | None) -> float | None:
    """Seconds until a moment; None if there is no hurry."""
    return None if end is None else max(0.0, end - ticks())


def called_up(store: "Store", query: Query, end: float | None) -> list[Hit]:
    """What trigger patterns call up, as far as time allows."""
    # half of it: words want their share
    some = None if end is None else 0.5 * max(0.0, end - ticks())
    until = None if some is None else ticks() + some
    return trigger_search.met(
        store.triggered(query.spaces, within=some), spoken(query.context or query.text), until
    )


def by_patterns(store: "Store", query: Query) -> list[Hit]:
    """What trigger patterns alone call up in the context of a query, and may be given
    to who asks.
    """
    return admitted(called_up(store, query, None), query)


FIRST = ("negative", "correction")  # of what is called up, these are told first
DOUBTED = 0.2  # confidence below which a warning is left out: it was rejected eight times or so
BEFORE_A_TOOL = 0.1  # seconds that all patterns together may take: a tool waits for them


def called_by(
    store: "Store", scene: Scene, spaces: Sequence[str], now: float
) -> trigger_search.Called:
    """What trigger patterns call up before a tool runs: what must never be done first, ties by id
    (B61, B62).

    Patterns are tried in that order too, for a tenth of a second, regular expressions after all
    others. What is hardly believed any more is left out; of what is believed less than at first,
    `why` says how much.
    """
    asked = Query("", tuple(spaces), now, automatic=True)
    heard = [
        memory
        for memory in store.triggered(spaces)
        if alive(memory, asked) and memory.confidence >= DOUBTED
    ]
    found = trigger_search.met(sorted(heard, key=urgency), scene, ticks() + BEFORE_A_TOOL)
    found[:] = rescoring.marked(hit._replace(why=(*hit.why, *doubts(hit.memory))) for hit in found)
    return found


def doubts(memory: Memory) -> tuple[str, ...]:
    """How far a memory is believed, if less than at first."""
    return (f"believed at {memory.confidence:.0%}",) if memory.confidence < memory.trust else ()


def urgency(memory: Memory) -> tuple[int, float, str]:
    """The order of what is told before a tool runs."""
    place = FIRST.index(memory.kind) if memory.kind in FIRST else len(FIRST)
    return place, -memory.trust * memory.confidence, memory.id


def fused(store: "Store", query: Query) -> list[Hit]:
    """One ranking of what words and meaning propose."""
    if query.vector is None or query.mode == "words":
        return by_words(store, query)
    from reverie.retrieval.hybrid_search import ranked

    return ranked(store, query)


def newest(store: "Store", query: Query) -> list[Hit]:
    """An empty question is answered with what is newest (A58)."""
    where = Filter(
        spaces=query.spaces,
        kinds=query.kinds,
        without=query.without,
        tags=query.tags,
        limit=query.limit,
    )
    return [Hit(memory, 0.0, ("recent",)) for memory in store.browse(where) if alive(memory, query)]
