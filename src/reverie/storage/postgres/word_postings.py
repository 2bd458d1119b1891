"""The word index: how often each token stands in each memory, as rows of `posting`.

Tokens are those of FTS5 (`index_tokens`), so that a word finds the same memories as in SQLite.
Where FTS5 wants the tokens of a compound one behind the other, here they must stand in one memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from psycopg import Connection

from reverie.storage import Names
from reverie.storage.index_tokens import TermStemmer

# Tokens of a question are shorter: what is longer here cannot be asked for, and no index row may be
# longer than a third of a page.
MAX_TOKEN_CHARS = 200

# A memory's space and length are read where they are stored.
INSERT_POSTINGS = """
    insert into posting (tenant, space, term, num, tf, length)
    select m.tenant, m.space, t.term, m.num, t.tf, char_length(m.text)
    from memory m
    join unnest(%(nums)s::bigint[], %(terms)s::text[], %(times)s::integer[]) as t (num, term, tf)
      on t.num = m.num
    where m.tenant = %(tenant)s
"""
DELETE_POSTINGS = "delete from posting where tenant = %(tenant)s and num = any(%(nums)s::bigint[])"

# Memories that are indexed with one statement.
BATCH = 500


class IndexedBody(NamedTuple):
    """The text that the word index holds of a memory."""

    num: int
    body: str


@cache
def get_stemmer() -> TermStemmer:
    """The tokenizer of this process."""
    return TermStemmer()


def index_memory(db: Connection[Any], tenant: str, num: int, body: str) -> None:
    """Replace the words of a memory, which must be there already."""
    index_memories(db, tenant, [IndexedBody(num, body)])


def index_memories(db: Connection[Any], tenant: str, rows: Sequence[IndexedBody]) -> None:
    """Replace the words of many memories, which must be there already."""
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        drop_memory(db, tenant, [row.num for row in batch])
        nums: list[int] = []
        terms: list[str] = []
        times: list[int] = []
        counts = count_terms([row.body for row in batch])
        for row, kept in zip(batch, counts, strict=True):
            nums += [row.num] * len(kept)
            terms += kept
            times += kept.values()
        values = {"tenant": tenant, "nums": nums, "terms": terms, "times": times}
        db.execute(INSERT_POSTINGS, values)


def count_terms(bodies: Sequence[str]) -> list[dict[str, int]]:
    """How often each token that is indexed stands in each of the bodies."""
    return [
        {term: count for term, count in counted.items() if len(term) <= MAX_TOKEN_CHARS}
        for counted in get_stemmer().count_tokens(bodies)
    ]


def drop_memory(db: Connection[Any], tenant: str, nums: Sequence[int]) -> None:
    """Delete the words of memories."""
    db.execute(DELETE_POSTINGS, {"tenant": tenant, "nums": list(nums)})


def stem_terms(terms: Names) -> list[tuple[str, ...]]:
    """The tokens of each term that has any, each term once, in order."""
    tokens = get_stemmer().tokens
    return sorted({tokens(term) for term in terms} - {()})
