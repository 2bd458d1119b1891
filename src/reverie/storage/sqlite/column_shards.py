"""Columns in memory, kept up to date with the file: one shard a space, the few spaces used last.

New memories are those with a higher `num` than the shard has seen, new vectors those with a higher
`serial`, and what was altered stands in `change`. After a purge or a repair the generation in
`meta` is another one, and everything is loaded afresh. `pragma data_version` and our own count of
writes say when nothing happened at all.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from reverie.storage.column_cache import Corpus, Floats, Shard
from reverie.storage.sqlite.bm25_postings import TermStemmer, score_shards

MAX_SHARDS = 16  # spaces kept in memory, least recently used go first
ROWS_PER_FETCH = 20_000  # rows fetched at a time

NEW_ROWS = """
    select num, id, at, length(text), session, speaker, kind, substr(rtrim(text), -1) = '?', expires_at,
           retired_at is null
    from memory
    where space = ? and num > ?
    order by num
"""
ALTERED = """
    select m.num, m.space, length(m.text), substr(rtrim(m.text), -1) = '?', m.expires_at, m.retired_at is null,
           exists (select 1 from vector v where v.memory = m.num and v.model = ?)
    from change c join memory m on m.id = c.memory
    where c.seq > ? and c.op in ('revise', 'retire')
"""
NEW_VECTORS = """
    select v.serial, v.memory, m.space, v.vec
    from vector v join memory m on m.num = v.memory
    where v.serial > ? and v.serial <= ? and v.model = ?
    order by v.serial
"""
SPACE_VECTORS = """
    select v.memory, v.vec
    from memory m cross join vector v on v.memory = m.num    -- in this order: a space is a small part of a model's
    where m.space = ? and v.model = ? and v.serial <= ?
"""


@dataclass(slots=True)
class SyncState:
    """How far the shards have come with the file."""

    version: tuple[int, int] = (-1, -1)
    generation: str = ""
    event: int = 0
    serial: int = 0


@dataclass(slots=True)
class ShardCache:
    """The shards of one store and one model."""

    model: str
    dims: int = 0
    seen: SyncState = field(default_factory=SyncState)
    by_space: OrderedDict[str, Shard] = field(default_factory=OrderedDict)
    codes: dict[str, int] = field(default_factory=lambda: {"": 0})
    names: list[str] = field(default_factory=lambda: [""])
    lock: threading.Lock = field(default_factory=threading.Lock)
    stemmer: TermStemmer = field(default_factory=TermStemmer)

    def corpus(self, db: sqlite3.Connection, writes: int, spaces: Sequence[str]) -> Corpus:
        """The shards of these spaces, up to date."""
        with self.lock:
            self.refresh(db, writes)
            shards = tuple(
                shard.snapshot() for space in spaces if (shard := self.shard(db, space)).n
            )
            return Corpus(shards, self.names, self.codes)

    def scores(self, db: sqlite3.Connection, corpus: Corpus, terms: Sequence[str]) -> list[Floats]:
        """BM25 of every row of the corpus."""
        with self.lock:
            return score_shards(db, self.stemmer, terms, corpus.shards)

    def refresh(self, db: sqlite3.Connection, writes: int) -> None:
        """Take in what happened in the file since the last time."""
        version = (db.execute("pragma data_version").fetchone()[0], writes)
        if version == self.seen.version:
            return
        db.execute("begin")  # one moment in time for all that is read here
        try:
            self.catch_up(db)
        finally:
            db.execute("rollback")
        self.seen.version = version

    def catch_up(self, db: sqlite3.Connection) -> None:
        """New rows, altered rows, new vectors, in this order."""
        row = db.execute("select value from meta where name = 'generation'").fetchone()
        generation = row[0] if row else ""
        dims = self.dims or self.find_dims(db)
        if generation != self.seen.generation or dims != self.dims:
            self.by_space.clear()
        self.seen.generation, self.dims = generation, dims
        event = db.execute("select coalesce(max(seq), 0) from event").fetchone()[0]
        serial = db.execute("select coalesce(max(serial), 0) from vector").fetchone()[0]
        for space, shard in self.by_space.items():
            self.take_rows(db, space, shard)
        if self.by_space:
            self.take_altered(db)
            self.take_vectors(db, serial)
        self.seen.event, self.seen.serial = event, serial

    def find_dims(self, db: sqlite3.Connection) -> int:
        """The length of this model's vectors; 0 while there are none."""
        row = db.execute(
            "select length(vec) from vector where model = ? limit 1", (self.model,)
        ).fetchone()
        return row[0] // 4 if row else 0

    def shard(self, db: sqlite3.Connection, space: str) -> Shard:
        """The shard of a space, loaded if need be."""
        if space not in self.by_space:
            shard = Shard(self.dims, space)
            self.take_rows(db, space, shard)
            if self.dims:
                found = db.execute(SPACE_VECTORS, (space, self.model, self.seen.serial))
                while rows := found.fetchmany(ROWS_PER_FETCH):
                    self.put(shard, rows)
            self.by_space[space] = shard
        self.by_space.move_to_end(space)
        while len(self.by_space) > MAX_SHARDS:
            self.by_space.popitem(last=False)
        return self.by_space[space]

    def take_rows(self, db: sqlite3.Connection, space: str, shard: Shard) -> None:
        """Memories that are newer than the shard's last."""
        last = int(shard.num[shard.n - 1]) if shard.n else 0
        for num, id, at, length, session, speaker, kind, asks, ends, counts in db.execute(
            NEW_ROWS, (space, last)
        ):
            shard.append(
                num,
                id,
                at,
                length,
                self.code(session),
                self.code(speaker),
                self.code(kind),
                bool(asks),
                to_expiry(ends),
                bool(counts),
            )

    def take_altered(self, db: sqlite3.Connection) -> None:
        """What was revised, retired or restored since the last event seen."""
        for num, space, length, asks, ends, counts, known in db.execute(
            ALTERED, (self.model, self.seen.event)
        ):
            shard = self.by_space.get(space)
            row = shard.place.get(num) if shard else None
            if shard and row is not None:
                shard.length[row], shard.counts[row] = length, bool(counts)
                shard.asks[row], shard.expires[row] = bool(asks), to_expiry(ends)
                shard.known[row] &= bool(known)

    def take_vectors(self, db: sqlite3.Connection, serial: int) -> None:
        """Vectors that came since the last one seen."""
        fresh: dict[str, list[tuple[int, bytes]]] = {}
        for _, num, space, vec in db.execute(NEW_VECTORS, (self.seen.serial, serial, self.model)):
            fresh.setdefault(space, []).append((num, vec))
        for space, rows in fresh.items():
            if shard := self.by_space.get(space):
                self.put(shard, rows)

    def put(self, shard: Shard, rows: Sequence[tuple[int, bytes]]) -> None:
        """Vectors by memory number; those of another length are left out."""
        known = [
            (shard.place[num], vec)
            for num, vec in rows
            if num in shard.place and len(vec) == 4 * shard.dims
        ]
        shard.put(
            [row for row, _ in known], vectors_from_blobs([vec for _, vec in known], shard.dims)
        )

    def code(self, name: str) -> int:
        """A small number for a session, a speaker or a kind."""
        number = self.codes.get(name)
        if number is None:
            number = self.codes[name] = len(self.names)
            self.names.append(name)
        return number


def to_expiry(ends: float | None) -> float:
    """When a memory expires, as a number: never is infinity."""
    return np.inf if ends is None else ends


def vectors_from_blobs(blobs: Sequence[bytes], dims: int) -> Floats:
    """Vectors from their blobs (little-endian float32)."""
    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dims)
