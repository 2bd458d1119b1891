"""The candidates of a question as the package gathers them."""

from typing import NamedTuple

import reverie
from bench.retrieval import stores
from reverie.core.model import visible_spaces
from reverie.embedding import Embedder
from reverie.retrieval import hybrid_search
from reverie.retrieval.candidate_features import CandidatePool, gather_candidates
from reverie.retrieval.first_person import put_in_first_person
from reverie.retrieval.search_query import SearchQuery


class PoolPair(NamedTuple):
    """The candidates of a question as `recall` asks it, and with the vector of what was typed; the
    same if it names no speaker.
    """

    asked: CandidatePool
    typed: CandidatePool


def gather_pools(mind: reverie.Mind, embedder: Embedder, text: str) -> PoolPair:
    corpus = mind.store.corpus(embedder.model, visible_spaces(stores.SPACE))
    first = put_in_first_person(text, corpus)
    typed = gather_pool(mind, embedder, text, text)
    asked = typed if first == text else gather_pool(mind, embedder, text, first)
    return PoolPair(asked, typed)


def gather_pool(mind: reverie.Mind, embedder: Embedder, text: str, embedded: str) -> CandidatePool:
    """The candidates of a question whose vector is that of `embedded`."""
    query = SearchQuery(
        text=text,
        spaces=visible_spaces(stores.SPACE),
        now=0.0,
        vector=embedder.embed([embedded])[0],
        model=embedder.model,
    )
    corpus = mind.store.corpus(query.model, query.spaces)
    scores = mind.store.scores(query.model, corpus, query.terms)
    return gather_candidates(
        corpus, scores, query.vector, hybrid_search.score_identifiers(mind.store, query, corpus)
    )
