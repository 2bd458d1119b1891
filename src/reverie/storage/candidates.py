"""What ranking asks of a store: candidates with all their features, and nearest neighbours.

A backend answers from whatever it has: SQLite from columns in memory (`column_cache`),
PostgreSQL from its indexes. The values here are the same for all, so one ranking serves every
backend.

The candidates of a query come from both channels: in each space the best by embedding, the best by
words, what holds an identifier of the question, and the turns around the very best, because an
answer often stands beside the words that were asked for. How many depends on nothing but the
constants here, so a store of 100,000 memories ranks as many candidates as one of 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reverie.storage.arrays import Doubles, Flags, Floats, Ints

# 100 by embedding and 100 by words: 200 and 50 gained 0.006 of recall for 1.5 times the work
# (docs/why-ranking.md).
CANDIDATES_PER_CHANNEL = 100
# The best of each channel, whose neighbouring turns are candidates too.
EXPANDED_PER_CHANNEL = 20
# Turns around a candidate, in the order of the same session, whose match says something about it.
NEIGHBOUR_OFFSETS = (-2, -1, 1, 2)
# An identifier that stands in more memories than this names nothing in particular.
MAX_IDENTIFIER_MEMORIES = 5


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """One question to a store: who may answer it, and how it is to be compared."""

    model: str  # of the vector; vectors of other models are not compared
    vector: Floats  # unit length, float32
    spaces: tuple[str, ...]  # exact, nearest first
    terms: tuple[str, ...] = ()  # of the question, for BM25
    # Names in the question, in lower case: candidates wherever they occur, if that is in
    # MAX_IDENTIFIER_MEMORIES of these spaces at most.
    identifiers: tuple[str, ...] = ()
    each: int = CANDIDATES_PER_CHANNEL  # that a channel proposes in a space
    kinds: tuple[str, ...] = ()  # none: all
    without: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    now: float = 0.0  # what has expired by then is left out
    before: float | None = None  # nothing that happened later
    # A conversation whose own memories are left out, but for kept excerpts, in the spaces of
    # `session_in` (none: in all). Elsewhere the name may be another conversation's.
    not_session: str = ""
    session_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """The candidates of one query: active, and what the request allows. Every array has one entry a
    candidate.
    """

    ids: list[str]
    dense: Floats  # cosine, NaN where there is no vector
    words: Floats  # BM25, 0 where no word occurs
    near_dense: Floats  # (n, 4) cosines of the turns at NEIGHBOUR_OFFSETS, NaN where there is none
    near_words: Floats  # (n, 4) BM25 of the same turns
    session: Ints  # code; 0 means none
    speaker: Ints
    at: Doubles  # when it was said, seconds since 1970
    length: Ints  # characters
    asks: Flags  # ends in a question mark
    asked: Flags  # the turn before does
    named: Floats  # 1 where an identifier of the question occurs
    excerpt: Flags  # a passage that left a context, cut to a length by us
    names: Sequence[str]  # what codes of speakers stand for; code 0 is ""
    # Of the cosines of unrelated texts to this query, the background: of an even sample of the
    # space with the most memories.
    mean: float
    spread: float  # their standard deviation
    typical: float  # median length of a text, in the same space
    sessions: int  # how many sessions the candidates come from
    memories: int  # how many there are in the spaces asked, retired ones too

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class NeighbourRequest:
    """A question for the neighbours of some memories, by the cosine of their vectors."""

    model: str
    ids: tuple[str, ...]  # the memories asked about, each once; none is its own neighbour
    vectors: Floats  # (len(ids), dims) float32, unit length
    spaces: tuple[str, ...]
    floor: float  # the least cosine
    limit: int  # for each memory, in each space
    retired: bool = False  # among retired memories instead of active ones
    # Of the space of the memory asked about only what was there before it; of other spaces, all.
    older: bool = False


class NearMemory(NamedTuple):
    """A neighbour and its cosine."""

    id: str
    cosine: float
