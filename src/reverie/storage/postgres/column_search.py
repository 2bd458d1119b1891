"""The candidates of one query from columns in memory, as SQLite finds them.

A search asks, in its transaction and before anything else, which of its spaces may be read and what
was written since the columns were: the tenant's generation, its last event, each space's last
number. Then it reads what is new: further memories, those that were altered (they stand in
`change`), vectors that were missing. A purge, a move or a repair gives another generation, and
everything is read afresh. What was committed before the search began is therefore seen, and what
was purged before is not. Postings of words are read from the server each time.

The first search of a space is the server's (`candidate_pool`), which counts the space, too: a
process that asks once loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reverie.storage.arrays import Floats, Ints
from reverie.storage.candidate_columns import gather_candidates
from reverie.storage.candidates import CandidatePool, CandidateRequest
from reverie.storage.column_cache import ROW_BYTES, Corpus, Shard
from reverie.storage.column_scores import score_postings
from reverie.storage.derived_texts import tag_node
from reverie.storage.postgres.candidate_pool import (
    MAX_OCCURRENCES,
    POSTINGS,
    collect_postings,
    select_affordable,
    to_array,
)
from reverie.storage.postgres.column_memory import (
    MAX_COLUMN_ROWS,
    ColumnKey,
    ColumnMemory,
    KeptSpace,
    TenantColumns,
)
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.half_vectors import read_half_rows
from reverie.storage.postgres.space_figures import FigureCache
from reverie.storage.postgres.word_postings import stem_terms

# Bytes of a row's columns beside its vector and its sign bits.
COLUMN_BYTES = 100
# Events after which a space is read anew: looking through their changes takes as long.
MAX_EVENTS_BEHIND = 10_000

# How far the tenant and each of some spaces are. Spaces that may not be read give no row; `~` is
# what row security asks, too.
POSITIONS = """
    select s.space, c.memory, c.event,
           (select value from meta where tenant = %(tenant)s and name = 'generation'),
           (select max(m.num) from memory m where m.tenant = %(tenant)s and m.space = s.space)
    from unnest(%(spaces)s::text[]) as s (space)
    join counter c on c.tenant = %(tenant)s
    where s.space ~ nullif(current_setting('reverie.readable', true), '')
"""
NEW_ROWS = """
    select m.space, m.num, m.id, m.at, char_length(m.text), m.session, m.speaker, m.kind,
           right(rtrim(m.text), 1) = '?', m.expires_at, m.retired_at is null
    from unnest(%(spaces)s::text[], %(lasts)s::bigint[]) as s (space, last)
    join memory m on m.tenant = %(tenant)s and m.space = s.space and m.num > s.last
    order by m.num
    limit %(most)s
"""
# What was revised, retired or restored, with the vector that it has now.
ALTERED = """
    select m.space, m.num, char_length(m.text), right(rtrim(m.text), 1) = '?', m.expires_at,
           m.retired_at is null,
           case when vector_dims(v.vec) = %(dims)s then halfvec_send(v.vec) end
    from (
        select distinct memory
        from change
        where tenant = %(tenant)s and seq > %(event)s and space = any(%(spaces)s::text[])
          and op in ('revise', 'retire')
    ) as changed
    join memory m on m.tenant = %(tenant)s and m.id = changed.memory
    left join vector v on v.tenant = %(tenant)s and v.num = m.num and v.model = %(model)s
    where m.space = any(%(spaces)s::text[])
"""
# Vectors side by side, in the order of the numbers.
SPACE_VECTORS = """
    select array_agg(v.num order by v.num), string_agg(halfvec_send(v.vec), '' order by v.num)
    from vector v
    where v.tenant = %(tenant)s and v.space = any(%(spaces)s::text[]) and v.model = %(model)s
      and vector_dims(v.vec) = %(dims)s
"""
MISSING_VECTORS = """
    select array_agg(v.num order by v.num), string_agg(halfvec_send(v.vec), '' order by v.num)
    from vector v
    where v.tenant = %(tenant)s and v.num = any(%(nums)s::bigint[]) and v.model = %(model)s
      and vector_dims(v.vec) = %(dims)s
"""
# Active memories of some spaces that carry all of some tags.
TAGGED = """
    select m.num
    from edge e
    join memory m on m.tenant = %(tenant)s and m.id = e.src
    where e.tenant = %(tenant)s and e.dst = any(%(nodes)s::text[]) and e.rel = 'has_tag'
      and m.space = any(%(spaces)s::text[]) and m.retired_at is null
    group by m.num
    having count(*) = %(tags)s
"""


class Position(NamedTuple):
    """A row of POSITIONS."""

    space: str
    memory: int  # of the tenant
    event: int
    generation: str | None
    last: int | None  # of the space


class ColumnPool(NamedTuple):
    """What columns answered, and the spaces that may be read and have memories."""

    pool: CandidatePool | None
    spaces: list[str]


def search_columns(
    db: TenantConnection,
    request: CandidateRequest,
    memory: ColumnMemory,
    figures: FigureCache,
) -> ColumnPool | None:
    """The candidates of a query from what is in memory, brought up to date; None where the server
    has to search. `db` must be in a transaction that only reads.
    """
    search = ColumnSearch(db, request, memory, figures)
    return search.gather() if search.is_worth_it() else None


class ColumnSearch:
    """One request, being answered from columns."""

    def __init__(
        self,
        db: TenantConnection,
        request: CandidateRequest,
        memory: ColumnMemory,
        figures: FigureCache,
    ) -> None:
        self.db, self.request, self.memory, self.figures = db, request, memory, figures
        self.names = list(dict.fromkeys(request.spaces))
        self.key = ColumnKey(db.tenant, request.model, len(request.vector))
        # The memories of each space that this process has counted.
        known = figures.look_up(db.tenant, self.names)
        self.counts = {name: found.memories for name, found in known if found.last}
        self.values = {"model": request.model, "dims": len(request.vector)}
        asked = stem_terms([*request.terms, *request.identifiers])
        self.tokens = sorted({token for term in asked for token in term})

    def is_worth_it(self) -> bool:
        """True if a space is in memory, or may come there: it was searched before, is small enough,
        and there is room.
        """
        if max(self.counts.values(), default=0) > MAX_COLUMN_ROWS:
            return False
        return self.memory.has_any(self.key, self.names) or self.may_load(self.counts)

    def may_load(self, names: Iterable[str]) -> bool:
        """True if there is room for some spaces, and it is known how large they are."""
        counts = [self.counts.get(name, 0) for name in names]
        return bool(counts) and all(counts) and self.memory.has_room(sum(counts) * self.row_bytes())

    def row_bytes(self) -> int:
        """About what a memory takes."""
        return 4 * self.key.dims + self.key.dims // 8 + COLUMN_BYTES + ROW_BYTES

    def gather(self) -> ColumnPool | None:
        """The candidates; None if the columns cannot be had now."""
        with self.db.pipeline():
            positions = self.db.run(POSITIONS, spaces=self.names)
            words = self.db.run(
                POSTINGS, tokens=self.tokens, spaces=self.names, most=MAX_OCCURRENCES + 1
            )
            tagged = self.find_tagged() if self.request.tags else None
        places = {row.space: row for row in map(Position._make, positions.fetchall()) if row.last}
        readable = [places[name] for name in self.names if name in places]
        corpus = self.read_corpus(readable)
        if corpus is None:
            return None
        postings = collect_postings(self.tokens, words.fetchall())

        def score_terms(terms: Sequence[str]) -> list[Floats]:
            found = select_affordable(stem_terms(terms), postings)
            return score_postings([(one.nums, one.times) for one in found], corpus.shards)

        nums = [num for (num,) in tagged.fetchall()] if tagged else []
        pool = gather_candidates(corpus, self.request, score_terms, nums)
        spaces = [place.space for place in readable]
        return ColumnPool(None if pool is None else keep_own_names(pool), spaces)

    def find_tagged(self) -> Any:
        """Begin to look for what carries the tags asked for."""
        nodes = sorted({tag_node(tag) for tag in self.request.tags})
        return self.db.run(TAGGED, nodes=nodes, tags=len(nodes), spaces=self.names)

    def read_corpus(self, readable: Sequence[Position]) -> Corpus | None:
        """Snapshots of spaces, up to date; None if another thread has the columns, or there is no
        room.
        """
        if not readable:
            return Corpus((), [""], {"": 0})
        with self.memory.using(self.key) as columns:
            if columns is None:
                return None
            generation = readable[0].generation or ""
            if columns.generation != generation:
                self.memory.drop(self.key, columns)
                columns.generation = generation
            held = {
                place.space: kept
                for place in readable
                if (kept := columns.spaces.get(place.space)) and is_current(kept, place)
            }
            fresh = [place for place in readable if place.space not in held]
            if fresh and not self.may_load([place.space for place in fresh]):
                return None
            self.catch_up(columns, held, readable)
            self.load_spaces(columns, held, fresh)
            if any(kept.shard.n > MAX_COLUMN_ROWS for kept in held.values()):
                self.memory.drop(self.key, columns)
                self.figures.forget(self.key.tenant, self.names)  # to be counted anew
                return None
            for name, kept in held.items():
                self.memory.keep(self.key, columns, name, kept)
            shards = tuple(held[place.space].shard.snapshot() for place in readable)
            return Corpus(shards, columns.names, columns.codes)

    def load_spaces(
        self,
        columns: TenantColumns,
        held: dict[str, KeptSpace],
        fresh: Sequence[Position],
    ) -> None:
        """Read the spaces that are not in memory."""
        if not fresh:
            return
        loaded = {place.space: Shard(self.key.dims, place.space) for place in fresh}
        names = list(loaded)
        append_rows(columns, loaded, self.read_rows(dict.fromkeys(names, 0)))
        self.read_vectors(SPACE_VECTORS, list(loaded.values()), spaces=names)
        for place in fresh:
            held[place.space] = KeptSpace(loaded[place.space], place.event)

    def catch_up(
        self,
        columns: TenantColumns,
        held: Mapping[str, KeptSpace],
        readable: Sequence[Position],
    ) -> None:
        """Take in what was written since the columns were read. What fails leaves them as they
        were.
        """
        events = {place.space: place.event for place in readable}
        shards = {name: kept.shard for name, kept in held.items()}
        behind = [name for name, kept in held.items() if kept.event < events[name]]
        grown = {
            place.space: shards[place.space]
            for place in readable
            if place.space in shards and (place.last or 0) > shards[place.space].ends()[1]
        }
        new: list[Any] = []
        altered: list[Any] = []
        if grown:
            new = self.read_rows({name: shard.ends()[1] for name, shard in grown.items()})
        if behind:
            first = min(held[name].event for name in behind)
            found = self.db.run(ALTERED, spaces=behind, event=first, **self.values)
            altered = found.fetchall()
        append_rows(columns, grown, new)
        alter_rows(shards, altered)
        waiting = {name: find_waiting(shard) for name, shard in shards.items()}
        if nums := [num for found in waiting.values() for num in found]:
            lacking = [shards[name] for name, found in waiting.items() if len(found)]
            self.read_vectors(MISSING_VECTORS, lacking, nums=to_array(nums))
        for name, kept in held.items():
            kept.event = max(kept.event, events[name])

    def read_rows(self, lasts: Mapping[str, int]) -> list[Any]:
        """The memories of spaces after these numbers; of one that is too large enough to see it."""
        most = (MAX_COLUMN_ROWS + 1) * len(lasts)
        found = self.db.run(NEW_ROWS, spaces=list(lasts), lasts=list(lasts.values()), most=most)
        return found.fetchall()

    def read_vectors(self, query: str, shards: Sequence[Shard], **values: Any) -> None:
        """Put vectors into the shards that their memories are in."""
        with self.db.cursor(binary=True) as cursor:
            cursor.execute(query, {"tenant": self.db.tenant, **self.values, **values})
            nums, sent = cursor.fetchone() or (None, None)
        if not nums:
            return
        vectors = read_half_rows(sent, self.key.dims).astype(np.float32)
        for shard in shards:
            places = [(shard.place[num], at) for at, num in enumerate(nums) if num in shard.place]
            if places:
                rows, found = zip(*places, strict=True)
                shard.put(rows, vectors[list(found)])


def is_current(kept: KeptSpace, place: Position) -> bool:
    """True if what is kept can be brought up to date; False if it is far behind, or ahead: then the
    server was set back.
    """
    is_ahead = kept.event > place.event or kept.shard.ends()[1] > place.memory
    return not is_ahead and place.event - kept.event <= MAX_EVENTS_BEHIND


def append_rows(
    columns: TenantColumns, shards: Mapping[str, Shard], rows: Sequence[Sequence[Any]]
) -> None:
    """Append rows of NEW_ROWS to the shards of their spaces."""
    for space, shard in shards.items():
        own = [row[1:] for row in rows if row[0] == space]
        if not own:
            continue
        num, ids, at, length, session, speaker, kind, asks, expires, counts = zip(*own, strict=True)
        shard.extend(
            ids,
            num=num,
            at=at,
            length=length,
            session=list(map(columns.code, session)),
            speaker=list(map(columns.code, speaker)),
            kind=list(map(columns.code, kind)),
            asks=asks,
            expires=list(map(to_expiry, expires)),
            counts=counts,
        )


def alter_rows(shards: Mapping[str, Shard], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows of ALTERED over those that are there."""
    for space, num, length, asks, expires, counts, vector in rows:
        shard = shards[space]
        row = shard.place.get(num)
        if row is None:
            continue
        shard.length[row] = length
        shard.asks[row] = asks
        shard.expires[row] = to_expiry(expires)
        shard.counts[row] = counts
        # A revised text has lost its vector, and may have got another.
        shard.known[row] = False
        if vector is not None:
            halves = read_half_rows(vector, shard.dims)
            shard.put([row], halves.astype(np.float32))


def find_waiting(shard: Shard) -> Ints:
    """The numbers of the active memories that have no vector yet."""
    rows = slice(shard.n)
    found: Ints = shard.num[rows][shard.counts[rows] & ~shard.known[rows]]
    return found


def to_expiry(expires_at: float | None) -> float:
    """The time at which a memory expires; infinity for never."""
    return float("inf") if expires_at is None else expires_at


def keep_own_names(pool: CandidatePool) -> CandidatePool:
    """The pool with the names of its own speakers alone: columns know those of the whole tenant."""
    codes = dict.fromkeys((0, *pool.speaker.tolist()))
    places = {code: place for place, code in enumerate(codes)}
    return replace(
        pool,
        names=[pool.names[code] for code in codes],
        speaker=np.array([places[code] for code in pool.speaker.tolist()], np.int64),
    )
