"""The candidates of a question as the package gathers them."""

from typing import NamedTuple

import reverie
from bench.retrieval import stores
from reverie.core.model import visible_spaces
from reverie.embedding import Embedder
from reverie.retrieval.first_person import find_possible_names, put_in_first_person
from reverie.retrieval.hybrid_search import to_candidate_request
from reverie.retrieval.search_query import SearchQuery
from reverie.storage.candidates import CandidatePool


class PoolPair(NamedTuple):
    """The candidates of a question as `recall` asks it, and with the vector of what was typed; the
    same if it names no speaker.
    """

    asked: CandidatePool
    typed: CandidatePool


def gather_pools(mind: reverie.Mind, embedder: Embedder, text: str) -> PoolPair:
    speakers = mind.store.speakers(find_possible_names(text), visible_spaces(stores.SPACE))
    first = put_in_first_person(text, speakers)
    typed = gather_pool(mind, embedder, text, text)
    asked = typed if first == text else gather_pool(mind, embedder, text, first)
    return PoolPair(asked, typed)


def gather_pool(mind: reverie.Mind, embedder: Embedder, text: str, embedded: str) -> CandidatePool:
    """The candidates of a question whose vector is that of `embedded`."""
    query = SearchQuery(
        text=text,
        spaces=visible_spaces(stores.SPACE),
        now=0.0,
        without=(),
        vector=embedder.embed([embedded])[0],
        model=embedder.model,
    )
    pool = mind.store.candidates(to_candidate_request(query))
    if pool is None:
        raise SystemExit("no memory here has a vector of this model")
    return pool
