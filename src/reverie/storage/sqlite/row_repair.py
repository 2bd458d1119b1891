"""What a damaged file lost, taken from its backups and brought up to date from its own history.

A backup holds a row as it was that day; what was done to a memory since then stands in `change`,
and is done again. What no backup has is named, one by one: a memory whose history is there without
it, an event whose number is missing. A purge deletes both, so it is never told of what was purged.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from reverie.storage import Problem
from reverie.storage.row_checksums import EVENT, MEMORY, SummedTable, is_whole_row
from reverie.storage.row_codec import FIELDS, from_json, from_plain, to_column, to_json
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import connect_read_only, fetch_value
from reverie.storage.sqlite.sealed_rows import find_altered_rows, seal_rows
from reverie.storage.sqlite.write_changes import refresh_derived

TOLD = "told_lost"  # in `meta`: ids of memories that no repair can bring back
# Losses that are named one by one.
MAX_NAMED = 50
LOST_MEMORIES = """
    select c.memory, e.space from change c left join event e on e.seq = c.seq
    where c.op = 'add' and not exists (select 1 from memory m where m.id = c.memory)
    order by c.seq, c.place
"""
GAPS = """
    select seq + 1, following - 1
    from (select seq, lead(seq) over (order by seq) as following from event)
    where following > seq + 1
"""
# History points to its event; one that is lost leaves its number, and when it was at the earliest.
STAND_IN = """
    insert into event (seq, at, verb, space)
    select c.seq, coalesce((select e.at from event e where e.seq < c.seq
                            order by e.seq desc limit 1), 0.0), 'lost', ''
    from (select distinct seq from change) c where c.seq not in (select seq from event)
"""
LATER_CHANGES = """
    select after from change
    where memory = ? and seq > ? and op in ('revise', 'retire') order by seq, place
"""


@contextmanager
def open_backups(paths: Sequence[Path]) -> Iterator[list[Connection]]:
    """The backups that can be read at all, in the order given."""
    with ExitStack() as stack:
        found = []
        for path in paths:
            with suppress(*database_library.Error, OSError):
                key = database_library.find_database_key(path)
                backup = stack.enter_context(connect_read_only(path, immutable=True, key=key))
                backup.execute("select count(*) from memory").fetchone()
                found.append(backup)
        yield found


def read_backup_row(
    backup: Connection, table: SummedTable, column: str, value: object
) -> tuple[Any, ...] | None:
    """A row of a backup as it was written; None without one, or if it is damaged there too."""
    has_checksums = any(
        name == "checksum" for _, name, *_ in backup.execute(f"pragma table_info({table.name})")
    )
    stored = "checksum" if has_checksums else "null"
    sql = f"select {stored}, {table.key}, {table.columns} from {table.name} where {column} = ?"
    try:
        row = backup.execute(sql, (value,)).fetchone()
    except database_library.Error:
        return None
    return row[1:] if row and is_whole_row(row[0], row[2:]) else None


def restore_altered_rows(db: Connection, backups: Sequence[Connection]) -> Iterator[Problem]:
    """Put rows that are not what was written back to what they were."""
    # An id whose letters are bytes now is the same id, unless there is another row of it.
    db.execute("update or ignore memory set id = cast(id as text) where typeof(id) = 'blob'")
    db.execute("delete from memory where typeof(id) = 'blob'")
    for num, _, *values in list(find_altered_rows(db, MEMORY)):
        id = values[0]
        restored = restore_memory(db, id, backups) if isinstance(id, str) else False
        # Else it stays as it is: most of it may be right.
        seal_rows(db, MEMORY, [num])
        yield Problem("memories", tell_row(f"{id} (number {num})", restored), restored)
    for seq, _, *values in list(find_altered_rows(db, EVENT)):
        restored = restore_event(db, seq, values, backups)
        seal_rows(db, EVENT, [seq])
        yield Problem("history", tell_row(f"event {seq}", restored), restored)


def tell_row(name: str, restored: bool) -> str:
    """What became of a row that was not what was written."""
    if restored:
        return f"{name} was not what was written; it came back from a backup and the log"
    return f"{name} is not what was written, and no backup has it; it stays as it is: look at it"


def restore_memory(db: Connection, id: str, backups: Sequence[Connection]) -> bool:
    """Make a memory what the newest backup that has it says, and what was done to it since then.

    False if no backup has it whole.
    """
    for backup in backups:
        row = read_backup_row(backup, MEMORY, "id", id)
        if row is None:
            continue
        values = dict(zip(FIELDS, row[1:], strict=True))
        last = fetch_value(backup, "select coalesce(max(seq), 0) from event")
        for (after,) in db.execute(LATER_CHANGES, (id, last)).fetchall():
            for name, value in (from_json(after) or {}).items():
                if name in values:
                    values[name] = to_column(name, from_plain(name, value))
        write_memory_row(db, id, values)
        return True
    return False


def write_memory_row(db: Connection, id: str, values: dict[str, Any]) -> None:
    """Write a memory's row over the one that is there, or a new one, with what is derived of it."""
    num = fetch_value(db, "select num from memory where id = ?", id)
    if num is None:
        marks = ", ".join("?" * len(values))
        names = ", ".join(values)
        done = db.execute(f"insert into memory ({names}) values ({marks})", [*values.values()])
        num = done.lastrowid
    else:
        sets = ", ".join(f"{name} = ?" for name in values)
        db.execute(f"update memory set {sets} where num = ?", (*values.values(), num))
    seal_rows(db, MEMORY, [num])
    with suppress(ValueError, TypeError, AttributeError):
        refresh_derived(db, num, FIELDS)


def restore_event(
    db: Connection, seq: int, values: Sequence[Any], backups: Sequence[Connection]
) -> bool:
    """Make an event what a backup says. False if none has it.

    A number may have been given twice, before and after a backup was put back: of the same event
    something at least is the same.
    """
    for backup in backups:
        row = read_backup_row(backup, EVENT, "seq", seq)
        if row and any(old == new for old, new in zip(row[1:], values, strict=True) if old):
            sets = ", ".join(f"{name} = ?" for name in EVENT.columns.split(", "))
            db.execute(f"update event set {sets} where seq = ?", (*row[1:], seq))
            return True
    return False


def restore_rows(db: Connection, paths: Sequence[Path]) -> Iterator[Problem]:
    """Bring back altered rows, and memories that are gone, of a file that is otherwise whole."""
    with open_backups(paths) as backups:
        yield from restore_altered_rows(db, backups)
        for id, _ in find_lost_memories(db):
            if restore_memory(db, id, backups):
                message = f"{id} was gone; it came back from a backup and the log"
                yield Problem("memories", message, repaired=True)
        if find_lost_memories(db):
            yield from name_losses(db)


def restore_lost_rows(db: Connection, backups: Sequence[Connection]) -> Iterator[Problem]:
    """Take from the backups what the file lost, and name what none of them has.

    Memories that only a backup knows are taken too: a purge would have erased them there.
    """
    events = sum(take_missing(db, backup, "event") for backup in backups)
    for backup in backups:
        take_missing(db, backup, "change")
    came = []
    for backup in backups:
        with suppress(*database_library.Error):
            for (id,) in backup.execute("select id from memory order by num").fetchall():
                known = fetch_value(db, "select 1 from memory where id = ?", id)
                if known is None and restore_memory(db, id, backups):
                    came.append(id)
    if came or events:
        message = f"{len(came)} memories and {events} events came from the backups"
        # What was done to them since then is known as far as the log could be read.
        message += f": {', '.join(came)}" if came else ""
        yield Problem("file", message, repaired=True)
    yield from name_losses(db)
    yield from name_gaps(db)
    db.execute(STAND_IN)


def take_missing(db: Connection, backup: Connection, table: str) -> int:
    """Insert the rows of a backup's table whose key is not there. Returns how many came."""
    taken = 0
    # As far as the backup can be read.
    with suppress(*database_library.Error):
        names = [name for _, name, *_ in backup.execute(f"pragma table_info({table})")]
        columns, marks = ", ".join(names), ", ".join("?" * len(names))
        sql = f"insert or ignore into {table} ({columns}) values ({marks})"
        for row in backup.execute(f"select {columns} from {table}"):
            taken += db.execute(sql, row).rowcount
    return taken


def read_told(db: Connection) -> list[str]:
    """Ids of lost memories that were told of already; none if that note is damaged."""
    with suppress(ValueError):
        told: list[str] = from_json(fetch_value(db, "select value from meta where name = ?", TOLD))
        return told or []
    return []


def find_lost_memories(db: Connection) -> list[tuple[str, str]]:
    """(id, space) of memories whose history is there without them, unless that was told already."""
    told = set(read_told(db))
    return [(id, space or "") for id, space in db.execute(LOST_MEMORIES) if id not in told]


def accept_losses(db: Connection) -> list[tuple[str, str]]:
    """Find lost memories, and tell of them no more; what `find_lost_memories` found."""
    lost = find_lost_memories(db)
    if lost:
        told = read_told(db)
        db.execute(
            "insert or replace into meta (name, value) values (?, ?)",
            (TOLD, to_json([*told, *(id for id, _ in lost)])),
        )
    return lost


def name_losses(db: Connection) -> Iterator[Problem]:
    """What could not be restored: memories with a history and without a row, numbers of events."""
    # Told once: nothing can be done about them, and later damage must not hide among them.
    lost = accept_losses(db)
    for id, space in lost[:MAX_NAMED]:
        where = f" in {space}" if space else ""
        yield Problem("memories", f"{id}{where} could not be restored: no backup has it")
    if len(lost) > MAX_NAMED:
        yield Problem("memories", f"and {len(lost) - MAX_NAMED} more could not be restored")


def name_gaps(db: Connection) -> Iterator[Problem]:
    """The numbers of events that are missing."""
    for first, last in db.execute(GAPS).fetchall():
        numbers = f"event {first}" if first == last else f"events {first} to {last}"
        yield Problem("history", f"{numbers} could not be restored: no backup has them")
