"""What ranking asks of a store: candidates with all their features, and nearest neighbours.

A backend answers from whatever it has: SQLite from columns in memory (`column_cache`), PostgreSQL
from its indexes. The values here are the same for all, so one ranking serves every backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from reverie.storage.column_cache import Floats, Ints

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
    # names that stand in few memories, if at all: candidates wherever they occur
    identifiers: tuple[str, ...] = ()
    each: int = 100  # candidates that each channel proposes
    kinds: tuple[str, ...] = ()  # none: all
    without: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    now: float = 0.0  # what has expired by then is left out
    before: float | None = None  # nothing that happened later
    # A conversation whose own memories are left out (but for kept excerpts), in these spaces
    # (none: in all).
    not_session: str = ""
    session_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """The candidates of one query; every array has one entry a candidate."""

    ids: list[str]
    dense: Floats  # cosine, NaN where there is no vector
    words: Floats  # BM25, 0 where no word occurs
    near_dense: Floats  # (n, 4) cosines of the turns at NEIGHBOUR_OFFSETS, NaN where there is none
    near_words: Floats  # (n, 4) BM25 of the same turns
    session: Ints  # code; 0 means none
    speaker: Ints
    at: npt.NDArray[np.float64]  # when it was said, seconds since 1970
    length: Ints  # characters
    asks: npt.NDArray[np.bool_]  # ends in a question mark
    asked: npt.NDArray[np.bool_]  # the turn before does
    named: Floats  # 1 where an identifier of the question occurs
    excerpt: npt.NDArray[np.bool_]  # a passage that left a context, cut to a length by us
    names: Sequence[str]  # what codes of speakers stand for; code 0 is ""
    mean: float  # of the cosines of unrelated texts to this query: the background
    spread: float  # their standard deviation
    typical: float  # median length of a text
    sessions: int  # how many sessions the candidates come from
    memories: int  # how many there are in the spaces asked, retired ones too

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class NeighbourRequest:
    """The memories nearest to each of some memories, by the cosine of their vectors."""

    model: str
    ids: tuple[str, ...]  # of the memories asked about: none is its own neighbour
    vectors: Floats  # (len(ids), dims) float32, unit length
    spaces: tuple[str, ...]
    floor: float  # the least cosine
    limit: int  # for each memory, in each space
    retired: bool = False  # among retired memories instead of active ones
    older: bool = False  # only among those that were there before the memory asked about


class NearMemory(NamedTuple):
    """A neighbour and its cosine."""

    id: str
    cosine: float
