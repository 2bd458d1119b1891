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
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.clock import ticks
from reverie.errors import BadInput
from reverie.graph import DECAY, FAN
from reverie.kinds import EXCERPT, UNASKED
from reverie.model import Filter, Hit, Memory
from reverie.patterns import Scene, spoken
from reverie.search import shape, triggers
from reverie.words import query_terms

if TYPE_CHECKING:
    from reverie.store import Store

SOME = 20  # proposals beyond four times the limit: filters and priors choose among them
WIDER = (
    1,
    4,
    16,
    64,
)  # how many times the limit is looked for while too little of what is found counts
SURE = 100  # so many, or the limit if that is less, are found at least, unless there are no more
SEEDS = 10  # best hits whose neighbours in the graph may come along (B34, B41)
MODES = ("auto", "convex", "rrf", "dense", "words", "judged")


class Query(NamedTuple):
    """A question with all that bears on its answer."""

    text: str
    spaces: tuple[str, ...]  # what the asker may see, nearest first
    now: float
    context: str = ""  # what trigger patterns are held against
    vector: Any = None  # the text's vector, if there is a model
    model: str = ""
    mode: str = "auto"
    limit: int = 10
    kinds: tuple[str, ...] = ()
    without: tuple[str, ...] = UNASKED  # kinds that are left out
    tags: tuple[str, ...] = ()
    season: str = ""  # what the present time is called, if it has a name
    automatic: bool = False  # nobody asked: only what is likely needed may surface
    ungated: bool = False  # a judge chooses: the whole pool, not only what is likely needed
    not_session: str = ""  # a conversation whose own memories are not echoed back to it
    session_in: tuple[
        str, ...
    ] = ()  # the spaces in which that name is this conversation's; none: everywhere
    exclude: frozenset[str] = frozenset()
    within: float | None = None  # seconds that words and triggers may take
    before: float | None = None  # nothing that is younger: neither said nor written down by then
    depth: int = 0  # hops along the graph; what it is worth: docs/why-ranking.md
    decay: float = DECAY  # of a score, per hop
    floor: float = 0.0  # the least score of a candidate, by words and meaning

    @property
    def gated(self) -> bool:
        """Whether only what stands out may be in the answer."""
        return self.automatic and not self.ungated

    @property
    def terms(self) -> list[str]:
        """The words worth looking for."""
        return query_terms(self.text)


def search(store: "Store", query: Query) -> list[Hit]:
    """Hits for a query, best first, at most `query.limit`."""
    if query.mode not in MODES:
        raise BadInput(f"{query.mode!r} is not a way of searching; there are {', '.join(MODES)}")
    if query.limit <= 0:
        return []
    if not query.text.strip():
        return [] if query.automatic else shape.marked(newest(store, query))
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
    hits = triggers.merged(shape.shaped(hits, query.now, query.season), called)
    return shape.marked(answered(store, admitted(hits, query), query))


def answered(store: "Store", hits: list[Hit], query: Query) -> list[Hit]:
    """The answer: with what the best hits bring up, as far as the graph is to be asked and knows
    anything.
    """
    seeds = [hit.memory.id for hit in hits[:SEEDS]] if query.depth > 0 else []
    edges = store.around(seeds, query.spaces, FAN) if seeds else []
    if not edges:
        return shape.settled(hits, query.limit, automatic=query.gated)
    from reverie.search.cascade import cascaded, disputed

    hits = cascaded(store, hits, query, edges, SEEDS)
    shown = shape.settled(hits, query.limit, automatic=query.gated)
    return shown if query.automatic else disputed(shown, hits, query.limit)


def left(end: float | None) -> float | None:
    """Seconds until a moment; None if there is no hurry."""
    return None if end is None else max(0.0, end - ticks())


def called_up(store: "Store", query: Query, end: float | None) -> list[Hit]:
    """What trigger patterns call up, as far as time allows."""
    some = (
        None if end is None else 0.5 * max(0.0, end - ticks())
    )  # half of it: words want their share
    until = None if some is None else ticks() + some
    return triggers.met(
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


def called_by(store: "Store", scene: Scene, spaces: Sequence[str], now: float) -> triggers.Called:
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
    found = triggers.met(sorted(heard, key=urgency), scene, ticks() + BEFORE_A_TOOL)
    found[:] = shape.marked(hit._replace(why=(*hit.why, *doubts(hit.memory))) for hit in found)
    return found


def doubts(memory: Memory) -> tuple[str, ...]:
    """How far a memory is believed, if less than at first."""
    return (f"believed at {memory.confidence:.0%}",) if memory.confidence < memory.trust else ()


def urgency(memory: Memory) -> tuple[int, float, str]:
    """The order of what is told before a tool runs."""
    place = FIRST.index(memory.kind) if memory.kind in FIRST else len(FIRST)
    return place, -memory.trust * memory.confidence, memory.id


def enough(found: Sequence[Hit], query: Query, wider: int) -> bool:
    """Whether an answer is full, or nothing further can be found.

    Equal texts, echoes and what is not told unasked may take the places of all that would count.
    """
    return (
        len(found) < min(wider * query.limit, SURE)
        or len(shape.distinct(admitted(found, query))) >= query.limit
    )


def fused(store: "Store", query: Query) -> list[Hit]:
    """One ranking of what words and meaning propose."""
    if query.vector is None or query.mode == "words":
        return by_words(store, query)
    from reverie.search.ranked import ranked

    return ranked(store, query)


def by_words(store: "Store", query: Query) -> list[Hit]:
    """The lexical channel alone: needs no model and no numpy."""
    where = Filter(kinds=query.kinds, without=query.without, tags=query.tags)
    found = store.words(
        query.terms,
        query.spaces,
        4 * query.limit + SOME,
        within=query.within,
        where=where,
        now=query.now,
    )
    if not found:
        return []
    score = dict(found)
    terms = query.terms
    hits = [
        Hit(
            memory,
            lexical(score[memory.id], coverage(terms, memory)),
            (f"words {score[memory.id]:.1f}",),
        )
        for memory in store.get([id for id, _ in found])
    ]
    if not query.automatic:
        return hits
    from reverie.search import gate  # a cold `recall` is not judged and does not wait for it

    return gate.judged(hits, [gate.Seen(bm25=score[hit.memory.id]) for hit in hits], query.text)


def lexical(bm25: float, covered: float) -> float:
    """A score of 0..1 from BM25 and the share of the question's words in the memory.

    BM25 alone says little in a small store, where no word is rare; a share alone says little of a
    short text. x / (x + 4) keeps BM25's order; 4 is a match of one fairly rare word.
    """
    return 0.5 * covered + 0.5 * bm25 / (bm25 + 4.0)


def coverage(terms: Sequence[str], memory: Memory) -> float:
    """The share of the terms that the memory holds, endings aside."""
    return covered(
        terms, f"{memory.title} {memory.text} {' '.join(memory.tags)} {' '.join(memory.files)}"
    )


def covered(terms: Sequence[str], text: str) -> float:
    """The share of the terms that a text holds, endings aside."""
    body = text.lower()
    return sum(term[: max(4, len(term) - 2)] in body for term in terms) / max(1, len(terms))


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


def admitted(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Hits that this asker may be given."""
    return [hit for hit in hits if alive(hit.memory, query)]


def alive(memory: Memory, query: Query) -> bool:
    """Whether a memory counts now, fits the filters, and is not an echo."""
    return (
        memory.active
        and memory.id not in query.exclude
        and (memory.expires_at is None or memory.expires_at > query.now)
        and (not query.kinds or memory.kind in query.kinds)
        and memory.kind not in query.without
        and set(query.tags) <= set(memory.tags)
        and not echo(memory, query)
        and (query.before is None or born(memory) <= query.before)
        and not (query.automatic and not shape.surfaces(memory, query.now))
    )


def echo(memory: Memory, query: Query) -> bool:
    """Whether a conversation would hear what it said itself; what has left its context it does
    hear, and, unasked, only it: a passage of another conversation surfaces when somebody looks for
    it.
    """
    own = (
        bool(query.not_session)
        and memory.session == query.not_session
        and echoing(query, memory.space)
    )
    return query.automatic and not own if memory.kind == EXCERPT else own


def born(memory: Memory) -> float:
    """From when on a memory was there to be asked: when it was said, or written down if that was
    earlier.
    """
    return min(memory.at, memory.created_at)


def echoing(query: Query, space: str) -> bool:
    """Whether the session that the query must not hear is its own in this space: a name may be
    another's elsewhere.
    """
    return not query.session_in or space in query.session_in
