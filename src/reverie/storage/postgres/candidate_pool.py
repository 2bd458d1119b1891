"""The candidates of one query, put together from few statements.

First the postings of the question's tokens, and the nearest of each space by vector. Then what is
known of those candidates, of what holds an identifier, and of the turns around the very best. Last,
the turns around every candidate. Which rows are chosen is what `candidate_columns` chooses
from columns in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from psycopg import Cursor

from reverie.core.kinds import EXCERPT
from reverie.storage.bm25 import term_gain, term_weight
from reverie.storage.candidates import (
    EXPANDED_PER_CHANNEL,
    MAX_IDENTIFIER_MEMORIES,
    NEIGHBOUR_OFFSETS,
    CandidatePool,
    CandidateRequest,
)
from reverie.storage.derived_texts import tag_node
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.half_vectors import read_half_rows, to_half_vector
from reverie.storage.postgres.question_postings import (
    Postings,
    PostingsReader,
    intersect_term,
    select_affordable,
)
from reverie.storage.postgres.space_figures import (
    EVEN_PLACES,
    GROWTH,
    LARGE_SPACE,
    FigureCache,
    SearchedSpace,
    add_growth,
    count_spaces,
    find_typical_length,
    growth_values,
)
from reverie.storage.postgres.vector_search import (
    ALLOWED_NEAREST,
    EXACT_NEAREST,
    WHOLE_NEAREST,
    NearRow,
    VectorIndex,
    find_vector_index,
    indexed_nearest,
    is_crowded,
    is_worth_index,
    order_nearest,
    set_index_breadth,
)
from reverie.storage.postgres.word_postings import stem_terms

# Proposals of a channel beyond twice what is wanted: some are retired, or not allowed.
EXTRA_PROPOSALS = 50
# Memories with an identifier that are looked at: most of them may be retired.
MAX_NAMED = 200
# Vectors that stand for all of a space when the usual, meaningless cosine is estimated. A space
# with no more memories is compared as a whole anyway.
SAMPLE_SIZE = 1_000

# How many rows a tenant and a space have differs by orders of magnitude, so each statement is
# planned for those that are asked; and compiling takes longer than any of these runs.
PLANNING = ("set local plan_cache_mode = force_custom_plan", "set local jit = off")

# An even sample of a space's vectors, one behind the other.
SAMPLE = """
    select string_agg(halfvec_send(v.vec), '')
    from (
        select num, row_number() over (order by num) - 1 as place
        from vector
        where tenant = %(tenant)s and space = %(space)s and model = %(model)s
    ) as numbered
    join vector v on v.tenant = %(tenant)s and v.num = numbered.num and v.model = %(model)s
    join memory m on m.tenant = %(tenant)s and m.num = numbered.num
    where numbered.place %% %(step)s = 0 and m.retired_at is null
      and vector_dims(v.vec) = %(dims)s
"""
# The same of a space of which looking through all numbers takes seconds: the vectors that follow
# numbers at even distances.
LARGE_SAMPLE = f"""
    with chosen as (
        select distinct next.num
        from {EVEN_PLACES}
        cross join lateral (
            select num from vector
            where tenant = %(tenant)s and space = %(space)s and model = %(model)s
              and num >= place
            order by num
            limit 1
        ) as next
    )
    select string_agg(halfvec_send(v.vec), '')
    from chosen
    join vector v on v.tenant = %(tenant)s and v.num = chosen.num and v.model = %(model)s
    join memory m on m.tenant = %(tenant)s and m.num = chosen.num
    where m.retired_at is null and vector_dims(v.vec) = %(dims)s
"""
COUNT_ACTIVE = """
    select num from memory
    where tenant = %(tenant)s and num = any(%(nums)s::bigint[]) and retired_at is null
"""
# The candidates with what is known of each: what was proposed and is allowed (of the words only the
# best of each space), and the turns around those that lead. Beside them the two turns before and
# after each candidate in its session and space, with `around`, the candidates that they stand by.
# What only candidates need is null for a turn that is none.
FEATURES = """
    with proposed as (
        select m.num, m.space, m.session, p.nearness, p.wordiness, p.named,
               row_number() over (
                   partition by m.space order by p.wordiness nulls last
               ) as word_place
        from unnest(%(nums)s::bigint[], %(nearness)s::integer[], %(wordiness)s::integer[],
                    %(named)s::boolean[]) as p (num, nearness, wordiness, named)
        join memory m on m.tenant = %(tenant)s and m.num = p.num
        where {allowed}
    ),
    chosen as materialized (
        select num, space, session,
               nearness <= %(leading)s or (wordiness is not null and word_place <= %(leading)s)
                   as leads
        from proposed
        where nearness is not null or named or (wordiness is not null and word_place <= %(each)s)
    ),
    beside as materialized (
        select c.num as candidate, c.leads, turn.num
        from chosen c
        cross join lateral ({turns}) as turn
    ),
    led_to as materialized (
        select m.num, m.space, m.session
        from (
            select num from beside where leads
            except
            select num from chosen
        ) as other
        join memory m on m.tenant = %(tenant)s and m.num = other.num
        where {allowed}
    ),
    pair as (
        select num, null::bigint as candidate from chosen
        union all
        select num, null from led_to
        union all
        select num, candidate from beside
        union all
        select turn.num, c.num
        from led_to c
        cross join lateral ({turns}) as turn
    ),
    row as materialized (
        select num, bool_or(candidate is null) as is_candidate,
               array_agg(candidate) filter (where candidate is not null) as around
        from pair
        group by num
    )
    select row.num, row.is_candidate, row.around,
           right(rtrim(m.text), 1) = '?', m.retired_at is null,
           case when vector_dims(v.vec) = %(dims)s then -(v.vec <#> %(vector)s::halfvec) end,
           m.at, char_length(m.text), m.space,
           case when row.is_candidate then m.id end,
           case when row.is_candidate then m.session end,
           case when row.is_candidate then m.speaker end,
           case when row.is_candidate then m.kind end
    from row
    join memory m on m.tenant = %(tenant)s and m.num = row.num
    left join vector v on v.tenant = %(tenant)s and v.num = row.num and v.model = %(model)s
    order by row.num
"""
# The two turns before and after a memory `c` in its session and space; by an index alone.
TURNS = """
    (select num from memory
     where tenant = %(tenant)s and session = c.session and session <> ''
       and space = c.space and num < c.num
     order by num desc limit 2)
    union all
    (select num from memory
     where tenant = %(tenant)s and session = c.session and session <> ''
       and space = c.space and num > c.num
     order by num limit 2)
"""
HAS_VECTOR = """
    select exists (
        select 1
        from unnest(%(near_spaces)s::text[]) as s (space)
        cross join lateral (
            select vector_dims(v.vec) as dims
            from vector v
            where v.tenant = %(tenant)s and v.space = s.space and v.model = %(model)s
            limit 1
        ) as first
        where first.dims = %(dims)s
    )
"""


class Row(NamedTuple):
    """A row of FEATURES: a candidate, or a turn beside one, or both."""

    num: int
    is_candidate: bool
    around: list[int] | None  # the candidates that it stands beside
    asks: bool
    active: bool
    cosine: float | None
    at: float
    length: int
    space: str
    id: str
    session: str
    speaker: str
    kind: str


@dataclass(frozen=True, slots=True)
class WordScores:
    """BM25 of the memories that hold a term of the question."""

    by_number: Mapping[int, float]
    place_of: Mapping[int, int]  # of the memory's space

    def best_of(self, place: int) -> list[int]:
        """The numbers of a space's memories, best first, ties by number."""
        here = [num for num, where in self.place_of.items() if where == place]
        here.sort(key=lambda num: (-self.by_number[num], num))
        return here


def build_allowed(request: CandidateRequest) -> tuple[str, dict[str, Any]]:
    """The condition that a memory `m` may be a candidate, and its values."""
    tests = ["m.retired_at is null", "(m.expires_at is null or m.expires_at > %(now)s)"]
    values: dict[str, Any] = {"now": request.now}
    if request.kinds:
        tests.append("m.kind = any(%(kinds)s::text[])")
        values["kinds"] = list(request.kinds)
    if request.without:
        tests.append("m.kind <> all(%(without)s::text[])")
        values["without"] = list(request.without)
    for place, tag in enumerate(dict.fromkeys(request.tags)):
        tests.append(
            "exists (select 1 from edge e where e.tenant = %(tenant)s and e.src = m.id "
            f"and e.rel = 'has_tag' and e.dst = %(tag_{place})s)"
        )
        values[f"tag_{place}"] = tag_node(tag)
    if request.before is not None:
        tests.append("m.at <= %(before)s")
        values["before"] = request.before
    if request.not_session:
        elsewhere = " or m.space <> all(%(session_in)s::text[])" if request.session_in else ""
        tests.append(f"(m.session <> %(not_session)s or m.kind = %(excerpt)s{elsewhere})")
        values |= {
            "not_session": request.not_session,
            "session_in": list(request.session_in),
            "excerpt": EXCERPT,
        }
    return " and ".join(tests), values


class CandidateSearch:
    """One request, being answered in one transaction."""

    def __init__(
        self,
        db: TenantConnection,
        request: CandidateRequest,
        cache: FigureCache,
    ) -> None:
        self.db = db
        self.request = request
        self.cache = cache
        self.names = list(dict.fromkeys(request.spaces))
        self.spaces: list[SearchedSpace] = []  # that may be read and have memories
        self.known = cache.look_up(db.tenant, self.names)
        self.allowed, allowed_values = build_allowed(request)
        self.most = 2 * request.each + EXTRA_PROPOSALS
        self.values = {
            **allowed_values,
            "vector": to_half_vector(request.vector),
            "dims": len(request.vector),
            "model": request.model,
        }

    def gather(self) -> CandidatePool | None:
        """The pool; None if there is no vector to compare with."""
        with self.cache.counting(self.db.tenant, self.names) as is_new:
            if is_new:
                count_spaces(self.db, self.cache, self.names)
        # Also what another search has counted, for which this one waited.
        self.known = self.cache.look_up(self.db.tenant, self.names)
        postings, near = self.read_both_channels()
        if not self.spaces or not (any(near.values()) or self.has_vector()):
            return None
        scores = self.score_words(postings)
        named = self.find_named(postings)
        best = [self.take_nearest(space.name, near[space.name]) for space in self.spaces]
        rows = self.read_candidates(best, scores, named)
        candidates = [row for row in rows if row.is_candidate]
        turns = place_turns(rows)
        largest = max(self.spaces, key=lambda space: space.figures.memories)
        mean, spread = self.measure_background(largest, near[largest.name])
        typical = find_typical_length(self.db, self.cache, largest)
        return self.build_pool(candidates, turns, scores, named, (mean, spread, typical))

    def start(self, query: str, **values: Any) -> Cursor[tuple[Any, ...]]:
        """Begin a statement."""
        return self.db.run(query, **self.values, **values)

    def run(self, query: str, **values: Any) -> list[Any]:
        """All rows of a statement."""
        return self.start(query, **values).fetchall()

    def read_both_channels(self) -> tuple[dict[str, Postings], dict[str, list[NearRow]]]:
        """The postings of every token that is asked for, and the nearest of each space, in one
        round trip; `spaces` is known then.
        """
        words = PostingsReader(self.db, self.request, self.cache)
        # By what was known before: a space that is new to this process is compared as a whole.
        index = self.find_index()
        indexed = [space for space in self.known if is_worth_index(space.figures.memories, index)]
        scanned = [space.name for space in self.known if space not in indexed]
        # Of small spaces, the usual cosine is found at the same time.
        largest = max(space.figures.memories for space in self.known)
        query = WHOLE_NEAREST if largest <= SAMPLE_SIZE else EXACT_NEAREST
        exact = query.format(allowed=self.allowed)
        with self.db.pipeline():
            for setting in PLANNING:
                self.db.execute(setting)
            growth = self.start(GROWTH, **growth_values(self.known))
            words.start()
            near = {name: self.start(exact, near_space=name, most=self.most) for name in scanned}
            if index and indexed:
                set_index_breadth(self.db, self.most)
                query = indexed_nearest(index, self.allowed)
                for space in indexed:
                    near[space.name] = self.start(query, near_space=space.name, most=self.most)
        counted = add_growth(self.db.tenant, self.cache, self.known, growth.fetchall())
        if counted is None:
            counted = count_spaces(self.db, self.cache, self.names)
        self.spaces = counted
        found = {name: [NearRow(*row) for row in cursor] for name, cursor in near.items()}
        return words.collect(), found

    def find_index(self) -> VectorIndex | None:
        """The index of the model, if a space is known to be worth one."""
        if not any(is_crowded(space.figures.memories) for space in self.known):
            return None
        model, dims = self.request.model, len(self.request.vector)
        return self.cache.remember(
            ("index", model, dims),
            lambda: find_vector_index(self.db, model, dims),
        )

    def score_words(self, postings: Mapping[str, Postings]) -> WordScores:
        """BM25 of every memory that holds one of the terms that can be afforded."""
        total = sum(space.figures.memories for space in self.spaces)
        characters = sum(space.figures.characters for space in self.spaces)
        mean = max(characters / total, 1.0) if total else 1.0
        scores: dict[int, float] = defaultdict(float)
        place_of: dict[int, int] = {}
        for found in select_affordable(stem_terms(self.request.terms), postings):
            weight = term_weight(total, len(found.nums))
            gains = (weight * term_gain(found.times, found.lengths, mean)).astype(np.float32)
            nums = found.nums.tolist()
            for num, gain in zip(nums, gains.tolist(), strict=True):
                scores[num] += gain
            place_of.update(zip(nums, found.places.tolist(), strict=True))
        return WordScores(scores, place_of)

    def find_named(self, postings: Mapping[str, Postings]) -> set[int]:
        """The memories in which an identifier of the question stands that stands in few."""
        found = [
            intersect_term(term, postings)
            for name in self.request.identifiers
            for term in stem_terms([name])
        ]
        holders = [one.nums.tolist() for one in found if 0 < len(one.nums) <= MAX_NAMED]
        if any(len(nums) > MAX_IDENTIFIER_MEMORIES for nums in holders):
            every = sorted({num for nums in holders for num in nums})
            active = {num for (num,) in self.run(COUNT_ACTIVE, nums=every)}
            holders = [[num for num in nums if num in active] for nums in holders]
        return {num for nums in holders if len(nums) <= MAX_IDENTIFIER_MEMORIES for num in nums}

    def take_nearest(self, space: str, rows: Sequence[NearRow]) -> list[int]:
        """The nearest of a space that are allowed; where too few of the nearest are, all of the
        space is looked through.
        """
        each = self.request.each
        near = order_nearest(rows, each)
        # Fewer were proposed than asked for only where there are no more.
        if len(near) < each and len(rows) >= self.most:
            query = ALLOWED_NEAREST.format(allowed=self.allowed)
            found = self.run(query, near_space=space, most=each)
            near = order_nearest([NearRow(*row) for row in found], each)
        return near

    def has_vector(self) -> bool:
        """True if there is a vector to compare with in any of the spaces."""
        (row,) = self.run(HAS_VECTOR, near_spaces=self.names)
        return bool(row[0])

    def read_candidates(
        self,
        near: Sequence[Sequence[int]],
        scores: WordScores,
        named: Iterable[int],
    ) -> list[Row]:
        """The candidates and the turns beside them, in the order of numbers."""
        best = {name: scores.best_of(place) for place, name in enumerate(self.names)}
        proposed = {name: nums[: self.most] for name, nums in best.items()}
        rows = self.read_proposed(near, proposed, named)
        # Where most of the best are not allowed, all that hold a word are proposed.
        if any(self.lacks_worded(best[name], rows) for name in best):
            return self.read_proposed(near, best, named)
        return rows

    def lacks_worded(self, best: Sequence[int], rows: Sequence[Row]) -> bool:
        """True if fewer of a space's best by words are candidates than could be."""
        if len(best) <= self.most:
            return False
        proposed = set(best[: self.most])
        held = sum(row.is_candidate and row.num in proposed for row in rows)
        return held < self.request.each

    def read_proposed(
        self,
        near: Sequence[Sequence[int]],
        worded: Mapping[str, Sequence[int]],
        named: Iterable[int],
    ) -> list[Row]:
        """The candidates of what was proposed, with the turns beside them: the nearest of each
        space, the best of each by words in order, and what holds an identifier.
        """
        nearness = {num: rank for nums in near for rank, num in enumerate(nums, 1)}
        wordiness = {num: rank for nums in worded.values() for rank, num in enumerate(nums, 1)}
        names = set(named)
        nums = sorted({*nearness, *wordiness, *names})
        if not nums:
            return []
        rows = self.run(
            FEATURES.format(allowed=self.allowed, turns=TURNS),
            nums=to_array(nums),
            nearness=to_array(nearness.get(num) for num in nums),
            wordiness=to_array(wordiness.get(num) for num in nums),
            named=to_array(int(num in names) for num in nums),
            leading=EXPANDED_PER_CHANNEL,
            each=self.request.each,
        )
        return [Row._make(row) for row in rows]

    def measure_background(
        self,
        largest: SearchedSpace,
        near: Sequence[NearRow],
    ) -> tuple[float, float]:
        """Mean and standard deviation of the cosines of an even sample of the largest space."""
        if near and near[0].mean is not None:
            return near[0].mean, near[0].spread or 0.0
        generation, model = largest.figures.generation, self.request.model
        key = ("sample", self.db.tenant, largest.name, generation, model, self.values["dims"])
        sample = self.cache.remember(
            key,
            lambda: self.read_sample(largest),
            # While most texts wait for their vectors, every search looks again.
            lambda found: len(found) > SAMPLE_SIZE // 2,
        )
        cosines = sample.astype(np.float32) @ self.request.vector
        if not len(cosines):
            return 0.0, 0.0
        return float(cosines.mean()), float(cosines.std())

    def read_sample(self, space: SearchedSpace) -> npt.NDArray[np.float16]:
        """About SAMPLE_SIZE vectors of a space, evenly spaced."""
        memories = space.figures.memories
        if memories > LARGE_SPACE:
            ((sent,),) = self.run(LARGE_SAMPLE, space=space.name, rows=SAMPLE_SIZE)
        else:
            step = max(1, memories // SAMPLE_SIZE)
            ((sent,),) = self.run(SAMPLE, space=space.name, step=step)
        return read_half_rows(sent or b"", len(self.request.vector))

    def build_pool(
        self,
        candidates: Sequence[Row],
        turns: Mapping[int, Mapping[int, Row]],
        scores: WordScores,
        named: set[int],
        background: tuple[float, float, float],
    ) -> CandidatePool:
        """The candidates as columns, space by space."""
        order = {name: place for place, name in enumerate(self.names)}
        ordered = sorted(candidates, key=lambda one: (order[one.space], one.num))
        sessions = number_names(one.session for one in ordered)
        speakers = number_names(one.speaker for one in ordered)
        around = [turns.get(one.num, {}) for one in ordered]
        shape = (len(ordered), len(NEIGHBOUR_OFFSETS))
        near_dense = [
            to_cosine(here.get(offset)) for here in around for offset in NEIGHBOUR_OFFSETS
        ]
        near_words = [
            score_turn(here.get(offset), scores) for here in around for offset in NEIGHBOUR_OFFSETS
        ]
        mean, spread, typical = background
        return CandidatePool(
            ids=[one.id for one in ordered],
            dense=np.array([to_cosine(one) for one in ordered], np.float32),
            words=np.array([scores.by_number.get(one.num, 0.0) for one in ordered], np.float32),
            near_dense=np.array(near_dense, np.float32).reshape(shape),
            near_words=np.array(near_words, np.float32).reshape(shape),
            session=np.array([sessions[one.session] for one in ordered], np.int64),
            speaker=np.array([speakers[one.speaker] for one in ordered], np.int64),
            at=np.array([one.at for one in ordered], np.float64),
            length=np.array([one.length for one in ordered], np.int64),
            asks=np.array([one.asks for one in ordered], np.bool_),
            asked=np.array([-1 in here and here[-1].asks for here in around], np.bool_),
            named=np.array([one.num in named for one in ordered], np.float32),
            excerpt=np.array([one.kind == EXCERPT for one in ordered], np.bool_),
            names=list(speakers),
            mean=mean,
            spread=spread,
            typical=typical,
            sessions=len(sessions) - 1,
            memories=sum(space.figures.memories for space in self.spaces),
        )


def number_names(names: Iterable[str]) -> dict[str, int]:
    """A small number for each name, 0 for the empty one."""
    return {name: place for place, name in enumerate(dict.fromkeys(("", *names)))}


def to_cosine(row: Row | None) -> float:
    """The cosine of a row; NaN where there is no vector, or no row."""
    return float("nan") if row is None or row.cosine is None else row.cosine


def score_turn(turn: Row | None, scores: WordScores) -> float:
    """BM25 of a turn beside a candidate; a retired one does not count."""
    if turn is None or not turn.active:
        return 0.0
    return scores.by_number.get(turn.num, 0.0)


def place_turns(rows: Iterable[Row]) -> dict[int, dict[int, Row]]:
    """For each candidate, the turns around it by how many turns they are after it, negative before
    it. The rows are in the order of numbers.
    """
    before: dict[int, list[Row]] = defaultdict(list)
    found: dict[int, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        for num in row.around or ():
            if row.num < num:
                before[num].append(row)
            else:
                after = found[num]
                after[len(after) + 1] = row
    for num, turns in before.items():
        found[num].update((-step, row) for step, row in enumerate(reversed(turns), 1))
    return found


def to_array(values: Iterable[int | None]) -> str:
    """Numbers as PostgreSQL writes an array: sent much sooner than a list of many."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"
