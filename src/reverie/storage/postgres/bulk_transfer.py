"""Everything of a tenant out and in again, row by row, as JSON values: for export and import.

The rows are those of the embedded backend, so a home moves either way without loss. Importing is
idempotent: what is already there is left alone.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import psycopg

from reverie.core.errors import BadInput, ReverieError
from reverie.core.model import Edge
from reverie.storage.postgres.connection import TenantConnection, clean_text
from reverie.storage.postgres.half_vectors import read_stored_numbers, to_half_vector
from reverie.storage.postgres.reading import EVENT_COLUMNS
from reverie.storage.postgres.row_repair import accept_losses
from reverie.storage.postgres.write_changes import (
    INSERT_CHANGE,
    clean_json,
    find_edge_space,
    insert_event_row,
    insert_memory,
    put_edge,
    put_vector,
)
from reverie.storage.row_codec import (
    COLUMNS,
    memory_from_dict,
    memory_to_dict,
    to_event,
    to_json,
    to_memory,
)
from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    import numpy as np

Row = dict[str, Any]

REFUSED = "refused"
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


def load_rows(db: TenantConnection, rows: Iterable[Row]) -> dict[str, int]:
    """Import rows; returns how many of each type were new, or "refused"."""
    importer = RowImporter(db)
    counts: dict[str, int] = {}
    for row in rows:
        outcome = import_row(importer, row)
        if outcome is not None:
            counts[outcome] = counts.get(outcome, 0) + 1
    importer.finish()
    return counts


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


def import_row(importer: RowImporter, row: Any) -> str | None:
    """Import one row, all of it or nothing.

    Returns its type if it was new, "refused" if it cannot be read, else None.
    """
    if not isinstance(row, dict):
        return REFUSED
    import_typed = ROW_IMPORTERS.get(row.get("type", ""))
    if import_typed is None:
        return None
    try:
        with importer.db.savepoint():
            is_new = import_typed(importer, row)
    except psycopg.errors.InsufficientPrivilege:
        raise  # the whole import is not allowed, and every row would be refused
    except BAD_ROW_ERRORS:
        return REFUSED
    return str(row["type"]) if is_new else None


class RowImporter:
    """One import into a tenant. Each method imports a row and returns True if it was new."""

    def __init__(self, db: TenantConnection) -> None:
        self.db = db
        last = "select coalesce(max(seq), 0) from event where tenant = %(tenant)s"
        self.last = db.fetch_value(last)
        self.empty: bool = self.last == 0
        readers = db.fetch_rows("select name, seq from cursor where tenant = %(tenant)s")
        self.caught_up = [name for name, seq in readers if seq >= self.last]

    def memory(self, row: Row) -> bool:
        """A memory with its words and tag edges, unless its id is there."""
        if self.find_memories([row["id"]]):
            return False
        memory = memory_from_dict(row)
        texts = (memory.id, memory.text, memory.space, memory.kind)
        if not all(isinstance(value, str) for value in texts):
            raise BadInput(f"{memory.id!r} is not a memory")
        for value in (*texts, memory.title):
            value.encode()  # half a surrogate pair: the file was cut off or altered
        insert_memory(self.db, memory)
        return True

    def find_memories(self, ids: Sequence[str]) -> dict[str, str]:
        """The spaces of those memories that are there, by id."""
        sql = "select id, space from memory where tenant = %(tenant)s and id = any(%(ids)s)"
        return dict(self.db.fetch_rows(sql, ids=list(ids)))

    def edge(self, row: Row) -> bool:
        """An edge between existing memories.

        Tag edges come with the memory itself, which may have lost the tag since.
        """
        edge = Edge(row["src"], row["rel"], row["dst"], row.get("weight", 1.0))
        if edge.rel == "has_tag":
            return False
        known = self.find_memories([edge.src, edge.dst])
        for end in (edge.src, edge.dst):
            if end.startswith("mem_") and end not in known:
                raise BadInput(f"{end} is not there")
        sql = """
            select 1 from edge
            where tenant = %(tenant)s and src = %(src)s and rel = %(rel)s and dst = %(dst)s
        """
        if self.db.fetch_value(sql, **edge._asdict()):
            return False
        put_edge(self.db, edge._replace(weight=row["weight"]), find_edge_space(self.db, edge, ""))
        return True

    def event(self, row: Row) -> bool:
        """An event with its changes: under its own number in an empty log, else at the end."""
        payload = clean_json(to_json(row["payload"])) if row.get("payload") else None
        texts = [clean_text(row["verb"]), clean_text(row["space"])]
        values = (row["at"], *texts, clean_text(row.get("session", "")), payload)
        changes = row.get("changes", ())
        if not self.empty and self.has_event(values, changes):
            return False
        # Cursors name events by number, so in an empty log they keep theirs.
        seq = insert_event_row(self.db, values, row["seq"] if self.empty else None)
        spaces = self.find_memories([change[0] for change in changes]) if changes else {}
        for memory, place, op, before, after in changes:
            self.db.run(
                INSERT_CHANGE,
                memory=memory,
                seq=seq,
                place=place,
                op=op,
                before=None if before is None else clean_json(before),
                after=None if after is None else clean_json(after),
                space=spaces.get(memory, row["space"]),
            )
        return True

    def has_event(
        self,
        values: tuple[Any, ...],
        changes: Sequence[Sequence[Any]],
    ) -> bool:
        """True if this event was here before the import: same values, same first changed memory."""
        names = ("at", "verb", "space", "session", "payload")
        sql = """
            select 1 from event e
            where e.tenant = %(tenant)s and e.verb = %(verb)s and e.at = %(at)s
              and e.space = %(space)s and e.session = %(session)s
              and e.payload is not distinct from %(payload)s and e.seq <= %(last)s
        """
        if changes:
            sql += """
              and exists (select 1 from change c
                          where c.tenant = %(tenant)s and c.seq = e.seq and c.memory = %(memory)s)
            """
        asked = dict(zip(names, values, strict=True))
        memory = changes[0][0] if changes else ""
        return bool(self.db.fetch_value(sql + " limit 1", **asked, last=self.last, memory=memory))

    def vector(self, row: Row) -> bool:
        """A vector of a memory that has none of this model."""
        sql = """
            select m.num, m.text, m.space from memory m
            where m.tenant = %(tenant)s and m.id = %(id)s
              and not exists (select 1 from vector v
                              where v.tenant = %(tenant)s and v.num = m.num
                                and v.model = %(model)s)
        """
        found = self.db.run(sql, id=row["id"], model=row["model"]).fetchone()
        if found is None:
            return False
        num, text, space = found
        hash = bytes.fromhex(row["hash"])
        numbers = read_numbers(row["vec"])
        # The memory here may have another text by now.
        if hash != fingerprint_text(text):
            return False
        put_vector(self.db, num, space, row["model"], hash, to_half_vector(numbers))
        return True

    def cursor(self, row: Row) -> bool:
        """A reader's position, if the log was empty and is now the imported one."""
        if self.empty:
            self.db.run(
                "insert into cursor (tenant, name, seq) values (%(tenant)s, %(name)s, %(seq)s) "
                "on conflict do nothing",
                name=row["name"],
                seq=row["seq"],
            )
        return self.empty

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


def read_numbers(text: str) -> np.ndarray:
    """The numbers of a vector in an export."""
    import numpy as np

    return np.frombuffer(base64.b64decode(text, validate=True), "<f4")


ROW_IMPORTERS: dict[str, Callable[[RowImporter, Row], bool]] = {
    "memory": RowImporter.memory,
    "edge": RowImporter.edge,
    "event": RowImporter.event,
    "vector": RowImporter.vector,
    "cursor": RowImporter.cursor,
}
