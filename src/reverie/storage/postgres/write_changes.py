"""Making changes, inside the caller's transaction.

The previous values go to `change`, beside the event that caused them: history and undo read them
there. The word index, tag edges and vector queue follow a memory's text in the same transaction,
and what is derived of a memory, its edges and its history follow it into another space.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from reverie.core.errors import BadInput, Conflict, NotFound, StoreReadOnly
from reverie.core.model import Add, Change, Edge, Event, Link, Memory, Retire, Revise
from reverie.storage.derived_texts import (
    COLUMN_FIELDS,
    INDEXED_FIELDS,
    tag_node,
    to_words_body,
)
from reverie.storage.postgres import word_postings
from reverie.storage.postgres.connection import (
    HalfVector,
    TenantConnection,
    clean_text,
)
from reverie.storage.postgres.error_messages import MAY_NOT_WRITE
from reverie.storage.row_checksums import carry_checksum, checksum_row
from reverie.storage.row_codec import (
    COLUMNS,
    FIELDS,
    STRUCTURED,
    to_column,
    to_json,
    to_memory,
    to_plain,
    to_row,
)

INSERT_EVENT = """
    insert into event (tenant, seq, at, verb, space, session, payload, checksum)
    values (%(tenant)s, %(seq)s, %(at)s, %(verb)s, %(space)s, %(session)s, %(payload)s,
            %(checksum)s)
"""
INSERT_CHANGE = """
    insert into change (tenant, memory, seq, place, op, before, after, space)
    values (%(tenant)s, %(memory)s, %(seq)s, %(place)s, %(op)s, %(before)s, %(after)s, %(space)s)
"""
INSERT_MEMORY = f"""
    insert into memory (tenant, num, {COLUMNS}, checksum)
    values (%(tenant)s, %(num)s, {", ".join(f"%({name})s" for name in FIELDS)}, %(checksum)s)
    on conflict do nothing
"""
# The models whose vectors a text waits for; '' stands for any. Here and below the tenant is a
# column of a table (`counter` has its row), not a value: only so does Citus see that the rows go to
# the shard that they come from, and leaves the statement there.
AWAITED = """
    select tenant, '' collate "C" as model from counter where tenant = %(tenant)s
    union all select tenant, model from embedder where tenant = %(tenant)s
"""
INSERT_PENDING = f"""
    insert into pending (tenant, model, num, space)
    select tenant, model, %(num)s, %(space)s from ({AWAITED}) as awaited
    on conflict do nothing
"""
HAS_VECTOR = """
    delete from pending
    where tenant = %(tenant)s and num = %(num)s and model in (%(model)s, '')
"""
PUT_VECTOR = """
    insert into vector (tenant, num, model, space, hash, vec)
    values (%(tenant)s, %(num)s, %(model)s, %(space)s, %(hash)s, %(vec)s)
    on conflict (tenant, num, model) do update
    set hash = excluded.hash, vec = excluded.vec, space = excluded.space
"""
MAKE_CURRENT = """
    insert into embedder (tenant, model, num)
    select c.tenant, %(model)s, coalesce(max(e.num), 0) + 1
    from counter c left join embedder e on e.tenant = c.tenant
    where c.tenant = %(tenant)s
    group by c.tenant
    on conflict (tenant, model) do update set num = excluded.num
"""
SET_META = """
    insert into meta (tenant, name, value) values (%(tenant)s, %(name)s, %(value)s)
    on conflict (tenant, name) do update set value = excluded.value
"""
UNQUEUED = f"""
    select m.tenant, awaited.model, m.num, m.space
    from ({AWAITED}) as awaited join memory m on m.tenant = awaited.tenant
    where m.tenant = %(tenant)s
      and not exists (select 1 from vector v
                      where v.tenant = %(tenant)s and v.num = m.num
                        and (v.model = awaited.model or awaited.model = ''))
      and not exists (select 1 from pending p
                      where p.tenant = %(tenant)s and p.model = awaited.model and p.num = m.num)
"""
QUEUE_MISSING = f"""
    insert into pending (tenant, model, num, space)
    select tenant, model, num, space from ({UNQUEUED}) as unqueued
    on conflict do nothing
"""
SELECT_MEMORY = f"""
    select num, checksum, {COLUMNS} from memory where tenant = %(tenant)s and id = %(id)s
"""
UPSERT_EDGE = """
    insert into edge (tenant, src, rel, dst, weight, space)
    values (%(tenant)s, %(src)s, %(rel)s, %(dst)s, %(weight)s, %(space)s)
    on conflict (tenant, src, rel, dst) do update set weight = excluded.weight
"""
CLAIM = """
    insert into cursor (tenant, name, seq) values (%(tenant)s, %(name)s, %(seq)s)
    on conflict (tenant, name) do update set seq = excluded.seq where excluded.seq > cursor.seq
"""
ADVANCE = """
    insert into cursor (tenant, name, seq) values (%(tenant)s, %(name)s, %(seq)s)
    on conflict (tenant, name) do update set seq = greatest(cursor.seq, excluded.seq)
"""
# What lies in the space of its memory, and the column that names the memory.
FOLLOWERS = (("edge", "src"), ("change", "memory"), ("vector", "num"), ("pending", "num"))


def clean_column(name: str, value: Any) -> Any:
    """A column's value as PostgreSQL gives it back."""
    if not isinstance(value, str):
        return value
    return clean_json(value) if name in STRUCTURED else clean_text(value)


def clean_json(text: str) -> str:
    """A JSON text without NUL: PostgreSQL would store its escape, and not look into it."""
    if "\\u0000" in text:
        # An escaped backslash before "u0000" is no escape of ours.
        parts = text.split("\\\\")
        text = "\\\\".join(part.replace("\\u0000", "\ufffd") for part in parts)
    return clean_text(text)


def to_clean_row(memory: Memory) -> list[Any]:
    """A memory as the values of COLUMNS, as PostgreSQL gives them back."""
    return [clean_column(name, value) for name, value in zip(FIELDS, to_row(memory), strict=True)]


def insert_event(db: TenantConnection, event: Event) -> int:
    """Append one event and return its number."""
    payload = clean_json(to_json(event.payload)) if event.payload else None
    texts = [clean_column("", value) for value in (event.verb, event.space, event.session)]
    return insert_event_row(db, (event.at, *texts, payload))


def insert_event_row(db: TenantConnection, values: Sequence[Any], seq: int | None = None) -> int:
    """Insert an event by its columns, under this number or the next one; the number."""
    at, verb, space, session, payload = values
    number = db.take_event_number() if seq is None else seq
    db.run(
        INSERT_EVENT,
        seq=number,
        at=at,
        verb=verb,
        space=space,
        session=session,
        payload=payload,
        checksum=checksum_row(values),
    )
    db.last_event = max(db.last_event, number)
    return number


def advance_cursor(db: TenantConnection, name: str, seq: int) -> None:
    """Move a cursor forward; it never moves back."""
    db.run(ADVANCE, name=name, seq=seq)


def claim_cursor(db: TenantConnection, name: str, seq: int) -> None:
    """Move a cursor forward in the transaction that does the work; Conflict if it is there already.

    A worker that slept through its lease would otherwise learn the same event twice.
    """
    if db.run(CLAIM, name=name, seq=seq).rowcount == 0:
        raise Conflict(
            f"The reader {name} has been beyond event {seq} already: "
            "somebody else did this meanwhile"
        )


class ChangePlace(NamedTuple):
    """Where a change is recorded: its event's number, its place among the event's changes, and the
    event's space.
    """

    seq: int
    place: int
    space: str = ""


def apply_changes(db: TenantConnection, changes: Sequence[Change], seq: int, space: str) -> None:
    """Make the changes of an event that lies in `space`, in order, and record them.

    Memories that are added one behind the other go to the server together: a round trip for each
    statement would be most of the time that an import takes.
    """
    place = 0
    for is_new, group in groupby(changes, key=lambda change: isinstance(change, Add)):
        run = list(group)
        if is_new:
            added = [change.memory for change in run if isinstance(change, Add)]
            insert_memories(db, added)
            record_additions(db, added, seq, place)
        else:
            for offset, change in enumerate(run):
                apply_change(db, ChangePlace(seq, place + offset, space), change)
        place += len(run)


def record_additions(
    db: TenantConnection, memories: Sequence[Memory], seq: int, first: int
) -> None:
    """Record that an event added these memories, from the place `first` on."""
    rows = [
        {
            "memory": clean_text(memory.id),
            "seq": seq,
            "place": place,
            "op": "add",
            "before": None,
            "after": None,
            "space": clean_text(memory.space),
        }
        for place, memory in enumerate(memories, start=first)
    ]
    db.run_many(INSERT_CHANGE, rows)


def apply_change(db: TenantConnection, at: ChangePlace, change: Change) -> None:
    """Make one change of what is there, and record it."""
    match change:
        case Revise(id=id, fields=fields):
            revise_memory(db, id, fields, at, "revise")
        case Retire(id=id, at=when, why=why, superseded_by=newer):
            fields = {"retired_at": when, "retired_why": why, "superseded_by": newer}
            revise_memory(db, id, fields, at, "retire")
        case Link(edge=edge):
            set_edge_weight(db, edge, at)


def record_change(
    db: TenantConnection,
    memory: str,
    at: ChangePlace,
    op: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Record what an event did to a memory; `at.space` is the memory's."""
    db.run(
        INSERT_CHANGE,
        memory=memory,
        seq=at.seq,
        place=at.place,
        op=op,
        before=None if before is None else clean_json(to_json(before)),
        after=None if after is None else clean_json(to_json(after)),
        space=at.space,
    )


def insert_memory(db: TenantConnection, memory: Memory) -> None:
    """Insert a memory with its words and tag edges, and queue its text for vectors."""
    insert_memories(db, [memory])


def insert_memories(db: TenantConnection, memories: Sequence[Memory]) -> None:
    """Insert memories with their words and tag edges, and queue their texts for vectors."""
    rows: list[dict[str, Any]] = []
    bodies: list[word_postings.IndexedBody] = []
    tags: list[dict[str, Any]] = []
    for memory in memories:
        row = to_clean_row(memory)
        stored = to_memory(tuple(row))  # what is derived is derived of what is stored
        num = db.take_memory_number()
        values = dict(zip(FIELDS, row, strict=True))
        rows.append({**values, "num": num, "checksum": checksum_row(row)})
        bodies.append(word_postings.IndexedBody(num, to_words_body(stored)))
        for tag in stored.tags:
            edge = Edge(stored.id, "has_tag", tag_node(tag), 1.0)
            tags.append({**edge._asdict(), "space": stored.space})
    if db.run_many(INSERT_MEMORY, rows) < len(rows):
        raise Conflict(f"There is already a memory with the id {find_taken_id(db, rows)}")
    word_postings.index_memories(db, db.tenant, bodies)
    db.run_many(INSERT_PENDING, rows)
    db.run_many(UPSERT_EDGE, tags)


def find_taken_id(db: TenantConnection, rows: Sequence[Mapping[str, Any]]) -> str:
    """The first id of these that another memory has."""
    sql = "select id, num from memory where tenant = %(tenant)s and id = any(%(ids)s)"
    kept = dict(db.fetch_rows(sql, ids=[row["id"] for row in rows]))
    # One that lies where this user may not read is there, too.
    taken = (str(row["id"]) for row in rows if kept.get(row["id"]) != row["num"])
    return next(taken, "")


def revise_memory(
    db: TenantConnection,
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
        columns = {
            name: clean_column(name, to_column(name, value)) for name, value in changed.items()
        }
        new_row = [columns.get(name, value) for name, value in zip(FIELDS, row, strict=True)]
        set_columns(db, num, columns, carry_checksum(stored, row, new_row))
        refresh_derived(db, num, changed)
    before = {name: to_plain(name, getattr(old, name)) for name in changed}
    after = {name: to_plain(name, value) for name, value in changed.items()}
    space = changed.get("space", old.space)
    record_change(db, id, at._replace(space=space), op, before, after)


def set_columns(
    db: TenantConnection, num: int, columns: Mapping[str, Any], checksum: int | None
) -> None:
    """Set columns of a memory's row; their names are ours. StoreReadOnly if it may only be read."""
    sets = ", ".join(f"{name} = %({name})s" for name in columns)
    done = db.run(
        f"update memory set {sets}, checksum = %(checksum)s "
        "where tenant = %(tenant)s and num = %(num)s",
        num=num,
        checksum=checksum,
        **columns,
    )
    if done.rowcount == 0:
        raise StoreReadOnly(MAY_NOT_WRITE)


def fetch_memory(db: TenantConnection, id: str) -> tuple[int, int | None, tuple[Any, ...]]:
    """The number of a memory's row, its checksum, its values. Raises NotFound."""
    row = db.run(SELECT_MEMORY, id=id).fetchone()
    if row is None:
        raise NotFound(f"There is no memory with the id {id}")
    return row[0], row[1], row[2:]


def refresh_derived(db: TenantConnection, num: int, changed: Collection[str]) -> None:
    """Update what is derived from the changed fields of a memory: words, vectors, tag edges."""
    names = set(changed)
    # Columns in memory are arranged by these, and take in a changed row only where it stands.
    if COLUMN_FIELDS & names:
        bump_generation(db)
    if not (INDEXED_FIELDS | {"space"}) & names:
        return
    sql = f"select {COLUMNS} from memory where tenant = %(tenant)s and num = %(num)s"
    row = db.run(sql, num=num).fetchone()
    if row is None:
        return
    memory = to_memory(row)
    if "space" in names:
        move_followers(db, num, memory)
    if "text" in names:
        db.run("delete from vector where tenant = %(tenant)s and num = %(num)s", num=num)
        db.run(INSERT_PENDING, num=num, space=memory.space)
    word_postings.drop_memory(db, db.tenant, [num])
    word_postings.index_memory(db, db.tenant, num, to_words_body(memory))
    if "tags" in names:
        db.run(
            "delete from edge where tenant = %(tenant)s and src = %(id)s and rel = 'has_tag'",
            id=memory.id,
        )
        insert_tag_edges(db, memory)


def move_followers(db: TenantConnection, num: int, memory: Memory) -> None:
    """Write a memory's new space to what lies in it: edges, history, vectors, queues."""
    for table, column in FOLLOWERS:
        db.run(
            f"update {table} set space = %(space)s "
            f"where tenant = %(tenant)s and {column} = %(key)s",
            key=num if column == "num" else memory.id,
            space=memory.space,
        )


def replaces_vectors(db: TenantConnection, model: str, ids: Collection[str]) -> bool:
    """True if any of these memories has a vector of a model already."""
    sql = """
        select exists (
            select 1
            from memory m join vector v on v.tenant = m.tenant and v.num = m.num
            where m.tenant = %(tenant)s and m.id = any(%(ids)s) and v.model = %(model)s
        )
    """
    return bool(db.fetch_value(sql, model=model, ids=list(ids)))


def put_vector(
    db: TenantConnection, num: int, space: str, model: str, hash: bytes, vec: HalfVector
) -> None:
    """Store a model's vector of a memory, and take the memory out of its queue."""
    db.run(PUT_VECTOR, num=num, space=space, model=model, hash=hash, vec=vec)
    db.run(HAS_VECTOR, num=num, model=model)


def insert_tag_edges(db: TenantConnection, memory: Memory) -> None:
    """Insert an edge to each tag of a memory."""
    edges = [Edge(memory.id, "has_tag", tag_node(tag), 1.0) for tag in memory.tags]
    db.run_many(UPSERT_EDGE, [{**edge._asdict(), "space": memory.space} for edge in edges])


def put_edge(db: TenantConnection, edge: Edge, space: str) -> None:
    """Insert an edge or set its weight."""
    db.run(UPSERT_EDGE, **edge._asdict(), space=space)


def find_edge_space(db: TenantConnection, edge: Edge, otherwise: str) -> str:
    """The space that an edge lies in: that of the memory it starts at, else of the other one."""
    sql = "select id, space from memory where tenant = %(tenant)s and id = any(%(ids)s)"
    spaces: dict[str, str] = dict(db.fetch_rows(sql, ids=[edge.src, edge.dst]))
    return spaces.get(edge.src, spaces.get(edge.dst, otherwise))


def set_edge_weight(db: TenantConnection, edge: Edge, at: ChangePlace) -> None:
    """Set an edge's weight, or delete the edge at weight 0, and record it."""
    key = {"src": edge.src, "rel": edge.rel, "dst": edge.dst}
    where = "where tenant = %(tenant)s and src = %(src)s and rel = %(rel)s and dst = %(dst)s"
    old = db.fetch_value(f"select weight from edge {where}", **key)
    space = find_edge_space(db, edge, at.space)
    if edge.weight > 0:
        put_edge(db, edge, space)
    else:
        db.run(f"delete from edge {where}", **key)
    named = {"rel": edge.rel, "dst": edge.dst}
    before = {**named, "weight": old or 0.0}
    after = {**named, "weight": edge.weight}
    record_change(db, edge.src, at._replace(space=space), "link", before, after)


def bump_generation(db: TenantConnection) -> None:
    """Tell every process that what it has cached of the store is out of date as a whole."""
    db.drops_columns = True
    db.run(
        "insert into meta (tenant, name, value) values (%(tenant)s, 'generation', '1') "
        "on conflict (tenant, name) do update set value = (meta.value::bigint + 1)::text"
    )


def delete_memories(db: TenantConnection, numbers: Mapping[str, int]) -> None:
    """Delete memories by id and number, with all that is theirs; StoreReadOnly if one may only be
    read.
    """
    ids, nums = list(numbers), list(numbers.values())
    for sql in (
        "delete from change where tenant = %(tenant)s and memory = any(%(ids)s)",
        "delete from edge where tenant = %(tenant)s and src = any(%(ids)s)",
        "delete from edge where tenant = %(tenant)s and dst = any(%(ids)s)",
        "delete from vector where tenant = %(tenant)s and num = any(%(nums)s)",
        "delete from pending where tenant = %(tenant)s and num = any(%(nums)s)",
    ):
        db.run(sql, **({"ids": ids} if "(ids)" in sql else {"nums": nums}))
    drop_words(db, nums)
    sql = "delete from memory where tenant = %(tenant)s and num = any(%(nums)s)"
    # Row security passes over what may not be deleted, and says nothing.
    if db.run(sql, nums=nums).rowcount < len(nums):
        raise StoreReadOnly(MAY_NOT_WRITE)


def drop_words(db: TenantConnection, nums: Sequence[int]) -> None:
    """Delete the words of memories."""
    word_postings.drop_memory(db, db.tenant, nums)
