"""Words and embedding together: ask the store for candidates, score them, say why.

Three ways to fuse: `auto`, the learned ranking; `convex`, 0.7 of the cosine and 0.3 of BM25 over
its highest (Bruch et al., 2023); `rrf`, reciprocal ranks with k = 60 (Cormack et al., 2009).
`dense` ranks by the cosine alone.
"""

import re
from collections.abc import Callable, Sequence
from math import isnan

import numpy as np

from reverie.core.model import Hit, index_memories
from reverie.retrieval import relevance_gate
from reverie.retrieval.ranker import (
    MIN_SPREAD,
    load_ranker,
    rank_places,
    small_store_share,
)
from reverie.retrieval.search_query import SearchQuery
from reverie.retrieval.word_search import search_words
from reverie.storage import Store
from reverie.storage.candidates import CANDIDATES_PER_CHANNEL, CandidatePool, CandidateRequest
from reverie.text.tokenization import STOP_WORDS

# The cosine's share of the convex fusion; BM25 has the rest.
DENSE_SHARE = 0.7
RRF_K = 60
# Candidates read beyond the limit, or half of it if that is more: priors choose among them, and
# equal texts fall out.
EXTRA_CANDIDATES = 10
# Characters of a question in which identifiers are looked for.
MAX_QUESTION_CHARS = 2_000
MAX_IDENTIFIER_CHARS = 100  # what is longer is data
# Identifiers of one question that are looked up: each is a search of its own.
MAX_IDENTIFIERS = 8
# Unrelated texts in English are alike by this much at most; in a language that the model hardly
# knows by .4, whatever they say: what is above counts nothing for the gate. Where there are so few
# memories, their mean is half what the question is about.
USUAL_LIKENESS, FEW_MEMORIES = 0.2, 3
# Where a neighbouring turn matches better than the candidate by this much, `why` says so.
BESIDE_COSINE, BESIDE_BM25 = 0.05, 1.5
# Letters with digits, a compound with _ / : # or an inner dot, camelCase; not 2nd or 5pm. It is
# looked for word by word: in a whole text, a pasted key of 2,000 letters would take seconds.
_IDENTIFIER = re.compile(r"[A-Za-z].*\d|\d.*[A-Za-z]{2}|.[_/\\:#.]\w|[a-z][A-Z]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|am|pm|[a-z])?\W?")


def rank_hybrid(store: Store, query: SearchQuery) -> list[Hit]:
    """Hits by words and embedding; by words alone where there is no vector to compare with.

    Judged by the gate if nobody asked.
    """
    pool = store.candidates(to_candidate_request(query))
    if pool is None:
        return search_words(store, query)
    if not len(pool):
        return []
    values = FUSIONS[query.mode](query, pool)
    hits, rows = load_best_hits(store, query, pool, values)
    if not query.automatic:
        return hits
    signals = to_gate_signals(pool, values, rows)
    return relevance_gate.judge_hits(hits, signals, query.text)


def to_candidate_request(query: SearchQuery) -> CandidateRequest:
    """What a store is asked for to answer a query."""
    names = find_identifiers(query.text)[:MAX_IDENTIFIERS]
    return CandidateRequest(
        model=query.model,
        vector=query.vector,
        spaces=query.spaces,
        terms=tuple(query.terms),
        identifiers=tuple(name.lower().replace('"', "") for name in names),
        each=max(CANDIDATES_PER_CHANNEL, query.limit),
        kinds=query.kinds,
        without=query.without,
        tags=query.tags,
        now=query.now,
        before=query.before,
        not_session=query.not_session,
        session_in=query.session_in,
    )


def load_best_hits(
    store: Store,
    query: SearchQuery,
    pool: CandidatePool,
    values: np.ndarray,
) -> tuple[list[Hit], list[int]]:
    """The best candidates as hits, and the row of each in the pool."""
    most = query.limit + max(EXTRA_CANDIDATES, query.limit // 2)
    best = select_top_places(values, pool.ids, most)
    places = [place for place in best if values[place] >= query.floor]
    memories = index_memories(store.get([pool.ids[place] for place in places]))
    hits, rows = [], []
    for place, reasons in zip(places, explain_candidates(pool, places), strict=True):
        memory = memories.get(pool.ids[place])
        # It may have been purged since the columns were read.
        if memory is not None:
            hits.append(Hit(memory, float(values[place]), reasons))
            rows.append(place)
    return hits, rows


def to_gate_signals(
    pool: CandidatePool,
    values: np.ndarray,
    rows: Sequence[int],
) -> list[relevance_gate.GateSignals]:
    """The gate's signals of some candidates.

    What has no vector yet counts as alike as an unrelated text.
    """
    memories = pool.memories
    dense = np.nan_to_num(pool.dense[rows], nan=pool.mean)
    z = (dense - pool.mean) / max(pool.spread, MIN_SPREAD)
    usual = max(0.0, pool.mean - USUAL_LIKENESS) * (memories - 1) / (memories - 1 + FEW_MEMORIES)
    dense = dense - usual
    chances = values[rows]
    # Neither 0 nor 1: their log-odds would be infinite.
    odds_for = np.log(np.clip(chances, 1e-9, 1.0))
    odds_against = np.log(np.clip(1.0 - chances, 1e-9, 1.0))
    log_odds = odds_for - odds_against
    few = small_store_share(memories)
    columns = np.stack(
        [dense, z, pool.words[rows], log_odds],
        axis=1,
    )
    return [
        relevance_gate.GateSignals(cosine, deviation, bm25, likely, few)
        for cosine, deviation, bm25, likely in columns.tolist()
    ]


def select_top_places(
    values: np.ndarray,
    ids: Sequence[str],
    most: int,
) -> list[int]:
    """The indexes of the `most` highest values, best first, ties by id."""
    chosen = range(len(values))
    if len(values) > most:
        # A partition is linear: only the best are sorted.
        chosen = np.argpartition(-values, most)[:most].tolist()
    return sorted(
        chosen,
        key=lambda place: (-values[place], ids[place]),
    )


def score_learned(query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """The learned ranking, as the chance that a candidate matters, 0..1."""
    ranker = load_ranker()
    return ranker.likelihoods(ranker.scores(query.text, pool), pool)


def score_convex(_query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """0.7 · cosine + 0.3 · BM25 / highest BM25, 0..1."""
    return blend_convex(np.nan_to_num(pool.dense), pool.words)


def blend_convex(cosine: np.ndarray, bm25: np.ndarray) -> np.ndarray:
    """The convex fusion of a cosine and a BM25 for each candidate, 0..1: 0.7 and 0.3, BM25 over its
    highest.
    """
    top = max(float(bm25.max(initial=0.0)), 1e-6)
    mixed = DENSE_SHARE * cosine + (1 - DENSE_SHARE) * bm25 / top
    return np.asarray(np.clip(mixed, 0.0, 1.0))


def score_rrf(_query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """The sum of 1 / (60 + rank) over the channels that found it, as a share of the most it can
    be.
    """
    by_cosine = 1 / (RRF_K + 1 + rank_places(pool.dense))
    by_bm25 = 1 / (RRF_K + 1 + rank_places(pool.words))
    # What a channel has not found counts nothing there.
    found_dense = np.where(np.isnan(pool.dense), 0.0, by_cosine)
    found_words = np.where(pool.words > 0, by_bm25, 0.0)
    return (found_dense + found_words) * (RRF_K + 1) / 2


def score_dense(_query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """The cosine, 0..1; `SearchQuery.floor` is how near it must be."""
    return np.clip(np.nan_to_num(pool.dense), 0.0, 1.0)


FUSIONS: dict[str, Callable[[SearchQuery, CandidatePool], np.ndarray]] = {
    "auto": score_learned,
    "judged": score_learned,
    "convex": score_convex,
    "rrf": score_rrf,
    "dense": score_dense,
}


def find_identifiers(text: str) -> list[str]:
    """What looks like an identifier in a text and says anything, in order, each once.

    E4021 does, and/or does not: one of its parts is a word of its own.
    """
    words = text[:MAX_QUESTION_CHARS].split()
    names = [word.strip(".,:;?!()[]{}'\"`") for word in words if looks_like_identifier(word)]
    return list(dict.fromkeys(filter(has_telling_part, names)))


def looks_like_identifier(word: str) -> bool:
    """True for a word that is written as an identifier is."""
    if len(word) > MAX_IDENTIFIER_CHARS or _ORDINAL.fullmatch(word):
        return False
    return bool(re.search("[A-Za-z]", word) and _IDENTIFIER.search(word))


def has_telling_part(name: str) -> bool:
    """True if a part of a name is a word of more than two letters, and no stop word."""
    parts = re.split(r"\W+", name.lower())
    return any(len(part) > 2 and part not in STOP_WORDS for part in parts)


def explain_candidates(
    pool: CandidatePool,
    places: Sequence[int],
) -> list[tuple[str, ...]]:
    """How some candidates were found, in words, the plainest reasons first."""
    rows = np.array(places, np.int64)
    cosines, bm25 = pool.dense[rows], pool.words[rows]
    near_cosine = np.nan_to_num(pool.near_dense[rows]).max(axis=1)
    near_bm25 = pool.near_words[rows].max(axis=1)
    is_nearer = near_cosine > np.nan_to_num(cosines) + BESIDE_COSINE
    is_worded = near_bm25 > BESIDE_BM25 * np.maximum(bm25, 1e-6)
    columns = (pool.named[rows], bm25, cosines, is_nearer | is_worded)
    explained = []
    for named, words, cosine, beside in zip(*columns, strict=True):
        found = (
            named and "named",
            words > 0 and f"words {words:.1f}",
            not isnan(cosine) and f"meaning {cosine:.2f}",
            beside and "beside a match",
        )
        explained.append(tuple(filter(None, found)))
    return explained
