"""Ranking columns in memory, kept up to date with the file: one shard a space, for a few spaces.

New memories have a higher `num` than the shard's last, new vectors a higher `serial`, and altered
memories stand in `change`. After a purge or a repair the generation in `meta` is another one, and
everything is loaded afresh. `pragma data_version` and our own count of writes tell when nothing
happened at all.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from sqlite3 import Connection

import numpy as np

from reverie.storage.arrays import Floats
from reverie.storage.column_cache import Corpus, Shard
from reverie.storage.index_tokens import TermStemmer
from reverie.storage.sqlite.bm25_postings import score_shards
from reverie.storage.sqlite.connection import fetch_value

MAX_SHARDS = 16  # spaces kept in memory; the least recently used go first
ROWS_PER_FETCH = 20_000

NEW_ROWS = """
    select num, id, at, length(text), session, speaker, kind, substr(rtrim(text), -1) = '?',
           expires_at, retired_at is null
    from memory
    where space = ? and num > ?
    order by num
"""
ALTERED = """
    select m.num, m.space, length(m.text), substr(rtrim(m.text), -1) = '?', m.expires_at,
           m.retired_at is null,
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
# `cross join` keeps this order: a space is a small part of a model's vectors.
SPACE_VECTORS = """
    select v.memory, v.vec
    from memory m cross join vector v on v.memory = m.num
    where m.space = ? and v.model = ? and v.serial <= ?
"""


@dataclass(slots=True)
class SyncState:
    """How far the shards have read the file."""

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

    def has_space(self, space: str) -> bool:
        """True if the shard of a space was loaded; it may have to catch up."""
        return space in self.by_space

    def corpus(
        self,
        db: Connection,
        writes: int,
        spaces: Sequence[str],
    ) -> Corpus:
        """Snapshots of the shards of these spaces, up to date."""
        with self.lock:
            self.refresh(db, writes)
            shards = []
            for space in spaces:
                shard = self.load_shard(db, space)
                if shard.n:
                    shards.append(shard.snapshot())
            return Corpus(tuple(shards), self.names, self.codes)

    def scores(
        self,
        db: Connection,
        corpus: Corpus,
        terms: Sequence[str],
    ) -> list[Floats]:
        """BM25 of every row of the corpus."""
        with self.lock:
            return score_shards(db, self.stemmer, terms, corpus.shards)

    def refresh(self, db: Connection, writes: int) -> None:
        """Read what happened in the file since the last time."""
        version = (fetch_value(db, "pragma data_version"), writes)
        if version == self.seen.version:
            return
        # One transaction, so that everything read here is of one moment.
        db.execute("begin")
        try:
            self.catch_up(db)
        finally:
            db.execute("rollback")
        self.seen.version = version

    def catch_up(self, db: Connection) -> None:
        """Read new rows, altered rows and new vectors, in this order."""
        generation = fetch_value(db, "select value from meta where name = 'generation'") or ""
        dims = self.dims or self.find_dims(db)
        # A first vector gives the columns their width, so shards without one are made anew.
        if generation != self.seen.generation or dims != self.dims:
            self.by_space.clear()
        self.seen.generation, self.dims = generation, dims
        event = fetch_value(db, "select coalesce(max(seq), 0) from event")
        serial = fetch_value(db, "select coalesce(max(serial), 0) from vector")
        for space, shard in self.by_space.items():
            self.read_new_rows(db, space, shard)
        if self.by_space:
            self.read_altered_rows(db)
            self.read_new_vectors(db, serial)
        self.seen.event, self.seen.serial = event, serial

    def find_dims(self, db: Connection) -> int:
        """The length of this model's vectors; 0 while there are none."""
        size = fetch_value(db, "select length(vec) from vector where model = ? limit 1", self.model)
        return (size or 0) // 4

    def load_shard(self, db: Connection, space: str) -> Shard:
        """The shard of a space, loaded if need be."""
        if space not in self.by_space:
            shard = Shard(self.dims, space)
            self.read_new_rows(db, space, shard)
            if self.dims:
                found = db.execute(SPACE_VECTORS, (space, self.model, self.seen.serial))
                while rows := found.fetchmany(ROWS_PER_FETCH):
                    self.put_vectors(shard, rows)
            self.by_space[space] = shard
        self.by_space.move_to_end(space)
        while len(self.by_space) > MAX_SHARDS:
            self.by_space.popitem(last=False)
        return self.by_space[space]

    def read_new_rows(
        self,
        db: Connection,
        space: str,
        shard: Shard,
    ) -> None:
        """Append the memories that are newer than the shard's last."""
        last = int(shard.num[shard.n - 1]) if shard.n else 0
        found = db.execute(NEW_ROWS, (space, last))
        # Many at once: the first search of a process reads all.
        while rows := found.fetchmany(ROWS_PER_FETCH):
            num, id, at, length, session, speaker, kind, asks, expires, counts = zip(
                *rows, strict=True
            )
            shard.extend(
                id,
                num=num,
                at=at,
                length=length,
                session=list(map(self.code, session)),
                speaker=list(map(self.code, speaker)),
                kind=list(map(self.code, kind)),
                asks=asks,
                expires=list(map(to_expiry, expires)),
                counts=counts,
            )

    def read_altered_rows(self, db: Connection) -> None:
        """Update what was revised, retired or restored since the last event seen."""
        for num, space, length, asks, expires, counts, known in db.execute(
            ALTERED, (self.model, self.seen.event)
        ):
            shard = self.by_space.get(space)
            row = shard.place.get(num) if shard else None
            if shard and row is not None:
                shard.length[row] = length
                shard.counts[row] = counts
                shard.asks[row] = asks
                shard.expires[row] = to_expiry(expires)
                # A revised text has lost its vector; a new one comes with the new vectors.
                shard.known[row] &= bool(known)

    def read_new_vectors(self, db: Connection, serial: int) -> None:
        """Put the vectors since the last one seen, up to `serial`, into the shards."""
        by_space: dict[str, list[tuple[int, bytes]]] = {}
        found = db.execute(NEW_VECTORS, (self.seen.serial, serial, self.model))
        for _, num, space, vec in found:
            by_space.setdefault(space, []).append((num, vec))
        for space, rows in by_space.items():
            if shard := self.by_space.get(space):
                self.put_vectors(shard, rows)

    def put_vectors(
        self,
        shard: Shard,
        rows: Sequence[tuple[int, bytes]],
    ) -> None:
        """Set vectors by memory number; those of another length are left out."""
        places, blobs = [], []
        for num, blob in rows:
            if num in shard.place and len(blob) == 4 * shard.dims:
                places.append(shard.place[num])
                blobs.append(blob)
        shard.put(places, vectors_from_blobs(blobs, shard.dims))

    def code(self, name: str) -> int:
        """A small number for a session, a speaker or a kind."""
        number = self.codes.get(name)
        if number is None:
            number = self.codes[name] = len(self.names)
            self.names.append(name)
        return number


def to_expiry(expires_at: float | None) -> float:
    """The time at which a memory expires; infinity for never."""
    return np.inf if expires_at is None else expires_at


def vectors_from_blobs(blobs: Sequence[bytes], dims: int) -> Floats:
    """Vectors from their blobs (little-endian float32)."""
    return np.frombuffer(b"".join(blobs), "<f4").reshape(
        len(blobs),
        dims,
    )
