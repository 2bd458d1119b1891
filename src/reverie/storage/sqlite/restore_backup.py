"""A backup into a database that is in use: what it held then is what the database holds from now
on.

The copy is made ready beside the database, brought to the present schema and checked; then SQLite
writes it over the database's pages in one transaction, so that other processes see all of it or
nothing, and an interrupt leaves what was there. What was there is kept first, within that
transaction: whatever anybody was told is written stands in one of the two. The generation is a new
one: whoever has columns in memory loads them afresh.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from reverie.core.clock import ticks
from reverie.core.errors import BadInput, StoreBusy, StoreDamaged
from reverie.storage.sqlite.connection import translate_error
from reverie.storage.sqlite.integrity_checks import verify_database
from reverie.storage.sqlite.schema_migration import migrate

MAX_WAIT = 30.0  # seconds for others to end what they are writing


def restore_database(path: str, source: Path, keep: Callable[[], None]) -> None:
    """Make the database at `path` what `source` is. `keep` copies what it was, while nobody else
    can write.

    Raises BadInput for what is no backup; then nothing is altered and `keep` was not called.
    """
    half = Path(path).with_name(f"{Path(path).name}.restoring")
    half.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(half, isolation_level=None)) as ready:
            with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old:
                check_backup_source(old, source)
                old.backup(ready)
            migrate(ready)
            if broken := [
                problem for problem in verify_database(ready, repair=True) if not problem.repaired
            ]:
                raise StoreDamaged(
                    f"{source} is damaged ({broken[0].message}). Nothing was altered; try an older one"
                )
            overwrite_database(path, ready, keep)
    except sqlite3.Error as err:
        raise translate_error(err, path) from err
    finally:
        for tail in ("", "-wal", "-shm", "-journal"):
            half.with_name(half.name + tail).unlink(missing_ok=True)


def overwrite_database(path: str, ready: sqlite3.Connection, keep: Callable[[], None]) -> None:
    """Write a database over another one.

    SQLite takes the write lock with the first page and lets go of it with the last, so pages go one
    by one: `keep` is called between the first two. What is then written to `ready` goes along, also
    where its page has gone already.
    """
    until, kept = ticks() + MAX_WAIT, False

    def between(status: int, _left: int, _pages: int) -> None:
        nonlocal kept
        if status != sqlite3.SQLITE_OK:
            if not kept and ticks() > until:
                raise StoreBusy
        elif not kept:
            kept = True
            keep()
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                ready.execute(
                    "insert or replace into meta (name, value) values ('generation', ?)",
                    (next_generation(db),),
                )

    with closing(sqlite3.connect(path, isolation_level=None, timeout=1.0)) as db:
        ready.backup(db, pages=1, progress=between, sleep=0.01)


def check_backup_source(old: sqlite3.Connection, source: Path) -> None:
    """Refuse what is not one of Reverie's."""
    try:
        tables = {
            name for (name,) in old.execute("select name from sqlite_master where type = 'table'")
        }
    except sqlite3.DatabaseError as err:
        raise BadInput(f"{source} is no backup of Reverie's: {err}") from err
    if not {"memory", "event", "edge", "change"} <= tables:
        raise BadInput(f"{source} is no backup of Reverie's. `reverie backup` makes them")


def next_generation(db: sqlite3.Connection) -> str:
    """A generation that no process has seen of this database."""
    row = db.execute("select value from meta where name = 'generation'").fetchone()
    return str(int(row[0]) + 1 if row else 1)
