"""A database beside the store that can be made again: opened at the first need, begun anew where it
is damaged.

A file that somebody deleted or replaced while we had it open is let go of at the next call, and the
one that is there now is taken.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import ClassVar, Self

from reverie.core.errors import StoreBusy, StoreDamaged, StoreError, StoreReadOnly
from reverie.storage.note_index_port import FileStamp, IndexedFile
from reverie.storage.sqlite.connection import SqliteConnections
from reverie.storage.sqlite.schema_migration import statements


class DerivedDatabase:
    """One such database. It is made when something is first written to it."""

    schema: ClassVar[Path]
    edition: ClassVar[int]  # of the schema and of what its rows mean: another one is another file
    emptying: ClassVar[tuple[str, ...]]  # statements that leave nothing in its tables

    def __init__(self, path: str) -> None:
        self.path = path
        self._opened: SqliteConnections | None = None
        self._which: tuple[int, int] | None = None  # device and inode of the file that is open
        self._lock = threading.RLock()

    @classmethod
    def beside(cls, store: str, what: str) -> Self:
        """The one of that name beside a store: in the cache beside the store's own database, or in
        memory like it.
        """
        path = Path(store)
        return cls(
            store
            if store == ":memory:"
            else str(path.parent / "cache" / f"{path.stem}-{what}-{cls.edition}.db")
        )

    def obsolete_files(self) -> list[Path]:
        """Its files of other editions: nobody reads them any more, and they hold what
        it held then.
        """
        path = Path(self.path)
        family = f"{escape(path.stem.rpartition('-')[0])}-[0-9]*.db*"
        return (
            []
            if self.path == ":memory:"
            else sorted(
                one for one in path.parent.glob(family) if not one.name.startswith(path.name)
            )
        )

    def _forget(self) -> None:
        """Let go of what is held in memory of the file."""

    def _there(self) -> bool:
        return self._opened is not None if self.path == ":memory:" else Path(self.path).is_file()

    def _connections(self) -> SqliteConnections:
        with self._lock:
            if self._opened is not None and self._which != identify_file(self.path):
                self._opened = None  # not closed: another thread may be reading
                self._forget()
            if self._opened is None:
                if not self._there():
                    for one in self.obsolete_files():
                        one.unlink(missing_ok=True)
                try:
                    self._opened = open_derived(self.path, self.schema)
                except StoreDamaged:
                    self._throw_away()
                    self._opened = open_derived(self.path, self.schema)
                self._which = identify_file(self.path)
            return self._opened

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection, or None where nothing was ever written."""
        if not self._there():
            yield None
            return
        with self._connections().reading() as db:
            yield db

    def indexed_files(self, root: str) -> dict[str, IndexedFile]:
        """The files of a root that are in it, as they looked when they were read."""
        with self._reading() as db:
            rows = (
                db.execute(
                    "select path, size, mtime, inode, hash from file where root = ?", (root,)
                )
                if db
                else ()
            )
            return {path: IndexedFile(path, FileStamp(*stamp), hash) for path, *stamp, hash in rows}

    def update_stamps(self, root: str, files: Sequence[IndexedFile]) -> None:
        """These look otherwise now and hold the same."""
        if files:
            with self._connections().writing() as db:
                db.executemany(
                    "update file set size = ?, mtime = ?, inode = ? "
                    "where root = ? and path = ? and hash = ?",
                    [(*file.stamp, root, file.path, file.hash) for file in files],
                )

    def clear(self) -> None:
        """Empty it; who else has it open sees it empty. What cannot be emptied is thrown away and
        begun anew.
        """
        if not self._there():
            return
        try:
            with self._connections().writing() as db:
                for sql in self.emptying:
                    db.execute(sql)
            self._connections().checkpoint()
        except (StoreBusy, StoreReadOnly):
            raise
        except StoreError:  # damaged, or too full a disk to write down that it is empty
            self._throw_away()
        with self._lock:
            self._forget()

    def _throw_away(self) -> None:
        with self._lock:
            self.close()
            for tail in ("-wal", "-shm", ""):
                if self.path != ":memory:":
                    Path(self.path + tail).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None
            self._forget()


def identify_file(path: str) -> tuple[int, int] | None:
    """Which file is in this place: its device and inode; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_derived(path: str, schema: Path) -> SqliteConnections:
    """Connections to a database with the tables of a schema."""
    made = SqliteConnections(path)
    try:
        with made.writing() as db:
            if not db.execute("select 1 from sqlite_master where name = 'words'").fetchone():
                for statement in statements(schema.read_text("utf-8")):
                    db.execute(statement)
    except BaseException:
        made.close()
        raise
    return made
