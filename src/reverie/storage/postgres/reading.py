"""Reading memories, edges, events and history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from reverie.core.errors import StoreBusy
from reverie.core.model import UNDECIDED_RELATIONS, Edge, Event, Filter, Memory, Record
from reverie.storage import DatedDetails, DayCount, Names, SessionSpan
from reverie.storage.derived_texts import tag_node
from reverie.storage.postgres.connection import PostgresConnections
from reverie.storage.postgres.half_vectors import read_half_vector
from reverie.storage.postgres.sql_conditions import SqlConditions, build_filter_conditions
from reverie.storage.row_codec import COLUMNS, from_json, to_event, to_json, to_memory, to_record

if TYPE_CHECKING:
    import numpy as np

EVENT_COLUMNS = "seq, at, verb, space, session, payload"
# Each table says its tenant, so that Citus sends the whole statement to one shard.
RECORDS = """
    select c.memory, c.op, c.before, c.after, e.seq, e.at, e.verb, e.space, e.session, e.payload
    from change c join event e on e.tenant = c.tenant and e.seq = c.seq
    where c.tenant = %(tenant)s
"""
# Without payload and `after`: one event may change a thousand memories, and its payload would be
# read for each.
BEFORE = """
    select c.memory, c.op, c.before, null, e.seq, e.at, e.verb, e.space, e.session, null
    from change c join event e on e.tenant = c.tenant and e.seq = c.seq
"""
QUEUED = """
    select m.id, m.text
    from pending p join memory m on m.tenant = p.tenant and m.num = p.num
    where p.tenant = %(tenant)s and p.model = %(model)s
    order by p.num desc
    limit %(limit)s
"""
MISSING = """
    select m.id, m.text
    from memory m
    where m.tenant = %(tenant)s
      and not exists (select 1 from vector v
                      where v.tenant = %(tenant)s and v.num = m.num and v.model = %(model)s)
    order by m.num desc
    limit %(limit)s
"""
PAIRS = """
    from edge e
    join memory one on one.tenant = e.tenant and one.id = e.src
    join memory other on other.tenant = e.tenant and other.id = e.dst
    where e.tenant = %(tenant)s and {which}
      and one.retired_at is null and other.retired_at is null
"""
# As the index `edge_undecided` has it: a value that comes with the statement is none that its
# planner knows.
UNDECIDED = f"e.rel in {UNDECIDED_RELATIONS!r}"
# Edges from and to memories; a reader sees the one at the other end if it counts and lies in one of
# the spaces.
OUTGOING = """
    select e.src, e.rel, e.dst, e.weight
    from edge e left join memory m on m.tenant = e.tenant and m.id = e.dst
    where e.tenant = %(tenant)s and e.src = any(%(ids)s)
      and (position(':' in e.dst) > 0
           or m.space = any(%(spaces)s) and (m.retired_at is null or e.rel = 'supersedes'))
"""
INCOMING = """
    select e.src, e.rel, e.dst, e.weight
    from edge e join memory m on m.tenant = e.tenant and m.id = e.src
    where e.tenant = %(tenant)s and e.dst = any(%(ids)s)
      and m.space = any(%(spaces)s) and m.retired_at is null
"""
# Thousands may be tied to a tag, so only the newest `among` of them are looked at.
MEMBERS = """
    select e.src, e.rel, e.dst, e.weight
    from (select * from edge
          where tenant = %(tenant)s and dst = %(node)s
          order by rel desc, src desc
          limit %(among)s) e
    join memory m on m.tenant = e.tenant and m.id = e.src
    where m.tenant = %(tenant)s and m.space = any(%(spaces)s) and m.retired_at is null
    order by e.rel desc, e.src desc
    limit %(most)s
"""
# Newest memories of one tag among which the visible ones are searched.
MAX_TAG_MEMBERS = 1_000


class StoreReading:
    """The part of `PostgresStore` that reads. The protocol's docstrings hold; here is only how."""

    tenant: str
    _db: PostgresConnections

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._db.reading_together():
            yield

    # Memories

    def get(self, ids: Names) -> list[Memory]:
        sql = f"select {COLUMNS} from memory where tenant = %(tenant)s and id = any(%(ids)s)"
        rows = self._db.fetch_rows(sql, ids=list(ids)) if ids else []
        found = {row[0]: to_memory(row) for row in rows}
        return [found[id] for id in ids if id in found]

    def match_ids(self, part: str, limit: int) -> list[str]:
        sql = """
            select id from memory
            where tenant = %(tenant)s
              and (substr(id, 5, %(length)s) = %(part)s or right(id, %(length)s) = %(part)s)
            order by id desc
            limit %(limit)s
        """
        rows = self._db.fetch_rows(sql, part=part, length=len(part), limit=limit)
        return [id for (id,) in rows]

    def browse(self, where: Filter) -> list[Memory]:
        return list(map(to_memory, self._browse_columns(COLUMNS, where)))

    def browse_texts(self, where: Filter) -> list[tuple[str, str]]:
        return [(id, text) for id, text in self._browse_columns("id, text", where)]

    def read_details(self, where: Filter) -> list[DatedDetails]:
        rows = self._browse_columns("created_at, details", where)
        return [DatedDetails(created_at, from_json(details) or {}) for created_at, details in rows]

    def _browse_columns(self, columns: str, where: Filter) -> list[Any]:
        conditions = build_filter_conditions(where)
        order = "at desc, num desc" if where.by_time else "num desc"
        sql = f"select {columns} from memory where {conditions} order by {order} limit %(limit)s"
        return self._db.fetch_rows(sql, **conditions.values, limit=where.limit)

    def with_triggers(
        self,
        spaces: Names,
        *,
        within: float | None = None,
    ) -> list[Memory]:
        sql = f"""
            select {COLUMNS} from memory
            where tenant = %(tenant)s and triggers is not null and retired_at is null
              and space = any(%(spaces)s)
            order by id
        """
        if within is None:
            return list(map(to_memory, self._db.fetch_rows(sql, spaces=list(spaces))))
        found: list[Memory] = []
        # What was read in time stays; the server gives all rows at once or none.
        with suppress(StoreBusy), self._db.limited(within) as db:
            found = list(map(to_memory, db.fetch_rows(sql, spaces=list(spaces))))
        return found

    def tagged_numbers(self, tags: Names, spaces: Names) -> list[int]:
        sql = """
            select m.num from memory m
            where m.tenant = %(tenant)s and m.retired_at is null and m.space = any(%(spaces)s)
              and (select count(distinct e.dst) from edge e
                   where e.tenant = %(tenant)s and e.src = m.id and e.rel = 'has_tag'
                     and e.dst = any(%(nodes)s)) = %(count)s
        """
        nodes = sorted(set(map(tag_node, tags)))
        rows = self._db.fetch_rows(sql, spaces=list(spaces), nodes=nodes, count=len(nodes))
        return [num for (num,) in rows]

    def tag_counts(self, spaces: Names) -> dict[str, int]:
        sql = """
            select substr(e.dst, 5), count(*)
            from edge e join memory m on m.tenant = e.tenant and m.id = e.src
            where e.tenant = %(tenant)s and e.rel = 'has_tag'
              and m.retired_at is null and m.space = any(%(spaces)s)
            group by e.dst
            order by e.dst
        """
        return dict(self._db.fetch_rows(sql, spaces=list(spaces)))

    def memories_by_day(self) -> list[DayCount]:
        sql = """
            select day, sum(came)::int, sum(went)::int
            from (
                select floor(created_at / 86400)::int as day, 1 as came, 0 as went
                from memory
                where tenant = %(tenant)s
                union all
                select floor(retired_at / 86400)::int, 0, 1
                from memory
                where tenant = %(tenant)s and retired_at is not null
            ) as change
            group by day
            order by day
        """
        return [DayCount(*row) for row in self._db.fetch_rows(sql)]

    # Edges

    def edges(self, ids: Names, rels: Names = ()) -> list[Edge]:
        only = "and rel = any(%(rels)s)" if rels else ""
        found: set[Edge] = set()
        for end in ("src", "dst"):
            sql = f"""
                select src, rel, dst, weight from edge
                where tenant = %(tenant)s and {end} = any(%(ids)s) {only}
            """
            found.update(self._fetch_edges(sql, ids=list(ids), rels=list(rels)))
        return sorted(found)

    def has_edges(self, rels: Names) -> bool:
        sql = "select 1 from edge where tenant = %(tenant)s and rel = any(%(rels)s) limit 1"
        return bool(self._db.fetch_rows(sql, rels=list(rels)))

    def edges_around(
        self,
        nodes: Names,
        spaces: Names,
        most: int,
    ) -> list[Edge]:
        found: set[Edge] = set()
        # A node that is no memory has a colon in its name: `tag:ops`.
        ids = [node for node in nodes if ":" not in node]
        members = {"among": MAX_TAG_MEMBERS, "most": most}
        asked: list[tuple[str, dict[str, Any]]] = [
            *((sql, {"ids": ids}) for sql in (OUTGOING, INCOMING) if ids),
            *((MEMBERS, {"node": node, **members}) for node in nodes if ":" in node),
        ]
        if not asked:
            return []
        with self._db.reading() as db:
            with db.pipeline():
                cursors = [db.run(sql, spaces=list(spaces), **values) for sql, values in asked]
            for cursor in cursors:
                found.update(Edge(*row) for row in cursor.fetchall())
        return sorted(found)

    def scan_edges(
        self,
        after: tuple[str, str, str],
        limit: int,
    ) -> list[Edge]:
        src, rel, dst = after
        sql = """
            select src, rel, dst, weight from edge
            where tenant = %(tenant)s and (src, rel, dst) > (%(src)s, %(rel)s, %(dst)s)
            order by src, rel, dst
            limit %(limit)s
        """
        return self._fetch_edges(sql, src=src, rel=rel, dst=dst, limit=limit)

    def edges_between(
        self,
        rels: Names,
        spaces: Names = (),
        limit: int = 100,
    ) -> list[Edge]:
        inside = "and one.space = any(%(spaces)s) and other.space = any(%(spaces)s)"
        is_waiting = tuple(rels) == UNDECIDED_RELATIONS
        pairs = PAIRS.format(which=UNDECIDED if is_waiting else "e.rel = any(%(rels)s)")
        sql = f"""
            select e.src, e.rel, e.dst, e.weight {pairs} {inside if spaces else ""}
            order by greatest(one.num, other.num) desc, one.num
            limit %(limit)s
        """
        found: dict[frozenset[str], Edge] = {}
        # A pair may be linked both ways, so twice the limit is read.
        for edge in self._fetch_edges(sql, rels=list(rels), spaces=list(spaces), limit=2 * limit):
            found.setdefault(frozenset((edge.src, edge.dst)), edge)
        return list(found.values())[:limit]

    def _fetch_edges(self, sql: str, **values: Any) -> list[Edge]:
        return [Edge(*row) for row in self._db.fetch_rows(sql, **values)]

    def _count_undecided_pairs(self) -> int:
        """How many pairs of active memories wait for a decision."""
        waiting = PAIRS.format(which=UNDECIDED)
        pairs = f"select distinct least(e.src, e.dst), greatest(e.src, e.dst) {waiting}"
        return self._count(f"select count(*) from ({pairs}) as pairs")

    # Events

    def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        verbs: Names = (),
        session: str | None = None,
        space: str | None = None,
        newest: bool = False,
        limit: int = 1000,
    ) -> list[Event]:
        where = SqlConditions()
        where.add("seq > %(after)s", after=after)
        if before is not None:
            where.add("seq < %(before)s", before=before)
        where.add_in("verb", verbs)
        if session is not None:
            where.add("session = %(session)s", session=session)
        if session:
            # The index of sessions is partial, and used where its condition is said again.
            where.add("session <> ''")
        if space is not None:
            where.add("space = %(space)s", space=space)
        return self._fetch_events(where, "seq desc" if newest else "seq", limit)

    def search_events(
        self,
        verbs: Names,
        *,
        space: str = "",
        containing: Names = (),
        since: float | None = None,
        until: float | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        where = SqlConditions()
        if len(verbs) == 1:
            # The events of one verb come from the index in their order.
            where.add("verb = %(verb)s", verb=next(iter(verbs)))
        else:
            where.add("verb = any(%(verbs)s)", verbs=list(verbs))
        where.add_around(space)
        where.add_range("at", since, until)
        # Texts are searched as JSON writes them.
        where.add_containing("payload", [to_json(text)[1:-1] for text in containing])
        return self._fetch_events(where, "at desc, seq desc", limit)

    def _fetch_events(
        self,
        where: SqlConditions,
        order: str,
        limit: int,
    ) -> list[Event]:
        sql = f"select {EVENT_COLUMNS} from event where {where} order by {order} limit %(limit)s"
        return list(map(to_event, self._db.fetch_rows(sql, **where.values, limit=limit)))

    def event_rows(
        self,
        verb: str,
        *,
        space: str = "",
        after: int,
        until: int,
        limit: int,
    ) -> list[tuple[int, float, str, str, str]]:
        where = SqlConditions()
        where.add(
            "verb = %(verb)s and seq > %(after)s and seq <= %(until)s",
            verb=verb,
            after=after,
            until=until,
        )
        where.add_around(space)
        sql = f"""
            select seq, at, space, session, payload from event
            where {where}
            order by seq
            limit %(limit)s
        """
        return self._db.fetch_rows(sql, **where.values, limit=limit)

    def session_spans(
        self,
        verbs: Names,
        *,
        space: str = "",
        containing: Names = (),
        limit: int = 100,
    ) -> list[SessionSpan]:
        where = SqlConditions()
        where.add("verb = any(%(verbs)s) and session <> ''", verbs=list(verbs))
        if space:
            where.add(
                "(space = %(space)s or starts_with(space, %(below)s))",
                space=space,
                below=space + "/",
            )
        having = SqlConditions()
        having.tests.clear()
        having.add_containing("payload", containing)
        each = " and ".join(f"bool_or({test})" for test in having.tests) or "true"
        sql = f"""
            select session, space, min(seq), max(seq), min(at), max(at), count(*)
            from event
            where {where}
            group by session, space
            having {each}
            order by max(seq) desc
            limit %(limit)s
        """
        values = {**where.values, **having.values, "limit": limit}
        return [SessionSpan(*row) for row in self._db.fetch_rows(sql, **values)]

    def event(self, seq: int) -> Event | None:
        sql = f"select {EVENT_COLUMNS} from event where tenant = %(tenant)s and seq = %(seq)s"
        rows = self._db.fetch_rows(sql, seq=seq)
        return to_event(rows[0]) if rows else None

    def last_event(self) -> int:
        return self._count("select coalesce(max(seq), 0) from event where tenant = %(tenant)s")

    # History

    def history(self, memory_id: str) -> list[Record]:
        sql = f"{RECORDS} and c.memory = %(memory)s order by c.seq, c.place"
        return self._fetch_records(sql, memory=memory_id)

    def changes_of(self, seq: int) -> list[Record]:
        return self._fetch_records(f"{RECORDS} and c.seq = %(seq)s order by c.place", seq=seq)

    def changes_since(self, at: float, spaces: Names) -> list[Record]:
        # Every event is looked at, whatever its number: the clock may have jumped.
        sql = f"""
            {BEFORE} join memory m on m.tenant = c.tenant and m.id = c.memory
            where c.tenant = %(tenant)s and e.at > %(at)s and c.op in ('revise', 'retire')
              and m.space = any(%(spaces)s)
            order by c.seq desc, c.place desc
        """
        return self._fetch_records(sql, at=at, spaces=list(spaces))

    def changes_after(self, seq: int) -> list[Record]:
        sql = f"""
            {BEFORE} where c.tenant = %(tenant)s and c.seq > %(seq)s and c.op <> 'link'
            order by c.seq, c.place
        """
        return self._fetch_records(sql, seq=seq)

    def _fetch_records(self, sql: str, **values: Any) -> list[Record]:
        return list(map(to_record, self._db.fetch_rows(sql, **values)))

    # Vectors

    def unembedded_texts(
        self,
        limit: int,
        model: str | None = None,
    ) -> list[tuple[str, str]]:
        model = self._current_model() if model is None else model
        known = "select 1 from embedder where tenant = %(tenant)s and model = %(model)s"
        # A model without a queue is answered by comparing all memories with its vectors.
        queued = not model or self._db.fetch_value(known, model=model)
        return self._db.fetch_rows(QUEUED if queued else MISSING, model=model, limit=limit)

    def known_vectors(
        self,
        model: str,
        hashes: Sequence[bytes],
    ) -> dict[bytes, np.ndarray]:
        sql = """
            select hash, halfvec_send(vec) from vector
            where tenant = %(tenant)s and model = %(model)s and hash = any(%(keys)s)
        """
        return dict(self._fetch_vectors(sql, model, list(hashes)))

    def vectors(
        self,
        model: str,
        ids: Names,
    ) -> dict[str, np.ndarray]:
        sql = """
            select m.id, halfvec_send(v.vec)
            from memory m join vector v on v.tenant = m.tenant and v.num = m.num
            where m.tenant = %(tenant)s and v.model = %(model)s and m.id = any(%(keys)s)
        """
        return dict(self._fetch_vectors(sql, model, list(ids)))

    def _fetch_vectors(
        self, sql: str, model: str, keys: list[Any]
    ) -> Iterator[tuple[Any, np.ndarray]]:
        for key, data in self._db.fetch_rows(sql, model=model, keys=keys) if keys else ():
            yield key, read_half_vector(data)

    def _current_model(self) -> str:
        """The current embedding model; empty at the start, which stands for any."""
        sql = "select model from embedder where tenant = %(tenant)s order by num desc limit 1"
        return self._db.fetch_value(sql) or ""

    def _count_waiting(self, model: str) -> int:
        """How many memories are queued for a vector of this model."""
        sql = "select count(*) from pending where tenant = %(tenant)s and model = %(model)s"
        return self._count(sql, model=model)

    # Small values

    def cursor(self, name: str) -> int:
        sql = "select seq from cursor where tenant = %(tenant)s and name = %(name)s"
        return self._db.fetch_value(sql, name=name) or 0

    def meta(self, name: str) -> str | None:
        sql = "select value from meta where tenant = %(tenant)s and name = %(name)s"
        value: str | None = self._db.fetch_value(sql, name=name)
        return value

    def holder(self, lease: str, now: float) -> str | None:
        sql = """
            select holder from lease
            where tenant = %(tenant)s and name = %(name)s and until > %(now)s
        """
        found: str | None = self._db.fetch_value(sql, name=lease, now=now)
        return found

    def _count(self, sql: str, **values: Any) -> int:
        return int(self._db.fetch_value(sql, **values))
