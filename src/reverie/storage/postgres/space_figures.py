"""Figures about whole spaces that every search needs, kept by the process and brought up to date.

How many memories a space has and how long their texts are would be a scan of all of it. So a search
counts what came since the last one: numbers of memories grow in the order of commits. After a purge
the tenant's generation is another one, and everything is counted afresh. Revised texts shift the
mean length a little until then, which moves no score by much.

A figure of a space is given only to who may read the space: the statement that brings it up to date
says so, whatever is kept here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from reverie.core.clock import ticks
from reverie.core.time_limit import find_time_left
from reverie.storage.postgres.connection import PostgresPool, TenantConnection

T = TypeVar("T")

# Spaces whose figures are kept, of all tenants of a process. A hundred bytes each.
MAX_SPACES = 10_000
# How much a space may grow before the median length of its texts is computed afresh.
STALE_GROWTH = 1.05
# Samples of vectors are kept for a while, whatever is retired meanwhile, and so is which indexes
# there are. Half a megabyte each, at most.
NOTE_SECONDS, MAX_NOTES = 60.0, 64
# Readers of whom the most common tokens are kept, and how many of each.
MAX_READERS, MAX_COMMON_TOKENS = 1_000, 1_000

# A row for each space that may be read: what came after the last number seen, and whether all of it
# is committed. `~` is what row security asks, too.
GROWTH = """
    select s.place, fresh.memories, fresh.characters, fresh.last,
           (select value from meta where tenant = %(tenant)s and name = 'generation'),
           pg_current_xact_id_if_assigned() is null
    from unnest(%(spaces)s::text[], %(lasts)s::bigint[]) with ordinality as s (space, last, place)
    cross join lateral (
        select max(m.num) as num
        from memory m
        where m.tenant = %(tenant)s and m.space = s.space
    ) as newest
    cross join lateral (
        select count(*) as memories, coalesce(sum(char_length(m.text)), 0)::bigint as characters,
               max(m.num) as last
        from memory m
        where m.tenant = %(tenant)s and m.space = s.space and m.num > s.last
          and newest.num > s.last -- usually false, and then no row is looked at
    ) as fresh
    where s.space ~ nullif(current_setting('reverie.readable', true), '')
    order by s.place
"""
# Memories of a space above which figures are estimated from an even sample, and how many are looked
# at: all of a million would be a second of the server's.
LARGE_SPACE, SAMPLED_LENGTHS = 20_000, 2_000
# Searches that wait for the first count of a space by another share so many locks.
COUNTING_LOCKS = 64
# Seconds to wait for it; then each counts for itself.
COUNTING_SECONDS = 30.0

MEDIAN_LENGTH = """
    select percentile_cont(0.5) within group (order by char_length(m.text))
    from memory m
    where m.tenant = %(tenant)s and m.space = %(space)s
"""
# Numbers at even distances through a space: what follows them is a sample of it that takes no look
# through the whole.
EVEN_PLACES = """
    (
        select min(num) as first, max(num) as last
        from memory
        where tenant = %(tenant)s and space = %(space)s
    ) as ends
    cross join generate_series(
        ends.first, ends.last, greatest(1, (ends.last - ends.first) / %(rows)s)
    ) as place
"""
LARGE_MEDIAN = f"""
    select percentile_cont(0.5) within group (order by next.length)
    from {EVEN_PLACES}
    cross join lateral (
        select char_length(text) as length from memory
        where tenant = %(tenant)s and space = %(space)s and num >= place
        order by num
        limit 1
    ) as next
"""


@dataclass(frozen=True, slots=True)
class SpaceFigures:
    """How much there is in a space, as far as was counted."""

    memories: int = 0  # retired ones too
    characters: int = 0  # of their texts
    last: int = 0  # the highest number counted
    generation: str = ""
    typical: float = 0.0  # median length of a text
    typical_of: int = 0  # of how many memories

    def has_typical(self) -> bool:
        """True if the median is not too old."""
        return 0 < self.memories <= STALE_GROWTH * self.typical_of


class TokenKey(NamedTuple):
    """Whom a token is common for: what others may read is no part of it."""

    tenant: str
    readable: str
    spaces: tuple[str, ...]


class FigureCache:
    """The figures of the spaces that this process searched last, by tenant and space."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], SpaceFigures] = OrderedDict()
        # Of any kind, by what they are of, with the time until which they hold.
        self._notes: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        # Tokens that were found to be too common, with the time until which they are.
        self._common: OrderedDict[TokenKey, dict[str, float]] = OrderedDict()
        self._counting = [threading.Lock() for _ in range(COUNTING_LOCKS)]

    def remember(
        self,
        key: Hashable,
        measure: Callable[[], T],
        lasts: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """What was measured under this key less than NOTE_SECONDS ago; measured now otherwise, and
        kept if it `lasts`.
        """
        with self._lock:
            until, value = self._notes.get(key, (0.0, None))
            if ticks() < until:
                self._notes.move_to_end(key)
                return cast(T, value)
        fresh = measure()
        if not lasts(fresh):
            return fresh
        with self._lock:
            self._notes[key] = (ticks() + NOTE_SECONDS, fresh)
            while len(self._notes) > MAX_NOTES:
                self._notes.popitem(last=False)
        return fresh

    @contextmanager
    def counting(self, tenant: str, spaces: Sequence[str]) -> Iterator[bool]:
        """True if nothing is known of any of these spaces. One search at a time counts them then,
        and the others wait: many at once would each look through a million memories.
        """
        if self._knows(tenant, spaces):
            yield False
            return
        lock = self._counting[hash((tenant, *spaces)) % COUNTING_LOCKS]
        left = find_time_left()
        held = lock.acquire(timeout=COUNTING_SECONDS if left is None else max(0.0, left))
        try:
            yield not self._knows(tenant, spaces)
        finally:
            if held:
                lock.release()

    def _knows(self, tenant: str, spaces: Sequence[str]) -> bool:
        with self._lock:
            return any((tenant, space) in self._kept for space in spaces)

    def note_common(self, key: TokenKey, tokens: Collection[str]) -> None:
        """Keep for NOTE_SECONDS that a reader's search found some tokens too common to count."""
        if not tokens:
            return
        with self._lock:
            kept = self._common.setdefault(key, {})
            self._common.move_to_end(key)
            if len(kept) + len(tokens) > MAX_COMMON_TOKENS:
                kept.clear()
            kept.update(dict.fromkeys(tokens, ticks() + NOTE_SECONDS))
            while len(self._common) > MAX_READERS:
                self._common.popitem(last=False)

    def find_common(self, key: TokenKey) -> set[str]:
        """The tokens that a reader's searches found too common a short time ago."""
        now = ticks()
        with self._lock:
            return {token for token, until in self._common.get(key, {}).items() if now < until}

    def look_up(self, tenant: str, spaces: Sequence[str]) -> list[SearchedSpace]:
        """What is known of each of some spaces; of a new one nothing."""
        with self._lock:
            return [
                SearchedSpace(space, self._kept.get((tenant, space), SpaceFigures()))
                for space in spaces
            ]

    def put(self, tenant: str, space: str, figures: SpaceFigures) -> None:
        """Keep what is known of a space."""
        with self._lock:
            self._kept[tenant, space] = figures
            self._kept.move_to_end((tenant, space))
            while len(self._kept) > MAX_SPACES:
                self._kept.popitem(last=False)

    def forget(self, tenant: str, spaces: Sequence[str]) -> None:
        """Forget spaces: what was counted does not hold any more."""
        with self._lock:
            for space in spaces:
                self._kept.pop((tenant, space), None)


_CACHES: WeakKeyDictionary[PostgresPool, FigureCache] = WeakKeyDictionary()
_LOCK = threading.Lock()


def figure_cache(pool: PostgresPool) -> FigureCache:
    """The figures of the database that a pool connects to."""
    with _LOCK:
        return _CACHES.setdefault(pool, FigureCache())


class Growth(NamedTuple):
    """What GROWTH found of a space."""

    place: int  # among the spaces asked, from 1
    memories: int
    characters: int
    last: int | None
    generation: str | None
    committed: bool


class SearchedSpace(NamedTuple):
    """A space that may be read, and its figures."""

    name: str
    figures: SpaceFigures


def count_spaces(
    db: TenantConnection,
    cache: FigureCache,
    spaces: Sequence[str],
) -> list[SearchedSpace]:
    """Those of these spaces that may be read and have memories, in order, with their figures."""
    while True:
        known = cache.look_up(db.tenant, spaces)
        rows = db.fetch_rows(GROWTH, **growth_values(known))
        counted = add_growth(db.tenant, cache, known, rows)
        if counted is not None:
            return counted


def growth_values(known: Sequence[SearchedSpace]) -> dict[str, Any]:
    """The values of GROWTH: the spaces, and the last number counted of each."""
    return {
        "spaces": [space.name for space in known],
        "lasts": [space.figures.last for space in known],
    }


def add_growth(
    tenant: str,
    cache: FigureCache,
    known: Sequence[SearchedSpace],
    rows: Sequence[Sequence[Any]],
) -> list[SearchedSpace] | None:
    """The spaces that may be read and have memories, with what GROWTH found of them.

    None if what was kept does not hold any more and is forgotten: GROWTH must be asked again.
    """
    counted: list[SearchedSpace] = []
    for growth in map(Growth._make, rows):
        space, before = known[growth.place - 1]
        generation = growth.generation or ""
        if before.last and before.generation != generation:
            cache.forget(tenant, [one.name for one in known])
            return None
        figures = replace(
            before,
            memories=before.memories + growth.memories,
            characters=before.characters + growth.characters,
            last=growth.last or before.last,
            generation=generation,
        )
        # Numbers of a transaction that is rolled back are given again.
        if growth.memories and growth.committed:
            cache.put(tenant, space, figures)
        if figures.memories:
            counted.append(SearchedSpace(space, figures))
    return counted


def find_typical_length(db: TenantConnection, cache: FigureCache, space: SearchedSpace) -> float:
    """The median length of a text of a space, at most STALE_GROWTH out of date."""
    name, figures = space
    if figures.has_typical():
        return figures.typical
    if figures.memories > LARGE_SPACE:
        median = db.fetch_value(LARGE_MEDIAN, space=name, rows=SAMPLED_LENGTHS)
    else:
        median = db.fetch_value(MEDIAN_LENGTH, space=name)
    typical = float(median or 0.0)
    (kept,) = cache.look_up(db.tenant, [name])
    if kept.figures.last:
        measured = replace(kept.figures, typical=typical, typical_of=figures.memories)
        cache.put(db.tenant, name, measured)
    return typical
