"""Everything of a tenant out, row by row, as JSON values: for export and backups. What takes it in
again is `row_import`.

The rows are those of the embedded backend, so a home moves either way without loss.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from reverie.core.model import Edge
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.half_vectors import read_stored_numbers
from reverie.storage.postgres.reading import EVENT_COLUMNS
from reverie.storage.row_codec import COLUMNS, memory_to_dict, to_event, to_memory

Row = dict[str, Any]

PAGE = 1_000  # rows that are read at once
MEMORIES = f"""
    select {{place}}, {COLUMNS} from memory
    where tenant = %(tenant)s and {{place}} > %(after)s
    order by {{place}}
    limit {PAGE}
"""
EDGES = f"""
    select src, rel, dst, weight from edge
    where tenant = %(tenant)s and (src, rel, dst) > (%(src)s, %(rel)s, %(dst)s)
    order by src, rel, dst
    limit {PAGE}
"""
EVENTS = f"""
    select {EVENT_COLUMNS} from event
    where tenant = %(tenant)s and seq > %(after)s
    order by seq
    limit {PAGE}
"""
CHANGES = """
    select seq, memory, place, op, before, after from change
    where tenant = %(tenant)s and seq >= %(first)s and seq <= %(last)s
    order by seq, place, memory
"""
VECTORS = f"""
    select m.{{place}}, m.id, v.model, v.hash, halfvec_send(v.vec)
    from vector v join memory m on m.tenant = v.tenant and m.num = v.num
    where v.tenant = %(tenant)s and (m.{{place}}, v.model) > (%(after)s, %(model)s)
    order by m.{{place}}, v.model
    limit {PAGE}
"""


def dump_rows(db: TenantConnection, log: bool = True) -> Iterator[Row]:
    """Memories, edges, events with their changes, vectors and cursors, each in a stable order.

    Without `log`, no events and no cursors, and memories by id.
    """
    place, start = ("num", 0) if log else ("id", "")
    yield from dump_memories(db, place, start)
    yield from dump_edges(db)
    if log:
        yield from dump_events(db)
    yield from dump_vectors(db, place, start)
    if log:
        cursors = "select name, seq from cursor where tenant = %(tenant)s order by name"
        for name, seq in db.fetch_rows(cursors):
            yield {"type": "cursor", "name": name, "seq": seq}


def dump_memories(db: TenantConnection, place: str, after: Any) -> Iterator[Row]:
    """The memories in the order of this column."""
    while page := db.fetch_rows(MEMORIES.format(place=place), after=after):
        for _, *row in page:
            yield {"type": "memory", **memory_to_dict(to_memory(tuple(row)))}
        after = page[-1][0]


def dump_edges(db: TenantConnection) -> Iterator[Row]:
    """The edges by their key."""
    after = Edge("", "", "")
    while page := db.fetch_rows(EDGES, **after._asdict()):
        for row in page:
            after = Edge(*row)
            yield {"type": "edge", **after._asdict()}


def dump_events(db: TenantConnection) -> Iterator[Row]:
    """The events with their changes, whose JSON stays text: it comes back letter by letter."""
    after = 0
    while page := db.fetch_rows(EVENTS, after=after):
        first, after = page[0][0], page[-1][0]
        changes: dict[int, list[tuple[Any, ...]]] = {}
        for seq, *change in db.fetch_rows(CHANGES, first=first, last=after):
            changes.setdefault(seq, []).append(tuple(change))
        for row in page:
            event = to_event(row)
            yield {
                "type": "event",
                "seq": event.seq,
                "at": event.at,
                "verb": event.verb,
                "space": event.space,
                "session": event.session,
                "payload": dict(event.payload),
                "changes": changes.get(event.seq, []),
            }


def dump_vectors(db: TenantConnection, place: str, after: Any) -> Iterator[Row]:
    """The vectors in the order of this column of their memories."""
    model = ""
    while page := db.fetch_rows(VECTORS.format(place=place), after=after, model=model):
        for _, id, model, hash, data in page:
            yield {
                "type": "vector",
                "id": id,
                "model": model,
                "hash": hash.hex(),
                # As they are stored: what is imported again is the same to the bit.
                "vec": base64.b64encode(read_stored_numbers(data).tobytes()).decode(),
            }
        after = page[-1][0]
