"""Reading memories, edges, events and history."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from reverie.core.model import UNDECIDED_RELATIONS, Edge, Event, Filter, Memory, Record
from reverie.storage import DatedDetails, DayCount, Names, SessionSpan
from reverie.storage.derived_texts import tag_node
from reverie.storage.row_codec import COLUMNS, from_json, to_event, to_json, to_memory, to_record
from reverie.storage.sqlite.connection import SqliteConnections
from reverie.storage.sqlite.sql_conditions import (
    SqlConditions,
    build_containing_test,
    build_filter_conditions,
    split_batches,
    sql_placeholders,
)
from reverie.storage.sqlite.word_search import query_deadline, search_word_index

if TYPE_CHECKING:
    import numpy as np

EVENT_COLUMNS = "seq, at, verb, space, session, payload"
RECORDS = """
    select c.memory, c.op, c.before, c.after, e.seq, e.at, e.verb, e.space, e.session, e.payload
    from change c join event e on e.seq = c.seq
"""
# Without payload and `after`: one event may change a thousand memories, and its payload would be
# read for each.
BEFORE = """
    select c.memory, c.op, c.before, null, e.seq, e.at, e.verb, e.space, e.session, null
    from change c join event e on e.seq = c.seq
"""
QUEUED = """
    select m.id, m.text
    from pending p join memory m on m.num = p.memory
    where p.model = ?
    order by p.memory desc
    limit ?
"""
MISSING = """
    select m.id, m.text
    from memory m
    where not exists (select 1 from vector v where v.memory = m.num and v.model = ?)
    order by m.num desc
    limit ?
"""
PAIRS = """
    select {what}
    from edge e join memory one on one.id = e.src join memory other on other.id = e.dst
    where {which} and one.retired_at is null and other.retired_at is null
"""
# As the index `edge_undecided` has it: SQLite takes that only for a condition in the same words.
UNDECIDED = f"e.rel in {UNDECIDED_RELATIONS!r}"
# A session, and the space that its events lie in.
PlacedSession: TypeAlias = tuple[str, str]
# Texts are looked for in so many times as many sessions as are wanted, then in all at once.
TRIED_SESSIONS = 8
# Newest events that are read for their sessions, at first and at most at once.
MIN_WALKED_EVENTS, MAX_WALKED_EVENTS = 200, 20_000
MAX_SEQ = 2**63 - 1
# Newest memories of one tag among which the visible ones are searched.
MAX_TAG_MEMBERS = 1_000


class StoreReading:
    """The part of `SqliteStore` that reads. The protocol's docstrings hold; here is only how."""

    _db: SqliteConnections

    # Memories

    def get(self, ids: Names) -> list[Memory]:
        found: dict[str, Memory] = {}
        for batch in split_batches(ids):
            sql = f"select {COLUMNS} from memory where id in ({sql_placeholders(batch)})"
            for row in self._db.fetch_all(sql, *batch):
                found[row[0]] = to_memory(row)
        return [found[id] for id in ids if id in found]

    def match_ids(self, part: str, limit: int) -> list[str]:
        sql = (
            "select id from memory where substr(id, 5, ?1) = ?2 or substr(id, -?1) = ?2 "
            "order by id desc limit ?3"
        )
        return [row[0] for row in self._db.fetch_all(sql, len(part), part, limit)]

    def browse(self, where: Filter) -> list[Memory]:
        return list(map(to_memory, self._browse_columns(COLUMNS, where)))

    def browse_texts(self, where: Filter) -> list[tuple[str, str]]:
        return self._browse_columns("id, text", where)

    def read_details(self, where: Filter) -> list[DatedDetails]:
        rows = self._browse_columns("created_at, details", where)
        return [DatedDetails(created_at, from_json(details) or {}) for created_at, details in rows]

    def _browse_columns(self, columns: str, where: Filter) -> list[Any]:
        conditions = build_filter_conditions(where)
        order = "at desc, num desc" if where.by_time else "num desc"
        sql = f"select {columns} from memory where {conditions} order by {order} limit ?"
        return self._db.fetch_all(sql, *conditions.args, where.limit)

    def with_triggers(
        self,
        spaces: Names,
        *,
        within: float | None = None,
    ) -> list[Memory]:
        marks = sql_placeholders(spaces)
        sql = f"""
            select {COLUMNS} from memory
            where triggers is not null and retired_at is null and space in ({marks})
            order by id
        """
        found: list[Memory] = []
        with self._db.reading() as db, query_deadline(db, within):
            for row in db.execute(sql, tuple(spaces)):
                found.append(to_memory(row))  # noqa: PERF401 - what was read in time stays
        return found

    def tagged_numbers(self, tags: Names, spaces: Names) -> list[int]:
        """The numbers (as in `Shard.num`) of active memories that carry all of the tags."""
        members = ["select src from edge where dst = ? and rel = 'has_tag'"] * len(tags)
        sql = f"""
            select num from memory
            where id in ({" intersect ".join(members)})
              and retired_at is null and space in ({sql_placeholders(spaces)})
        """
        nodes = map(tag_node, tags)
        return [
            num
            for (num,) in self._db.fetch_all(
                sql,
                *nodes,
                *spaces,
            )
        ]

    def tag_counts(self, spaces: Names) -> dict[str, int]:
        marks = sql_placeholders(spaces)
        sql = f"""
            select substr(e.dst, 5), count(*)
            from edge e join memory m on m.id = e.src
            where e.rel = 'has_tag' and m.retired_at is null and m.space in ({marks})
            group by e.dst
            order by e.dst
        """
        return dict(self._db.fetch_all(sql, *spaces))

    def memories_by_day(self) -> list[DayCount]:
        sql = """
            select day, sum(came), sum(went)
            from (
                select cast(created_at / 86400 as integer) as day, 1 as came, 0 as went
                from memory
                union all
                select cast(retired_at / 86400 as integer), 0, 1
                from memory
                where retired_at is not null
            )
            group by day
            order by day
        """
        return [DayCount(*row) for row in self._db.fetch_all(sql)]

    def search_words(
        self,
        terms: Names,
        spaces: Names,
        limit: int,
        *,
        within: float | None = None,
        where: Filter | None = None,
        now: float | None = None,
    ) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        asked = (where or Filter())._replace(spaces=tuple(spaces))
        with self._db.reading() as db, query_deadline(db, within):
            # The last list is the best one; a deadline leaves what was found before it.
            for found in search_word_index(db, terms, asked, limit, now):  # noqa: B007
                pass
        return found

    # Edges

    def edges(self, ids: Names, rels: Names = ()) -> list[Edge]:
        found: dict[tuple[str, str, str], Edge] = {}
        only = f"and rel in ({sql_placeholders(rels)})" if rels else ""
        for batch in split_batches(ids):
            marks = sql_placeholders(batch)
            for end in ("src", "dst"):
                sql = f"select src, rel, dst, weight from edge where {end} in ({marks}) {only}"
                for edge in self._fetch_edges(sql, *batch, *rels):
                    found[edge[:3]] = edge
        return sorted(found.values())

    def has_edges(self, rels: Names) -> bool:
        marks = sql_placeholders(rels)
        return bool(self._db.fetch_all(f"select 1 from edge where rel in ({marks}) limit 1", *rels))

    def edges_around(
        self,
        nodes: Names,
        spaces: Names,
        most: int,
    ) -> list[Edge]:
        found: set[Edge] = set()
        # A node that is no memory has a colon in its name: `tag:ops`.
        for ids in split_batches([node for node in nodes if ":" not in node]):
            found.update(self._find_memory_edges(ids, spaces))
        for node in nodes:
            if ":" in node:
                found.update(self._find_node_members(node, spaces, most))
        return sorted(found)

    def _find_memory_edges(self, ids: Names, spaces: Names) -> Iterator[Edge]:
        """Edges from and to memories that the reader may see; the other end is checked."""
        ids_marks, spaces_marks = sql_placeholders(ids), sql_placeholders(spaces)
        outgoing = f"""
            select e.src, e.rel, e.dst, e.weight
            from edge e left join memory m on m.id = e.dst
            where e.src in ({ids_marks})
              and (instr(e.dst, ':') or m.space in ({spaces_marks})
                   and (m.retired_at is null or e.rel = 'supersedes'))
        """
        # `cross join` keeps SQLite from starting at the memories of a space, of which there may be
        # a hundred thousand.
        incoming = f"""
            select e.src, e.rel, e.dst, e.weight
            from edge e cross join memory m on m.id = e.src
            where e.dst in ({ids_marks}) and m.space in ({spaces_marks}) and m.retired_at is null
        """
        for sql in (outgoing, incoming):
            yield from self._fetch_edges(sql, *ids, *spaces)

    def _find_node_members(
        self,
        node: str,
        spaces: Names,
        most: int,
    ) -> list[Edge]:
        """The newest visible memories with an edge to a tag, a cluster or a file."""
        # Thousands may be tied to it, so it is read from the end of the index until there are
        # `most`, among the newest MAX_TAG_MEMBERS.
        sql = f"""
            select e.src, e.rel, e.dst, e.weight
            from edge e cross join memory m on m.id = e.src
            where e.dst = ? and m.space in ({sql_placeholders(spaces)}) and m.retired_at is null
              and e.src >= coalesce(
                  (select src from edge where dst = ? order by rel desc, src desc
                   limit 1 offset {MAX_TAG_MEMBERS - 1}), '')
            order by e.rel desc, e.src desc
            limit ?
        """
        return self._fetch_edges(sql, node, *spaces, node, most)

    def scan_edges(
        self,
        after: tuple[str, str, str],
        limit: int,
    ) -> list[Edge]:
        sql = """
            select src, rel, dst, weight from edge
            where (src, rel, dst) > (?, ?, ?)
            order by src, rel, dst
            limit ?
        """
        return self._fetch_edges(sql, *after, limit)

    def edges_between(
        self,
        rels: Names,
        spaces: Names = (),
        limit: int = 100,
    ) -> list[Edge]:
        inside = ""
        if spaces:
            marks = sql_placeholders(spaces)
            # Pairs that wait are few, memories of a space many: the plus keeps SQLite from
            # beginning with these (126 ms at 100,000).
            inside = f"and +one.space in ({marks}) and +other.space in ({marks})"
        is_waiting = tuple(rels) == UNDECIDED_RELATIONS
        asked = () if is_waiting else tuple(rels)
        which = UNDECIDED if is_waiting else f"e.rel in ({sql_placeholders(rels)})"
        pairs = PAIRS.format(what="e.src, e.rel, e.dst, e.weight", which=which)
        sql = f"{pairs} {inside} order by max(one.num, other.num) desc, one.num limit ?"
        found: dict[frozenset[str], Edge] = {}
        # A pair may be linked both ways, so twice the limit is read.
        for edge in self._fetch_edges(
            sql,
            *asked,
            *spaces,
            *spaces,
            2 * limit,
        ):
            found.setdefault(frozenset((edge.src, edge.dst)), edge)
        return list(found.values())[:limit]

    def _fetch_edges(self, sql: str, *args: object) -> list[Edge]:
        return [Edge(*row) for row in self._db.fetch_all(sql, *args)]

    def _count_undecided_pairs(self) -> int:
        """How many pairs of active memories wait for a decision."""
        what = "distinct min(e.src, e.dst), max(e.src, e.dst)"
        return self._count(f"select count(*) from ({PAIRS.format(what=what, which=UNDECIDED)})")

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
        where.add("seq > ?", after)
        if before is not None:
            where.add("seq < ?", before)
        # A session's newest events must not be searched by verb: the plus keeps that index out.
        where.add_in("+verb" if session else "verb", verbs)
        if session is not None:
            where.add("session = ?", session)
        if session:
            # The index of sessions is partial. SQLite uses it only where its condition is said
            # again, as the value is not known when it plans.
            where.add("session <> ''")
        if space is not None:
            where.add("space = ?", space)
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
        where.add(f"verb in ({sql_placeholders(verbs)})", *verbs)
        where.add_around(space)
        where.add_range("at", since, until)
        # Texts are searched as JSON writes them. There is no index: 10,000 events take some 10 ms.
        for text in containing:
            where.add(*build_containing_test("payload", to_json(text)[1:-1]))
        return self._fetch_events(where, "at desc, seq desc", limit)

    def _fetch_events(
        self,
        where: SqlConditions,
        order: str,
        limit: int,
    ) -> list[Event]:
        sql = f"select {EVENT_COLUMNS} from event where {where} order by {order} limit ?"
        rows = self._db.fetch_all(sql, *where.args, limit)
        return list(map(to_event, rows))

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
        where.add("verb = ? and seq > ? and seq <= ?", verb, after, until)
        where.add_around(space)
        sql = f"""
            select seq, at, space, session, payload from event
            where {where}
            order by seq
            limit ?
        """
        return self._db.fetch_all(sql, *where.args, limit)

    def session_spans(
        self,
        verbs: Names,
        *,
        space: str = "",
        containing: Names = (),
        limit: int = 100,
    ) -> list[SessionSpan]:
        # The newest are wanted: to sum up all takes a tenth of a second with 50,000 turns.
        for most in (limit, TRIED_SESSIONS * limit):
            sessions, is_all = self._find_newest_sessions(verbs, space, most)
            found = self._sum_sessions(sessions, verbs, containing)
            if is_all or len(found) >= limit:
                return found[:limit]
        return self._sum_all_sessions(verbs, space, containing, limit)

    def _find_newest_sessions(
        self, verbs: Names, space: str, most: int
    ) -> tuple[set[PlacedSession], bool]:
        """The sessions with the newest events; whether these are all there are."""
        inside, below = "", space + "/"
        if space:
            inside = "and (space = ? or substr(space, 1, ?) = ?)"
        # One part for each verb: SQLite merges what its index has in this order already.
        newest = f"""
            select seq, session, space from event
            where verb = ? and session <> '' and seq < ? {inside}
        """
        sql = f"{' union all '.join([newest] * len(verbs))} order by seq desc limit ?"
        found: set[PlacedSession] = set()
        before, at_once = MAX_SEQ, MIN_WALKED_EVENTS
        while verbs and len(found) < most:
            where = (before, *([space, len(below), below] if space else ()))
            args = [value for verb in verbs for value in (verb, *where)]
            rows = self._db.fetch_all(sql, *args, at_once)
            found.update((session, place) for _, session, place in rows)
            if len(rows) < at_once:
                return found, True
            before, at_once = rows[-1][0], min(2 * at_once, MAX_WALKED_EVENTS)
        # All that was found is newer than all that was not: more than `most` do no harm.
        return found, not verbs

    def _sum_sessions(
        self, sessions: Collection[PlacedSession], verbs: Names, containing: Names
    ) -> list[SessionSpan]:
        """The spans of these sessions, as far as every text occurs in them, the latest first."""
        found: list[SessionSpan] = []
        for names in split_batches(sorted({session for session, _ in sessions})):
            where = SqlConditions()
            # Said again as the index of sessions has it; the plus keeps that of verbs out.
            where.add(f"session in ({sql_placeholders(names)}) and session <> ''", *names)
            where.add_in("+verb", verbs)
            spans = self._sum_spans(where, containing, -1)
            found += [span for span in spans if (span.session, span.space) in sessions]
        return sorted(found, key=lambda span: -span.last)

    def _sum_all_sessions(
        self, verbs: Names, space: str, containing: Names, limit: int
    ) -> list[SessionSpan]:
        """The spans of whichever sessions hold every text, the latest first."""
        where = SqlConditions()
        where.add(f"verb in ({sql_placeholders(verbs)})", *verbs)
        where.add("session <> ''")
        if space:
            below = space + "/"
            where.add("(space = ? or substr(space, 1, ?) = ?)", space, len(below), below)
        return self._sum_spans(where, containing, limit)

    def _sum_spans(self, where: SqlConditions, containing: Names, limit: int) -> list[SessionSpan]:
        having = SqlConditions()
        for text in containing:
            test, value = build_containing_test("payload", text)
            having.add(f"max({test})", value)
        sql = f"""
            select session, space, min(seq), max(seq), min(at), max(at), count(*)
            from event
            where {where}
            group by session, space
            having {having}
            order by max(seq) desc
            limit ?
        """
        rows = self._db.fetch_all(sql, *where.args, *having.args, limit)
        return [SessionSpan(*row) for row in rows]

    def event(self, seq: int) -> Event | None:
        sql = f"select {EVENT_COLUMNS} from event where seq = ?"
        rows = self._db.fetch_all(sql, seq)
        return to_event(rows[0]) if rows else None

    def last_event(self) -> int:
        return self._count("select coalesce(max(seq), 0) from event")

    # History

    def history(self, memory_id: str) -> list[Record]:
        return self._fetch_records(
            f"{RECORDS} where c.memory = ? order by c.seq, c.place", memory_id
        )

    def changes_of(self, seq: int) -> list[Record]:
        return self._fetch_records(f"{RECORDS} where c.seq = ? order by c.place", seq)

    def changes_since(self, at: float, spaces: Names) -> list[Record]:
        marks = sql_placeholders(spaces)
        # Every event is looked at, whatever its number: the clock may have jumped.
        sql = f"""
            {BEFORE} cross join memory m on m.id = c.memory
            where e.at > ? and c.op in ('revise', 'retire') and m.space in ({marks})
            order by c.seq desc, c.place desc
        """
        return self._fetch_records(sql, at, *spaces)

    def changes_after(self, seq: int) -> list[Record]:
        sql = f"{BEFORE} where c.seq > ? and c.op <> 'link' order by c.seq, c.place"
        return self._fetch_records(sql, seq)

    def _fetch_records(self, sql: str, *args: object) -> list[Record]:
        return list(map(to_record, self._db.fetch_all(sql, *args)))

    # Vectors

    def unembedded_texts(
        self,
        limit: int,
        model: str | None = None,
    ) -> list[tuple[str, str]]:
        model = self._current_model() if model is None else model
        # A model without a queue is answered by comparing all memories with its vectors.
        queued = not model or self._db.fetch_value("select 1 from embedder where model = ?", model)
        return self._db.fetch_all(QUEUED if queued else MISSING, model, limit)

    def known_vectors(
        self,
        model: str,
        hashes: Sequence[bytes],
    ) -> dict[bytes, np.ndarray]:
        return self._fetch_vectors(
            "select v.hash, v.vec from vector v where v.hash in", hashes, model
        )

    def vectors(
        self,
        model: str,
        ids: Names,
    ) -> dict[str, np.ndarray]:
        sql = "select m.id, v.vec from memory m join vector v on v.memory = m.num where m.id in"
        return self._fetch_vectors(sql, ids, model)

    def _fetch_vectors(
        self,
        sql: str,
        keys: Sequence[Any],
        model: str,
    ) -> dict[Any, np.ndarray]:
        """A model's vectors of these keys, by key."""
        import numpy as np

        found: dict[Any, np.ndarray] = {}
        for batch in split_batches(keys):
            # The plus keeps SQLite from going through all vectors of the model for a few keys.
            query = f"{sql} ({sql_placeholders(batch)}) and +v.model = ?"
            for key, blob in self._db.fetch_all(query, *batch, model):
                found[key] = np.frombuffer(blob, "<f4")
        return found

    def _current_model(self) -> str:
        """The current embedding model; empty at the start, which stands for any."""
        return self._db.fetch_value("select model from embedder order by num desc limit 1") or ""

    def _count_waiting(self, model: str) -> int:
        """How many memories are queued for a vector of this model."""
        return self._count("select count(*) from pending where model = ?", model)

    # Small values

    def cursor(self, name: str) -> int:
        return self._db.fetch_value("select seq from cursor where name = ?", name) or 0

    def meta(self, name: str) -> str | None:
        value: str | None = self._db.fetch_value("select value from meta where name = ?", name)
        return value

    def holder(self, lease: str, now: float) -> str | None:
        sql = "select holder from lease where name = ? and until > ?"
        found: str | None = self._db.fetch_value(sql, lease, now)
        return found

    def _count(self, sql: str, *args: object) -> int:
        return int(self._db.fetch_value(sql, *args))
