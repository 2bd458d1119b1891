"""Everything out and in again, row by row, as JSON values: export, import, and what salvage is made
of.

Taking in is idempotent: what is already there is left alone, so that importing twice adds nothing.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from reverie.core.errors import BadInput, ReverieError
from reverie.storage.sqlite.read_queries import EVENT_COLUMNS
from reverie.storage.sqlite.row_codec import (
    COLUMNS,
    memory_from_dict,
    memory_to_dict,
    to_event,
    to_json,
    to_memory,
)
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


def dump_rows(db: sqlite3.Connection, log: bool = True) -> Iterator[Row]:
    """Memories, edges, events with their changes, vectors; each in a stable order. Without `log`,
    no events.
    """
    place = "num" if log else "id"
    for row in db.execute(f"select {COLUMNS} from memory order by {place}"):
        yield {"type": "memory", **memory_to_dict(to_memory(row))}
    for src, rel, dst, weight in db.execute(
        "select src, rel, dst, weight from edge order by src, rel, dst"
    ):
        yield {"type": "edge", "src": src, "rel": rel, "dst": dst, "weight": weight}
    for row in db.execute(f"select {EVENT_COLUMNS} from event order by seq") if log else ():
        yield to_event_row(db, row)
    for id, model, hash, vec in db.execute(VECTORS.format(place=place)):
        yield {
            "type": "vector",
            "id": id,
            "model": model,
            "hash": hash.hex(),
            "vec": base64.b64encode(vec).decode(),
        }
    for name, seq in db.execute("select name, seq from cursor order by name") if log else ():
        yield {"type": "cursor", "name": name, "seq": seq}


def to_event_row(db: sqlite3.Connection, row: tuple[Any, ...]) -> Row:
    """An event with what it changed, its JSON kept as text so that it comes back the same to the
    letter.
    """
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


def load_rows(db: sqlite3.Connection, rows: Iterable[Row]) -> dict[str, int]:
    """Take rows in; returns how many of each type were new."""
    taker = RowImporter(db)
    new: dict[str, int] = {}
    for row in rows:
        if (what := import_row(taker, row)) is not None:
            new[what] = new.get(what, 0) + 1
    taker.finish()
    return new


BAD_ROW_ERRORS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    ReverieError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)  # what a row that was cut or altered leads to


def import_row(taker: RowImporter, row: Any) -> str | None:
    """Take one row in, all of it or nothing: its type if it was new, "refused" if it cannot be read
    (CC-9).
    """
    if not isinstance(row, dict):
        return REFUSED
    take = ROW_IMPORTERS.get(row.get("type", ""))
    if take is None:
        return None
    taker.db.execute("savepoint row")
    try:
        new = take(taker, row)
    except BAD_ROW_ERRORS:
        taker.db.execute("rollback to row")
        return REFUSED
    finally:
        taker.db.execute("release row")
    return str(row["type"]) if new else None


class RowImporter:
    """One import: how numbers of events there became numbers here."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.empty = db.execute("select count(*) from event").fetchone()[0] == 0
        self.last = db.execute("select coalesce(max(seq), 0) from event").fetchone()[0]
        self.caught_up = [
            name for name, seq in db.execute("select name, seq from cursor") if seq >= self.last
        ]

    def memory(self, row: Row) -> bool:
        """A memory that is not there yet, with its words; its tag edges come as edges too."""
        if self.db.execute("select 1 from memory where id = ?", (row["id"],)).fetchone():
            return False
        memory = memory_from_dict(row)
        if not all(
            isinstance(value, str) for value in (memory.id, memory.text, memory.space, memory.kind)
        ):
            raise BadInput(f"{memory.id!r} is not a memory")
        insert_memory(self.db, memory)
        return True

    def edge(self, row: Row) -> bool:
        """An edge between what is there. Tags are known from the memory itself, which may have lost
        one since.
        """
        key = (row["src"], row["rel"], row["dst"])
        if row["rel"] == "has_tag":
            return False
        for end in (row["src"], row["dst"]):
            if (
                end.startswith("mem_")
                and not self.db.execute("select 1 from memory where id = ?", (end,)).fetchone()
            ):
                raise BadInput(f"{end} is not there")
        known = self.db.execute(
            "select 1 from edge where src = ? and rel = ? and dst = ?", key
        ).fetchone()
        if not known:
            self.db.execute(UPSERT_EDGE, (*key, row["weight"]))
        return not known

    def event(self, row: Row) -> bool:
        """An event with its changes; under its own number in an empty store, else at the end of the
        log.
        """
        payload = to_json(row["payload"]) if row.get("payload") else None
        values = (row["at"], row["verb"], row["space"], row.get("session", ""), payload)
        if self.empty:
            self.db.execute(
                f"insert into event ({EVENT_COLUMNS}) values (?, ?, ?, ?, ?, ?)",
                (row["seq"], *values),
            )
            seq = row["seq"]
        elif self.known(values, row.get("changes", ())):
            return False
        else:
            seq = self.db.execute(INSERT_EVENT, values).lastrowid
        for memory, place, op, before, after in row.get("changes", ()):
            self.db.execute(INSERT_CHANGE, (memory, seq, place, op, before, after))
        return True

    def known(self, values: tuple[Any, ...], changes: Sequence[Sequence[Any]]) -> bool:
        """Whether this event was here before: the same moment and words, and for a change the same
        memory.
        """
        at, verb, space, session, payload = values
        same = (
            "select 1 from event e where verb = ? and at = ? and space = ? and session = ? and payload is ? "
            "and seq <= ?"
        )
        args: tuple[Any, ...] = (verb, at, space, session, payload, self.last)
        if changes:
            same += " and exists (select 1 from change c where c.seq = e.seq and c.memory = ?)"
            args = (*args, changes[0][0])
        return self.db.execute(same + " limit 1", args).fetchone() is not None

    def vector(self, row: Row) -> bool:
        """A vector of a memory that has none of this model."""
        found = self.db.execute("select num from memory where id = ?", (row["id"],)).fetchone()
        known = "select 1 from vector where memory = ? and model = ?"
        if not found or self.db.execute(known, (found[0], row["model"])).fetchone():
            return False
        text = self.db.execute("select text from memory where num = ?", found).fetchone()[0]
        hash, vec = bytes.fromhex(row["hash"]), base64.b64decode(row["vec"], validate=True)
        if hash != fingerprint_text(text):  # the memory here says something else
            return False
        self.db.execute(
            "insert into vector (memory, model, hash, vec) values (?, ?, ?, ?)",
            (found[0], row["model"], hash, vec),
        )
        self.db.execute(HAS_VECTOR, (found[0], row["model"]))
        return True

    def cursor(self, row: Row) -> bool:
        """How far the readers had come, if the log is theirs."""
        if self.empty:
            self.db.execute(
                "insert or ignore into cursor (name, seq) values (?, ?)", (row["name"], row["seq"])
            )
        return bool(self.empty)

    def finish(self) -> None:
        """What was learned from there need not be learned from again here."""
        last = self.db.execute("select coalesce(max(seq), 0) from event").fetchone()[0]
        for name in self.caught_up if not self.empty else ():
            self.db.execute("update cursor set seq = ? where name = ?", (last, name))


ROW_IMPORTERS: dict[str, Callable[[RowImporter, Row], bool]] = {
    "memory": RowImporter.memory,
    "edge": RowImporter.edge,
    "event": RowImporter.event,
    "vector": RowImporter.vector,
    "cursor": RowImporter.cursor,
}
