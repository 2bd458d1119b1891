"""A backup into a database that is in use: what it held then is what the database holds from now on.

The copy is made ready beside the database, brought to the present schema and checked; then SQLite writes it over the
database's pages in one transaction, so that other processes see all of it or nothing, and an interrupt leaves what was
there. The generation is a new one: whoever has columns in memory loads them afresh.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from reverie.errors import BadInput, StoreDamaged
from reverie.store.sqlite.check import verify
from reverie.store.sqlite.connection import translated
from reverie.store.sqlite.migrate import migrate

WAIT = 30.0    # seconds for others to end what they are writing


def put_back(path: str, source: Path) -> None:
    """Make the database at `path` what `source` is. Raises BadInput for what is no backup; then nothing is altered."""
    half = Path(path).with_name(f"{Path(path).name}.restoring")
    half.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(half, isolation_level=None)) as ready:
            with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old:
                checked_source(old, source)
                old.backup(ready)
            migrate(ready)
            if broken := [problem for problem in verify(ready, repair=True) if not problem.repaired]:
                raise StoreDamaged(f"{source} is damaged ({broken[0].message}). Nothing was altered; try an older one")
            with closing(sqlite3.connect(path, isolation_level=None, timeout=WAIT)) as db:
                ready.execute("insert or replace into meta (name, value) values ('generation', ?)", (following(db),))
                ready.backup(db)
    except sqlite3.Error as err:
        raise translated(err, path) from err
    finally:
        for tail in ("", "-wal", "-shm", "-journal"):
            half.with_name(half.name + tail).unlink(missing_ok=True)


def checked_source(old: sqlite3.Connection, source: Path) -> None:
    """Refuse what is not one of Reverie's."""
    try:
        tables = {name for name, in old.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.DatabaseError as err:
        raise BadInput(f"{source} is no backup of Reverie's: {err}") from err
    if not {"memory", "event", "edge", "change"} <= tables:
        raise BadInput(f"{source} is no backup of Reverie's. `reverie backup` makes them")


def following(db: sqlite3.Connection) -> str:
    """A generation that no process has seen of this database."""
    row = db.execute("select value from meta where name = 'generation'").fetchone()
    return str(int(row[0]) + 1 if row else 1)
