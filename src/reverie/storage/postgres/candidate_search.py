"""The part of `PostgresStore` that searches: by words, by vectors, and both for ranking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import errors

from reverie.core.clock import ticks
from reverie.core.model import Filter
from reverie.storage import Names
from reverie.storage.bm25 import IDF_FLOOR, K1, B
from reverie.storage.candidates import (
    CandidatePool,
    CandidateRequest,
    NearMemory,
    NeighbourRequest,
)
from reverie.storage.derived_texts import tag_node
from reverie.storage.postgres.connection import PostgresConnections, TenantConnection
from reverie.storage.postgres.space_figures import SearchedSpace, count_spaces, figure_cache
from reverie.storage.postgres.word_postings import stem_terms

# Postings that one search by words may score: the rarest terms first, at least one. A microsecond
# each.
MAX_POSTINGS = 6_000
# BM25 of a match of nothing but words so common that ranking them cannot be afforded, and the
# newest memories with such a word that are looked at.
COMMON_SCORE, MAX_COMMON_ROWS = 0.01, 1_000

# Memories by BM25. What a term costs is counted up to what can be afforded.
SEARCH_WORDS = f"""
    with asked as materialized (
        select query, token
        from unnest(%(queries)s::integer[], %(tokens)s::text[]) as a (query, token)
    ),
    cost as materialized (
        select a.query, count(distinct a.token) as tokens, sum(counted.postings) as postings
        from asked a
        cross join unnest(%(spaces)s::text[]) as s (space)
        cross join lateral (
            select count(*) as postings
            from (
                select 1
                from posting
                where tenant = %(tenant)s and space = s.space and term = a.token
                limit %(budget)s + 1
            ) as some_postings
        ) as counted
        group by a.query
    ),
    afforded as (
        select query, tokens
        from (
            select query, tokens,
                   sum(postings) over (order by postings, query) as spent,
                   row_number() over (order by postings, query) as place
            from cost
            where postings > 0
        ) as ranked
        where spent <= %(budget)s or place = 1
    ),
    found as materialized (
        select a.query, hit.num, min(hit.tf) as tf, min(hit.length) as length
        from afforded f
        join asked a on a.query = f.query
        cross join unnest(%(spaces)s::text[]) as s (space)
        cross join lateral (
            select num, tf, length
            from posting
            where tenant = %(tenant)s and space = s.space and term = a.token
            order by num desc
            limit %(budget)s + 1
        ) as hit
        group by a.query, hit.num, f.tokens
        having count(*) = f.tokens
    ),
    weighed as (
        select query,
               greatest({IDF_FLOOR},
                        ln((greatest(%(total)s - count(*), 0) + 0.5) / (count(*) + 0.5))) as weight
        from found
        group by query
    ),
    scored as (
        select f.num,
               sum(w.weight * f.tf * ({K1} + 1)
                   / (f.tf + {K1} * (1 - {B} + {B} * f.length / %(mean)s)))::double precision
                   as score
        from found f
        join weighed w on w.query = f.query
        group by f.num
    )
    select m.id, scored.score
    from scored
    join memory m on m.tenant = %(tenant)s and m.num = scored.num
    where {{conditions}}
    order by scored.score desc, m.id
    limit %(limit)s
"""
# The newest memories with any of some tokens, unranked.
SEARCH_COMMON = """
    select distinct m.num, m.id
    from unnest(%(tokens)s::text[]) as a (token)
    cross join unnest(%(spaces)s::text[]) as s (space)
    cross join lateral (
        select num
        from posting
        where tenant = %(tenant)s and space = s.space and term = a.token
        order by num desc
        limit %(rows)s
    ) as hit
    join memory m on m.tenant = %(tenant)s and m.num = hit.num
    where {conditions}
    order by m.num desc
    limit %(limit)s
"""
SPEAKERS = """
    select n.name
    from unnest(%(names)s::text[]) as n (name)
    cross join unnest(%(spaces)s::text[]) as s (space)
    cross join lateral (
        select 1
        from memory m
        where m.tenant = %(tenant)s and m.speaker = n.name and m.speaker <> ''
          and m.space = s.space
        limit 1
    ) as said
"""


class PostgresSearch:
    """The part of `PostgresStore` that searches."""

    tenant: str
    _db: PostgresConnections

    def search_words(
        self,
        terms: Names,
        spaces: Names,
        limit: int,
        *,
        within: float | None = None,
        where: Filter | None = None,
        now: float | None = None,
    ) -> list[tuple[str, float]]:
        """See `Store`."""
        queries = stem_terms(terms)
        if not queries or not spaces or limit <= 0:
            return []
        found: list[tuple[str, float]] = []
        cache = figure_cache(self._db.pool)
        with self._db.reading() as db, query_deadline(db, within):
            searched = count_spaces(db, cache, list(dict.fromkeys(spaces)))
            if not searched:
                return []
            self._db.note_readable([space.name for space in searched])
            conditions, values = build_word_conditions(where, now)
            total = sum(space.figures.memories for space in searched)
            values |= {"spaces": [space.name for space in searched], "limit": limit}
            found += find_by_words(db, queries, searched, conditions, values)
            if len(found) < limit and total * len(queries) > MAX_POSTINGS:
                found += find_common(db, queries, conditions, values, {id for id, _ in found})
        return found[:limit]

    def speakers(self, names: Names, spaces: Names) -> set[str]:
        """See `Store`."""
        if not names or not spaces:
            return set()
        with self._db.reading() as db:
            rows = db.fetch_rows(SPEAKERS, names=list(names), spaces=list(spaces))
        return {name for (name,) in rows}

    def must_load(self, _spaces: Names) -> bool:
        """Never: the server has what a search asks for in its indexes."""
        return False

    def candidates(self, request: CandidateRequest) -> CandidatePool | None:
        """See `Store`."""
        # Words are searched by processes that never need numpy.
        from reverie.storage.postgres.candidate_pool import CandidateSearch
        from reverie.storage.postgres.column_search import search_columns

        if not request.spaces:
            return None
        cache = figure_cache(self._db.pool)
        with self._db.reading() as db:
            # What a transaction of ours has written is not everybody's yet.
            if not self._db.is_in_transaction():
                found = search_columns(db, request, self._db.pool.columns, cache)
                if found is not None:
                    self._db.note_readable(found.spaces)
                    return found.pool
            search = CandidateSearch(db, request, cache)
            pool = search.gather()
        self._db.note_readable([space.name for space in search.spaces])
        return pool

    def nearest(self, request: NeighbourRequest) -> dict[str, list[NearMemory]]:
        """See `Store`."""
        from reverie.storage.postgres.nearest_neighbours import find_neighbours

        cache = figure_cache(self._db.pool)
        with self._db.reading() as db:
            spaces = count_spaces(db, cache, list(dict.fromkeys(request.spaces)))
            return find_neighbours(db, request, spaces)


@contextmanager
def query_deadline(db: TenantConnection, within: float | None) -> Iterator[None]:
    """Stop queries after this many seconds; what was read until then stays read.

    Afterwards the transaction is as it was before.
    """
    if within is None:
        yield
        return
    end = ticks() + within
    try:
        with db.savepoint():
            left = max(1, int((end - ticks()) * 1_000))
            db.execute(f"set local statement_timeout = {left}".encode())
            yield
            db.execute("set local statement_timeout to default")
    except errors.QueryCanceled:
        return


def find_by_words(
    db: TenantConnection,
    queries: list[tuple[str, ...]],
    searched: list[SearchedSpace],
    conditions: str,
    values: dict[str, Any],
) -> list[tuple[str, float]]:
    """(id, BM25) by the terms that can be afforded, best first."""
    total = sum(space.figures.memories for space in searched)
    characters = sum(space.figures.characters for space in searched)
    return db.fetch_rows(
        SEARCH_WORDS.format(conditions=conditions),
        queries=[place for place, tokens in enumerate(queries) for _ in set(tokens)],
        tokens=[token for tokens in queries for token in sorted(set(tokens))],
        budget=MAX_POSTINGS,
        total=total,
        mean=max(characters / total, 1.0),
        **values,
    )


def find_common(
    db: TenantConnection,
    queries: list[tuple[str, ...]],
    conditions: str,
    values: dict[str, Any],
    known: set[str],
) -> list[tuple[str, float]]:
    """(id, COMMON_SCORE) of the newest memories that hold any of the words, without those known."""
    rows = db.fetch_rows(
        SEARCH_COMMON.format(conditions=conditions),
        tokens=sorted({tokens[0] for tokens in queries if len(tokens) == 1}),
        rows=MAX_COMMON_ROWS,
        **values,
    )
    return [(id, COMMON_SCORE) for _, id in rows if id not in known]


def build_word_conditions(
    where: Filter | None,
    now: float | None,
) -> tuple[str, dict[str, Any]]:
    """The condition that a memory `m` may be found by its words, and its values."""
    tests = ["m.retired_at is null"]
    values: dict[str, Any] = {}
    if now is not None:
        tests.append("(m.expires_at is null or m.expires_at > %(now)s)")
        values["now"] = now
    if where and where.kinds:
        tests.append("m.kind = any(%(kinds)s::text[])")
        values["kinds"] = list(where.kinds)
    if where and where.without:
        tests.append("m.kind <> all(%(without)s::text[])")
        values["without"] = list(where.without)
    for place, tag in enumerate(dict.fromkeys(where.tags if where else ())):
        tests.append(
            "exists (select 1 from edge e where e.tenant = %(tenant)s and e.src = m.id "
            f"and e.rel = 'has_tag' and e.dst = %(tag_{place})s)"
        )
        values[f"tag_{place}"] = tag_node(tag)
    return " and ".join(tests), values
