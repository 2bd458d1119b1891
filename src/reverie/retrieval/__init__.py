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
from reverie.core.trigger_patterns import TriggerContext, context_of_conversation
from reverie.retrieval import rescoring, trigger_search
from reverie.retrieval.graph_walk import MAX_FAN_OUT
from reverie.retrieval.search_query import MODES, SearchQuery, filter_admissible, is_admissible
from reverie.retrieval.word_search import is_enough, search_words

if TYPE_CHECKING:
    from reverie.storage import Store

# how many times the limit is looked for while too little of what is found counts
WIDENING_FACTORS = (
    1,
    4,
    16,
    64,
)
MAX_SEEDS = 10  # best hits whose neighbours in the graph may come along (B34, B41)


def search_memories(store: "Store", query: SearchQuery) -> list[Hit]:
    """Hits for a query, best first, at most `query.limit`."""
    if query.mode not in MODES:
        raise BadInput(f"{query.mode!r} is not a way of searching; there are {', '.join(MODES)}")
    if query.limit <= 0:
        return []
    if not query.text.strip():
        return [] if query.automatic else rescoring.mark_outdated(list_newest(store, query))
    end = None if query.within is None else ticks() + query.within
    called = find_triggered(store, query, end)
    hits: list[Hit] = []
    for wider in WIDENING_FACTORS:
        found = fuse_channels(
            store, query._replace(limit=wider * query.limit, within=seconds_left(end))
        )
        if len(found) < len(hits):  # out of time: what was found before is more
            break
        hits = found
        if is_enough(found, query, wider) or seconds_left(end) == 0.0:
            break
    hits = trigger_search.merge_triggered(
        rescoring.apply_priors(hits, query.now, query.season), called
    )
    return rescoring.mark_outdated(assemble_answer(store, filter_admissible(hits, query), query))


def assemble_answer(store: "Store", hits: list[Hit], query: SearchQuery) -> list[Hit]:
    """The answer: with what the best hits bring up, as far as the graph is to be asked and knows
    anything.
    """
    seeds = [hit.memory.id for hit in hits[:MAX_SEEDS]] if query.depth > 0 else []
    edges = store.edges_around(seeds, query.spaces, MAX_FAN_OUT) if seeds else []
    if not edges:
        return rescoring.finalize_hits(hits, query.limit, automatic=query.gated)
    from reverie.retrieval.graph_cascade import add_disputed_hits, add_graph_neighbours

    hits = add_graph_neighbours(store, hits, query, edges, MAX_SEEDS)
    shown = rescoring.finalize_hits(hits, query.limit, automatic=query.gated)
    return shown if query.automatic else add_disputed_hits(shown, hits, query.limit)


def seconds_left(end: float | None) -> float | None:
    """Seconds until a moment; None if there is no hurry."""
    return None if end is None else max(0.0, end - ticks())


def find_triggered(store: "Store", query: SearchQuery, end: float | None) -> list[Hit]:
    """What trigger patterns call up, as far as time allows."""
    # half of it: words want their share
    some = None if end is None else 0.5 * max(0.0, end - ticks())
    until = None if some is None else ticks() + some
    return trigger_search.match_triggers(
        store.with_triggers(query.spaces, within=some),
        context_of_conversation(query.context or query.text),
        until,
    )


def search_triggers(store: "Store", query: SearchQuery) -> list[Hit]:
    """What trigger patterns alone call up in the context of a query, and may be given
    to who asks.
    """
    return filter_admissible(find_triggered(store, query, None), query)


FIRST_KINDS = ("negative", "correction")  # of what is called up, these are told first
MIN_WARNING_CONFIDENCE = (
    0.2  # confidence below which a warning is left out: it was rejected eight times or so
)
TOOL_WARNING_SECONDS = 0.1  # seconds that all patterns together may take: a tool waits for them


def find_tool_warnings(
    store: "Store", scene: TriggerContext, spaces: Sequence[str], now: float
) -> trigger_search.TriggeredHits:
    """What trigger patterns call up before a tool runs: what must never be done first, ties by id
    (B61, B62).

    Patterns are tried in that order too, for a tenth of a second, regular expressions after all
    others. What is hardly believed any more is left out; of what is believed less than at first,
    `why` says how much.
    """
    asked = SearchQuery("", tuple(spaces), now, automatic=True)
    heard = [
        memory
        for memory in store.with_triggers(spaces)
        if is_admissible(memory, asked) and memory.confidence >= MIN_WARNING_CONFIDENCE
    ]
    found = trigger_search.match_triggers(
        sorted(heard, key=warning_order), scene, ticks() + TOOL_WARNING_SECONDS
    )
    found[:] = rescoring.mark_outdated(
        hit._replace(why=(*hit.why, *describe_doubt(hit.memory))) for hit in found
    )
    return found


def describe_doubt(memory: Memory) -> tuple[str, ...]:
    """How far a memory is believed, if less than at first."""
    return (f"believed at {memory.confidence:.0%}",) if memory.confidence < memory.trust else ()


def warning_order(memory: Memory) -> tuple[int, float, str]:
    """The order of what is told before a tool runs."""
    place = FIRST_KINDS.index(memory.kind) if memory.kind in FIRST_KINDS else len(FIRST_KINDS)
    return place, -memory.trust * memory.confidence, memory.id


def fuse_channels(store: "Store", query: SearchQuery) -> list[Hit]:
    """One ranking of what words and meaning propose."""
    if query.vector is None or query.mode == "words":
        return search_words(store, query)
    from reverie.retrieval.hybrid_search import rank_hybrid

    return rank_hybrid(store, query)


def list_newest(store: "Store", query: SearchQuery) -> list[Hit]:
    """An empty question is answered with what is newest (A58)."""
    where = Filter(
        spaces=query.spaces,
        kinds=query.kinds,
        without=query.without,
        tags=query.tags,
        limit=query.limit,
    )
    return [
        Hit(memory, 0.0, ("recent",))
        for memory in store.browse(where)
        if is_admissible(memory, query)
    ]
