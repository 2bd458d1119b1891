"""From a question to hits: query → channels → fusion → gate → priors → graph → distinct texts.

Each stage takes and returns values. A channel is one function that proposes memories: by words, by
embedding, by trigger patterns; an empty question is answered with the newest. Fusion makes one
ranking of what they propose; if nobody asked, the gate says how likely the turn needs each; priors
weigh it, within bounds, by how fresh, trusted and proven a memory is; where somebody asks, the
cascade adds what links, tags and clusters lead to, below the hit that brought it; into a block that
is injected unasked comes only what is likely enough, which is usually nothing.

Always true: the same question gives the same answer (ties break by id); what no longer counts never
surfaces; vectors of another model are never compared; a store without any vector still answers by
words.
"""

from collections.abc import Sequence

from reverie.core.clock import ticks
from reverie.core.errors import BadInput
from reverie.core.kinds import kind_of
from reverie.core.model import Hit, Memory
from reverie.core.trigger_patterns import TriggerContext, context_of_conversation
from reverie.retrieval import rescoring, trigger_search
from reverie.retrieval.graph_walk import MAX_FAN_OUT
from reverie.retrieval.search_query import MODES, SearchQuery, filter_admissible, is_admissible
from reverie.retrieval.word_search import is_enough, search_words
from reverie.storage import Store

# How many times the limit is looked for, one after the other, while too little of what is found
# counts: filters, echoes and equal texts may take the best places.
WIDENING_FACTORS = (1, 4, 16, 64)
# Best hits whose neighbours in the graph may come along.
MAX_SEEDS = 10

# Confidence below which a warning is left out: it was rejected eight times or so.
MIN_WARNING_CONFIDENCE = 0.2
# Seconds for all patterns together: a tool waits for them.
TOOL_WARNING_SECONDS = 0.1


def search_memories(store: Store, query: SearchQuery) -> list[Hit]:
    """Hits for a query, best first, at most `query.limit`.

    An empty text is answered with the newest memories, or with nothing if nobody asked. BadInput if
    the mode is none of MODES.
    """
    if query.mode not in MODES:
        raise BadInput(f"{query.mode!r} is not a way of searching; there are {', '.join(MODES)}")
    if query.limit <= 0:
        return []
    if not query.text.strip():
        return (
            [] if query.automatic else rescoring.mark_outdated(list_newest(store, query), query.now)
        )
    with store.reading():
        return rank_and_assemble(store, query)


def rank_and_assemble(store: Store, query: SearchQuery) -> list[Hit]:
    """The hits of a question that has words."""
    end = None if query.within is None else ticks() + query.within
    # Before the words, which take all the time there is.
    triggered = find_triggered(store, query, end)
    hits: list[Hit] = []
    for factor in WIDENING_FACTORS:
        wider = query._replace(limit=factor * query.limit, within=seconds_left(end))
        found = fuse_channels(store, wider)
        if len(found) < len(hits):  # out of time: what was found before is more
            break
        hits = found
        if is_enough(found, query, factor) or seconds_left(end) == 0.0:
            break
    weighed = rescoring.apply_priors(hits, query.now, query.season)
    merged = trigger_search.merge_triggered(weighed, triggered)
    answer = assemble_answer(store, filter_admissible(merged, query), query)
    return rescoring.mark_outdated(answer, query.now)


def assemble_answer(
    store: Store,
    hits: list[Hit],
    query: SearchQuery,
) -> list[Hit]:
    """The final hits, with what the best of them lead to in the graph if the query's `depth` asks
    for it.

    Of a question that somebody asked, what contradicts an answer comes along.
    """
    seeds = [hit.memory.id for hit in hits[:MAX_SEEDS]] if query.depth > 0 else []
    # Asked once; where the best have no edges, that was all.
    edges = store.edges_around(seeds, query.spaces, MAX_FAN_OUT) if seeds else []
    if not edges:
        return rescoring.finalize_hits(hits, query.limit, automatic=query.only_likely)
    from reverie.retrieval.graph_cascade import add_disputed_hits, add_graph_neighbours

    hits = add_graph_neighbours(store, hits, query, edges, MAX_SEEDS)
    answer = rescoring.finalize_hits(hits, query.limit, automatic=query.only_likely)
    return answer if query.automatic else add_disputed_hits(answer, hits, query.limit)


def seconds_left(end: float | None) -> float | None:
    """Seconds until a moment of `clock.ticks`, at least 0; None if there is no hurry."""
    return None if end is None else max(0.0, end - ticks())


def find_triggered(
    store: Store,
    query: SearchQuery,
    end: float | None,
) -> list[Hit]:
    """Memories of which a trigger pattern matches the query's context, as far as time allows."""
    left = seconds_left(end)
    # Half of the time at most: the search by words wants its share.
    within = None if left is None else 0.5 * left
    until = None if within is None else ticks() + within
    scene = context_of_conversation(query.context or query.text)
    memories = store.with_triggers(query.spaces, within=within)
    return trigger_search.match_triggers(memories, scene, until)


def search_triggers(store: Store, query: SearchQuery) -> list[Hit]:
    """What trigger patterns alone call up in the context of a query, as far as the asker may be
    given it.
    """
    return filter_admissible(find_triggered(store, query, None), query)


def find_tool_warnings(
    store: Store,
    scene: TriggerContext,
    spaces: Sequence[str],
    now: float,
) -> trigger_search.TriggeredHits:
    """Memories whose trigger matches a tool call: prohibitions first, ties by id.

    Patterns are tried in that order too, for TOOL_WARNING_SECONDS, regular expressions after all
    others. What is hardly believed any more is left out; of what is believed less than at first,
    `why` says how much.
    """
    query = SearchQuery("", tuple(spaces), now, automatic=True)
    believed = [
        memory
        for memory in store.with_triggers(spaces)
        if is_admissible(memory, query) and memory.confidence >= MIN_WARNING_CONFIDENCE
    ]
    end = ticks() + TOOL_WARNING_SECONDS
    found = trigger_search.match_triggers(sorted(believed, key=warning_order), scene, end)
    # In place: `found` also knows how many memories were not tried.
    doubted = [hit._replace(why=(*hit.why, *describe_doubt(hit.memory))) for hit in found]
    found[:] = rescoring.mark_outdated(doubted, now)
    return found


def describe_doubt(memory: Memory) -> tuple[str, ...]:
    """How far a memory is believed, in words, if that is less than at first; else nothing."""
    return (f"believed at {memory.confidence:.0%}",) if memory.confidence < memory.trust else ()


def warning_order(memory: Memory) -> tuple[int, float, str]:
    """The sort key of warnings before a tool runs: the most urgent kind, then the most believed,
    ties by id.
    """
    return -kind_of(memory.kind).urgency, -memory.trust * memory.confidence, memory.id


def fuse_channels(store: Store, query: SearchQuery) -> list[Hit]:
    """One ranking of what words and embeddings propose; of words alone if there is no vector."""
    if query.vector is None or query.mode == "words":
        return search_words(store, query)
    from reverie.retrieval.hybrid_search import rank_hybrid

    return rank_hybrid(store, query)


def list_newest(store: Store, query: SearchQuery) -> list[Hit]:
    """The newest memories that the query admits: the answer to an empty question."""
    newest = [
        Hit(memory, 0.0, ("recent",)) for memory in store.browse(query.to_filter(query.limit))
    ]
    return filter_admissible(newest, query)
