"""Everything out and in again, row by row, as JSON values: for export, import and salvage.

Importing is idempotent: what is already there is left alone.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from sqlite3 import Connection
from typing import Any

from reverie.core.errors import BadInput, ReverieError
from reverie.storage.row_checksums import checksum_row
from reverie.storage.row_codec import (
    COLUMNS,
    memory_from_dict,
    memory_to_dict,
    to_event,
    to_json,
    to_memory,
)
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.reading import EVENT_COLUMNS
from reverie.storage.sqlite.row_repair import accept_losses
from reverie.storage.sqlite.write_changes import (
    HAS_VECTOR,
    INSERT_CHANGE,
    INSERT_EVENT,
    UPSERT_EDGE,
    insert_memory,
)
from reverie.text.tokenization import fingerprint_text

Row = dict[str, Any]

REFUSED = "refused"
VECTORS = """
    select m.id, v.model, v.hash, v.vec
    from vector v join memory m on m.num = v.memory
    order by m.{place}, v.model
"""


def dump_rows(db: Connection, log: bool = True) -> Iterator[Row]:
    """Memories, edges, events with their changes, vectors and cursors, each in a stable order.

    Without `log`, no events and no cursors, and memories by id.
    """
    place = "num" if log else "id"
    for row in db.execute(f"select {COLUMNS} from memory order by {place}"):
        yield {"type": "memory", **memory_to_dict(to_memory(row))}
    edges = "select src, rel, dst, weight from edge order by src, rel, dst"
    for src, rel, dst, weight in db.execute(edges):
        yield {
            "type": "edge",
            "src": src,
            "rel": rel,
            "dst": dst,
            "weight": weight,
        }
    if log:
        for row in db.execute(f"select {EVENT_COLUMNS} from event order by seq"):
            yield to_event_row(db, row)
    for id, model, hash, vec in db.execute(VECTORS.format(place=place)):
        yield {
            "type": "vector",
            "id": id,
            "model": model,
            "hash": hash.hex(),
            "vec": base64.b64encode(vec).decode(),
        }
    if log:
        for name, seq in db.execute("select name, seq from cursor order by name"):
            yield {
                "type": "cursor",
                "name": name,
                "seq": seq,
            }


def to_event_row(db: Connection, row: tuple[Any, ...]) -> Row:
    """An event with its changes, whose JSON stays text so that it comes back letter by letter."""
    event = to_event(row)
    changes = db.execute(
        "select memory, place, op, before, after from change where seq = ? order by place, memory",
        (event.seq,),
    ).fetchall()
    return {
        "type": "event",
        "seq": event.seq,
        "at": event.at,
        "verb": event.verb,
        "space": event.space,
        "session": event.session,
        "payload": dict(event.payload),
        "changes": changes,
    }


def load_rows(db: Connection, rows: Iterable[Row]) -> dict[str, int]:
    """Import rows; returns how many of each type were new, or "refused"."""
    importer = RowImporter(db)
    counts: dict[str, int] = {}
    for row in rows:
        outcome = import_row(importer, row)
        if outcome is not None:
            counts[outcome] = counts.get(outcome, 0) + 1
    importer.finish()
    return counts


def list_row_errors() -> tuple[type[Exception], ...]:
    """What a row that was cut off or altered leads to."""
    return (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        ReverieError,
        *database_library.IntegrityError,
        *database_library.InterfaceError,
        *database_library.ProgrammingError,
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
    importer.db.execute("savepoint row")
    try:
        is_new = import_typed(importer, row)
    except list_row_errors():
        importer.db.execute("rollback to row")
        return REFUSED
    finally:
        importer.db.execute("release row")
    return str(row["type"]) if is_new else None


class RowImporter:
    """One import into a database. Each method imports a row and returns True if it was new."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self.empty = fetch_value(db, "select count(*) from event") == 0
        self.last = fetch_value(db, "select coalesce(max(seq), 0) from event")
        self.caught_up = [
            name for name, seq in db.execute("select name, seq from cursor") if seq >= self.last
        ]

    def memory(self, row: Row) -> bool:
        """A memory with its words and tag edges, unless its id is there."""
        if self.has_memory(row["id"]):
            return False
        memory = memory_from_dict(row)
        texts = (memory.id, memory.text, memory.space, memory.kind)
        if not all(isinstance(value, str) for value in texts):
            raise BadInput(f"{memory.id!r} is not a memory")
        insert_memory(self.db, memory)
        return True

    def has_memory(self, id: str) -> bool:
        """True if there is a memory with this id."""
        return fetch_value(self.db, "select 1 from memory where id = ?", id) is not None

    def edge(self, row: Row) -> bool:
        """An edge between existing memories.

        Tag edges come with the memory itself, which may have lost the tag since.
        """
        key = (row["src"], row["rel"], row["dst"])
        if row["rel"] == "has_tag":
            return False
        for end in (row["src"], row["dst"]):
            if end.startswith("mem_") and not self.has_memory(end):
                raise BadInput(f"{end} is not there")
        sql = "select 1 from edge where src = ? and rel = ? and dst = ?"
        known = fetch_value(self.db, sql, *key)
        if not known:
            self.db.execute(UPSERT_EDGE, (*key, row["weight"]))
        return not known

    def event(self, row: Row) -> bool:
        """An event with its changes: under its own number in an empty log, else at the end."""
        payload = to_json(row["payload"]) if row.get("payload") else None
        values = (row["at"], row["verb"], row["space"], row.get("session", ""), payload)
        changes = row.get("changes", ())
        if self.empty:
            self.db.execute(
                f"insert into event ({EVENT_COLUMNS}, checksum) values (?, ?, ?, ?, ?, ?, ?)",
                (row["seq"], *values, checksum_row(values)),
            )
            # Cursors name events by number, so in an empty log they keep theirs.
            seq = row["seq"]
        elif self.has_event(values, changes):
            return False
        else:
            seq = self.db.execute(INSERT_EVENT, (*values, checksum_row(values))).lastrowid
        for memory, place, op, before, after in changes:
            self.db.execute(INSERT_CHANGE, (memory, seq, place, op, before, after))
        return True

    def has_event(
        self,
        values: tuple[Any, ...],
        changes: Sequence[Sequence[Any]],
    ) -> bool:
        """True if this event was here before the import: same values, same first changed memory."""
        at, verb, space, session, payload = values
        sql = (
            "select 1 from event e where verb = ? and at = ? and space = ? and session = ? "
            "and payload is ? and seq <= ?"
        )
        args: tuple[Any, ...] = (verb, at, space, session, payload, self.last)
        if changes:
            sql += " and exists (select 1 from change c where c.seq = e.seq and c.memory = ?)"
            args = (*args, changes[0][0])
        return fetch_value(self.db, sql + " limit 1", *args) is not None

    def vector(self, row: Row) -> bool:
        """A vector of a memory that has none of this model."""
        num = fetch_value(self.db, "select num from memory where id = ?", row["id"])
        known = "select 1 from vector where memory = ? and model = ?"
        if num is None or fetch_value(self.db, known, num, row["model"]):
            return False
        text = fetch_value(self.db, "select text from memory where num = ?", num)
        hash = bytes.fromhex(row["hash"])
        vec = base64.b64decode(row["vec"], validate=True)
        # The memory here may have another text by now.
        if hash != fingerprint_text(text):
            return False
        self.db.execute(
            "insert into vector (memory, model, hash, vec) values (?, ?, ?, ?)",
            (num, row["model"], hash, vec),
        )
        self.db.execute(HAS_VECTOR, (num, row["model"]))
        return True

    def cursor(self, row: Row) -> bool:
        """A reader's position, if the log was empty and is now the imported one."""
        if self.empty:
            self.db.execute(
                "insert or ignore into cursor (name, seq) values (?, ?)", (row["name"], row["seq"])
            )
        return bool(self.empty)

    def finish(self) -> None:
        """Move readers that were at the end of the log past the imported events.

        What was learned from those need not be learned again here.
        """
        # History of what was left out is no loss.
        accept_losses(self.db)
        if self.empty:
            return
        last = fetch_value(self.db, "select coalesce(max(seq), 0) from event")
        for name in self.caught_up:
            self.db.execute("update cursor set seq = ? where name = ?", (last, name))


ROW_IMPORTERS: dict[str, Callable[[RowImporter, Row], bool]] = {
    "memory": RowImporter.memory,
    "edge": RowImporter.edge,
    "event": RowImporter.event,
    "vector": RowImporter.vector,
    "cursor": RowImporter.cursor,
}
