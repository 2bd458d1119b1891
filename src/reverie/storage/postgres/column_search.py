"""The candidates of one query from columns in memory, as SQLite finds them.

A search asks, in its transaction and before anything else, which of its spaces may be read and what
was written since the columns were: the tenant's generation, its last event, each space's last
number. Then it reads what is new: further memories, those that were altered (they stand in
`change`), vectors that were missing. A purge, a move or a repair gives another generation, and
everything is read afresh. What was committed before the search began is therefore seen, and what
was purged before is not. Postings of words are read from the server each time.

The first search of a space is the server's (`candidate_pool`), which counts the space, too: a
process that asks once loads nothing. Of a space of more than MAX_WHOLE_ROWS each search reads the
next STEP_ROWS, and leaves the answer to the server until all are there: nobody waits for the
seconds that the whole would take.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reverie.storage.arrays import Floats, Ints
from reverie.storage.candidate_columns import gather_candidates
from reverie.storage.candidates import CandidatePool, CandidateRequest
from reverie.storage.column_cache import ROW_BYTES, Corpus, Shard
from reverie.storage.column_scores import score_postings
from reverie.storage.derived_texts import tag_node
from reverie.storage.postgres.candidate_pool import to_array
from reverie.storage.postgres.column_memory import (
    MAX_COLUMN_ROWS,
    MAX_WHOLE_ROWS,
    ColumnKey,
    ColumnMemory,
    KeptSpace,
    TenantColumns,
)
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.half_vectors import read_half_rows
from reverie.storage.postgres.question_postings import PostingsReader, select_affordable
from reverie.storage.postgres.space_figures import FigureCache
from reverie.storage.postgres.word_postings import stem_terms

# Bytes of a row's columns beside its vector and its sign bits.
COLUMN_BYTES = 100
# Events after which a space is read anew: looking through their changes takes as long.
MAX_EVENTS_BEHIND = 10_000
# Memories of a large space that one search reads beside its answer: some 50 ms.
STEP_ROWS = 5_000
# Memories without a vector of which a search asks for theirs. Where more wait, as after a change of
# the model, each search asks for the next, and the server answers.
MAX_WAITING = 5_000

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
    select m.*
    from unnest(%(spaces)s::text[], %(lasts)s::bigint[], %(mosts)s::bigint[])
        as s (space, last, most)
    cross join lateral (
        select space, num, id, at, char_length(text), session, speaker, kind,
               right(rtrim(text), 1) = '?', expires_at, retired_at is null
        from memory
        where tenant = %(tenant)s and space = s.space and num > s.last
        order by num
        limit s.most
    ) as m
    order by m.num
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
STEP_VECTORS = """
    select array_agg(v.num order by v.num), string_agg(halfvec_send(v.vec), '' order by v.num)
    from vector v
    where v.tenant = %(tenant)s and v.space = %(space)s and v.model = %(model)s
      and v.num > %(after)s and v.num <= %(last)s and vector_dims(v.vec) = %(dims)s
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


class StoredVectors(NamedTuple):
    """Vectors as the server has them, of the memories of these numbers."""

    nums: list[int]
    vectors: npt.NDArray[Any]  # a row each


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
        return bool(counts) and all(counts) and self.memory.has_room(sum(map(self.size, counts)))

    def size(self, memories: int) -> int:
        """About how many bytes a space of so many memories takes."""
        numbers = (2 if memories > MAX_WHOLE_ROWS else 4) * self.key.dims
        return memories * (numbers + self.key.dims // 8 + COLUMN_BYTES + ROW_BYTES)

    def gather(self) -> ColumnPool | None:
        """The candidates; None if the columns cannot be had now."""
        words = PostingsReader(self.db, self.request, self.figures)
        with self.db.pipeline():
            positions = self.db.run(POSITIONS, spaces=self.names)
            words.start()
            tagged = self.find_tagged() if self.request.tags else None
        places = {row.space: row for row in map(Position._make, positions.fetchall()) if row.last}
        readable = [places[name] for name in self.names if name in places]
        corpus = self.read_corpus(readable)
        if corpus is None:
            return None
        postings = words.collect()

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
            is_known = self.catch_up(columns, held, readable)
            self.load_spaces(columns, held, fresh)
            if any(outgrows_columns(kept.shard) for kept in held.values()):
                self.memory.drop(self.key, columns)
                self.figures.forget(self.key.tenant, self.names)  # to be counted anew
                return None
            for name, kept in held.items():
                self.memory.keep(self.key, columns, name, kept)
            if not is_known or any(is_behind(held[place.space], place) for place in readable):
                return None
            shards = tuple(held[place.space].shard.snapshot() for place in readable)
            return Corpus(shards, columns.names, columns.codes)

    def load_spaces(
        self,
        columns: TenantColumns,
        held: dict[str, KeptSpace],
        fresh: Sequence[Position],
    ) -> None:
        """Read the spaces that are not in memory; of a large one the first rows."""
        large = {name for name, count in self.counts.items() if count > MAX_WHOLE_ROWS}
        whole = {
            place.space: Shard(self.key.dims, place.space)
            for place in fresh
            if place.space not in large
        }
        if whole:
            append_rows(columns, whole, self.read_rows(dict.fromkeys(whole, 0)))
            found = self.fetch_vectors(SPACE_VECTORS, spaces=list(whole))
            put_vectors(list(whole.values()), found)
        for place in fresh:
            shard = whole.get(place.space) or Shard(self.key.dims, place.space, halves=True)
            if place.space in large:
                shard.reserve_rows(self.counts[place.space])
                self.extend_shard(columns, shard)
            held[place.space] = KeptSpace(shard, place.event)

    def extend_shard(self, columns: TenantColumns, shard: Shard) -> None:
        """Read the next rows of a large space."""
        after = shard.ends()[1] if shard.n else 0
        rows = self.read_rows({shard.space: after}, STEP_ROWS)
        if not rows:
            return
        # Both are read before anything is altered.
        last = rows[-1][1]
        found = self.fetch_vectors(STEP_VECTORS, space=shard.space, after=after, last=last)
        append_rows(columns, {shard.space: shard}, rows)
        put_vectors([shard], found)

    def catch_up(
        self,
        columns: TenantColumns,
        held: Mapping[str, KeptSpace],
        readable: Sequence[Position],
    ) -> bool:
        """Take in what was written since the columns were read; of a large space the next rows.
        What fails leaves them as they were. False if too many vectors are awaited to ask for them.
        """
        events = {place.space: place.event for place in readable}
        shards = {name: kept.shard for name, kept in held.items()}
        behind = [name for name, kept in held.items() if kept.event < events[name]]
        grown = {
            place.space: shards[place.space]
            for place in readable
            if place.space in held and is_behind(held[place.space], place)
        }
        small = {name: shard for name, shard in grown.items() if not shard.has_halves}
        new: list[Any] = []
        altered: list[Any] = []
        if small:
            new = self.read_rows({name: shard.ends()[1] for name, shard in small.items()})
        if behind:
            first = min(held[name].event for name in behind)
            found = self.db.run(ALTERED, spaces=behind, event=first, **self.values)
            altered = found.fetchall()
        append_rows(columns, small, new)
        alter_rows(shards, altered)
        for name in grown.keys() - small.keys():
            self.extend_shard(columns, shards[name])
        is_known = self.ask_awaited(columns, list(shards.values()))
        for name, kept in held.items():
            kept.event = max(kept.event, events[name])
        return is_known

    def ask_awaited(self, columns: TenantColumns, shards: Sequence[Shard]) -> bool:
        """Read vectors that have come meanwhile. False if more are awaited than are asked for."""
        waiting = [find_waiting(shard) for shard in shards]
        nums = sorted(num for found in waiting for num in found.tolist())
        is_known = len(nums) <= MAX_WAITING
        if not is_known:
            place = bisect_right(nums, columns.asked)
            nums = nums[place : place + MAX_WAITING] or nums[:MAX_WAITING]
            columns.asked = nums[-1]
        if nums:
            put_vectors(shards, self.fetch_vectors(MISSING_VECTORS, nums=to_array(nums)))
        return is_known

    def read_rows(self, lasts: Mapping[str, int], most: int = MAX_WHOLE_ROWS + 1) -> list[Any]:
        """The memories of spaces after these numbers, so many of each: of one that is too large
        enough to see it.
        """
        mosts = [most] * len(lasts)
        found = self.db.run(NEW_ROWS, spaces=list(lasts), lasts=list(lasts.values()), mosts=mosts)
        return found.fetchall()

    def fetch_vectors(self, query: str, **values: Any) -> StoredVectors:
        """The numbers of memories, and their vectors as rows of halves."""
        with self.db.cursor(binary=True) as cursor:
            cursor.execute(query, {"tenant": self.db.tenant, **self.values, **values})
            nums, sent = cursor.fetchone() or (None, None)
        return StoredVectors(nums or [], read_half_rows(sent or b"", self.key.dims))


def outgrows_columns(shard: Shard) -> bool:
    """True if a space has more memories than are kept as it is."""
    return shard.n > (MAX_COLUMN_ROWS if shard.has_halves else MAX_WHOLE_ROWS)


def is_behind(kept: KeptSpace, place: Position) -> bool:
    """True if memories of a space are not read yet."""
    return not kept.shard.n or kept.shard.ends()[1] < (place.last or 0)


def put_vectors(shards: Sequence[Shard], found: StoredVectors) -> None:
    """Put vectors into the shards that their memories are in."""
    for shard in shards:
        places = [(shard.place[num], at) for at, num in enumerate(found.nums) if num in shard.place]
        if places:
            rows, where = zip(*places, strict=True)
            shard.put(rows, found.vectors[list(where)].astype(np.float32))


def is_current(kept: KeptSpace, place: Position) -> bool:
    """True if what is kept can be brought up to date; False if it is far behind, or ahead: then the
    server was set back.
    """
    last = kept.shard.ends()[1] if kept.shard.n else 0
    is_ahead = kept.event > place.event or last > place.memory
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
