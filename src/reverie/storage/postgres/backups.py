"""A tenant's content as a file of the embedded backend: for copies, backups and restoring them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core.atomic_file import create_private_file
from reverie.core.errors import BadInput, StoreDamaged
from reverie.storage import GENERATION
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.row_import import load_rows
from reverie.storage.postgres.write_changes import SET_META, bump_generation
from reverie.storage.sqlite import SqliteStore, database_library

if TYPE_CHECKING:
    from reverie.storage.sqlite.code_index import SqliteCodeIndex

CANONICAL_TABLES = ("memory", "edge", "event", "change", "cursor", "meta")
DERIVED_TABLES = ("posting", "vector", "pending")


class DetachedCopy(SqliteStore):
    """A copy in memory whose index of code is that of the store it was made of, only to be read."""

    def __init__(self, code: SqliteCodeIndex) -> None:
        super().__init__("sqlite://:memory:")
        self._borrowed_code = code

    @property
    def code(self) -> SqliteCodeIndex:
        """The index of code of the store that this is a copy of."""
        return self._borrowed_code


def fill_copy(copy: SqliteStore, rows: Iterable[dict[str, Any]], notes: dict[str, str]) -> None:
    """Put rows of a dump and the values of `meta` into an empty store."""
    copy.load(rows)
    for name, value in notes.items():
        copy.set_meta(name, value)


def write_backup(target: Path, rows: Iterable[dict[str, Any]], notes: dict[str, str]) -> None:
    """Write a file of the embedded backend; whole or not at all."""
    if target.exists():
        raise BadInput(f"{target} exists already; choose another name")
    half = target.with_name(target.name + ".part")
    half.unlink(missing_ok=True)
    create_private_file(half)
    try:
        copy = SqliteStore(f"sqlite:///{half}")
        try:
            fill_copy(copy, rows, notes)
            # One file, whole by itself.
            copy.connections.checkpoint()
            copy.connections.writer.execute("pragma journal_mode = delete")
        finally:
            copy.close()
        half.replace(target)
    finally:
        for tail in ("", "-wal", "-shm", "-journal"):
            half.with_name(half.name + tail).unlink(missing_ok=True)


def read_notes(db: TenantConnection) -> dict[str, str]:
    """The values of `meta` by name."""
    return dict(db.fetch_rows("select name, value from meta where tenant = %(tenant)s"))


def open_backup(source: Path, folder: Path) -> SqliteStore:
    """A copy of a backup, migrated and checked, in a folder.

    Raises BadInput for what is no backup and StoreDamaged for a damaged one.
    """
    from reverie.storage.sqlite.connection import connect_read_only, translate_error
    from reverie.storage.sqlite.restore_backup import check_backup_source

    ready = folder / "restoring.db"
    create_private_file(ready)
    try:
        key = database_library.find_database_key(source)
        with connect_read_only(source, immutable=False, key=key) as old:
            check_backup_source(old, source)
            database_library.copy_database(old, key, ready, None)
    except database_library.Error as err:
        raise translate_error(err, str(source)) from err
    store = SqliteStore(f"sqlite:///{ready}")
    problems = [problem for problem in store.verify(repair=True) if not problem.repaired]
    if problems:
        store.close()
        raise StoreDamaged(
            f"{source} is damaged ({problems[0].message}). Nothing was altered; try an older one"
        )
    return store


def overwrite_tenant(db: TenantConnection, backup: SqliteStore) -> None:
    """Replace a tenant's content with that of a backup, inside the caller's transaction.

    Numbers of events go on from the higher of both, so no reader of the log mistakes one event for
    another that it has read.
    """
    kept = db.fetch_value(
        "select value from meta where tenant = %(tenant)s and name = %(g)s", g=GENERATION
    )
    for table in (*CANONICAL_TABLES, *DERIVED_TABLES):
        db.run(f"delete from {table} where tenant = %(tenant)s")
    load_rows(db, backup.dump())
    with backup.connections.reading() as old:
        notes = dict(old.execute("select name, value from meta"))
    for name, value in (notes | ({GENERATION: kept} if kept else {})).items():
        db.run(SET_META, name=name, value=value)
    bump_generation(db)
