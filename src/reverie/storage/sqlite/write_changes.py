"""Making changes, inside the caller's transaction.

The previous values go to `change`, beside the event that caused them: history and undo read them
there. The word index, tag edges and vector queue follow a memory's text in the same transaction.
"""

from collections.abc import Collection, Mapping
from sqlite3 import Connection
from typing import Any, NamedTuple

from reverie.core.errors import BadInput, Conflict, NotFound
from reverie.core.model import Add, Change, Edge, Event, Link, Memory, Retire, Revise
from reverie.storage.derived_texts import (
    COLUMN_FIELDS,
    INDEXED_FIELDS,
    tag_node,
    to_words_body,
)
from reverie.storage.row_checksums import carry_checksum, checksum_row
from reverie.storage.row_codec import (
    COLUMNS,
    FIELDS,
    to_column,
    to_json,
    to_memory,
    to_plain,
    to_row,
)
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import fetch_value

INSERT_EVENT = (
    "insert into event (at, verb, space, session, payload, checksum) values (?, ?, ?, ?, ?, ?)"
)
INSERT_CHANGE = (
    "insert into change (memory, seq, place, op, before, after) values (?, ?, ?, ?, ?, ?)"
)
INSERT_MEMORY = (
    f"insert into memory ({COLUMNS}, checksum) values ({', '.join('?' * len(FIELDS))}, ?)"
)
INSERT_WORDS = "insert into words (rowid, body) values (?, ?)"
# The models whose vectors a text waits for; '' stands for any.
AWAITED = "select '' as model union all select model from embedder"
INSERT_PENDING = f"insert or ignore into pending (model, memory) select model, ? from ({AWAITED})"
DELETE_PENDING = f"delete from pending where memory = ? and model in ({AWAITED})"
HAS_VECTOR = "delete from pending where memory = ? and model in (?, '')"
UNQUEUED = f"""
    select a.model, m.num
    from ({AWAITED}) a cross join memory m
    where not exists (select 1 from vector v
                      where v.memory = m.num and (v.model = a.model or a.model = ''))
      and not exists (select 1 from pending p where p.model = a.model and p.memory = m.num)
"""
QUEUE_MISSING = f"insert or ignore into pending (model, memory) {UNQUEUED}"
SELECT_MEMORY = f"select num, checksum, {COLUMNS} from memory where id = ?"
UPSERT_EDGE = """
    insert into edge (src, rel, dst, weight) values (?, ?, ?, ?)
    on conflict (src, rel, dst) do update set weight = excluded.weight
"""
CLAIM = """
    insert into cursor (name, seq) values (?, ?)
    on conflict (name) do update set seq = excluded.seq where excluded.seq > seq
"""
ADVANCE = """
    insert into cursor (name, seq) values (?, ?)
    on conflict (name) do update set seq = max(seq, excluded.seq)
"""


def insert_event(db: Connection, event: Event) -> int:
    """Append one event and return its number."""
    payload = to_json(event.payload) if event.payload else None
    values = (event.at, event.verb, event.space, event.session, payload)
    cursor = db.execute(INSERT_EVENT, (*values, checksum_row(values)))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def advance_cursor(
    db: Connection,
    name: str,
    seq: int,
) -> None:
    """Move a cursor forward; it never moves back."""
    db.execute(ADVANCE, (name, seq))


def claim_cursor(
    db: Connection,
    name: str,
    seq: int,
) -> None:
    """Move a cursor forward in the transaction that does the work; Conflict if it is there already.

    A settler that slept through its lease (a stopped process, a closed laptop) would otherwise
    learn the same event twice.
    """
    if db.execute(CLAIM, (name, seq)).rowcount == 0:
        raise Conflict(
            f"The reader {name} has been beyond event {seq} already: "
            "somebody else did this meanwhile"
        )


class ChangePlace(NamedTuple):
    """Where a change is recorded: its event's number, and its place among the event's changes."""

    seq: int
    place: int


def apply_change(
    db: Connection,
    at: ChangePlace,
    change: Change,
) -> None:
    """Make one change and record it."""
    match change:
        case Add(memory=memory):
            insert_memory(db, memory)
            record_change(db, memory.id, at, "add")
        case Revise(id=id, fields=fields):
            revise_memory(db, id, fields, at, "revise")
        case Retire(id=id, at=when, why=why, superseded_by=newer):
            fields = {
                "retired_at": when,
                "retired_why": why,
                "superseded_by": newer,
            }
            revise_memory(db, id, fields, at, "retire")
        case Link(edge=edge):
            set_edge_weight(db, edge, at)


def record_change(
    db: Connection,
    memory: str,
    at: ChangePlace,
    op: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Record what an event did to a memory."""
    old = None if before is None else to_json(before)
    new = None if after is None else to_json(after)
    db.execute(INSERT_CHANGE, (memory, *at, op, old, new))


def insert_memory(db: Connection, memory: Memory) -> None:
    """Insert a memory with its words and tag edges, and queue its text for vectors."""
    try:
        row = to_row(memory)
        num = db.execute(INSERT_MEMORY, (*row, checksum_row(row))).lastrowid
    except database_library.IntegrityError as err:
        raise Conflict(f"There is already a memory with the id {memory.id}") from err
    db.execute(INSERT_WORDS, (num, to_words_body(memory)))
    db.execute(INSERT_PENDING, (num,))
    insert_tag_edges(db, memory)


def revise_memory(
    db: Connection,
    id: str,
    fields: Mapping[str, Any],
    at: ChangePlace,
    op: str,
) -> None:
    """Set some fields of a memory; words, tags and vectors follow."""
    # The id is what history, edges and other memories know it by.
    unknown = set(fields) - (set(FIELDS) - {"id"})
    if unknown:
        raise BadInput(f"A memory has no field {', '.join(sorted(unknown))} that can be changed")
    num, stored, row = fetch_memory(db, id)
    old = to_memory(row)
    changed = {name: value for name, value in fields.items() if getattr(old, name) != value}
    if changed:
        sets = ", ".join(f"{name} = ?" for name in changed)
        columns = {name: to_column(name, value) for name, value in changed.items()}
        new_row = [columns.get(name, value) for name, value in zip(FIELDS, row, strict=True)]
        values = (*columns.values(), carry_checksum(stored, row, new_row), num)
        db.execute(f"update memory set {sets}, checksum = ? where num = ?", values)
        refresh_derived(db, num, changed)
    before = {name: to_plain(name, getattr(old, name)) for name in changed}
    after = {name: to_plain(name, value) for name, value in changed.items()}
    record_change(db, id, at, op, before, after)


def fetch_memory(db: Connection, id: str) -> tuple[int, int | None, tuple[Any, ...]]:
    """The number of a memory's row, its checksum, its values. Raises NotFound."""
    row = db.execute(SELECT_MEMORY, (id,)).fetchone()
    if row is None:
        raise NotFound(f"There is no memory with the id {id}")
    return row[0], row[1], row[2:]


def refresh_derived(
    db: Connection,
    num: int,
    changed: Collection[str],
) -> None:
    """Update what is derived from the changed fields of a memory: words, vectors, tag edges."""
    names = set(changed)
    # Shards are arranged by these, and take in a changed row only where it stands.
    if COLUMN_FIELDS & names:
        bump_generation(db)
    if "text" in names:
        db.execute("delete from vector where memory = ?", (num,))
        db.execute(INSERT_PENDING, (num,))
    if not INDEXED_FIELDS & names:
        return
    row = db.execute(f"select {COLUMNS} from memory where num = ?", (num,)).fetchone()
    memory = to_memory(row)
    db.execute("update words set body = ? where rowid = ?", (to_words_body(memory), num))
    if "tags" in names:
        db.execute("delete from edge where src = ? and rel = 'has_tag'", (memory.id,))
        insert_tag_edges(db, memory)


def insert_tag_edges(db: Connection, memory: Memory) -> None:
    """Insert an edge to each tag of a memory."""
    edges = [(memory.id, "has_tag", tag_node(tag), 1.0) for tag in memory.tags]
    db.executemany(UPSERT_EDGE, edges)


def set_edge_weight(
    db: Connection,
    edge: Edge,
    at: ChangePlace,
) -> None:
    """Set an edge's weight, or delete the edge at weight 0, and record it."""
    key = (edge.src, edge.rel, edge.dst)
    where = "where src = ? and rel = ? and dst = ?"
    old = fetch_value(db, f"select weight from edge {where}", *key)
    if edge.weight > 0:
        db.execute(UPSERT_EDGE, (*key, edge.weight))
    else:
        db.execute(f"delete from edge {where}", key)
    named = {"rel": edge.rel, "dst": edge.dst}
    before = {**named, "weight": old or 0.0}
    after = {**named, "weight": edge.weight}
    record_change(db, edge.src, at, "link", before, after)


def bump_generation(db: Connection) -> None:
    """Tell every process that what it has cached of the store is out of date as a whole."""
    db.execute(
        "insert into meta (name, value) values ('generation', '1') "
        "on conflict (name) do update set value = cast(value as integer) + 1"
    )
