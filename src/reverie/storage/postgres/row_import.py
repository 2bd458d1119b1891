"""Rows of an export taken in: memories, edges, events with their changes, vectors, cursors.

Importing is idempotent: what is already there is left alone. Rows of one kind go to the server a
few hundred at a time: a round trip for each statement of each row was nearly all of an import's
time. A batch is taken whole or not at all; of one that holds a row which cannot be read each half
is tried by itself, down to that row, so that a bad row costs some statements and keeps nobody else
out.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import psycopg

from reverie.core.errors import BadInput, ReverieError
from reverie.core.model import Edge, Memory
from reverie.storage.postgres.connection import TenantConnection, clean_text
from reverie.storage.postgres.half_vectors import to_half_vector
from reverie.storage.postgres.row_repair import accept_losses
from reverie.storage.postgres.write_changes import (
    HAS_VECTOR,
    INSERT_CHANGE,
    INSERT_EVENT,
    PUT_VECTOR,
    UPSERT_EDGE,
    clean_json,
    insert_memories,
)
from reverie.storage.row_checksums import checksum_row
from reverie.storage.row_codec import memory_from_dict, to_json
from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    import numpy as np

Row = dict[str, Any]

REFUSED = "refused"
BATCH = 500  # rows that go to the server together
# What a row that was cut off or altered leads to.
BAD_ROW_ERRORS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    ReverieError,
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.ProgrammingError,
)
KNOWN_MEMORIES = """
    select id, space from memory where tenant = %(tenant)s and id = any(%(ids)s)
"""
KNOWN_EDGES = """
    select e.src, e.rel, e.dst
    from edge e
    join unnest(%(srcs)s::text[], %(rels)s::text[], %(dsts)s::text[]) as a (src, rel, dst)
      on e.src = a.src and e.rel = a.rel and e.dst = a.dst
    where e.tenant = %(tenant)s
"""
# The same values, and the same first changed memory ('' for none).
KNOWN_EVENTS = """
    select distinct a.number
    from event e join unnest(
        %(numbers)s::integer[], %(ats)s::double precision[], %(verbs)s::text[], %(spaces)s::text[],
        %(sessions)s::text[], %(payloads)s::text[], %(memories)s::text[]
    ) as a (number, at, verb, space, session, payload, memory)
      on e.verb = a.verb and e.at = a.at and e.space = a.space and e.session = a.session
    where e.tenant = %(tenant)s and e.seq <= %(last)s
      and e.payload is not distinct from a.payload
      and (a.memory = ''
           or exists (select 1 from change c
                      where c.tenant = %(tenant)s and c.seq = e.seq and c.memory = a.memory))
"""
MEMORY_TEXTS = """
    select id, num, text, space from memory where tenant = %(tenant)s and id = any(%(ids)s)
"""
KNOWN_VECTORS = """
    select num, model from vector where tenant = %(tenant)s and num = any(%(nums)s)
"""


def load_rows(db: TenantConnection, rows: Iterable[Row]) -> dict[str, int]:
    """Import rows; returns how many of each type were new, or "refused"."""
    importer = RowImporter(db)
    counts: dict[str, int] = {}
    for name, run in groupby(rows, key=name_type):
        while batch := list(islice(run, BATCH)):
            import_batch(importer, name, batch, counts)
    importer.finish()
    return counts


def name_type(row: Any) -> str:
    """The type of a row; "refused" for what is no row at all."""
    return str(row.get("type", "")) if isinstance(row, dict) else REFUSED


def import_batch(
    importer: RowImporter, name: str, rows: Sequence[Row], counts: dict[str, int]
) -> None:
    """Import rows of one type: all of them, or each half by itself. What is of no type that this
    version knows is passed over.
    """
    import_typed = ROW_IMPORTERS.get(name)
    if import_typed is None:
        if name == REFUSED:
            counts[REFUSED] = counts.get(REFUSED, 0) + len(rows)
        return
    try:
        with importer.db.savepoint():
            new = import_typed(importer, rows)
    except psycopg.errors.InsufficientPrivilege:
        raise  # the whole import is not allowed, and every row would be refused
    except BAD_ROW_ERRORS:
        if len(rows) == 1:
            counts[REFUSED] = counts.get(REFUSED, 0) + 1
            return
        middle = len(rows) // 2
        import_batch(importer, name, rows[:middle], counts)
        import_batch(importer, name, rows[middle:], counts)
        return
    if new:
        counts[name] = counts.get(name, 0) + new


class RowImporter:
    """One import into a tenant. Each method takes rows of a type and returns how many were new."""

    def __init__(self, db: TenantConnection) -> None:
        self.db = db
        last = "select coalesce(max(seq), 0) from event where tenant = %(tenant)s"
        self.last = db.fetch_value(last)
        self.empty: bool = self.last == 0
        readers = db.fetch_rows("select name, seq from cursor where tenant = %(tenant)s")
        self.caught_up = [name for name, seq in readers if seq >= self.last]

    def memories(self, rows: Sequence[Row]) -> int:
        """Memories with their words and tag edges, unless their ids are there."""
        known = self.find_memories([row["id"] for row in rows])
        fresh: dict[str, Memory] = {}
        for row in rows:
            if row["id"] not in known and row["id"] not in fresh:
                fresh[row["id"]] = read_memory(row)
        if fresh:
            insert_memories(self.db, list(fresh.values()))
        return len(fresh)

    def find_memories(self, ids: Sequence[str]) -> dict[str, str]:
        """The spaces of those memories that are there, by id."""
        return dict(self.db.fetch_rows(KNOWN_MEMORIES, ids=list(ids)))

    def edges(self, rows: Sequence[Row]) -> int:
        """Edges between existing memories.

        Tag edges come with the memory itself, which may have lost the tag since.
        """
        named = [Edge(row["src"], row["rel"], row["dst"], row["weight"]) for row in rows]
        edges = [edge for edge in named if edge.rel != "has_tag"]
        ends = {end for edge in edges for end in (edge.src, edge.dst)}
        spaces = self.find_memories(sorted(ends))
        if gone := [end for end in ends if end.startswith("mem_") and end not in spaces]:
            raise BadInput(f"{gone[0]} is not there")
        known = self.find_edges(edges)
        fresh: dict[tuple[str, str, str], Edge] = {}
        for edge in edges:
            if edge[:3] not in known:
                fresh.setdefault(edge[:3], edge)
        placed = [
            {**edge._asdict(), "space": spaces.get(edge.src, spaces.get(edge.dst, ""))}
            for edge in fresh.values()
        ]
        self.db.run_many(UPSERT_EDGE, placed)
        return len(fresh)

    def find_edges(self, edges: Sequence[Edge]) -> set[tuple[str, str, str]]:
        """Those of the edges that are there."""
        ends = {
            "srcs": [edge.src for edge in edges],
            "rels": [edge.rel for edge in edges],
            "dsts": [edge.dst for edge in edges],
        }
        return {(src, rel, dst) for src, rel, dst in self.db.fetch_rows(KNOWN_EDGES, **ends)}

    def events(self, rows: Sequence[Row]) -> int:
        """Events with their changes: under their own numbers in an empty log, else at its end."""
        values = [read_event(row) for row in rows]
        known = set() if self.empty else self.find_events(values, rows)
        changes: list[Row] = []
        events: list[Row] = []
        changed = {change[0] for row in rows for change in row.get("changes", ())}
        spaces = self.find_memories(sorted(changed))
        for number, (row, event) in enumerate(zip(rows, values, strict=True)):
            if number in known:
                continue
            # Cursors name events by number, so in an empty log they keep theirs.
            seq = row["seq"] if self.empty else self.db.take_event_number()
            self.db.last_event = max(self.db.last_event, seq)
            events.append({**event, "seq": seq, "checksum": checksum_row(tuple(event.values()))})
            changes += read_changes(row, seq, spaces)
        self.db.run_many(INSERT_EVENT, events)
        self.db.run_many(INSERT_CHANGE, changes)
        return len(events)

    def find_events(self, values: Sequence[Row], rows: Sequence[Row]) -> set[int]:
        """Places of those events that were here before the import."""
        columns = {
            f"{name}s": [event[name] for event in values]
            for name in ("verb", "space", "session", "payload")
        }
        changes = [row.get("changes") or [[""]] for row in rows]
        found = self.db.fetch_rows(
            KNOWN_EVENTS,
            **columns,
            numbers=list(range(len(values))),
            ats=[float(event["at"]) for event in values],
            memories=[first[0] for first, *_ in changes],
            last=self.last,
        )
        return {number for (number,) in found}

    def vectors(self, rows: Sequence[Row]) -> int:
        """Vectors of memories that have none of that model."""
        found = self.db.fetch_rows(MEMORY_TEXTS, ids=[row["id"] for row in rows])
        memories = {id: rest for id, *rest in found}
        nums = [num for num, *_ in memories.values()]
        known = set(self.db.fetch_rows(KNOWN_VECTORS, nums=nums))
        placed: list[Row] = []
        for row in rows:
            hash, model = bytes.fromhex(row["hash"]), row["model"]
            numbers = to_half_vector(read_numbers(row["vec"]))
            num, text, space = memories.get(row["id"], (None, "", ""))
            # The memory here may have another text by now.
            if num is None or (num, model) in known or hash != fingerprint_text(text):
                continue
            known.add((num, model))
            values = {"num": num, "space": space, "model": model, "hash": hash, "vec": numbers}
            placed.append(values)
        self.db.run_many(PUT_VECTOR, placed)
        self.db.run_many(HAS_VECTOR, placed)
        return len(placed)

    def cursors(self, rows: Sequence[Row]) -> int:
        """Readers' positions, if the log was empty and is now the imported one."""
        if not self.empty:
            return 0
        self.db.run_many(
            "insert into cursor (tenant, name, seq) values (%(tenant)s, %(name)s, %(seq)s) "
            "on conflict do nothing",
            [{"name": row["name"], "seq": row["seq"]} for row in rows],
        )
        return len(rows)

    def finish(self) -> None:
        """Move readers that were at the end of the log past the imported events.

        What was learned from those need not be learned again here.
        """
        # History of what was left out is no loss.
        accept_losses(self.db)
        if self.empty:
            return
        self.db.run(
            "update cursor set seq = greatest(seq, %(last)s) "
            "where tenant = %(tenant)s and name = any(%(names)s)",
            names=self.caught_up,
            last=self.db.last_event,
        )


def read_memory(row: Row) -> Memory:
    """The memory in a row; an error for a row that was cut off or altered."""
    memory = memory_from_dict(row)
    texts = (memory.id, memory.text, memory.space, memory.kind)
    if not all(isinstance(value, str) for value in texts):
        raise BadInput(f"{memory.id!r} is not a memory")
    for value in (*texts, memory.title):
        value.encode()  # half a surrogate pair: the file was cut off or altered
    return memory


def read_event(row: Row) -> Row:
    """The columns of an event, in the order in which they are sealed."""
    payload = clean_json(to_json(row["payload"])) if row.get("payload") else None
    return {
        "at": row["at"],
        "verb": clean_text(row["verb"]),
        "space": clean_text(row["space"]),
        "session": clean_text(row.get("session", "")),
        "payload": payload,
    }


def read_changes(row: Row, seq: int, spaces: dict[str, str]) -> list[Row]:
    """The columns of what an event changed; it lies in the space of its memory, if one is there."""
    return [
        {
            "memory": memory,
            "seq": seq,
            "place": place,
            "op": op,
            "before": None if before is None else clean_json(before),
            "after": None if after is None else clean_json(after),
            "space": spaces.get(memory, row["space"]),
        }
        for memory, place, op, before, after in row.get("changes", ())
    ]


def read_numbers(text: str) -> np.ndarray:
    """The numbers of a vector in an export."""
    import numpy as np

    return np.frombuffer(base64.b64decode(text, validate=True), "<f4")


ROW_IMPORTERS: dict[str, Callable[[RowImporter, Sequence[Row]], int]] = {
    "memory": RowImporter.memories,
    "edge": RowImporter.edges,
    "event": RowImporter.events,
    "vector": RowImporter.vectors,
    "cursor": RowImporter.cursors,
}
