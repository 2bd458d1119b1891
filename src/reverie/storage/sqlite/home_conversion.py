"""Encrypting the databases of a home, or decrypting them, all at once.

Each is written anew beside the old one, with the key it shall have, and compared with it; then
`switch` writes or removes `encryption.json`, and from that moment on the copies are the databases
(`home_gate`). A conversion that is killed before has changed nothing; one that is killed after is
finished by whoever opens the home next. Nobody else has the home open meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from reverie.core.atomic_file import create_private_file, sync_folder
from reverie.core.clock import sleep, ticks
from reverie.core.errors import StoreBusy, StoreDamaged, StoreError
from reverie.core.file_blanking import erase_file
from reverie.core.file_lock import lock_open_file
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import translate_error
from reverie.storage.sqlite.database_library import (
    DATABASE_NAME,
    is_encrypted_database,
    is_plain_database,
)
from reverie.storage.sqlite.home_gate import (
    CONVERTED,
    PENDING_FILE,
    POLL_SECONDS,
    finish_conversion,
    list_databases,
    open_lock_file,
)

ALONE_SECONDS = 20.0  # that others have to close the home
LIST_SCHEMA = "select type, name, sql from sqlite_master order by type, name"
LIST_TABLES = "select name from sqlite_master where type = 'table' and rootpage > 0 order by name"

Progress = Callable[[str, int, int | None], object]


class ConversionReport(NamedTuple):
    """What a conversion did with the databases of a home."""

    converted: tuple[Path, ...] = ()
    # Copies that could not be read, and damaged files that a repair put aside: they are as they
    # were, and readable by anybody if they were so before.
    left: tuple[Path, ...] = ()


@contextmanager
def alone_in_home(home: Path, seconds: float = ALONE_SECONDS) -> Iterator[None]:
    """A home that no other process has open, and none can open, within the block.

    StoreBusy if others do not close it in time; nothing is changed then.
    """
    file = open_lock_file(home)
    end = ticks() + seconds
    try:
        while file is not None:
            try:
                lock_open_file(file)
                break
            except OSError:
                if ticks() > end:
                    raise StoreBusy(
                        "Other processes have this memory open: an agent's session, the terminal "
                        "or the web page. Nothing was changed. End them and repeat the command"
                    ) from None
                sleep(POLL_SECONDS)
        yield
    finally:
        if file is not None:
            os.close(file)


def convert_databases(
    home: Path,
    old_key: bytes | None,
    new_key: bytes | None,
    switch: Callable[[], None],
    progress: Progress,
) -> ConversionReport:
    """Give every database of a home another key, or none, in one step.

    For whoever is alone in the home. `switch` makes it so, by writing or removing
    `encryption.json`. Raises StoreDamaged if the home's own database cannot be read whole; then
    nothing was changed.
    """
    finish_conversion(home)  # of one that was killed
    create_private_file(home / PENDING_FILE)
    sync_folder(str(home))
    is_old = is_plain_database if old_key is None else is_encrypted_database
    converted, left = [], []
    try:
        olds = [path for path in list_databases(home) if is_old(path)]
        for done, path in enumerate(olds):
            progress(f"converting {path.name}", done, len(olds))
            try:
                write_converted_copy(path, old_key, new_key)
            except StoreDamaged:
                if path.name == DATABASE_NAME:
                    raise
                left.append(path)
            else:
                converted.append(path)
        switch()
    finally:
        # Before the switch this takes the copies away, after it they get their places.
        finish_conversion(home)
    damaged = sorted(home.glob(f"{DATABASE_NAME}.damaged-*"))
    # An index that could not be read is made again when it is needed.
    return ConversionReport(tuple(converted), (*filter(Path.exists, left), *damaged))


def write_converted_copy(path: Path, old_key: bytes | None, new_key: bytes | None) -> None:
    """Write a whole copy of a database beside it, and flush it to the disk.

    StoreDamaged if the database cannot be read, or its copy is not what it is.
    """
    half = path.with_name(f"{path.name}.part")
    erase_file(half)
    create_private_file(half)
    try:
        with closing(open_alone(path, old_key)) as old:
            contents = list_contents(old)
        database_library.export_database(path, old_key, half, new_key)
        with closing(database_library.connect(half, new_key)) as new:
            check_copy(new, contents, path)
    except database_library.Error as err:
        raise translate_error(err, str(path)) from err
    with half.open("r+b") as file:
        os.fsync(file.fileno())
    half.replace(path.with_name(f"{path.name}{CONVERTED}"))
    sync_folder(str(path.parent))


def open_alone(path: Path, key: bytes | None) -> Connection:
    """A connection to a database whose journal is empty and gone: all of it is in one file.

    StoreBusy if a process has it open that does not know of `home_gate`: an older Reverie, or
    another program.
    """
    db = database_library.connect(path, key, timeout=ALONE_SECONDS / 4)
    try:
        db.execute("pragma journal_mode = delete").fetchone()
        db.execute("begin exclusive")
        db.execute("rollback")
    except database_library.Error as err:
        db.close()
        if isinstance(translate_error(err, str(path)), StoreBusy):
            raise StoreBusy(
                f"Another program has {path} open. Nothing was changed. End it and repeat the "
                "command"
            ) from err
        raise
    return db


def list_contents(db: Connection) -> tuple[list[tuple[str, ...]], list[tuple[str, int]], int]:
    """By which a copy is compared: the schema, the number of rows of each table, and the step that
    the schema is at.
    """
    tables = [name for (name,) in db.execute(LIST_TABLES).fetchall()]
    counts = [
        (name, db.execute(f'select count(*) from "{name}"').fetchone()[0])
        for name in tables
        # What the planner gathered is gathered anew; `sqlite_sequence` comes by itself.
        if not name.startswith("sqlite_stat")
    ]
    schema = [row for row in db.execute(LIST_SCHEMA).fetchall() if not row[1].startswith("sqlite_")]
    return schema, counts, db.execute("pragma user_version").fetchone()[0]


def check_copy(new: Connection, contents: object, path: Path) -> None:
    """Raise StoreDamaged unless a copy holds what its original does and is whole."""
    message = new.execute("pragma integrity_check(1)").fetchone()[0]
    if message != "ok":
        raise StoreDamaged(
            f"{path} is damaged ({message}). Repair it first: reverie data verify --repair"
        )
    if list_contents(new) != contents:
        raise StoreError(f"The copy of {path} is not what that is. Nothing was changed")
