"""Index tokens: what a text is found by, cut and stemmed by SQLite's FTS5 for every backend.

One tokenizer for all means that a word finds the same memories wherever they are stored.
"""

import sqlite3
import threading
from collections.abc import Sequence
from functools import lru_cache

from reverie.storage import Names

TOKENIZER = "porter unicode61 remove_diacritics 2"  # as in sqlite/schema.sql

MAX_COMMON_TOKENS = 50_000  # tokens that are remembered as common

INSERT_SAMPLE = "insert into sample (rowid, body) values (?, ?)"
# The table lists a token's occurrences side by side, so that grouping sorts nothing.
COUNT_TOKENS = "select doc, term, count(*) from token group by term, doc"


class TermStemmer:
    """The index tokens of a text, asked of FTS5 itself in a table in memory. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            ":memory:",
            isolation_level=None,
            check_same_thread=False,
        )
        self._db.execute(f"create virtual table sample using fts5 (body, tokenize = '{TOKENIZER}')")
        self._db.execute("create virtual table token using fts5vocab (sample, 'instance')")
        self.tokens = lru_cache(maxsize=8_192)(self._tokens)
        self._common: set[str] = set()  # tokens that occur too often to be read

    def _tokens(self, term: str) -> tuple[str, ...]:
        """The tokens of a term, in order."""
        with self._lock:
            self._db.execute(INSERT_SAMPLE, (1, term))
            found = self._db.execute("select term from token order by offset").fetchall()
            self._db.execute("delete from sample")
        return tuple(token for (token,) in found)

    def count_tokens(self, bodies: Sequence[str]) -> list[dict[str, int]]:
        """For each text, how often each token occurs in it."""
        counts: list[dict[str, int]] = [{} for _ in bodies]
        with self._lock:
            self._db.execute("begin")
            self._db.executemany(INSERT_SAMPLE, enumerate(bodies))
            for place, token, times in self._db.execute(COUNT_TOKENS):
                counts[place][token] = times
            self._db.execute("rollback")
        return counts

    def is_common(self, tokens: Names) -> bool:
        """True if this term was too common to be read before; in a growing store it stays so."""
        return any(token in self._common for token in tokens)

    def found_common(self, token: str) -> None:
        """Remember that a token occurs too often to be read."""
        if len(self._common) > MAX_COMMON_TOKENS:
            self._common.clear()
        self._common.add(token)

    def close(self) -> None:
        """Close the table."""
        self._db.close()
