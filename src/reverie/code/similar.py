"""Code that is like some code, or like words: chunks ranked by meaning and words, told as they stand in the file now.

Both channels propose chunks and are fused as those of notes are (`search.files`); while a chunk waits for its vector,
or without a model, words decide. A function that was cut into parts answers once, with its best part. What has changed
since it was indexed is cut up anew before it is told, so that lines and text are those of the file as it is.

Always true: ties break by path and line; what is told holds no secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from reverie.code.chunks import as_it_is, chunked, clean, symbol_of
from reverie.code.index import facts_of
from reverie.search.files import Asked, Candidate, candidates, scores
from reverie.store.files import Chunk, FileIndex
from reverie.words import query_terms


class Alike(NamedTuple):
    """A chunk of code that answers."""

    path: str              # from the root of its repository
    first: int             # lines, from 1, both included
    last: int
    symbol: str            # the qualified name of what it is of; empty: of the file itself
    score: float           # 0..1
    text: str              # what stands there now, without secrets
    why: tuple[str, ...]


def similar(index: FileIndex, asked: Asked, now: float) -> list[Alike]:
    """The best chunks of a repository, best first."""
    told = (one for score, found in ranked(index, asked) if (one := alike(score, found, now)) is not None)
    return list(islice(once(told), max(0, asked.limit)))


def ranked(index: FileIndex, asked: Asked) -> list[tuple[float, Candidate]]:
    """What words and meaning propose, best first."""
    pool = candidates(index, asked)
    return sorted(zip(scores(pool, query_terms(asked.text)), pool, strict=True),
                  key=lambda one: (-one[0], one[1].found.file.path, one[1].found.chunk.first))


def once(answers: Iterable[Alike]) -> Iterator[Alike]:
    """Each symbol with its best chunk only."""
    told: set[tuple[str, str]] = set()
    for one in answers:
        if one.symbol and (one.path, one.symbol) in told:
            continue
        told.add((one.path, one.symbol))
        yield one


def alike(score: float, one: Candidate, now: float) -> Alike | None:
    """A candidate as an answer; None where it is gone."""
    found, why = one.found, [f"words {one.bm25:.1f}"] if one.bm25 > 0 else []
    if one.cosine is not None:
        why.append(f"meaning {one.cosine:.2f}")
    content = as_it_is(found.root, found.file.path, now)
    if content is None:
        return None
    chunk = found.chunk
    if content.stamp != found.file.stamp and blake2b(content.data, digest_size=16).digest() != found.file.hash:
        text = clean(content.text)
        fresh = meant(chunk, chunked(found.file.path, text, facts_of(found.file.path, text).symbols))
        if fresh is None:
            return None
        if fresh.hash != chunk.hash:
            why.append("changed since it was indexed")
        chunk = fresh
    return Alike(found.file.path, chunk.first, chunk.last, symbol_of(chunk.text), score,
                 chunk.text.partition("\n")[2], tuple(why))


def meant(old: Chunk, fresh: list[Chunk]) -> Chunk | None:
    """What a chunk has become: the same text, else the same symbol's, else the lines where it stood in the file."""
    same = [one for one in fresh if one.hash == old.hash]
    name = symbol_of(old.text)
    like = same or [one for one in fresh if symbol_of(one.text) == name]
    return min(like, key=lambda one: abs(one.first - old.first), default=None)
