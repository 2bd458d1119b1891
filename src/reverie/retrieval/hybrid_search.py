"""Words and meaning together: gather the candidates, score them, say why.

Three ways to fuse: `auto`, the learned ranking; `convex`, 0.7 of the cosine and 0.3 of BM25 over
its highest (Bruch et al., 2023); `rrf`, reciprocal ranks with k = 60 (Cormack et al., 2009).
`dense` ranks by the cosine alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from reverie.core.kinds import EXCERPT
from reverie.core.model import Hit
from reverie.retrieval import relevance_gate
from reverie.retrieval.candidate_features import (
    CANDIDATES_PER_CHANNEL,
    CandidatePool,
    gather_candidates,
)
from reverie.retrieval.ranker import QuestionSignals, load_ranker, rank_places
from reverie.text.tokenization import STOP_WORDS

if TYPE_CHECKING:
    from reverie.retrieval.search_query import SearchQuery
    from reverie.storage import Store
    from reverie.storage.column_cache import Corpus, Shard

DENSE_SHARE = 0.7  # CONSTANTS: fusion 0.7 / 0.3
RRF_K = 60
EXTRA_CANDIDATES = (
    10  # candidates read beyond the limit, or half of it: priors and diversity choose among them
)
MAX_IDENTIFIER_MEMORIES = (
    5  # an identifier that stands in more memories than this names nothing in particular
)
MAX_IDENTIFIER_CHARS = 100  # characters of an identifier; what is longer is data
# Letters with digits, a compound with _ / : # or an inner dot, camelCase; not 2nd or 5pm. Looked
# for word by word: in a whole text, a pasted key of 2,000 letters would take seconds.
_IDENTIFIER = re.compile(r"[A-Za-z].*\d|\d.*[A-Za-z]{2}|.[_/\\:#.]\w|[a-z][A-Z]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|am|pm|[a-z])?\W?")


def rank_hybrid(store: Store, query: SearchQuery) -> list[Hit]:
    """Hits by words and meaning; by words alone where there is no vector to compare with."""
    corpus = store.corpus(query.model, query.spaces)
    if not any(shard.dims == len(query.vector) and shard.known.any() for shard in corpus.shards):
        from reverie.retrieval.word_search import search_words

        return search_words(store, query)
    scores = store.scores(query.model, corpus, query.terms)
    pool = gather_candidates(
        corpus,
        scores,
        query.vector,
        score_identifiers(store, query, corpus),
        build_row_mask(store, query, corpus),
        each=max(CANDIDATES_PER_CHANNEL, query.limit),
    )
    if not len(pool):
        return []
    values = FUSIONS[query.mode](query, pool)
    order = [
        i
        for i in select_top_places(
            values, pool.ids, query.limit + max(EXTRA_CANDIDATES, query.limit // 2)
        )
        if values[i] >= query.floor
    ]
    memories = {memory.id: memory for memory in store.get([pool.ids[i] for i in order])}
    reasons = explain_candidates(pool, order)
    kept = [
        (i, Hit(memories[pool.ids[i]], float(values[i]), reason))
        for i, reason in zip(order, reasons, strict=True)
        if pool.ids[i] in memories
    ]
    hits = [hit for _, hit in kept]
    if not query.automatic:
        return hits
    return relevance_gate.judge_hits(
        hits, to_gate_signals(pool, values, [i for i, _ in kept], len(corpus)), query.text
    )


def to_gate_signals(
    pool: CandidatePool, values: np.ndarray, rows: Sequence[int], memories: int
) -> list[relevance_gate.GateSignals]:
    """What the gate looks at, of some candidates; `memories` is how many there are to choose from.
    What has no vector yet is as alike as what means nothing here.
    """
    dense = np.nan_to_num(pool.dense[rows], nan=pool.mean)
    logits = np.log(np.clip(values[rows], 1e-9, 1.0)) - np.log(
        np.clip(1.0 - values[rows], 1e-9, 1.0)
    )
    columns = zip(
        dense.tolist(),
        ((dense - pool.mean) / max(pool.spread, 0.02)).tolist(),
        pool.words[rows].tolist(),
        logits.tolist(),
        strict=True,
    )
    few = 1.0 / (1.0 + memories / 30.0)
    return [relevance_gate.GateSignals(*column, few) for column in columns]


def select_top_places(values: np.ndarray, ids: Sequence[str], most: int) -> list[int]:
    """The places of the highest values, best first, ties by id."""
    chosen = np.argpartition(-values, most)[:most] if len(values) > most else np.arange(len(values))
    return sorted((int(i) for i in chosen), key=lambda i: (-values[i], ids[i]))


def score_learned(query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """The learned ranking."""
    ranker, question = load_ranker(), QuestionSignals(query.text)
    return ranker.likelihoods(ranker.scores(question, pool), pool)


def score_convex(_query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """0.7 · cosine + 0.3 · BM25 / highest BM25."""
    return blend_convex(np.nan_to_num(pool.dense), pool.words)


def blend_convex(cosine: np.ndarray, bm25: np.ndarray) -> np.ndarray:
    """The convex fusion of what meaning and words say of the same candidates: 0.7 and 0.3, 0..1
    (C67).
    """
    top = max(float(bm25.max(initial=0.0)), 1e-6)
    return np.asarray(np.clip(DENSE_SHARE * cosine + (1 - DENSE_SHARE) * bm25 / top, 0.0, 1.0))


def score_rrf(_query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """Sum of 1 / (60 + rank) over the channels that found it, as a share of the most it can be."""
    by_meaning = np.where(np.isnan(pool.dense), 0.0, 1 / (RRF_K + 1 + rank_places(pool.dense)))
    by_words = np.where(pool.words > 0, 1 / (RRF_K + 1 + rank_places(pool.words)), 0.0)
    return (by_meaning + by_words) * (RRF_K + 1) / 2


def score_dense(_query: SearchQuery, pool: CandidatePool) -> np.ndarray:
    """The cosine; `Query.floor` is how near it must be (B40)."""
    return np.clip(np.nan_to_num(pool.dense), 0.0, 1.0)


FUSIONS: dict[str, Callable[[SearchQuery, CandidatePool], np.ndarray]] = {
    "auto": score_learned,
    "judged": score_learned,
    "convex": score_convex,
    "rrf": score_rrf,
    "dense": score_dense,
}


def score_identifiers(store: Store, query: SearchQuery, corpus: Corpus) -> list[np.ndarray]:
    """BM25 of the memories in which an identifier of the question stands, if it stands in few
    (CC-23).
    """
    found = [np.zeros(shard.n, np.float32) for shard in corpus.shards]
    for name in [name for name in find_identifiers(query.text) if is_telling_identifier(name)][:8]:
        scores = store.scores(query.model, corpus, [name.lower().replace('"', "")])
        if 0 < sum(int((score > 0).sum()) for score in scores) <= MAX_IDENTIFIER_MEMORIES:
            found = [np.maximum(a, b) for a, b in zip(found, scores, strict=True)]
    return found


def find_identifiers(text: str) -> list[str]:
    """What looks like an identifier in a text, in order, each once."""
    words = [
        word
        for word in text[:2_000].split()
        if len(word) <= MAX_IDENTIFIER_CHARS and not _ORDINAL.fullmatch(word)
    ]
    return list(
        dict.fromkeys(
            word.strip(".,:;?!()[]{}'\"`")
            for word in words
            if re.search("[A-Za-z]", word) and _IDENTIFIER.search(word)
        )
    )


def is_telling_identifier(name: str) -> bool:
    """Whether something that looks like an identifier says anything: E4021 does,
    and/or does not.
    """
    return any(len(part) > 2 and part not in STOP_WORDS for part in re.split(r"\W+", name.lower()))


def build_row_mask(
    store: Store, query: SearchQuery, corpus: Corpus
) -> Callable[[Shard], np.ndarray | None]:
    """Which rows of a shard may be candidates; None where all may.

    What may not is masked before anything is chosen: a thousand expired memories cannot crowd out
    one that lives.
    """
    from reverie.retrieval.search_query import is_own_session

    kinds, without = (
        [corpus.codes[kind] for kind in some if kind in corpus.codes]
        for some in (query.kinds, query.without)
    )
    tagged = (
        np.array(store.tagged_numbers(query.tags, query.spaces), np.int64) if query.tags else None
    )
    session, excerpt = corpus.codes.get(query.not_session, 0), corpus.codes.get(EXCERPT, -1)

    def mask(shard: Shard) -> np.ndarray | None:
        ended = shard.expires[: shard.n] <= query.now
        tests = [~ended] if ended.any() else []
        if query.kinds:
            tests.append(np.isin(shard.kind[: shard.n], kinds))
        if without:
            tests.append(~np.isin(shard.kind[: shard.n], without))
        if tagged is not None:
            tests.append(np.isin(shard.num[: shard.n], tagged))
        if query.before is not None:
            tests.append(shard.at[: shard.n] <= query.before)
        if session and is_own_session(query, shard.space):
            tests.append((shard.session[: shard.n] != session) | (shard.kind[: shard.n] == excerpt))
        return np.logical_and.reduce(tests) if tests else None

    return mask


def explain_candidates(pool: CandidatePool, places: Sequence[int]) -> list[tuple[str, ...]]:
    """How some candidates were found, the plainest reasons first."""
    some = np.array(places, np.int64)
    cosine = pool.dense[some]
    beside = (np.nan_to_num(pool.near_dense[some]).max(axis=1) > np.nan_to_num(cosine) + 0.05) | (
        pool.near_words[some].max(axis=1) > 1.5 * np.maximum(pool.words[some], 1e-6)
    )
    columns = zip(
        pool.named[some].tolist(),
        pool.words[some].tolist(),
        cosine.tolist(),
        beside.tolist(),
        strict=True,
    )
    return [list_reasons(*row) for row in columns]


def list_reasons(named: float, words: float, cosine: float, beside: bool) -> tuple[str, ...]:
    """The reasons of one candidate in words."""
    found = (
        named and "named",
        words > 0 and f"words {words:.1f}",
        not isnan(cosine) and f"meaning {cosine:.2f}",
        beside and "beside a match",
    )
    return tuple(reason for reason in found if reason)
