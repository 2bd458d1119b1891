"""Searching word indexes with FTS5's own ranking, within a time that does not grow with the file.

FTS5 ranks every row that contains a term, so a common word alone would cost 0.2 s in a million
memories. The rarest terms are asked for first; what no longer fits says little.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from sqlite3 import Connection
from typing import Any

from reverie.core.clock import ticks
from reverie.core.model import Filter
from reverie.storage import Names
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.sql_conditions import SqlConditions, build_filter_conditions

# Rows that one query may score: FTS5 takes about 2 µs for each. Measured at 100,000 memories.
MAX_POSTINGS = 6_000
# BM25 of a match of nothing but words so common that ranking them cannot be afforded.
COMMON_SCORE = 0.01
# Newest rows with such words that are looked at: 20 ms if none of them is in the spaces asked for,
# far less if all are.
MAX_COMMON_ROWS = 20_000
STEPS_BETWEEN_CHECKS = 2_000  # of SQLite's, some 20 µs
# Each subquery is a lookup at one end of the index; in one query, all of it would be read.
SPACE_ENDS = """
    select (select min(num) from memory where space = ?1),
           (select max(num) from memory where space = ?1)
"""
COUNT_MATCHES = "select count(*) from (select rowid from words where words match ? limit ?)"


@contextmanager
def query_deadline(db: Connection, within: float | None) -> Iterator[None]:
    """Stop queries after this many seconds; what was read until then stays read."""
    if within is None:
        yield
        return
    end = ticks() + within
    db.set_progress_handler(lambda: ticks() > end, STEPS_BETWEEN_CHECKS)
    try:
        yield
    except database_library.OperationalError as err:
        if getattr(err, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise
    finally:
        db.set_progress_handler(None, 0)


def search_word_index(
    db: Connection,
    terms: Names,
    where: Filter,
    limit: int,
    now: float | None,
) -> Iterator[list[tuple[str, float]]]:
    """(id, BM25) of matching memories, best first; then perhaps a longer list that replaces it.

    Which terms can be afforded depends on the whole file, what they find on the spaces asked for:
    where the rarest terms occur only in other spaces, the common ones are looked up as well.
    """
    rows = fetch_value(db, "select max(num) from memory") or 0
    rare = select_affordable_terms(db, terms, rows)
    if not rare or limit <= 0 or not where.spaces:
        return
    conditions = build_filter_conditions(where)
    if now is not None:
        conditions.add("(expires_at is null or expires_at > ?)", now)
    # FTS5 hands rows over best first, so the join looks only at those that are taken.
    sql = f"""
        select memory.id, -w.rank
        from words w cross join memory on memory.num = w.rowid
        where w.words match ? and {conditions}
        order by w.rank
        limit ?
    """
    match = to_match_expression(rare)
    found = db.execute(sql, (match, *conditions.args, limit)).fetchall()
    yield sorted(found, key=best_first)
    common = [term for term in terms if term not in rare]
    if common and len(found) < limit:
        known = {id for id, _ in found}
        ends = find_space_ends(db, where.spaces)
        for (id,) in find_common_matches(db, common, ends, conditions, limit):
            if id not in known:
                found.append((id, COMMON_SCORE))
        yield sorted(found, key=best_first)[:limit]


def best_first(row: tuple[Any, float]) -> tuple[float, Any]:
    """The sort key of (id, score) that puts high scores first and breaks ties by id."""
    return -row[1], row[0]


def find_space_ends(db: Connection, spaces: Names) -> tuple[int, int]:
    """The lowest and the highest row number of memories in some spaces; 0 where there are none."""
    ends: list[int] = []
    for space in spaces:
        ends += filter(None, db.execute(SPACE_ENDS, (space,)).fetchone())
    return min(ends, default=0), max(ends, default=0)


def find_common_matches(
    db: Connection,
    terms: Names,
    ends: tuple[int, int],
    conditions: SqlConditions,
    limit: int,
) -> Iterator[tuple[str]]:
    """(id,) of memories that match and contain any of the terms, newest first, unranked."""
    sql = f"""
        select memory.id
        from (select rowid as row from words where words match ? and rowid between ? and ?
              order by rowid desc limit {MAX_COMMON_ROWS}) w
        cross join memory on memory.num = w.row
        where {conditions}
        limit ?
    """
    match = to_match_expression(terms)
    return db.execute(sql, (match, *ends, *conditions.args, limit))


def to_match_expression(terms: Names) -> str:
    """An FTS5 expression for any of the terms. A quoted string is never an operator."""
    return " OR ".join(f'"{term}"' for term in terms)


def select_affordable_terms(
    db: Connection,
    terms: Names,
    rows: int,
    budget: int = MAX_POSTINGS,
) -> list[str]:
    """The rarest terms whose postings together stay within a budget; at least the rarest one.

    `rows` is the size of the table `words`. A table that is small enough is asked for every term,
    and so is any table for a single term.
    """
    if len(terms) <= 1 or rows * len(terms) <= budget:
        return list(terms)
    # Counted up to what can be afforded: a common word has postings by the hundred thousand.
    most = min(rows, budget + 1)
    frequency: dict[str, int] = {}
    for term in terms:
        frequency[term] = fetch_value(db, COUNT_MATCHES, f'"{term}"', most)
    taken: list[str] = []
    postings = 0
    for term in sorted(terms, key=lambda term: (frequency[term], term)):
        if taken and postings + frequency[term] > budget:
            break
        taken.append(term)
        postings += frequency[term]
    return taken
