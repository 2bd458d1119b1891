"""Finding for ranking and for reconciliation, from columns in memory."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING

from reverie.storage import Names
from reverie.storage.sqlite.connection import SqliteConnections
from reverie.storage.sqlite.reading import StoreReading
from reverie.storage.sqlite.sql_conditions import sql_placeholders

if TYPE_CHECKING:
    from reverie.storage.arrays import Floats
    from reverie.storage.candidates import (
        CandidatePool,
        CandidateRequest,
        NearMemory,
        NeighbourRequest,
    )
    from reverie.storage.column_cache import Corpus
    from reverie.storage.sqlite.column_shards import ShardCache

# Memories whose columns take a tenth of a second to load.
NOTICED_ROWS = 10_000


class SqliteSearch(StoreReading):
    """The part of `SqliteStore` that answers from columns. The protocol's docstrings hold; here is
    only how.
    """

    _db: SqliteConnections
    # Our own writes. `pragma data_version` counts those of other connections only, and in memory
    # there is but one.
    _writes: int
    _shards: dict[str, tuple[ShardCache, Connection]]  # by model
    _searched_model: str  # of the latest search, or none yet

    def must_load(self, spaces: Names) -> bool:
        loaded = self._shards.get(self._searched_model or self._current_model())
        missing = [one for one in spaces if loaded is None or not loaded[0].has_space(one)]
        rows = f"select 1 from memory where space in ({sql_placeholders(missing)}) limit ?"
        return self._count(f"select count(*) from ({rows})", *missing, NOTICED_ROWS) == NOTICED_ROWS

    def candidates(self, request: CandidateRequest) -> CandidatePool | None:
        from reverie.storage.candidate_columns import gather_candidates

        corpus = self.corpus(request.model, request.spaces)
        tagged = self.tagged_numbers(request.tags, request.spaces) if request.tags else []
        return gather_candidates(
            corpus,
            request,
            lambda terms: self.scores(request.model, corpus, terms),
            tagged,
        )

    def nearest(self, request: NeighbourRequest) -> dict[str, list[NearMemory]]:
        from reverie.storage.sqlite.nearest_rows import find_near_memories

        return find_near_memories(self.corpus(request.model, request.spaces), request)

    def speakers(self, names: Names, spaces: Names) -> set[str]:
        if not names:
            return set()
        # Any model's columns say who speaks. Those in use are loaded, or will be at once: who asks
        # for speakers is about to search.
        corpus = self.corpus(self._searched_model or self._current_model(), spaces)
        return {name for name in names if corpus.has_speaker(name)}

    # What only this backend has.

    def corpus(self, model: str, spaces: Names) -> Corpus:
        """The columns of all memories in these spaces, up to date, with the vectors of a model."""
        from reverie.storage.sqlite.column_shards import ShardCache

        if model not in self._shards:
            self._shards[model] = (ShardCache(model), self._db.extra_reader())
        shards, db = self._shards[model]
        self._searched_model = model
        with self._db.using_extra():
            return shards.corpus(db, self._writes, spaces)

    def scores(self, model: str, corpus: Corpus, terms: Sequence[str]) -> list[Floats]:
        """BM25 of every row of every shard of `corpus`, which must be this store's; 0 where no term
        occurs.

        Document frequencies are those of the corpus, so that a memory's score does not depend on
        spaces that were not asked for.
        """
        shards, db = self._shards[model]
        with self._db.using_extra():
            return shards.scores(db, corpus, terms)
