"""The candidates of one query with all that ranking looks at, taken from columns in memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from reverie.core.kinds import EXCERPT
from reverie.storage.arrays import Flags, Floats, Ints
from reverie.storage.candidates import (
    EXPANDED_PER_CHANNEL,
    MAX_IDENTIFIER_MEMORIES,
    NEIGHBOUR_OFFSETS,
    CandidatePool,
    CandidateRequest,
)
from reverie.storage.column_cache import Corpus, Shard, sort_distinct

NO_CODE = -1  # of a kind that no memory here has

# BM25 of every row of every shard of a corpus, for some terms.
CorpusScores: TypeAlias = Callable[[Sequence[str]], list[Floats]]


def gather_candidates(
    corpus: Corpus,
    request: CandidateRequest,
    score_terms: CorpusScores,
    tagged: Sequence[int],
) -> CandidatePool | None:
    """The candidates of a corpus; None if it has no vector to compare with.

    `tagged` are the numbers of the memories that carry the tags asked for.
    """
    dims = len(request.vector)
    if not any(shard.dims == dims and shard.known.any() for shard in corpus.shards):
        return None
    scores = score_terms(request.terms)
    named = score_identifiers(corpus, request.identifiers, score_terms)
    parts = []
    for shard, score, name in zip(corpus.shards, scores, named, strict=True):
        allowed = build_row_mask(shard, request, corpus.codes, tagged)
        rows = choose_rows(shard, score, request.vector, name, allowed, request.each)
        part = build_candidate_columns(shard, rows, score, request.vector, name)
        part["excerpt"] = shard.kind[rows] == corpus.codes.get(EXCERPT, NO_CODE)
        parts.append(part)
    largest = max(corpus.shards, key=lambda shard: shard.n)
    mean, spread = largest.background(request.vector)
    ids = [id for part in parts for id in part.pop("ids")]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    session = columns["session"]
    return CandidatePool(
        ids=ids,
        names=corpus.names,
        mean=mean,
        spread=spread,
        typical=largest.median_length(),
        sessions=len(sort_distinct(session[session > 0])),
        memories=len(corpus),
        **columns,
    )


def score_identifiers(
    corpus: Corpus,
    identifiers: Sequence[str],
    score_terms: CorpusScores,
) -> list[Floats]:
    """For each shard, the BM25 of the memories in which an identifier of the question stands.

    An identifier counts if it stands in MAX_IDENTIFIER_MEMORIES at most.
    """
    found = [np.zeros(shard.n, np.float32) for shard in corpus.shards]
    for name in identifiers:
        scores = score_terms([name])
        memories = sum(int((score > 0).sum()) for score in scores)
        if 0 < memories <= MAX_IDENTIFIER_MEMORIES:
            found = list(map(np.maximum, found, scores))
    return found


def build_row_mask(
    shard: Shard,
    request: CandidateRequest,
    codes: Mapping[str, int],
    tagged: Sequence[int],
) -> Flags | None:
    """True for the rows of a shard that may be candidates; None where all may.

    What may not is masked before anything is chosen: a thousand expired memories cannot crowd out
    one that lives.
    """
    # The columns have room for more rows than there are.
    rows = slice(shard.n)
    kind = shard.kind[rows]
    ended = shard.expires[rows] <= request.now
    tests = [~ended] if ended.any() else []
    if request.kinds:
        tests.append(np.isin(kind, [codes[name] for name in request.kinds if name in codes]))
    if without := [codes[name] for name in request.without if name in codes]:
        tests.append(~np.isin(kind, without))
    if request.tags:
        tests.append(np.isin(shard.num[rows], tagged))
    if request.before is not None:
        tests.append(shard.at[rows] <= request.before)
    session = codes.get(request.not_session, 0)
    if session and (not request.session_in or shard.space in request.session_in):
        is_excerpt = kind == codes.get(EXCERPT, NO_CODE)
        tests.append((shard.session[rows] != session) | is_excerpt)
    return np.logical_and.reduce(tests) if tests else None


def choose_rows(
    shard: Shard,
    score: Floats,
    vector: Floats,
    named: Floats,
    allowed: Flags | None,
    each: int,
) -> Ints:
    """The rows of one shard's candidates, ascending."""
    near, cosines = shard.nearest(vector, each, allowed)
    nearest = near[np.argsort(-cosines)]
    counted = (
        score
        if allowed is None
        else np.where(
            allowed,
            score,
            np.float32(0.0),
        )
    )
    by_words = select_best_rows(counted, each)
    first = np.concatenate([nearest[:EXPANDED_PER_CHANNEL], by_words[:EXPANDED_PER_CHANNEL]])
    around = [shard.beside(first, offset) for offset in NEIGHBOUR_OFFSETS]
    proposed = np.concatenate([near, by_words, np.flatnonzero(named), *around])
    rows = sort_distinct(proposed[proposed >= 0])
    # A neighbour or a named one may be retired, or not allowed.
    rows = rows[shard.counts[rows]]
    return rows if allowed is None else rows[allowed[rows]]


def build_candidate_columns(
    shard: Shard,
    rows: Ints,
    score: Floats,
    vector: Floats,
    named: Floats,
) -> dict[str, Any]:
    """All columns of some rows, by name. Each row's cosine is computed once, however many rows it
    stands beside.
    """
    beside = np.stack(
        [shard.beside(rows, offset) for offset in NEIGHBOUR_OFFSETS],
        axis=1,
    )
    every, where = np.unique(
        np.concatenate([rows, beside.ravel()]),
        return_inverse=True,
    )
    cosines = shard.cosines(every, vector)[where]
    before = beside[:, NEIGHBOUR_OFFSETS.index(-1)]
    return {
        "ids": [shard.ids[row] for row in rows.tolist()],
        "dense": cosines[: len(rows)],
        "words": score[rows],
        "near_dense": cosines[len(rows) :].reshape(beside.shape),
        "near_words": np.where(
            beside >= 0,
            score[beside],
            np.float32(0.0),
        ),
        "session": shard.session[rows],
        "speaker": shard.speaker[rows],
        "at": shard.at[rows],
        "length": shard.length[rows],
        "asks": shard.asks[rows],
        "asked": (before >= 0) & shard.asks[before],
        "named": (named[rows] > 0).astype(np.float32),
    }


def select_best_rows(scores: Floats, limit: int) -> Ints:
    """The rows of the highest scores above 0, best first, ties by row."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        rows = rows[np.argpartition(-scores[rows], limit)[:limit]]
    order: Ints = rows[np.lexsort((rows, -scores[rows]))]
    return order
