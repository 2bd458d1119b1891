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
from reverie.retrieval.candidate_features import EACH, Pool, gathered
from reverie.retrieval.ranker import Question, learned, places
from reverie.text.tokenization import STOP

if TYPE_CHECKING:
    from reverie.retrieval.search_query import Query
    from reverie.storage import Store
    from reverie.storage.column_cache import Corpus, Shard

DENSE_SHARE = 0.7  # CONSTANTS: fusion 0.7 / 0.3
RRF_K = 60
MORE = 10  # candidates read beyond the limit, or half of it: priors and diversity choose among them
NAMED_IN = 5  # an identifier that stands in more memories than this names nothing in particular
MOST_NAME = 100  # characters of an identifier; what is longer is data
# Letters with digits, a compound with _ / : # or an inner dot, camelCase; not 2nd or 5pm. Looked
# for word by word: in a whole text, a pasted key of 2,000 letters would take seconds.
_IDENTIFIER = re.compile(r"[A-Za-z].*\d|\d.*[A-Za-z]{2}|.[_/\\:#.]\w|[a-z][A-Z]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|am|pm|[a-z])?\W?")


def ranked(store: Store, query: Query) -> list[Hit]:
    """Hits by words and meaning; by words alone where there is no vector to compare with."""
    corpus = store.corpus(query.model, query.spaces)
    if not any(shard.dims == len(query.vector) and shard.known.any() for shard in corpus.shards):
        from reverie.retrieval.word_search import by_words

        return by_words(store, query)
    scores = store.scores(query.model, corpus, query.terms)
    pool = gathered(
        corpus,
        scores,
        query.vector,
        identified(store, query, corpus),
        allowed(store, query, corpus),
        each=max(EACH, query.limit),
    )
    if not len(pool):
        return []
    values = FUSIONS[query.mode](query, pool)
    order = [
        i
        for i in first(values, pool.ids, query.limit + max(MORE, query.limit // 2))
        if values[i] >= query.floor
    ]
    memories = {memory.id: memory for memory in store.get([pool.ids[i] for i in order])}
    reasons = why(pool, order)
    kept = [
        (i, Hit(memories[pool.ids[i]], float(values[i]), reason))
        for i, reason in zip(order, reasons, strict=True)
        if pool.ids[i] in memories
    ]
    hits = [hit for _, hit in kept]
    if not query.automatic:
        return hits
    return relevance_gate.judged(
        hits, seen(pool, values, [i for i, _ in kept], len(corpus)), query.text
    )


def seen(
    pool: Pool, values: np.ndarray, rows: Sequence[int], memories: int
) -> list[relevance_gate.Seen]:
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
    return [relevance_gate.Seen(*column, few) for column in columns]


def first(values: np.ndarray, ids: Sequence[str], most: int) -> list[int]:
    """The places of the highest values, best first, ties by id."""
    chosen = np.argpartition(-values, most)[:most] if len(values) > most else np.arange(len(values))
    return sorted((int(i) for i in chosen), key=lambda i: (-values[i], ids[i]))


def by_learning(query: Query, pool: Pool) -> np.ndarray:
    """The learned ranking."""
    ranker, question = learned(), Question(query.text)
    return ranker.likely(ranker.scores(question, pool), pool)


def convex(_query: Query, pool: Pool) -> np.ndarray:
    """0.7 · cosine + 0.3 · BM25 / highest BM25."""
    return blended(np.nan_to_num(pool.dense), pool.words)


def blended(cosine: np.ndarray, bm25: np.ndarray) -> np.ndarray:
    """The convex fusion of what meaning and words say of the same candidates: 0.7 and 0.3, 0..1
    (C67).
    """
    top = max(float(bm25.max(initial=0.0)), 1e-6)
    return np.asarray(np.clip(DENSE_SHARE * cosine + (1 - DENSE_SHARE) * bm25 / top, 0.0, 1.0))


def rrf(_query: Query, pool: Pool) -> np.ndarray:
    """Sum of 1 / (60 + rank) over the channels that found it, as a share of the most it can be."""
    by_meaning = np.where(np.isnan(pool.dense), 0.0, 1 / (RRF_K + 1 + places(pool.dense)))
    by_words = np.where(pool.words > 0, 1 / (RRF_K + 1 + places(pool.words)), 0.0)
    return (by_meaning + by_words) * (RRF_K + 1) / 2


def dense(_query: Query, pool: Pool) -> np.ndarray:
    """The cosine; `Query.floor` is how near it must be (B40)."""
    return np.clip(np.nan_to_num(pool.dense), 0.0, 1.0)


FUSIONS: dict[str, Callable[[Query, Pool], np.ndarray]] = {
    "auto": by_learning,
    "judged": by_learning,
    "convex": convex,
    "rrf": rrf,
    "dense": dense,
}


def identified(store: Store, query: Query, corpus: Corpus) -> list[np.ndarray]:
    """BM25 of the memories in which an identifier of the question stands, if it stands in few
    (CC-23).
    """
    found = [np.zeros(shard.n, np.float32) for shard in corpus.shards]
    for name in [name for name in names_in(query.text) if telling(name)][:8]:
        scores = store.scores(query.model, corpus, [name.lower().replace('"', "")])
        if 0 < sum(int((score > 0).sum()) for score in scores) <= NAMED_IN:
            found = [np.maximum(a, b) for a, b in zip(found, scores, strict=True)]
    return found


def names_in(text: str) -> list[str]:
    """What looks like an identifier in a text, in order, each once."""
    words = [
        word
        for word in text[:2_000].split()
        if len(word) <= MOST_NAME and not _ORDINAL.fullmatch(word)
    ]
    return list(
        dict.fromkeys(
            word.strip(".,:;?!()[]{}'\"`")
            for word in words
            if re.search("[A-Za-z]", word) and _IDENTIFIER.search(word)
        )
    )


def telling(name: str) -> bool:
    """Whether something that looks like an identifier says anything: E4021 does,
    and/or does not.
    """
    return any(len(part) > 2 and part not in STOP for part in re.split(r"\W+", name.lower()))


def allowed(store: Store, query: Query, corpus: Corpus) -> Callable[[Shard], np.ndarray | None]:
    """Which rows of a shard may be candidates; None where all may.

    What may not is masked before anything is chosen: a thousand expired memories cannot crowd out
    one that lives.
    """
    from reverie.retrieval.search_query import echoing

    kinds, without = (
        [corpus.codes[kind] for kind in some if kind in corpus.codes]
        for some in (query.kinds, query.without)
    )
    tagged = np.array(store.tagged(query.tags, query.spaces), np.int64) if query.tags else None
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
        if session and echoing(query, shard.space):
            tests.append((shard.session[: shard.n] != session) | (shard.kind[: shard.n] == excerpt))
        return np.logical_and.reduce(tests) if tests else None

    return mask


def why(pool: Pool, places: Sequence[int]) -> list[tuple[str, ...]]:
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
    return [reasons(*row) for row in columns]


def reasons(named: float, words: float, cosine: float, beside: bool) -> tuple[str, ...]:
    """The reasons of one candidate in words."""
    found = (
        named and "named",
        words > 0 and f"words {words:.1f}",
        not isnan(cosine) and f"meaning {cosine:.2f}",
        beside and "beside a match",
    )
    return tuple(reason for reason in found if reason)
