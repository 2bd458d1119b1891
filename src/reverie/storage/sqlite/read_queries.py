"""Reading memories, edges, events and history: functions from a connection to values."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from reverie.core.clock import ticks
from reverie.core.model import UNDECIDED_RELATIONS, Edge, Event, Filter, Memory, Record
from reverie.storage import SessionSpan
from reverie.storage.sqlite.row_codec import COLUMNS, to_event, to_memory, to_record
from reverie.storage.sqlite.write_changes import tag_node

EVENT_COLUMNS = "seq, at, verb, space, session, payload"
RECORDS = """
    select c.memory, c.op, c.before, c.after, e.seq, e.at, e.verb, e.space, e.session, e.payload
    from change c join event e on e.seq = c.seq
"""
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
HAS_DETAILS = "details is not null"
DETAILS_PATH = "json_extract(details, '$.path')"
PAIRS = """
    select {what}
    from edge e join memory one on one.id = e.src join memory other on other.id = e.dst
    where e.rel in ({rels}) and one.retired_at is null and other.retired_at is null
"""
BATCH = 500  # ids in one query

T = TypeVar("T")


class EventFilter(NamedTuple):
    """Which events to read. `after` and `before` are event numbers, both exclusive."""

    after: int
    before: int | None
    verbs: Sequence[str]
    session: str | None
    space: str | None


def sql_placeholders(values: Collection[object]) -> str:
    """As many question marks as there are values."""
    return ", ".join("?" * len(values))


def split_batches(values: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The values in batches that fit into one query."""
    return (tuple(values[start : start + BATCH]) for start in range(0, len(values), BATCH))


def read_memories(db: sqlite3.Connection, ids: Sequence[str]) -> list[Memory]:
    """Memories by id, in the order asked; unknown ids are left out."""
    found: dict[str, Memory] = {}
    for batch in split_batches(ids):
        sql = f"select {COLUMNS} from memory where id in ({sql_placeholders(batch)})"
        for row in db.execute(sql, batch):
            found[row[0]] = to_memory(row)
    return [found[id] for id in ids if id in found]


def browse_memories(db: sqlite3.Connection, where: Filter) -> list[Memory]:
    """Memories that match, newest first."""
    tests, args = build_filter_conditions(where)
    order = "at desc, num desc" if where.by_time else "num desc"
    sql = f"select {COLUMNS} from memory where {' and '.join(tests)} order by {order} limit ?"
    return [to_memory(row) for row in db.execute(sql, (*args, where.limit))]


def build_filter_conditions(where: Filter) -> tuple[list[str], list[object]]:
    """SQL conditions of a filter and their values. The SQL is ours, the user's are parameters."""
    conditions: list[str] = ["1"]
    args: list[object] = []
    for column, values in (("space", where.spaces), ("kind", where.kinds)):
        if values:
            conditions.append(f"{column} in ({sql_placeholders(values)})")
            args.extend(values)
    if where.without:
        conditions.append(f"kind not in ({sql_placeholders(where.without)})")
        args.extend(where.without)
    for condition, value in (("at >= ?", where.since), ("at <= ?", where.until)):
        if value is not None:
            conditions.append(condition)
            args.append(value)
    if where.having:
        conditions.append(
            f"{HAS_DETAILS} and exists (select 1 from json_each(details) where key = ?)"
        )
        args.append(where.having)
    if where.paths:
        marks = sql_placeholders(where.paths)
        conditions.append(f"{HAS_DETAILS} and {DETAILS_PATH} in ({marks})")
        args.extend(where.paths)
    if where.below:
        conditions.append(f"{HAS_DETAILS} and substr({DETAILS_PATH}, 1, length(?)) = ?")
        args.extend([f"{where.below}/"] * 2)
    for tag in where.tags:
        conditions.append(
            "exists (select 1 from edge where src = memory.id and rel = 'has_tag' and dst = ?)"
        )
        args.append(tag_node(tag))
    if where.session:
        # A session is the rarest of them all. A plus keeps SQLite from using the other indexes;
        # the index of sessions is partial and is used only where its condition is said again.
        conditions = [
            f"+{condition}" if condition.startswith(("space in", "kind in")) else condition
            for condition in conditions
        ]
        conditions += ["session = ?", "session <> ''"]
        args.append(where.session)
    if where.active is not None:
        conditions.append("retired_at is null" if where.active else "retired_at is not null")
    if where.after:
        conditions.append("num < (select num from memory where id = ?)")
        args.append(where.after)
    return conditions, args


def iter_triggered_memories(db: sqlite3.Connection, spaces: Sequence[str]) -> Iterator[Memory]:
    """Active memories with trigger patterns, by id."""
    sql = f"""
        select {COLUMNS} from memory
        where triggers is not null and retired_at is null and space in ({sql_placeholders(spaces)})
        order by id
    """
    return map(to_memory, db.execute(sql, tuple(spaces)))


def find_tagged_numbers(
    db: sqlite3.Connection, tags: Sequence[str], spaces: Sequence[str]
) -> list[int]:
    """The row numbers of active memories that carry all of the tags."""
    members = ["select src from edge where dst = ? and rel = 'has_tag'"] * len(tags)
    sql = f"""
        select num from memory
        where id in ({" intersect ".join(members)})
          and retired_at is null and space in ({sql_placeholders(spaces)})
    """
    return [num for (num,) in db.execute(sql, (*map(tag_node, tags), *spaces))]


def count_tags(db: sqlite3.Connection, spaces: Sequence[str]) -> dict[str, int]:
    """How many active memories carry each tag, by name."""
    sql = f"""
        select substr(e.dst, 5), count(*)
        from edge e join memory m on m.id = e.src
        where e.rel = 'has_tag' and m.retired_at is null and m.space in ({sql_placeholders(spaces)})
        group by e.dst
        order by e.dst
    """
    return dict(db.execute(sql, tuple(spaces)))


def read_edges(db: sqlite3.Connection, ids: Sequence[str], rels: Sequence[str]) -> list[Edge]:
    """Edges from or to any of these, each once, in order."""
    found: dict[tuple[str, str, str], float] = {}
    only = f"and rel in ({sql_placeholders(rels)})" if rels else ""
    for batch in split_batches(ids):
        marks = sql_placeholders(batch)
        for end in ("src", "dst"):
            sql = f"select src, rel, dst, weight from edge where {end} in ({marks}) {only}"
            for *key, weight in db.execute(sql, (*batch, *rels)):
                found[tuple(key)] = weight
    return [Edge(*key, weight) for key, weight in sorted(found.items())]


def scan_edges(db: sqlite3.Connection, after: tuple[str, str, str], limit: int) -> list[Edge]:
    """Edges in the order of their key."""
    sql = """
        select src, rel, dst, weight from edge
        where (src, rel, dst) > (?, ?, ?)
        order by src, rel, dst
        limit ?
    """
    return [Edge(*row) for row in db.execute(sql, (*after, limit))]


def read_edges_between(
    db: sqlite3.Connection, rels: Sequence[str], spaces: Sequence[str], limit: int
) -> list[Edge]:
    """Edges of these relations whose ends are both active, each pair once, newest first."""
    inside = ""
    if spaces:
        marks = sql_placeholders(spaces)
        inside = f"and one.space in ({marks}) and other.space in ({marks})"
    pairs = PAIRS.format(what="e.src, e.rel, e.dst, e.weight", rels=sql_placeholders(rels))
    sql = f"{pairs} {inside} order by max(one.num, other.num) desc, one.num limit ?"
    found: dict[frozenset[str], Edge] = {}
    # A pair may be linked both ways, so twice the limit is read.
    for src, rel, dst, weight in db.execute(sql, (*rels, *spaces, *spaces, 2 * limit)):
        found.setdefault(frozenset((src, dst)), Edge(src, rel, dst, weight))
    return list(found.values())[:limit]


def count_undecided_pairs(db: sqlite3.Connection) -> int:
    """How many pairs of active memories wait for a decision."""
    pairs = PAIRS.format(
        what="distinct min(e.src, e.dst), max(e.src, e.dst)",
        rels=sql_placeholders(UNDECIDED_RELATIONS),
    )
    count: int = db.execute(f"select count(*) from ({pairs})", UNDECIDED_RELATIONS).fetchone()[0]
    return count


def read_events(
    db: sqlite3.Connection, where: EventFilter, *, newest: bool, limit: int
) -> list[Event]:
    """Events that match, oldest first; with `newest`, newest first."""
    conditions: list[str] = ["seq > ?"]
    args: list[object] = [where.after]
    if where.before is not None:
        conditions.append("seq < ?")
        args.append(where.before)
    if where.verbs:
        # A session's newest events must not be searched by verb: the plus keeps that index out.
        column = "+verb" if where.session else "verb"
        conditions.append(f"{column} in ({sql_placeholders(where.verbs)})")
        args.extend(where.verbs)
    for column, value in (("session", where.session), ("space", where.space)):
        if value is not None:
            conditions.append(f"{column} = ?")
            args.append(value)
    # The index of sessions is partial. SQLite uses it only where its condition is said again, as
    # the value is not known when it plans.
    if where.session:
        conditions.append("session <> ''")
    order = "desc" if newest else "asc"
    sql = f"""
        select {EVENT_COLUMNS} from event
        where {" and ".join(conditions)}
        order by seq {order}
        limit ?
    """
    return [to_event(row) for row in db.execute(sql, (*args, limit))]


def read_session_spans(
    db: sqlite3.Connection, verbs: Sequence[str], space: str, containing: Sequence[str], limit: int
) -> list[SessionSpan]:
    """Sessions with events of these verbs, the latest first."""
    conditions = [f"verb in ({sql_placeholders(verbs)})", "session <> ''"]
    args: list[object] = [*verbs]
    if space:
        conditions.append("(space = ? or substr(space, 1, ?) = ?)")
        args += [space, len(space) + 1, space + "/"]
    contains = " and ".join("max(instr(lower(payload), ?)) > 0" for _ in containing)
    args += [text.lower() for text in containing]
    sql = f"""
        select session, space, min(seq), max(seq), min(at), max(at), count(*)
        from event
        where {" and ".join(conditions)}
        group by session, space
        {f"having {contains}" if contains else ""}
        order by max(seq) desc
        limit ?
    """
    return [SessionSpan(*row) for row in db.execute(sql, (*args, limit))]


def read_event(db: sqlite3.Connection, seq: int) -> Event | None:
    """One event by number."""
    row = db.execute(f"select {EVENT_COLUMNS} from event where seq = ?", (seq,)).fetchone()
    return to_event(row) if row else None


def read_history(db: sqlite3.Connection, memory_id: str) -> list[Record]:
    """The changes of a memory, oldest first."""
    sql = f"{RECORDS} where c.memory = ? order by c.seq, c.place"
    return [to_record(row) for row in db.execute(sql, (memory_id,))]


def read_changes_of(db: sqlite3.Connection, seq: int) -> list[Record]:
    """The changes that an event made, in order."""
    sql = f"{RECORDS} where c.seq = ? order by c.place"
    return [to_record(row) for row in db.execute(sql, (seq,))]


def read_changes_since(db: sqlite3.Connection, at: float, spaces: Sequence[str]) -> list[Record]:
    """Revisions and retirements after a time, newest first, without payload and `after`.

    One event may change a thousand memories, and its payload would be read for each.
    """
    # Every event is looked at, whatever its number: the clock may have jumped.
    sql = f"""
        {BEFORE} cross join memory m on m.id = c.memory
        where e.at > ? and c.op in ('revise', 'retire') and m.space in ({sql_placeholders(spaces)})
        order by c.seq desc, c.place desc
    """
    return [to_record(row) for row in db.execute(sql, (at, *spaces))]


def read_changes_after(db: sqlite3.Connection, seq: int) -> list[Record]:
    """Additions, revisions and retirements after an event, oldest first, without payload."""
    sql = f"{BEFORE} where c.seq > ? and c.op <> 'link' order by c.seq, c.place"
    return [to_record(row) for row in db.execute(sql, (seq,))]


@contextmanager
def query_deadline(db: sqlite3.Connection, within: float | None) -> Iterator[None]:
    """Stop queries after this many seconds; what was read until then stays read."""
    if within is None:
        yield
        return
    end = ticks() + within
    # Asked every 2,000 steps of SQLite, some 20 µs.
    db.set_progress_handler(lambda: ticks() > end, 2_000)
    try:
        yield
    except sqlite3.OperationalError as err:
        if err.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
    finally:
        db.set_progress_handler(None, 0)


def search_word_index(
    db: sqlite3.Connection,
    terms: Sequence[str],
    where: Filter,
    limit: int,
    now: float | None = None,
) -> Iterator[list[tuple[str, float]]]:
    """(id, BM25) of matching memories, best first; then perhaps a longer list that replaces it.

    Which terms can be afforded depends on the whole file, what they find on the spaces asked for:
    where the rarest terms occur only in other spaces, the common ones are looked up as well.
    """
    rows = db.execute("select max(num) from memory").fetchone()[0] or 0
    rare = select_affordable_terms(db, terms, rows)
    if not rare or limit <= 0 or not where.spaces:
        return
    conditions, args = build_filter_conditions(where)
    if now is not None:
        conditions.append("(expires_at is null or expires_at > ?)")
        args.append(now)
    # FTS5 hands rows over best first, so the join looks only at those that are taken.
    sql = f"""
        select memory.id, -w.rank
        from words w cross join memory on memory.num = w.rowid
        where w.words match ? and {" and ".join(conditions)}
        order by w.rank
        limit ?
    """
    found = db.execute(sql, (to_match_expression(rare), *args, limit)).fetchall()
    yield sorted(found, key=best_first)
    common = [term for term in terms if term not in rare]
    if common and len(found) < limit:
        known = {id for id, _ in found}
        for id in find_common_matches(db, common, where.spaces, (conditions, args), limit):
            if id not in known:
                found.append((id, COMMON_SCORE))
        yield sorted(found, key=best_first)[:limit]


def best_first(row: tuple[Any, float]) -> tuple[float, Any]:
    """The sort key of (id, score) that puts high scores first and breaks ties by id."""
    return -row[1], row[0]


# Each subquery is a lookup at one end of the index; in one query, all of it would be read.
SPACE_ENDS = """
    select (select min(num) from memory where space = ?1),
           (select max(num) from memory where space = ?1)
"""
# BM25 of a match of nothing but words so common that ranking them cannot be afforded.
COMMON_SCORE = 0.01
# Newest rows with such words that are looked at: 20 ms if none of them is in the spaces asked for,
# far less if all are.
MAX_COMMON_ROWS = 20_000


def find_common_matches(
    db: sqlite3.Connection,
    terms: Sequence[str],
    spaces: Sequence[str],
    conditions: tuple[list[str], list[object]],
    limit: int,
) -> list[str]:
    """Ids of memories that match and contain any of the terms, newest first, unranked."""
    tests, args = conditions
    ends: list[int] = []
    for space in spaces:
        ends += filter(None, db.execute(SPACE_ENDS, (space,)).fetchone())
    first, last = min(ends, default=0), max(ends, default=0)
    sql = f"""
        select memory.id
        from (select rowid as row from words where words match ? and rowid between ? and ?
              order by rowid desc limit {MAX_COMMON_ROWS}) w
        cross join memory on memory.num = w.row
        where {" and ".join(tests)}
        limit ?
    """
    found = db.execute(sql, (to_match_expression(terms), first, last, *args, limit))
    return [id for (id,) in found]


def to_match_expression(terms: Sequence[str]) -> str:
    """An FTS5 expression for any of the terms. A quoted string is never an operator."""
    return " OR ".join(f'"{term}"' for term in terms)


# Rows that one query may score: FTS5 takes about 2 µs for each, so a common word alone would cost
# 0.2 s in a million memories. The rarest terms come first; what no longer fits says little.
# Measured at 100,000 memories.
MAX_POSTINGS = 6_000


def select_affordable_terms(db: sqlite3.Connection, terms: Sequence[str], rows: int) -> list[str]:
    """The rarest terms whose postings together stay within MAX_POSTINGS; at least the rarest one.

    `rows` is the size of the table `words`. A table that is small enough is asked for every term,
    and so is any table for a single term.
    """
    if len(terms) <= 1 or rows * len(terms) <= MAX_POSTINGS:
        return list(terms)
    frequency = {term: count_occurrences(db, term, rows) for term in terms}
    taken: list[str] = []
    postings = 0
    for term in sorted(terms, key=lambda term: (frequency[term], term)):
        if taken and postings + frequency[term] > MAX_POSTINGS:
            break
        taken.append(term)
        postings += frequency[term]
    return taken


COUNT_MATCHES = "select count(*) from (select rowid from words where words match ? limit ?)"


def count_occurrences(db: sqlite3.Connection, term: str, rows: int) -> int:
    """In how many rows a term occurs, counted up to what can be afforded."""
    count: int = db.execute(COUNT_MATCHES, (f'"{term}"', min(rows, MAX_POSTINGS + 1))).fetchone()[0]
    return count


def read_cursor(db: sqlite3.Connection, name: str) -> int:
    """A reader's position; 0 at the start."""
    row = db.execute("select seq from cursor where name = ?", (name,)).fetchone()
    return row[0] if row else 0


# Waiting for vectors


def read_current_model(db: sqlite3.Connection) -> str:
    """The current embedding model; empty at the start, which stands for any."""
    row = db.execute("select model from embedder order by num desc limit 1").fetchone()
    return row[0] if row else ""


def read_unembedded_texts(
    db: sqlite3.Connection, limit: int, model: str | None
) -> list[tuple[str, str]]:
    """(id, text) of memories without a vector of the model, newest first.

    A model without a queue is answered by comparing all memories with its vectors.
    """
    model = read_current_model(db) if model is None else model
    known = not model or db.execute("select 1 from embedder where model = ?", (model,)).fetchone()
    return db.execute(QUEUED if known else MISSING, (model, limit)).fetchall()


def count_waiting(db: sqlite3.Connection, model: str) -> int:
    """How many memories are queued for a vector of this model."""
    count: int = db.execute("select count(*) from pending where model = ?", (model,)).fetchone()[0]
    return count
