"""Passages of files for a question: words and embedding, fused as 0.7 of the cosine and 0.3 of the
normalised BM25.

Both channels propose CANDIDATES_PER_PASSAGE times as many chunks as are wanted; the embedding alone
proposes nothing below MIN_COSINE, and a chunk that waits for its vector counts as just that alike.
Without a model, words decide. What is shown of a chunk are the lines around the words of the
question, and one line is shown once.

Always true: only files of the given roots; ties break by path and line.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.retrieval.word_search import lexical_score, text_coverage
from reverie.storage.indexed_files import FileIndex, FileStamp, FoundChunk
from reverie.text.tokenization import tokenize_query

# The cosine from which the embedding alone proposes a chunk.
MIN_COSINE = 0.35
# Chunks that a channel proposes for each one that is wanted.
CANDIDATES_PER_PASSAGE = 5
# Characters that are shown of a chunk.
MAX_SNIPPET_CHARS = 700
MODES = ("auto", "dense", "words")


class Passage(NamedTuple):
    """Lines of a file that fit a question; `text` is what stands there, without secrets."""

    path: str  # absolute
    first: int  # line numbers, from 1, both included
    last: int
    text: str
    score: float  # 0..1
    why: tuple[str, ...]
    stamp: FileStamp  # of the file as it was indexed


class NoteQuery(NamedTuple):
    """A question about files."""

    text: str
    roots: tuple[str, ...]
    limit: int = 10
    mode: str = "auto"
    vector: Any = None
    model: str = ""


class NoteCandidate(NamedTuple):
    """A chunk with what the channels say about it."""

    found: FoundChunk
    bm25: float
    cosine: float | None


def search_notes(index: FileIndex, asked: NoteQuery) -> list[Passage]:
    """The best passages for a question, best first. BadInput if the mode is none of MODES."""
    if asked.mode not in MODES:
        raise BadInput(
            f"{asked.mode!r} is not a way of searching files; there are {', '.join(MODES)}"
        )
    if asked.limit <= 0:
        return []
    terms = tokenize_query(asked.text)
    candidates = gather_note_candidates(index, asked)
    scores = score_note_candidates(candidates, terms)
    passages: list[Passage] = []
    for score, candidate in sorted(
        zip(scores, candidates, strict=True),
        key=candidate_order,
    ):
        passage = to_passage(candidate, score, terms)
        if not any(shows_same_lines(passage, better) for better in passages):
            passages.append(passage)
        if len(passages) == asked.limit:
            break
    return passages


def candidate_order(scored: tuple[float, NoteCandidate]) -> tuple[float, str, str, int]:
    """The sort key of scored candidates: the best first, ties by path and line."""
    score, candidate = scored
    found = candidate.found
    return -score, found.root, found.file.path, found.chunk.first


def gather_note_candidates(index: FileIndex, asked: NoteQuery) -> list[NoteCandidate]:
    """The chunks that words and embedding propose, with what each channel says about them."""
    most = CANDIDATES_PER_PASSAGE * asked.limit
    bm25: dict[int, float] = {}
    if asked.mode != "dense":
        bm25 = dict(index.search_words(tokenize_query(asked.text), asked.roots, most))
    cosine: dict[int, float] = {}
    if asked.vector is not None and asked.mode != "words":
        cosine = dict(index.nearest(asked.model, asked.vector, asked.roots, most, MIN_COSINE))
        unmeasured = [num for num in bm25 if num not in cosine]
        cosine |= index.cosines(asked.model, asked.vector, unmeasured)
    found = index.chunks(list(dict.fromkeys((*bm25, *cosine))))
    return [
        NoteCandidate(
            one,
            bm25.get(one.num, 0.0),
            cosine.get(one.num),
        )
        for one in found
    ]


def score_note_candidates(
    pool: Sequence[NoteCandidate],
    terms: Sequence[str],
) -> list[float]:
    """The score of each candidate, 0..1; by words alone where none has a vector."""
    if all(one.cosine is None for one in pool):
        scores = []
        for one in pool:
            text = f"{one.found.file.path} {one.found.chunk.text}"
            scores.append(lexical_score(one.bm25, text_coverage(terms, text)))
        return scores
    import numpy as np

    from reverie.retrieval.hybrid_search import blend_convex

    cosine = np.array([MIN_COSINE if one.cosine is None else one.cosine for one in pool])
    bm25 = np.array([one.bm25 for one in pool])
    return [float(score) for score in blend_convex(cosine, bm25)]


def to_passage(
    one: NoteCandidate,
    score: float,
    terms: Sequence[str],
) -> Passage:
    """What is shown of a candidate, with the reasons why."""
    found = one.found
    first, last, text = cut_snippet(found.chunk.text.split("\n"), terms)
    why = (
        one.bm25 > 0 and f"words {one.bm25:.1f}",
        one.cosine is not None and f"meaning {one.cosine:.2f}",
    )
    return Passage(
        str(Path(found.root, found.file.path)),
        found.chunk.first + first,
        found.chunk.first + last,
        text,
        score,
        tuple(reason for reason in why if reason),
        found.file.stamp,
    )


def cut_snippet(
    lines: Sequence[str],
    terms: Sequence[str],
) -> tuple[int, int, str]:
    """(first, last, text) of the lines that hold most of the terms, within MAX_SNIPPET_CHARS.

    Of several such stretches the first; line numbers count from 0 here.
    """
    weights = [text_coverage(terms, line) for line in lines]
    best, start, size, here = (-1.0, 0, 0), 0, 0, 0.0
    # A window slides over the lines: `here` is the weight of those from `start` to `end`.
    for end, line in enumerate(lines):
        size += len(line) + 1
        here += weights[end]
        while start < end and size > MAX_SNIPPET_CHARS:
            size -= len(lines[start]) + 1
            here -= weights[start]
            start += 1
        if here > best[0] + 1e-9 or (best[1] == start and here > best[0] - 1e-9):
            best = (here, start, end)
    _, first, last = best
    return first, last, "\n".join(lines[first : last + 1])


def shows_same_lines(one: Passage, better: Passage) -> bool:
    """True if a better passage has shown most of the lines of one.

    Parts of one long line are different passages, however many share its number.
    """
    if one.path != better.path:
        return False
    if one.first == one.last == better.first == better.last:
        return one.text == better.text
    common = min(one.last, better.last) - max(one.first, better.first) + 1
    return 2 * common > one.last - one.first + 1
