"""A database beside the store that can be rebuilt: opened when needed, begun anew if damaged.

A file that somebody deleted or replaced while we had it open is noticed at the next call, and the
present one is opened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from reverie.core.errors import StoreBusy, StoreDamaged, StoreError, StoreReadOnly
from reverie.storage.sqlite.connection import SqliteConnections
from reverie.storage.sqlite.schema_migration import split_statements

if TYPE_CHECKING:
    from reverie.storage.indexed_files import IndexedFile

Read = TypeVar("Read", bound=Callable[..., Any])


def retry_on_new_file(read: Read) -> Read:
    """The same reading, done once more if it failed while somebody deleted or replaced the file."""

    @wraps(read)
    def read_again(self: Any, *args: Any, **options: Any) -> Any:
        before = identify_file(self.path)
        try:
            return read(self, *args, **options)
        except StoreError:  # SQLite calls a file that went meanwhile a disk I/O error
            if identify_file(self.path) == before:
                raise
            return read(self, *args, **options)

    return cast(Read, read_again)


class DerivedDatabase:
    """One such database: a table `file`, others, and a word index. The first write creates it."""

    schema: ClassVar[Path]
    # Of the schema and of what its rows mean. Another edition is another file.
    edition: ClassVar[int]
    tables: ClassVar[tuple[str, ...]]  # all of them, except the word index
    # A table with a column `file`, and the one whose rows have words; each with its name in
    # messages.
    parts: ClassVar[tuple[str, str]]
    worded: ClassVar[tuple[str, str]]

    def __init__(self, path: str) -> None:
        self.path = path
        self._opened: SqliteConnections | None = None
        self._file_id: tuple[int, int] | None = None  # device and inode of the open file
        self._lock = threading.RLock()

    @classmethod
    def beside(cls, store: str, what: str) -> Self:
        """The database of that name for a store: in the cache beside it, or in memory like it."""
        if store == ":memory:":
            return cls(store)
        path = Path(store)
        return cls(str(path.parent / "cache" / f"{path.stem}-{what}-{cls.edition}.db"))

    def obsolete_files(self) -> list[Path]:
        """Files of other editions. Nobody reads them any more, and they still hold old texts."""
        if self.path == ":memory:":
            return []
        from glob import escape

        path = Path(self.path)
        family = f"{escape(path.stem.rpartition('-')[0])}-[0-9]*.db*"
        return sorted(
            file for file in path.parent.glob(family) if not file.name.startswith(path.name)
        )

    def _drop_caches(self) -> None:
        """Drop what is kept in memory of the file."""

    def _exists(self) -> bool:
        if self.path == ":memory:":
            return self._opened is not None
        return Path(self.path).is_file()

    def _connections(self) -> SqliteConnections:
        with self._lock:
            if self._opened is not None and self._file_id != identify_file(self.path):
                # Not closed: another thread may be reading from it.
                self._opened = None
                self._drop_caches()
            if self._opened is None:
                if not self._exists():
                    # They hold texts that no scrub would reach any more.
                    for file in self.obsolete_files():
                        file.unlink(missing_ok=True)
                try:
                    self._opened = open_derived(self.path, self.schema)
                except StoreDamaged:
                    self._delete_file()
                    self._opened = open_derived(self.path, self.schema)
                self._file_id = identify_file(self.path)
            return self._opened

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        """A connection, or None where nothing was ever written."""
        if not self._exists():
            yield None
            return
        with self._connections().reading() as db:
            yield db

    @retry_on_new_file
    def _rows(self, sql: str, *args: object) -> list[Any]:
        """The rows of a query; none where nothing was ever written."""
        with self._reading() as db:
            return db.execute(sql, args).fetchall() if db else []

    def _count(self, sql: str, *args: object) -> int:
        """The number that a query gives; 0 where nothing was ever written."""
        return sum(number for (number,) in self._rows(sql, *args))

    def indexed_files(self, root: str) -> dict[str, IndexedFile]:
        """The indexed files of a root, by path."""
        from reverie.storage.indexed_files import FileStamp, IndexedFile

        sql = "select path, size, mtime, inode, hash from file where root = ?"
        return {
            path: IndexedFile(path, FileStamp(*stamp), hash)
            for path, *stamp, hash in self._rows(sql, root)
        }

    def update_stamps(self, root: str, files: Sequence[IndexedFile]) -> None:
        """Store new stamps of files whose content is unchanged."""
        if files:
            with self._connections().writing() as db:
                db.executemany(
                    "update file set size = ?, mtime = ?, inode = ? "
                    "where root = ? and path = ? and hash = ?",
                    [(*file.stamp, root, file.path, file.hash) for file in files],
                )

    def verify(self) -> str:
        """What is inconsistent, in words; empty if nothing is. `clear` mends it."""
        table, parts = self.parts
        stray = f"select count(*) from {table} where file not in (select num from file)"
        if strays := self._count(stray):
            return f"{strays:,} {parts} belong to no file"
        return self._verify_words()

    def _verify_words(self) -> str:
        """What is inconsistent between rows and their words, in words; empty if nothing is."""
        table, whole = self.worded
        rows = self._count(f"select count(*) from {table}")
        words = self._count("select count(*) from words_docsize")  # FTS5's own, one row for each
        return "" if words == rows else f"{rows:,} {whole}, but words of {words:,}"

    def clear(self) -> None:
        """Empty the tables for all who have the file open, or delete it if that is impossible.

        The next write begins a new index.
        """
        if not self._exists():
            return
        try:
            with self._connections().writing() as db:
                db.execute("insert into words (words) values ('delete-all')")
                for table in self.tables:
                    db.execute(f"delete from {table}")
            self._connections().checkpoint()
        except (StoreBusy, StoreReadOnly):
            raise
        # Damaged, or the disk is too full to write down that it is empty.
        except StoreError:
            self._delete_file()
        with self._lock:
            self._drop_caches()

    def _delete_file(self) -> None:
        with self._lock:
            self.close()
            for tail in ("-wal", "-shm", ""):
                if self.path != ":memory:":
                    Path(self.path + tail).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the database."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None
            self._drop_caches()


def identify_file(path: str) -> tuple[int, int] | None:
    """Device and inode of the file at a path; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_derived(path: str, schema: Path) -> SqliteConnections:
    """Connections to a database, with the tables of a schema created if need be."""
    connections = SqliteConnections(path)
    has_tables = "select 1 from sqlite_master where name = 'words'"
    try:
        # Looked at first: a hook that only reads waits for nobody who writes.
        with connections.reading() as db:
            is_new = not db.execute(has_tables).fetchone()
        if not is_new:
            return connections
        with connections.writing() as db:
            if not db.execute(has_tables).fetchone():
                for statement in split_statements(schema.read_text("utf-8")):
                    db.execute(statement)
    except BaseException:
        connections.close()
        raise
    return connections
