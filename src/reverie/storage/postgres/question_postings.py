"""The postings of a question's tokens: read from the server as bytes, put together as columns.

What is too common to count is found by reading it up to a limit, and then left out for a while.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from psycopg import Cursor

from reverie.storage.arrays import Ints
from reverie.storage.candidates import CandidateRequest
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.space_figures import FigureCache, TokenKey
from reverie.storage.postgres.word_postings import stem_terms

# Occurrences that one query may read: the rarest terms first, at least one, as in SQLite
# (`sqlite/bm25_postings`).
MAX_OCCURRENCES = 2_000

# A token's postings in each space, as bytes: Python reads the numbers of arrays one by one, in
# twice the processor time (1.1 instead of 0.6 ms for a question to 100,000 memories).
POSTINGS = """
    select t.place, s.place, p.packed
    from unnest(%(tokens)s::text[]) with ordinality as t (token, place)
    cross join unnest(%(spaces)s::text[]) with ordinality as s (space, place)
    cross join lateral (
        select string_agg(int8send(hit.num) || int4send(hit.tf) || int4send(hit.length), ''
                          order by hit.num) as packed
        from (
            select num, tf, length
            from posting
            where tenant = %(tenant)s and space = s.space and term = t.token
            order by num
            limit %(most)s
        ) as hit
    ) as p
    where p.packed is not null
"""

PACKED_POSTING = np.dtype([("num", ">i8"), ("tf", ">i4"), ("length", ">i4")])


class Postings(NamedTuple):
    """Where a term stands, columns side by side, in the order of numbers."""

    nums: Ints
    times: Ints
    lengths: Ints
    places: Ints  # of the space among those asked

    def occurrences(self) -> int:
        """How often the term occurs in all."""
        return int(self.times.sum())


NO_INTS: Ints = np.zeros(0, np.int64)

NO_POSTINGS = Postings(NO_INTS, NO_INTS, NO_INTS, NO_INTS)


class PostingsReader:
    """The postings of a question's tokens, without those that are known to be too common: of these
    the server would read thousands for each search, and none would count.

    `start` is meant for a pipeline, `collect` for after it.
    """

    def __init__(self, db: TenantConnection, request: CandidateRequest, cache: FigureCache) -> None:
        self.db, self.cache = db, cache
        self.spaces = list(dict.fromkeys(request.spaces))
        self.key = TokenKey(db.tenant, db.readable, tuple(self.spaces))
        self.terms = stem_terms(request.terms)
        common = cache.find_common(self.key)
        names = [token for term in stem_terms(request.identifiers) for token in term]
        affordable = [term for term in self.terms if common.isdisjoint(term)]
        # What an identifier is made of is read in any case: it counts where it stands in few.
        self.tokens = sorted({*names, *(token for term in affordable for token in term)})
        every = {token for term in self.terms for token in term}
        self.left_out = sorted(every.difference(self.tokens))
        self._begun: Cursor[tuple[Any, ...]] | None = None

    def start(self) -> None:
        """Begin to read."""
        self._begun = self._read(self.tokens)

    def collect(self) -> dict[str, Postings]:
        """The postings by token; also those left out, if all that was read is too common."""
        rows = self._begun.fetchall() if self._begun else []
        postings = collect_postings(self.tokens, rows)
        if self.left_out and not find_affordable(self.terms, postings):
            postings |= collect_postings(self.left_out, self._read(self.left_out).fetchall())
        self.cache.note_common(self.key, find_common_tokens(postings))
        return postings

    def _read(self, tokens: list[str]) -> Cursor[tuple[Any, ...]]:
        most = MAX_OCCURRENCES + 1
        return self.db.run(POSTINGS, tokens=tokens, spaces=self.spaces, most=most)


def collect_postings(
    tokens: Sequence[str],
    rows: Sequence[Sequence[Any]],
) -> dict[str, Postings]:
    """The rows of POSTINGS by token."""
    parts: dict[str, list[Postings]] = defaultdict(list)
    for token, place, packed in rows:
        found = np.frombuffer(packed, PACKED_POSTING)
        part = Postings(
            nums=found["num"].astype(np.int64),
            times=found["tf"].astype(np.int64),
            lengths=found["length"].astype(np.int64),
            places=np.full(len(found), place - 1),
        )
        parts[tokens[token - 1]].append(part)
    return {token: join_postings(some) for token, some in parts.items()}


def join_postings(parts: Sequence[Postings]) -> Postings:
    """Postings of one token in several spaces as one, in the order of numbers."""
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0])
    return Postings(*(column[order] for column in columns))


def intersect_term(term: Sequence[str], postings: Mapping[str, Postings]) -> Postings:
    """Where all tokens of a term stand, and how often each of them at least does."""
    found = postings.get(term[0], NO_POSTINGS)
    for token in term[1:]:
        other = postings.get(token, NO_POSTINGS)
        _, here, there = np.intersect1d(
            found.nums,
            other.nums,
            assume_unique=True,
            return_indices=True,
        )
        times = np.minimum(found.times[here], other.times[there])
        found = Postings(found.nums[here], times, found.lengths[here], found.places[here])
    return found


def find_common_tokens(postings: Mapping[str, Postings]) -> set[str]:
    """The tokens that occur more often than one query may read."""
    return {token for token, found in postings.items() if found.occurrences() > MAX_OCCURRENCES}


def find_affordable(
    terms: Sequence[tuple[str, ...]],
    postings: Mapping[str, Postings],
) -> list[tuple[int, tuple[str, ...], Postings]]:
    """(occurrences, term, postings) of the terms without a common token, the rarest first."""
    common = find_common_tokens(postings)
    read = [
        (found.occurrences(), term, found)
        for term in terms
        if common.isdisjoint(term) and len((found := intersect_term(term, postings)).nums)
    ]
    return sorted(read, key=lambda item: item[:2])


def select_affordable(
    terms: Sequence[tuple[str, ...]],
    postings: Mapping[str, Postings],
) -> list[Postings]:
    """The postings of the rarest terms, with at most MAX_OCCURRENCES together, and of at least one.

    A term of which a token is more common than that is left out, unless all are: then the rarest
    counts as far as it was read.
    """
    read = find_affordable(terms, postings)
    taken: list[Postings] = []
    spent = 0
    for occurrences, _, found in read:
        if not taken or spent + occurrences <= MAX_OCCURRENCES:
            spent += occurrences
            taken.append(found)
    if not taken and terms:
        # Each is as long as the limit; where it ends is how dense it is.
        held = [intersect_term(term, postings) for term in terms]
        taken = [max(held, key=lambda found: int(found.nums.max(initial=0)))]
    return taken
