"""Rows that are not what was written, taken from backups and brought up to date from the history.

A backup holds a row as it was that day; what was done to a memory since then stands in `change`,
and is done again. What no backup has is named, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from reverie.storage import Problem
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.sealed_rows import find_altered_rows, seal_rows
from reverie.storage.postgres.write_changes import (
    SET_META,
    clean_column,
    insert_memory,
    refresh_derived,
)
from reverie.storage.row_checksums import EVENT, MEMORY
from reverie.storage.row_codec import (
    FIELDS,
    from_json,
    from_plain,
    to_column,
    to_json,
    to_memory,
)

TOLD = "told_lost"  # in `meta`: ids of memories that no repair can bring back
# Losses that are named one by one.
MAX_NAMED = 50
META = "select value from meta where tenant = %(tenant)s and name = %(name)s"
LOST_MEMORIES = """
    select c.memory, c.space from change c
    where c.tenant = %(tenant)s and c.op = 'add'
      and not exists (select 1 from memory m where m.tenant = %(tenant)s and m.id = c.memory)
    order by c.seq, c.place
"""
LATER_CHANGES = """
    select after from change
    where tenant = %(tenant)s and memory = %(id)s and seq > %(seq)s and op in ('revise', 'retire')
    order by seq, place
"""


def find_lost_memories(db: TenantConnection) -> list[tuple[str, str]]:
    """(id, space) of memories whose history is there without them, unless that was told already."""
    told = set(from_json(db.fetch_value(META, name=TOLD)) or ())
    return [(id, space) for id, space in db.fetch_rows(LOST_MEMORIES) if id not in told]


def accept_losses(db: TenantConnection) -> list[tuple[str, str]]:
    """Find lost memories, and tell of them no more; what `find_lost_memories` found."""
    lost = find_lost_memories(db)
    if lost:
        told = from_json(db.fetch_value(META, name=TOLD)) or []
        db.run(SET_META, name=TOLD, value=to_json([*told, *(id for id, _ in lost)]))
    return lost


def restore_rows(db: TenantConnection, paths: Sequence[Path]) -> Iterator[Problem]:
    """Bring back altered rows, and memories that are gone, as far as the backups have them."""
    from reverie.storage.sqlite.row_repair import open_backups, tell_row

    with open_backups(paths) as backups:
        for num, _, *values in list(find_altered_rows(db, MEMORY)):
            id = values[0]
            restored = restore_memory(db, id, backups, num)
            # Else it stays as it is: most of it may be right.
            seal_rows(db, MEMORY, [num])
            yield Problem("memories", tell_row(f"{id} (number {num})", restored), restored)
        for seq, _, *values in list(find_altered_rows(db, EVENT)):
            restored = restore_event(db, seq, values, backups)
            seal_rows(db, EVENT, [seq])
            yield Problem("history", tell_row(f"event {seq}", restored), restored)
        for id, _ in find_lost_memories(db):
            if restore_memory(db, id, backups, None):
                message = f"{id} was gone; it came back from a backup and the log"
                yield Problem("memories", message, repaired=True)
        # Told once: nothing can be done about them, and later damage must not hide among them.
        lost = accept_losses(db)
        for id, space in lost[:MAX_NAMED]:
            yield Problem("memories", f"{id} in {space} could not be restored: no backup has it")
        if len(lost) > MAX_NAMED:
            yield Problem("memories", f"and {len(lost) - MAX_NAMED} more could not be restored")


def restore_memory(
    db: TenantConnection, id: str, backups: Sequence[Connection], num: int | None
) -> bool:
    """Make a memory what the newest backup that has it says, and what was done to it since then.

    `num` is None for one that is gone. False if no backup has it whole.
    """
    from reverie.storage.sqlite.connection import fetch_value
    from reverie.storage.sqlite.row_repair import read_backup_row

    for backup in backups:
        row = read_backup_row(backup, MEMORY, "id", id)
        if row is None:
            continue
        values = dict(zip(FIELDS, row[1:], strict=True))
        last = fetch_value(backup, "select coalesce(max(seq), 0) from event")
        for (after,) in db.fetch_rows(LATER_CHANGES, id=id, seq=last):
            for name, value in (from_json(after) or {}).items():
                if name in values:
                    values[name] = to_column(name, from_plain(name, value))
        write_memory_row(db, num, values)
        return True
    return False


def write_memory_row(db: TenantConnection, num: int | None, values: dict[str, Any]) -> None:
    """Write a memory's row over the one that is there, or a new one, with what is derived of it."""
    if num is None:
        insert_memory(db, to_memory(tuple(values[name] for name in FIELDS)))
        return
    sets = ", ".join(f"{name} = %({name})s" for name in values)
    cleaned = {name: clean_column(name, value) for name, value in values.items()}
    db.run(
        f"update memory set {sets} where tenant = %(tenant)s and num = %(num)s", num=num, **cleaned
    )
    seal_rows(db, MEMORY, [num])
    with suppress(ValueError, TypeError, AttributeError):
        refresh_derived(db, num, FIELDS)


def restore_event(
    db: TenantConnection, seq: int, values: Sequence[Any], backups: Sequence[Connection]
) -> bool:
    """Make an event what a backup says. False if none has it.

    Of the same event something at least is the same: numbers are given anew after a restore.
    """
    from reverie.storage.sqlite.row_repair import read_backup_row

    names = EVENT.columns.split(", ")
    for backup in backups:
        row = read_backup_row(backup, EVENT, "seq", seq)
        if row and any(old == new for old, new in zip(row[1:], values, strict=True) if old):
            sets = ", ".join(f"{name} = %({name})s" for name in names)
            db.run(
                f"update event set {sets} where tenant = %(tenant)s and seq = %(seq)s",
                seq=seq,
                **dict(zip(names, row[1:], strict=True)),
            )
            return True
    return False
