"""Restoring a backup into a database that is in use.

The copy is prepared beside the database, migrated and checked. Then SQLite writes it over the
database's pages in one transaction: other processes see all of it or nothing, and an interrupt
leaves the old content. That is copied first, within the same transaction, so that everything
acknowledged is in one of the two. The generation changes: whoever has columns in memory loads them
afresh.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

from reverie.core.atomic_file import create_private_file
from reverie.core.clock import ticks
from reverie.core.errors import BadInput, StoreBusy, StoreDamaged
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import connect_read_only, fetch_value, translate_error
from reverie.storage.sqlite.integrity_checks import verify_database
from reverie.storage.sqlite.schema_migration import migrate

MAX_WAIT = 30.0  # seconds for other processes to finish writing


def restore_database(
    path: str,
    key: bytes | None,
    source: Path,
    keep: Callable[[], None],
) -> None:
    """Make the database at `path`, which has this key, a copy of `source`, which may be plain.

    `keep` copies the old content, while nobody else can write. Raises BadInput for what is no
    backup, StoreDamaged for a damaged one; then nothing is changed and `keep` was not called.
    """
    half = Path(path).with_name(f"{Path(path).name}.restoring")
    half.unlink(missing_ok=True)
    create_private_file(half)
    try:
        source_key = database_library.key_of_file(source, key)
        with connect_read_only(source, immutable=False, key=source_key) as old:
            check_backup_source(old, source)
            database_library.copy_database(old, source_key, half, key)
        with closing(database_library.connect(half, key)) as ready:
            migrate(ready)
            problems = verify_database(ready, repair=True)
            unrepaired = [problem for problem in problems if not problem.repaired]
            if unrepaired:
                raise StoreDamaged(
                    f"{source} is damaged ({unrepaired[0].message}). "
                    "Nothing was altered; try an older one"
                )
            overwrite_database(path, key, ready, keep)
    except database_library.Error as err:
        raise translate_error(err, path) from err
    finally:
        for tail in ("", "-wal", "-shm", "-journal"):
            half.with_name(half.name + tail).unlink(missing_ok=True)


def overwrite_database(
    path: str,
    key: bytes | None,
    ready: Connection,
    keep: Callable[[], None],
) -> None:
    """Write a database over another one, calling `keep` under the write lock."""
    deadline = ticks() + MAX_WAIT
    kept = False

    # SQLite takes the write lock with the first page and releases it with the last, so pages go one
    # by one and `keep` is called between the first two. What is then written to `ready` goes along,
    # even if its page has been copied already.
    def after_page(
        status: int,
        _left: int,
        _pages: int,
    ) -> None:
        nonlocal kept
        if status != sqlite3.SQLITE_OK:
            if not kept and ticks() > deadline:
                raise StoreBusy
        elif not kept:
            kept = True
            keep()
            with closing(database_library.connect(path, key)) as db:
                ready.execute(
                    "insert or replace into meta (name, value) values ('generation', ?)",
                    (next_generation(db),),
                )

    with closing(database_library.connect(path, key, timeout=1.0)) as db:
        ready.backup(
            db,
            pages=1,
            progress=after_page,
            sleep=0.01,
        )


def check_backup_source(old: Connection, source: Path) -> None:
    """Raise BadInput unless this is a database of Reverie's."""
    list_tables = "select name from sqlite_master where type = 'table'"
    try:
        tables = {name for (name,) in old.execute(list_tables)}
    except database_library.DatabaseError as err:
        if database_library.is_encrypted_database(source):
            raise BadInput(
                f"{source} is no backup of Reverie's, or one that was encrypted with another key "
                "than this memory has. Restore it into a home that has its key: "
                "reverie data encrypt --recovery"
            ) from err
        raise BadInput(f"{source} is no backup of Reverie's: {err}") from err
    if not {"memory", "event", "edge", "change"} <= tables:
        raise BadInput(f"{source} is no backup of Reverie's. `reverie data backup` makes them")


def next_generation(db: Connection) -> str:
    """A generation of this database that no process has seen yet."""
    last = fetch_value(db, "select value from meta where name = 'generation'") or 0
    return str(int(last) + 1)
