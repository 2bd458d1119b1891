"""The lexical channel: BM25 over the terms of a query, and how much of the query a memory covers.

It needs no model and no numpy, so that it answers before either is loaded.
"""

from collections.abc import Sequence

from reverie.core.model import Filter, Hit, Memory
from reverie.retrieval import rescoring
from reverie.retrieval.search_query import SearchQuery, filter_admissible
from reverie.storage import Store

# Proposals beyond four times the limit: filters and priors choose among them.
EXTRA_PROPOSALS = 20
# So many, or the limit if that is less, are found at least, unless there are no more.
MIN_FOUND = 100


def is_enough(
    found: Sequence[Hit],
    query: SearchQuery,
    wider: int,
) -> bool:
    """True if an answer is full, or nothing further can be found.

    Equal texts, echoes and what does not surface unasked may take the places of all that counts.
    """
    if len(found) < min(wider * query.limit, MIN_FOUND):
        return True
    distinct = rescoring.drop_duplicate_texts(filter_admissible(found, query))
    return len(distinct) >= query.limit


def search_words(store: Store, query: SearchQuery) -> list[Hit]:
    """Hits of the lexical channel alone, judged by the gate if nobody asked."""
    terms = query.terms
    found = store.search_words(
        terms,
        query.spaces,
        4 * query.limit + EXTRA_PROPOSALS,
        within=query.within,
        where=Filter(
            kinds=query.kinds,
            without=query.without,
            tags=query.tags,
        ),
        now=query.now,
    )
    if not found:
        return []
    bm25 = dict(found)
    hits = []
    for memory in store.get(list(bm25)):
        rank = bm25[memory.id]
        score = lexical_score(rank, memory_coverage(terms, memory))
        hits.append(Hit(memory, score, (f"words {rank:.1f}",)))
    if not query.automatic:
        return hits
    # A cold `recall` is not judged and does not wait for this.
    from reverie.retrieval import relevance_gate

    signals = [relevance_gate.GateSignals(bm25=bm25[hit.memory.id]) for hit in hits]
    return relevance_gate.judge_hits(hits, signals, query.text)


def lexical_score(bm25: float, covered: float) -> float:
    """A score of 0..1 from BM25 and the share of the question's words in the memory.

    BM25 alone says little in a small store, where no word is rare; a share alone says little of a
    short text. x / (x + 4) keeps BM25's order; 4 is a match of one fairly rare word.
    """
    return 0.5 * covered + 0.5 * bm25 / (bm25 + 4.0)


def memory_coverage(terms: Sequence[str], memory: Memory) -> float:
    """The share of the terms that a memory's title, text, tags or files hold, endings aside."""
    names = " ".join((*memory.tags, *memory.files))
    return text_coverage(terms, f"{memory.title} {memory.text} {names}")


def text_coverage(terms: Sequence[str], text: str) -> float:
    """The share of the terms that a text holds, endings aside."""
    body = text.lower()
    # The last two letters may be an ending, unless the term is short.
    starts = [term[: max(4, len(term) - 2)] for term in terms]
    return sum(start in body for start in starts) / max(1, len(terms))
