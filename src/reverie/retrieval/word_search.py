"""The lexical channel: BM25 over the words of a query, and how much of the query a memory covers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.core.model import Filter, Hit, Memory
from reverie.retrieval import rescoring
from reverie.retrieval.search_query import EXTRA_PROPOSALS, SearchQuery, filter_admissible

if TYPE_CHECKING:
    from reverie.storage import Store


MIN_FOUND = (
    100  # so many, or the limit if that is less, are found at least, unless there are no more
)


def is_enough(found: Sequence[Hit], query: SearchQuery, wider: int) -> bool:
    """Whether an answer is full, or nothing further can be found.

    Equal texts, echoes and what is not told unasked may take the places of all that would count.
    """
    return (
        len(found) < min(wider * query.limit, MIN_FOUND)
        or len(rescoring.drop_duplicate_texts(filter_admissible(found, query))) >= query.limit
    )


def search_words(store: "Store", query: SearchQuery) -> list[Hit]:
    """The lexical channel alone: needs no model and no numpy."""
    where = Filter(kinds=query.kinds, without=query.without, tags=query.tags)
    found = store.search_words(
        query.terms,
        query.spaces,
        4 * query.limit + EXTRA_PROPOSALS,
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
            lexical_score(score[memory.id], memory_coverage(terms, memory)),
            (f"words {score[memory.id]:.1f}",),
        )
        for memory in store.get([id for id, _ in found])
    ]
    if not query.automatic:
        return hits
    from reverie.retrieval import (
        relevance_gate,  # a cold `recall` is not judged and does not wait for it
    )

    return relevance_gate.judge_hits(
        hits, [relevance_gate.GateSignals(bm25=score[hit.memory.id]) for hit in hits], query.text
    )


def lexical_score(bm25: float, covered: float) -> float:
    """A score of 0..1 from BM25 and the share of the question's words in the memory.

    BM25 alone says little in a small store, where no word is rare; a share alone says little of a
    short text. x / (x + 4) keeps BM25's order; 4 is a match of one fairly rare word.
    """
    return 0.5 * covered + 0.5 * bm25 / (bm25 + 4.0)


def memory_coverage(terms: Sequence[str], memory: Memory) -> float:
    """The share of the terms that the memory holds, endings aside."""
    return text_coverage(
        terms, f"{memory.title} {memory.text} {' '.join(memory.tags)} {' '.join(memory.files)}"
    )


def text_coverage(terms: Sequence[str], text: str) -> float:
    """The share of the terms that a text holds, endings aside."""
    body = text.lower()
    return sum(term[: max(4, len(term) - 2)] in body for term in terms) / max(1, len(terms))
