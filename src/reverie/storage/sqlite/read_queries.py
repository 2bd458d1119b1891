"""Reading memories, edges, events and history. Every function takes a connection and returns
values.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

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
PAIRS = """
    select {what}
    from edge e join memory one on one.id = e.src join memory other on other.id = e.dst
    where e.rel in ({rels}) and one.retired_at is null and other.retired_at is null
"""
BATCH = 500  # ids in one query

T = TypeVar("T")


def sql_placeholders(values: Sequence[object]) -> str:
    """As many parameters as there are values."""
    return ", ".join("?" * len(values))


def split_batches(values: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The values, as many at once as one query may have."""
    return (tuple(values[start : start + BATCH]) for start in range(0, len(values), BATCH))


def read_memories(db: sqlite3.Connection, ids: Sequence[str]) -> list[Memory]:
    """Memories by id, in the order asked."""
    found: dict[str, Memory] = {}
    for some in split_batches(ids):
        for row in db.execute(
            f"select {COLUMNS} from memory where id in ({sql_placeholders(some)})", some
        ):
            found[row[0]] = to_memory(row)
    return [found[id] for id in ids if id in found]


def browse(db: sqlite3.Connection, where: Filter) -> list[Memory]:
    """Memories that fit, newest first."""
    tests, args = build_filter_conditions(where)
    order = "at desc, num desc" if where.by_time else "num desc"
    sql = f"select {COLUMNS} from memory where {' and '.join(tests)} order by {order} limit ?"
    return [to_memory(row) for row in db.execute(sql, (*args, where.limit))]


def build_filter_conditions(where: Filter) -> tuple[list[str], list[object]]:
    """The conditions of a filter; the SQL is ours, the user's values are parameters."""
    tests: list[str] = ["1"]
    args: list[object] = []
    for column, values in (("space", where.spaces), ("kind", where.kinds)):
        if values:
            tests.append(f"{column} in ({sql_placeholders(values)})")
            args.extend(values)
    if where.without:
        tests.append(f"kind not in ({sql_placeholders(where.without)})")
        args.extend(where.without)
    for test, value in (("at >= ?", where.since), ("at <= ?", where.until)):
        if value is not None:
            tests.append(test)
            args.append(value)
    if where.having:
        tests.append(
            "details is not null and exists (select 1 from json_each(details) where key = ?)"
        )
        args.append(where.having)
    if where.paths:
        tests.append(
            f"details is not null and json_extract(details, '$.path') in ({sql_placeholders(where.paths)})"
        )
        args.extend(where.paths)
    if where.below:
        tests.append(
            "details is not null and substr(json_extract(details, '$.path'), 1, length(?)) = ?"
        )
        args.extend([f"{where.below}/"] * 2)
    for tag in where.tags:
        tests.append(
            "exists (select 1 from edge where src = memory.id and rel = 'has_tag' and dst = ?)"
        )
        args.append(tag_node(tag))
    if (
        where.session
    ):  # the rarest of them all: the pluses keep the other indexes out, "<> ''" lets this one in
        tests = [f"+{test}" if test.startswith(("space in", "kind in")) else test for test in tests]
        tests += ["session = ?", "session <> ''"]
        args.append(where.session)
    if where.active is not None:
        tests.append("retired_at is null" if where.active else "retired_at is not null")
    if where.after:
        tests.append("num < (select num from memory where id = ?)")
        args.append(where.after)
    return tests, args


def iter_triggered_memories(db: sqlite3.Connection, spaces: Sequence[str]) -> Iterator[Memory]:
    """Memories that count and carry trigger patterns."""
    sql = f"""
        select {COLUMNS} from memory
        where triggers is not null and retired_at is null and space in ({sql_placeholders(spaces)})
        order by id
    """
    return map(to_memory, db.execute(sql, tuple(spaces)))


def find_tagged_numbers(
    db: sqlite3.Connection, tags: Sequence[str], spaces: Sequence[str]
) -> list[int]:
    """The numbers of memories that count and carry all of the tags."""
    some = " intersect ".join(
        ["select src from edge where dst = ? and rel = 'has_tag'"] * len(tags)
    )
    sql = f"select num from memory where id in ({some}) and retired_at is null and space in ({sql_placeholders(spaces)})"
    return [num for (num,) in db.execute(sql, (*map(tag_node, tags), *spaces))]


def count_tags(db: sqlite3.Connection, spaces: Sequence[str]) -> dict[str, int]:
    """How many memories that count carry each tag, by name."""
    sql = f"""
        select substr(e.dst, 5), count(*)
        from edge e join memory m on m.id = e.src
        where e.rel = 'has_tag' and m.retired_at is null and m.space in ({sql_placeholders(spaces)})
        group by e.dst
        order by e.dst
    """
    return dict(db.execute(sql, tuple(spaces)))


def read_edges(db: sqlite3.Connection, ids: Sequence[str], rels: Sequence[str]) -> list[Edge]:
    """Edges from or to any of these, each once."""
    found: dict[tuple[str, str, str], float] = {}
    only = f"and rel in ({sql_placeholders(rels)})" if rels else ""
    for some in split_batches(ids):
        for end in ("src", "dst"):
            sql = f"select src, rel, dst, weight from edge where {end} in ({sql_placeholders(some)}) {only}"
            found.update({row[:3]: row[3] for row in db.execute(sql, (*some, *rels))})
    return [Edge(src=s, rel=r, dst=d, weight=w) for (s, r, d), w in sorted(found.items())]


def scan_edges(db: sqlite3.Connection, after: tuple[str, str, str], limit: int) -> list[Edge]:
    """Edges in the order of their key."""
    sql = "select src, rel, dst, weight from edge where (src, rel, dst) > (?, ?, ?) order by src, rel, dst limit ?"
    return [Edge(*row) for row in db.execute(sql, (*after, limit))]


def read_edges_between(
    db: sqlite3.Connection, rels: Sequence[str], spaces: Sequence[str], limit: int
) -> list[Edge]:
    """Edges of these relations whose ends both count, each pair once, what was written
    last first.
    """
    inside = (
        f"and one.space in ({sql_placeholders(spaces)}) and other.space in ({sql_placeholders(spaces)})"
        if spaces
        else ""
    )
    pairs = PAIRS.format(what="e.src, e.rel, e.dst, e.weight", rels=sql_placeholders(rels))
    sql = f"{pairs} {inside} order by max(one.num, other.num) desc, one.num limit ?"
    found: dict[frozenset[str], Edge] = {}
    for src, rel, dst, weight in db.execute(sql, (*rels, *spaces, *spaces, 2 * limit)):
        found.setdefault(frozenset((src, dst)), Edge(src, rel, dst, weight))
    return list(found.values())[:limit]


def count_undecided_pairs(db: sqlite3.Connection) -> int:
    """How many pairs of memories that count wait for a decision."""
    pairs = PAIRS.format(
        what="distinct min(e.src, e.dst), max(e.src, e.dst)",
        rels=sql_placeholders(UNDECIDED_RELATIONS),
    )
    count: int = db.execute(f"select count(*) from ({pairs})", UNDECIDED_RELATIONS).fetchone()[0]
    return count


def events(
    db: sqlite3.Connection,
    *,
    after: int,
    before: int | None,
    verbs: Sequence[str],
    session: str | None,
    space: str | None,
    newest: bool,
    limit: int,
) -> list[Event]:
    """Events between two numbers, oldest or newest first."""
    tests: list[str] = ["seq > ?"]
    args: list[object] = [after]
    if before is not None:
        tests.append("seq < ?")
        args.append(before)
    if verbs:
        tests.append(f"verb in ({sql_placeholders(verbs)})")
        args.extend(verbs)
    for column, value in (("session", session), ("space", space)):
        if value is not None:
            tests.append(f"{column} = ?")
            args.append(value)
    # A session's newest events must not be looked for by verb: the plus keeps that index out. The
    # one of sessions is partial; SQLite takes it only where its condition is said again, for the
    # value is not known when it plans.
    if session:
        tests = [*(test.replace("verb in", "+verb in") for test in tests), "session <> ''"]
    order = "desc" if newest else "asc"
    sql = f"select {EVENT_COLUMNS} from event where {' and '.join(tests)} order by seq {order} limit ?"
    return [to_event(row) for row in db.execute(sql, (*args, limit))]


def read_session_spans(
    db: sqlite3.Connection, verbs: Sequence[str], space: str, containing: Sequence[str], limit: int
) -> list[SessionSpan]:
    """Conversations, the latest first."""
    tests, args = [f"verb in ({sql_placeholders(verbs)})", "session <> ''"], [*verbs]
    if space:
        tests.append("(space = ? or substr(space, 1, ?) = ?)")
        args += [space, len(space) + 1, space + "/"]  # type: ignore[list-item]
    holds = " and ".join("max(instr(lower(payload), ?)) > 0" for _ in containing)
    sql = f"""
        select session, space, min(seq), max(seq), min(at), max(at), count(*)
        from event
        where {" and ".join(tests)}
        group by session, space
        {f"having {holds}" if holds else ""}
        order by max(seq) desc
        limit ?
    """
    return [
        SessionSpan(*row)
        for row in db.execute(sql, (*args, *(text.lower() for text in containing), limit))
    ]


def read_event(db: sqlite3.Connection, seq: int) -> Event | None:
    """One event by number."""
    row = db.execute(f"select {EVENT_COLUMNS} from event where seq = ?", (seq,)).fetchone()
    return to_event(row) if row else None


def read_history(db: sqlite3.Connection, memory_id: str) -> list[Record]:
    """What was done to a memory, oldest first."""
    return [
        to_record(row)
        for row in db.execute(f"{RECORDS} where c.memory = ? order by c.seq, c.place", (memory_id,))
    ]


def read_changes_of(db: sqlite3.Connection, seq: int) -> list[Record]:
    """What an event changed, in order."""
    return [
        to_record(row) for row in db.execute(f"{RECORDS} where c.seq = ? order by c.place", (seq,))
    ]


def read_changes_since(db: sqlite3.Connection, at: float, spaces: Sequence[str]) -> list[Record]:
    """What was revised or retired after a moment, newest first. The clock may have jumped: every
    event is looked at.

    One event may alter a thousand memories, and its payload would be read for each: it is left out,
    and so is `after`.
    """
    sql = f"""
        {BEFORE} cross join memory m on m.id = c.memory
        where e.at > ? and c.op in ('revise', 'retire') and m.space in ({sql_placeholders(spaces)})
        order by c.seq desc, c.place desc
    """
    return [to_record(row) for row in db.execute(sql, (at, *spaces))]


def read_changes_after(db: sqlite3.Connection, seq: int) -> list[Record]:
    """What was added, revised or retired after an event, oldest first; without payload and `after`,
    as above.
    """
    return [
        to_record(row)
        for row in db.execute(
            f"{BEFORE} where c.seq > ? and c.op <> 'link' order by c.seq, c.place", (seq,)
        )
    ]


@contextmanager
def query_deadline(db: sqlite3.Connection, within: float | None) -> Iterator[None]:
    """Stop a query that takes longer than this many seconds; it then finds nothing."""
    if within is None:
        yield
        return
    end = ticks() + within
    # asked every 2,000 steps of SQLite, some 20 µs
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
    """(id, BM25) of memories that count, fit and contain any of the terms, best first; then perhaps
    a longer list.

    What can be afforded depends on the whole file, what is found on the asked spaces: where the
    rarest terms stand only in other spaces, the common ones are looked up as well.
    """
    asked = select_affordable_terms(
        db, terms, db.execute("select max(num) from memory").fetchone()[0] or 0
    )
    if not asked or limit <= 0 or not where.spaces:
        return
    tests, args = build_filter_conditions(where)
    if now is not None:
        tests.append("(expires_at is null or expires_at > ?)")
        args.append(now)
    # FTS5 hands rows over best first, so the join looks only at those that are taken.
    sql = f"""
        select memory.id, -w.rank
        from words w cross join memory on memory.num = w.rowid
        where w.words match ? and {" and ".join(tests)}
        order by w.rank
        limit ?
    """
    found = db.execute(sql, (to_match_expression(asked), *args, limit)).fetchall()
    yield sorted(found, key=lambda row: (-row[1], row[0]))
    left = [term for term in terms if term not in asked]
    if left and len(found) < limit:
        known = {id for id, _ in found}
        found += [
            (id, COMMON_SCORE)
            for id in find_common_matches(db, left, where, (tests, args), limit)
            if id not in known
        ]
        yield sorted(found, key=lambda row: (-row[1], row[0]))[:limit]


# Each by itself is a look at one end of the index; asked for at once, all of it is read.
SPACE_ENDS = "select (select min(num) from memory where space = ?1), (select max(num) from memory where space = ?1)"
COMMON_SCORE = (
    0.01  # BM25 of a match of nothing but words so common that ranking them cannot be afforded
)
MAX_COMMON_ROWS = 20_000
"""Newest rows of such words that are looked at: 20 ms if none of them is in the asked spaces, far
less if all are.
"""


def find_common_matches(
    db: sqlite3.Connection,
    terms: Sequence[str],
    where: Filter,
    tests: tuple[list[str], list[object]],
    limit: int,
) -> list[str]:
    """Ids of memories that fit and contain any of the terms, newest first, unranked."""
    ends = [
        num for space in where.spaces for num in db.execute(SPACE_ENDS, (space,)).fetchone() if num
    ]
    sql = f"""
        select memory.id
        from (select rowid as row from words where words match ? and rowid between ? and ?
              order by rowid desc limit {MAX_COMMON_ROWS}) w
        cross join memory on memory.num = w.row
        where {" and ".join(tests[0])}
        limit ?
    """
    args = (
        to_match_expression(terms),
        min(ends, default=0),
        max(ends, default=0),
        *tests[1],
        limit,
    )
    return [id for (id,) in db.execute(sql, args)]


def to_match_expression(terms: Sequence[str]) -> str:
    """An FTS5 expression for any of the terms. A quoted string is never an operator."""
    return " OR ".join(f'"{term}"' for term in terms)


MAX_POSTINGS = 6_000
"""Rows that one query may score: FTS5 takes about 2 µs for each, so a common word alone would cost
0.2 s in a million memories. The rarest terms come first; what no longer fits says little. Measured
at 100,000 memories.
"""


def select_affordable_terms(db: sqlite3.Connection, terms: Sequence[str], rows: int) -> list[str]:
    """The rarest terms whose postings together stay within POSTINGS; at least the rarest one that
    occurs.

    A table `words` of fewer `rows` than POSTINGS is asked for everything, and so is any for one
    term.
    """
    if len(terms) <= 1:
        return list(terms)
    if rows * len(terms) <= MAX_POSTINGS:
        return list(terms)
    frequency = {term: count_occurrences(db, term, rows) for term in terms}
    taken: list[str] = []
    spent = 0
    for term in sorted(terms, key=lambda t: (frequency[t], t)):
        if taken and spent + frequency[term] > MAX_POSTINGS:
            break
        taken.append(term)
        spent += frequency[term]
    return taken


COUNT_MATCHES = "select count(*) from (select rowid from words where words match ? limit ?)"


def count_occurrences(db: sqlite3.Connection, term: str, rows: int) -> int:
    """In how many rows a term occurs, counted up to a limit beyond which it cannot be afforded
    anyway.
    """
    count: int = db.execute(COUNT_MATCHES, (f'"{term}"', min(rows, MAX_POSTINGS + 1))).fetchone()[0]
    return count


def read_cursor(db: sqlite3.Connection, name: str) -> int:
    """A reader's position."""
    row = db.execute("select seq from cursor where name = ?", (name,)).fetchone()
    return row[0] if row else 0


# Waiting for vectors


def read_current_model(db: sqlite3.Connection) -> str:
    """The model whose vectors were awaited last; empty at the start, which stands for any."""
    row = db.execute("select model from embedder order by num desc limit 1").fetchone()
    return row[0] if row else ""


def read_unembedded_texts(
    db: sqlite3.Connection, limit: int, model: str | None
) -> list[tuple[str, str]]:
    """(id, text) of memories without a vector of the model, newest first; where it has no queue, by
    looking.
    """
    model = read_current_model(db) if model is None else model
    known = not model or db.execute("select 1 from embedder where model = ?", (model,)).fetchone()
    return db.execute(QUEUED if known else MISSING, (model, limit)).fetchall()


def count_waiting(db: sqlite3.Connection, model: str) -> int:
    """How many memories are queued for a vector of this model."""
    count: int = db.execute("select count(*) from pending where model = ?", (model,)).fetchone()[0]
    return count
