"""Code that is similar to some code, or answers words: chunks ranked by cosine and BM25.

Both channels propose chunks as they do for notes (`retrieval.note_search`) and are fused: a share
of the cosine, the rest BM25 as a part of the best. While no chunk has a vector, or without a model,
BM25 decides. A function that was cut into parts answers once, with its best part. What has changed
since it was indexed is cut up anew before it is shown, so that lines and text are those of the file
as it is.

Always true: ties break by path and line; what is shown holds no secrets, nor what the policy takes
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.code.code_chunks import (
    chunk_code,
    read_current_content,
    read_heading_symbol,
    redact_code,
)
from reverie.code.code_indexing import parse_facts
from reverie.core.privacy_policy import Policy
from reverie.retrieval.note_search import (
    MIN_COSINE,
    NoteCandidate,
    NoteQuery,
    gather_note_candidates,
)
from reverie.storage.indexed_files import Chunk, FileIndex, FoundChunk

# of the score, what the cosine says (bench/similar: 0.7 finds 0.5 % fewer, 0.9 1 % fewer)
COSINE_SHARE = 0.8
# BM25 of a match that is half as good as can be, where there is nothing but words
HALF_SCORE_BM25 = 4.0


class SimilarChunk(NamedTuple):
    """A chunk of code that answers."""

    path: str  # from the root of its repository
    first: int  # lines, from 1, both included
    last: int
    symbol: str  # the qualified name of what it is of; empty: of the file itself
    score: float  # 0..1
    text: str  # what stands there now, without secrets
    why: tuple[str, ...]


def search_similar_code(
    index: FileIndex,
    query: NoteQuery,
    now: float,
    policy: Policy,
) -> list[SimilarChunk]:
    """The best chunks of a repository, best first; of each symbol its best one only."""
    files = CurrentFiles(now, policy)
    answers: list[SimilarChunk] = []
    seen: set[tuple[str, str]] = set()
    for score, candidate in rank_code_chunks(index, query):
        if len(answers) >= query.limit:
            break
        answer = to_similar_chunk(score, candidate, files)
        if answer is None or (answer.path, answer.symbol) in seen:
            continue
        answers.append(answer)
        # what stands around definitions has no symbol: all of it may answer
        if answer.symbol:
            seen.add((answer.path, answer.symbol))
    return answers


def rank_code_chunks(
    index: FileIndex,
    query: NoteQuery,
) -> list[tuple[float, NoteCandidate]]:
    """The candidates of words and vectors with their scores, best first."""
    candidates = gather_note_candidates(index, query)

    def rank(scored: tuple[float, NoteCandidate]) -> tuple[float, str, int]:
        score, candidate = scored
        return -score, candidate.found.file.path, candidate.found.chunk.first

    return sorted(zip(score_code_candidates(candidates), candidates, strict=True), key=rank)


def score_code_candidates(candidates: Sequence[NoteCandidate]) -> list[float]:
    """How good each candidate is, 0..1.

    One that waits for its vector counts as just similar enough.
    """
    if all(one.cosine is None for one in candidates):
        return [one.bm25 / (one.bm25 + HALF_SCORE_BM25) for one in candidates]
    top = max(*(one.bm25 for one in candidates), 1e-6)
    scores = []
    for one in candidates:
        cosine = MIN_COSINE if one.cosine is None else max(0.0, one.cosine)
        scores.append(COSINE_SHARE * cosine + (1 - COSINE_SHARE) * one.bm25 / top)
    return scores


class CurrentFiles:
    """The files of one answer as they are now, each read at most once."""

    def __init__(self, now: float, policy: Policy) -> None:
        self._now = now
        self._policy = policy
        # the chunks of files that have changed; None for one that has not
        self._chunks: dict[tuple[str, str], list[Chunk] | None] = {}

    def chunk(self, found: FoundChunk) -> Chunk | None:
        """What a chunk is now; None if it is gone."""
        place = (found.root, found.file.path)
        if place not in self._chunks:
            self._chunks[place] = self._chunk_anew(found)
        fresh = self._chunks[place]
        return found.chunk if fresh is None else find_successor_chunk(found.chunk, fresh)

    def _chunk_anew(self, found: FoundChunk) -> list[Chunk] | None:
        """The chunks of a file that has changed since it was indexed; None if it has not.

        Of a file that is gone there are none.
        """
        path = found.file.path
        content = read_current_content(found.root, path, self._now, self._policy)
        if content is None:
            return []
        if content.hash == found.file.hash:
            return None
        text = redact_code(content.text)
        return chunk_code(path, text, parse_facts(path, text).symbols)


def to_similar_chunk(
    score: float,
    candidate: NoteCandidate,
    files: CurrentFiles,
) -> SimilarChunk | None:
    """A candidate as an answer; None if it is gone."""
    found = candidate.found
    chunk = files.chunk(found)
    if chunk is None:
        return None
    why = []
    if candidate.bm25 > 0:
        why.append(f"words {candidate.bm25:.1f}")
    if candidate.cosine is not None:
        why.append(f"meaning {candidate.cosine:.2f}")
    if chunk.hash != found.chunk.hash:
        why.append("changed since it was indexed")
    return SimilarChunk(
        found.file.path,
        chunk.first,
        chunk.last,
        read_heading_symbol(chunk.text),
        score,
        chunk.text.partition("\n")[2],
        tuple(why),
    )


def find_successor_chunk(old: Chunk, fresh: list[Chunk]) -> Chunk | None:
    """What a chunk has become: the same text, else the nearest one of the same symbol."""
    same = [one for one in fresh if one.hash == old.hash]
    symbol = read_heading_symbol(old.text)
    successors = same or [one for one in fresh if read_heading_symbol(one.text) == symbol]
    return min(
        successors,
        key=lambda one: abs(one.first - old.first),
        default=None,
    )
