"""Connections to one SQLite file: who may write when, and errors in the user's words.

One connection writes (one at a time in this process, `begin immediate` between processes); every
thread reads through a connection of its own. A transaction inside a transaction joins it. The
journal is WAL and `synchronous` is FULL: what was acknowledged survives a power cut, not only a
crash (measured: 0.25 ms a commit against 0.02 ms with NORMAL; bulk writes share one commit).
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from reverie.core.atomic_file import create_private_file, make_private_folder
from reverie.core.clock import sleep, ticks
from reverie.core.environment import is_encrypted
from reverie.core.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
)
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.home_gate import HomeGate

# Seconds to wait for other processes. Transactions are short, so this is ample.
BUSY_TIMEOUT = 60.0
BUSY_POLL_SECONDS = 0.002

ERROR_CLASSES: tuple[tuple[int, type[StoreError]], ...] = (
    (sqlite3.SQLITE_BUSY, StoreBusy),
    (sqlite3.SQLITE_LOCKED, StoreBusy),
    (sqlite3.SQLITE_FULL, StoreFull),
    (sqlite3.SQLITE_READONLY, StoreReadOnly),
    (sqlite3.SQLITE_CANTOPEN, StoreReadOnly),
    (sqlite3.SQLITE_PERM, StoreReadOnly),
    (sqlite3.SQLITE_CORRUPT, StoreDamaged),
    (sqlite3.SQLITE_NOTADB, StoreDamaged),
)

WRONG_KEY = (
    "This memory file cannot be decrypted: it was encrypted with another key than its home now "
    "has, or its beginning is damaged. Bring back the encryption.json that belongs to it; or let "
    "`reverie data verify --repair` look whether it is damage"
)


def execute_when_free(db: Connection, statement: str) -> None:
    """Execute a statement for which SQLite itself does not wait, once no other process is in its
    way.
    """
    end = ticks() + BUSY_TIMEOUT
    while True:
        try:
            db.execute(statement)
        except database_library.OperationalError as err:
            code = getattr(err, "sqlite_errorcode", 0)
            if code & 0xFF != sqlite3.SQLITE_BUSY or ticks() > end:
                raise
            sleep(BUSY_POLL_SECONDS)
        else:
            return


def translate_error(err: Exception, path: str) -> StoreError:
    """The error that a person can act on."""
    code = getattr(err, "sqlite_errorcode", None)
    made_with_file = ("no such table", "no such column", "Could not decode")
    if str(err).startswith(made_with_file) or isinstance(err, UnicodeDecodeError):
        code = sqlite3.SQLITE_CORRUPT
    for known, error_class in ERROR_CLASSES:
        # The low byte of SQLite's extended code is the primary one.
        if code is not None and code & 0xFF == known:
            if code & 0xFF == sqlite3.SQLITE_NOTADB and needs_another_key(path):
                return StoreDamaged(f"{WRONG_KEY} ({path})")
            default = " ".join((error_class.__doc__ or "").split())
            return error_class(f"{default} ({path}: {err})")
    return StoreError(f"The memory store could not do that: {err} ({path})")


def needs_another_key(path: str) -> bool:
    """True for a file that is no database because it was not decrypted."""
    home = database_library.home_of_database(path)
    if home is not None and is_encrypted(home):
        return database_library.is_encrypted_database(path)
    from reverie.storage.sqlite.encrypted_pages import looks_encrypted

    return Path(path).is_file() and looks_encrypted(Path(path))


def connect_read_only(
    path: Path, *, immutable: bool, key: bytes | None = None
) -> closing[Connection]:
    """A connection to a file that is only read, closed after the block.

    An immutable file is one that nobody is writing. It is read without locks, and no journal is
    left beside it. A file that is plain is opened as such, whatever the key.
    """
    options = "mode=ro&immutable=1" if immutable else "mode=ro"
    target = f"{path.absolute().as_uri()}?{options}"
    key = database_library.key_of_file(path, key)
    return closing(database_library.connect(target, key, uri=True))


def fetch_value(db: Connection, sql: str, *args: object) -> Any:
    """The first value of the first row of a query; None if there is no row."""
    row = db.execute(sql, args).fetchone()
    return row[0] if row else None


def identify_file(path: str) -> tuple[int, int] | None:
    """(device, inode) of a file, by which another one of the same name is told; None if gone."""
    try:
        found = os.stat(path)  # noqa: PTH116 - with every commit, and it is quicker
    except OSError:
        return None
    return found.st_dev, found.st_ino


class SqliteConnections:
    """The connections of this process to one database.

    `key` is that of a database in memory; a file has that of the home it lies in.
    """

    def __init__(self, path: str, key: bytes | None = None) -> None:
        self.path = path
        # In memory, and where nothing can be written, reader and writer are one connection.
        self.private = path == ":memory:"
        self.read_only = False
        self._lock = threading.RLock()
        self._closed = False
        self._owner = 0  # the thread with the open transaction
        self._local = threading.local()
        self._readers: dict[threading.Thread, Connection] = {}
        self._extras: list[Connection] = []
        self._gate = HomeGate(None if self.private else database_library.home_of_database(path))
        try:
            self.key = key if self.private else database_library.find_database_key(path)
            self.writer = self._open_writer()
        except BaseException:
            self._gate.leave()
            raise
        self._file = None if self.private else identify_file(path)

    def _connect(self, target: str, uri: bool = False) -> Connection:
        db = database_library.connect(
            target,
            self.key,
            timeout=BUSY_TIMEOUT,
            check_same_thread=False,
            uri=uri,
            cached_statements=256,
        )
        try:
            db.execute("pragma cache_size = -16000")
            db.execute("pragma temp_store = memory")
            db.execute("select count(*) from sqlite_master").fetchone()
        except BaseException:
            db.close()
            raise
        return db

    def _open_writer(self) -> Connection:
        db = None
        try:
            if not self.private:
                make_private_folder(Path(self.path).parent)
                create_private_file(self.path)
            db = self._connect(self.path)
            self._switch_to_wal(db)
            db.execute("pragma synchronous = full")
            db.execute("pragma secure_delete = on")
        except OSError as err:
            return self._open_read_only(err)
        except database_library.Error as err:
            if db is not None:
                db.close()
            meaning = translate_error(err, self.path)
            if isinstance(meaning, StoreReadOnly):
                return self._open_read_only(err)
            raise meaning from err
        return db

    def _switch_to_wal(self, db: Connection) -> None:
        """Switch a new file to WAL."""
        # The one moment at which SQLite does not wait for others: several processes may create the
        # same file at once.
        execute_when_free(db, "pragma journal_mode = wal")

    def _open_read_only(self, err: Exception) -> Connection:
        """A connection to a file that cannot be written, if there is one; else StoreReadOnly.

        `mode=ro` sees the journal of whoever may write. Where not even the journal's index can be
        made, `immutable` reads the file alone, unless a crash left entries in a journal: somebody
        who may write has to open it first.
        """
        try:
            if not Path(self.path).is_file():
                raise StoreReadOnly(
                    f"The memory store cannot be created at {self.path}: {err}. "
                    "Check who may write to the folder, or set REVERIE_HOME."
                ) from err
        except OSError as denied:
            raise StoreReadOnly(
                f"The memory store at {self.path} cannot be read: {denied}"
            ) from err
        self.read_only = self.private = True
        url = Path(self.path).absolute().as_uri()
        reason: StoreError = StoreReadOnly(f"{self.path}: {err}")
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            try:
                return self._connect(f"{url}?{mode}", uri=True)
            except database_library.Error as broken:
                reason = translate_error(broken, self.path)
            if not isinstance(reason, StoreReadOnly) or self._has_journal_entries():
                break
        raise reason from err

    def _has_journal_entries(self) -> bool:
        """True if the newest entries are in a journal: the file alone would be an older state."""
        journal = Path(f"{self.path}-wal")
        return journal.is_file() and journal.stat().st_size > 0

    def reader(self) -> Connection:
        """This thread's connection for reading; inside a transaction of this thread, the writer."""
        if self.private or self._owner == threading.get_ident():
            return self.writer
        db: Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = self._connect_query_only()
            with self._lock:
                # A server with a thread a request would run out of file handles.
                for thread in [thread for thread in self._readers if not thread.is_alive()]:
                    self._readers.pop(thread).close()
                self._readers[threading.current_thread()] = db
        return db

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read from, with SQLite's errors translated."""
        try:
            if self.private:
                with self._lock:
                    self._roll_back_orphan()
                    yield self.writer
            else:
                yield self.reader()
        except database_library.Error as err:
            raise translate_error(err, self.path) from err

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back on any error or interrupt.

        Without `durable` the commit does not wait for the disk; the next one that does brings it
        there too, since both stand in one journal.
        """
        with self._lock:
            if self._owner:
                yield self.writer
                return
            try:
                if self.read_only:
                    raise StoreReadOnly
                self._roll_back_orphan()
                if not durable:
                    self.writer.execute("pragma synchronous = normal")
                # A deferred transaction would fail at once when another process writes first,
                # and no timeout helps; an immediate one queues up.
                self._begin()
                self._owner = threading.get_ident()
                yield self.writer
                # An open file goes on without its name, and a commit would be nobody's.
                if not self.private and identify_file(self.path) != self._file:
                    raise StoreGone
                self.writer.execute("commit")
            except database_library.Error as err:
                raise translate_error(err, self.path) from err
            finally:
                self._owner = 0
                try:
                    self._roll_back_orphan()
                finally:
                    # Twice: Ctrl-C may have interrupted the first, and an open transaction blocks
                    # everybody else.
                    self._roll_back_orphan()
                    if not durable:
                        self.writer.execute("pragma synchronous = full")

    def library_version(self) -> tuple[int, ...]:
        """The version of SQLite that reads this database."""
        with self._lock:
            return database_library.library_version(self.writer)

    def is_in_transaction(self) -> bool:
        """True within `writing` of this thread."""
        return self._owner == threading.get_ident()

    def _begin(self) -> None:
        """Begin to write as soon as nobody else does."""
        # SQLite's own waiting looks every tenth of a second after a while, and whoever came later
        # is let in meanwhile: of eight writers one waited for seconds.
        self.writer.execute("pragma busy_timeout = 0")
        try:
            execute_when_free(self.writer, "begin immediate")
        finally:
            self.writer.execute(f"pragma busy_timeout = {int(BUSY_TIMEOUT * 1000)}")

    def _roll_back_orphan(self) -> None:
        """Roll back a transaction without owner: it failed, or its rollback was interrupted."""
        # What broke the transaction is already on its way up.
        with suppress(*database_library.Error):
            if not self._owner and self.writer.in_transaction:
                self.writer.execute("rollback")

    def extra_reader(self) -> Connection:
        """A further connection for reading, locked by its owner; in memory, the only one."""
        if self.private:
            return self.writer
        db = self._connect_query_only()
        with self._lock:
            self._extras.append(db)
        return db

    def _connect_query_only(self) -> Connection:
        if self._closed:
            raise StoreError(f"The memory store at {self.path} has been closed")
        try:
            db = self._connect(self.path)
            db.execute("pragma query_only = on")
        except database_library.Error as err:
            raise translate_error(err, self.path) from err
        return db

    @contextmanager
    def using_extra(self) -> Iterator[None]:
        """Around uses of an `extra_reader`: errors translated and, in memory, locked."""
        try:
            with self._lock if self.private else nullcontext():
                if self.private:
                    self._roll_back_orphan()
                yield
        except database_library.Error as err:
            raise translate_error(err, self.path) from err

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees one moment in time, however long its reader takes."""
        if self.private:
            with self.reading() as db:
                yield db
            return
        db = self._connect_query_only()
        try:
            db.execute("begin")
            db.execute("select count(*) from sqlite_master").fetchone()
            yield db
            db.execute("rollback")
        except database_library.Error as err:
            raise translate_error(err, self.path) from err
        finally:
            db.close()

    def checkpoint(self) -> bool:
        """Move the journal into the file and empty it. False if readers do not allow it now."""
        # What fails now is done by the next checkpoint.
        with self._lock, suppress(*database_library.Error):
            if not self.private and not self._owner:
                self.writer.execute("pragma busy_timeout = 1000")
                busy = fetch_value(self.writer, "pragma wal_checkpoint(truncate)")
                self.writer.execute(f"pragma busy_timeout = {int(BUSY_TIMEOUT * 1000)}")
                return not busy
        return self.private

    def compact(self) -> bool:
        """Rewrite the file and empty the journal, so that no gap in a page holds what was erased.

        False if that failed, or others are reading and the journal has to stay.
        """
        if self.private:
            return not self.read_only
        # `secure_delete` blanks a row where it was last. A copy that SQLite left behind when it
        # moved the row to another page goes only with `vacuum`.
        try:
            with self._lock:
                self.writer.execute("vacuum")
        except database_library.Error:
            return False
        return self.checkpoint()

    def fetch_all(self, sql: str, *args: object) -> list[Any]:
        """All rows of a query."""
        with self.reading() as db:
            return db.execute(sql, args).fetchall()

    def fetch_value(self, sql: str, *args: object) -> Any:
        """The first value of the first row of a query; None if there is no row."""
        with self.reading() as db:
            return fetch_value(db, sql, *args)

    def close(self) -> None:
        """Close every connection of this process."""
        with self._lock:
            self._closed = True
            for db in (*self._readers.values(), *self._extras, self.writer):
                db.close()
            self._extras.clear()
            self._readers.clear()
            self._gate.leave()
