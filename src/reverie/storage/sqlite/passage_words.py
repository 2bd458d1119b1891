"""BM25 of passages where there are many: from bare postings, without FTS5's ranking.

FTS5 takes 3 µs for each row that it ranks, for it reads every row's size; the bare row numbers take
a tenth. So the rows are put in order by which terms they hold, rarest first, and the sizes of the
best are read. A term counts once in a passage, however often it stands there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from sqlite3 import Connection

from reverie.storage import Names
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.sql_conditions import sql_placeholders
from reverie.storage.sqlite.word_search import best_first, select_affordable_terms

# As in FTS5, whose ranking smaller indexes use.
K1, B, IDF_FLOOR = 1.2, 0.75, 1e-6
# Postings that one query may read, and rows whose size is read in one go.
MAX_PLAIN_POSTINGS, BATCH = 3_000, 250
COLUMN_WEIGHTS = {"body": 1.0, "context": 0.3}  # as in transcript_index.sql
# One long text is ten times faster than a row each. The newest, where a term is in too many.
ROWS = """
    select group_concat(row, ' ')
    from (select rowid as row from words where words match ? order by rowid desc limit ?)
"""


def search_plain_postings(
    db: Connection, terms: Names, spaces: Names, last: int, limit: int
) -> list[tuple[int, float]]:
    """(passage number, BM25) of passages of some spaces, best first; `last` is the last number."""
    affordable = select_affordable_terms(db, terms, last, MAX_PLAIN_POSTINGS)
    postings = [rows for term in affordable if (rows := read_postings(db, term))]
    total, mean = read_averages(db)
    weights = [
        max(IDF_FLOOR, math.log((total - len(rows) + 0.5) / (len(rows) + 0.5)))
        if 2 * len(rows) < total
        else IDF_FLOOR
        for rows in postings
    ]
    rough: dict[int, float] = {}
    for weight, rows in zip(weights, postings, strict=True):
        for num, times in rows.items():
            rough[num] = rough.get(num, 0.0) + weight * times
    # Rows of other spaces are met on the way, so it may take more than one batch.
    ordered = [num for _, num in sorted(zip(rough.values(), rough, strict=True), reverse=True)]
    found: list[tuple[int, float]] = []
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        for num, size in read_sizes(db, batch, spaces):
            by_length = K1 * (1 - B + B * size / mean)
            score = 0.0
            for weight, rows in zip(weights, postings, strict=True):
                times = rows.get(num, 0.0)
                score += weight * times * (K1 + 1) / (times + by_length)
            found.append((num, score))
        if len(found) >= limit:
            break
    return sorted(found, key=best_first)[:limit]


def read_postings(db: Connection, term: str) -> dict[int, float]:
    """How much a term counts in the passages that hold it, by number."""
    found: dict[int, float] = {}
    for column, weight in COLUMN_WEIGHTS.items():
        joined = fetch_value(db, ROWS, f'{column} : "{term}"', MAX_PLAIN_POSTINGS)
        for num in map(int, (joined or "").split()):
            found[num] = found.get(num, 0.0) + weight
    return found


def read_sizes(db: Connection, nums: list[int], spaces: Names) -> Iterator[tuple[int, int]]:
    """(number, tokens) of those of these passages that lie in the spaces."""
    sql = f"""
        select p.num, d.sz
        from passage p cross join conversation c on c.num = p.conversation
             cross join words_docsize d on d.id = p.num
        where p.num in ({sql_placeholders(nums)}) and c.space in ({sql_placeholders(spaces)})
    """
    for num, sizes in db.execute(sql, (*nums, *spaces)):
        yield num, sum(read_varints(sizes))


def read_averages(db: Connection) -> tuple[int, float]:
    """How many rows FTS5 has, and their mean size in tokens."""
    rows, *tokens = read_varints(fetch_value(db, "select block from words_data where id = 1"))
    return rows, max(1.0, sum(tokens) / max(1, rows))


def read_varints(data: bytes) -> Iterator[int]:
    """SQLite's variable-length numbers, one after the other: seven bits a byte, highest first."""
    number = 0
    for byte in data:
        number = number << 7 | byte & 127
        if byte < 128:
            yield number
            number = 0
