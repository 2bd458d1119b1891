"""Connections to a PostgreSQL server: who may see what, who may write when, errors in plain words.

All stores of a process share one pool. A transaction says first, in one round trip, which tenant it
is for and which spaces may be read and written; row security holds every statement to that. Who
writes locks the tenant's row in `counter`, so that numbers grow in the order of commits. A
transaction inside a transaction of the same thread and store is a savepoint in it.

Where somebody waits for so long and no longer (`core.time_limit`), no statement takes longer.

A connection that broke, as when the server was restarted, is replaced before anything is sent.
What breaks later is told: reads may be repeated, and of a write it is known whether it was sent.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from typing import Any, ClassVar

import psycopg
from psycopg import Connection, sql
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.string import StrDumperUnknown
from psycopg_pool import ConnectionPool, PoolTimeout

from reverie.core.clock import sleep, ticks
from reverie.core.errors import (
    StoreBusy,
    StoreError,
    StoreGone,
)
from reverie.core.time_limit import find_time_left
from reverie.storage.postgres.column_memory import MAX_COLUMN_BYTES, ColumnMemory
from reverie.storage.postgres.error_messages import (
    describe_server,
    translate_error,
)

APP_ROLE = "reverie_app"
SCHEMA = "reverie"
EVENTS_CHANNEL = "reverie_events"
# Tenants whose columns in memory are out of date as a whole: something was purged, or moved.
COLUMNS_CHANNEL = "reverie_columns"
READ = "begin read only"
EVERYTHING = "."  # as `readable` or `writable`: every space of the tenant

# Spaces that a transaction names as matched by its pattern, and patterns of which they are kept.
MAX_MATCHED, MAX_PATTERNS = 8, 10_000

# Connections of one process. A server has a hundred by default, for all of its processes.
MAX_CONNECTIONS = 8
# Seconds to wait for a free connection, and for a server that is being restarted.
CONNECT_TIMEOUT = 30.0
# Seconds to wait for whoever writes in the same tenant. Transactions are short, so this is ample.
LOCK_TIMEOUT = 60.0
# Seconds that a statement may take beyond what its request may, so that the request's own end is
# what is told.
GRACE_SECONDS = 0.25
RETRY_SECONDS = 0.2

REPLACEMENT = "\ufffd"  # in the place of what PostgreSQL cannot store in a text
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with U+FFFD for what PostgreSQL cannot store: NUL, and half surrogate pairs."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text)


class CleanTextDumper(StrDumperUnknown):
    """Sends texts as PostgreSQL can take them, whoever wrote the statement."""

    def dump(self, obj: str) -> Any:
        """The bytes to send."""
        return super().dump(clean_text(obj))


class HalfVector:
    """A vector to be stored as `halfvec`, in the bytes that pgvector sends and receives."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class HalfVectorDumper(Dumper):
    """Sends a vector in binary."""

    format = Format.BINARY

    def dump(self, obj: HalfVector) -> bytes:
        """The bytes to send."""
        return obj.data


class TenantConnection(Connection[tuple[Any, ...]]):
    """A connection that knows the tenant of its transaction, and the numbers it has given."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tenant = ""
        self.readable = ""  # the spaces that the transaction's reader may read, as a pattern
        self.is_spread = False  # the database is one of a Citus cluster
        self.drops_columns = False  # the transaction made columns in memory out of date
        self.last_memory = 0
        self.last_event = 0
        self.numbers = (0, 0)  # as they were when the transaction began

    def run(self, query: str, **values: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        """Execute a statement; `%(tenant)s` stands for the transaction's tenant."""
        check_time_left()
        return self.execute(query, {"tenant": self.tenant, **values})

    def run_many(self, query: str, rows: Sequence[Mapping[str, Any]]) -> int:
        """Execute a statement once for each row, without waiting in between; how many rows of the
        table there were in all.
        """
        if not rows:
            return 0
        check_time_left()
        with self.cursor() as cursor:
            cursor.executemany(query, [{"tenant": self.tenant, **row} for row in rows])
            return cursor.rowcount

    def fetch_rows(self, query: str, **values: Any) -> list[Any]:
        """All rows of a query."""
        return self.run(query, **values).fetchall()

    def fetch_value(self, query: str, **values: Any) -> Any:
        """The first value of the first row of a query; None if there is no row."""
        row = self.run(query, **values).fetchone()
        return row[0] if row else None

    def take_memory_number(self) -> int:
        """The number of the next memory."""
        self.last_memory += 1
        return self.last_memory

    def take_event_number(self) -> int:
        """The number of the next event."""
        self.last_event += 1
        return self.last_event

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What goes wrong inside takes back what was done inside, and nothing else."""
        numbers = (self.last_memory, self.last_event)
        self.execute("savepoint inner_step")
        try:
            yield
        except BaseException:
            self.last_memory, self.last_event = numbers
            if not self.broken and not self.closed:
                self.execute("rollback to savepoint inner_step; release savepoint inner_step")
            raise
        self.execute("release savepoint inner_step")


def find_statement_timeout() -> int:
    """The milliseconds that a statement may take now; 0 without a limit."""
    left = find_time_left()
    return 0 if left is None else max(1, int((left + GRACE_SECONDS) * 1000))


def check_time_left() -> None:
    """Raise StoreBusy where nobody waits for the answer any more."""
    left = find_time_left()
    if left is not None and left <= -GRACE_SECONDS:
        raise StoreBusy("It took too long, and nobody waits any more. Nothing was changed")


def to_space_pattern(pattern: str) -> str:
    """The regular expression that row security compares spaces with."""
    # A few events belong to no space, and a dot would not match them.
    return "^" if pattern == EVERYTHING else pattern


def configure_adapters(db: Connection[Any]) -> None:
    """Send texts and vectors over a connection as this module says."""
    db.adapters.register_dumper(str, CleanTextDumper)
    db.adapters.register_dumper(HalfVector, HalfVectorDumper)


class PostgresPool:
    """The connections of this process to one database; opened when the first is needed."""

    def __init__(
        self,
        conninfo: str,
        max_connections: int = MAX_CONNECTIONS,
        column_bytes: int = MAX_COLUMN_BYTES,
    ) -> None:
        # What searches of this process keep in memory, of all tenants.
        self.columns = ColumnMemory(column_bytes)
        self._conninfo = conninfo  # it may hold a password, so it is in no message
        self.where = describe_server(conninfo)
        self.max_connections = max_connections
        self._lock = threading.Lock()
        self._pool: ConnectionPool[TenantConnection] | None = None
        self._closed = False
        self._role = ""
        self._is_spread = False
        # The spaces that a pattern was last seen to match, a line each.
        self._matched: OrderedDict[str, str] = OrderedDict()

    def __repr__(self) -> str:
        return f"PostgresPool({self.where})"

    def connect(self) -> TenantConnection:
        """A connection of its own, for what takes long: its owner closes it."""
        try:
            db = TenantConnection.connect(self._conninfo, autocommit=True, connect_timeout=10)
        except psycopg.Error as err:
            raise self.translate_connect_error(err) from None
        configure_adapters(db)
        db.is_spread = has_citus(db)
        return db

    def _configure(self, db: TenantConnection) -> None:
        """Make a connection of the pool what `connect` gives."""
        configure_adapters(db)
        db.is_spread = self._is_spread

    @contextmanager
    def own_connection(self) -> Iterator[TenantConnection]:
        """A connection of its own for the length of a block."""
        db = self.connect()
        try:
            yield db
        finally:
            db.close()

    def translate_connect_error(self, err: psycopg.Error) -> StoreError:
        """Why there is no connection; libpq gives reasons of the server as text alone."""
        text = str(err)
        for part, message in (
            ("password authentication failed", "refused the user or the password"),
            ("no password supplied", "asks for a password"),
            ("does not exist", "has no such database or user"),
            ("too many clients", "has no connection left"),
        ):
            if part in text:
                return StoreError(f"The database server at {self.where} {message}. Check the URL")
        return translate_error(err, self.where)

    def _open(self) -> ConnectionPool[TenantConnection]:
        with self._lock:
            if self._closed:
                raise StoreError(f"The memory store at {self.where} has been closed")
            if self._pool is None:
                # The first connection says at once what is wrong with an address.
                with self.connect() as db:
                    self._role, self._is_spread = choose_role(db), db.is_spread
                self._pool = ConnectionPool(
                    self._conninfo,
                    connection_class=TenantConnection,
                    kwargs={"autocommit": True},
                    min_size=0,
                    max_size=self.max_connections,
                    timeout=CONNECT_TIMEOUT,
                    max_idle=60.0,
                    configure=self._configure,
                    open=True,
                )
            return self._pool

    def note_matched(self, pattern: str, spaces: Sequence[str]) -> None:
        """Keep some spaces that PostgreSQL has found to match a pattern, for transactions to come:
        row security need not match each row again.
        """
        found = "\n".join([space for space in spaces if "\n" not in space][:MAX_MATCHED])
        with self._lock:
            self._matched[pattern] = found
            self._matched.move_to_end(pattern)
            while len(self._matched) > MAX_PATTERNS:
                self._matched.popitem(last=False)

    def matched_by(self, pattern: str) -> str:
        """The spaces that are known to match a pattern, a line each."""
        return self._matched.get(pattern, "")

    @contextmanager
    def transaction(
        self, begin: Callable[[TenantConnection, str], None]
    ) -> Iterator[TenantConnection]:
        """A connection after `begin`, which gets the role to take; on a broken one it is repeated
        on another.

        The caller commits. Whatever is left open at the end is rolled back.
        """
        pool = self._open()
        db = self._begin(pool, begin)
        try:
            yield db
        except psycopg.Error as err:
            raise translate_error(err, self.where) from err
        finally:
            roll_back(db)
            pool.putconn(db)

    def _begin(
        self,
        pool: ConnectionPool[TenantConnection],
        begin: Callable[[TenantConnection, str], None],
    ) -> TenantConnection:
        end = ticks() + CONNECT_TIMEOUT
        while True:
            check_time_left()
            left = find_time_left()
            timeout = CONNECT_TIMEOUT if left is None else min(CONNECT_TIMEOUT, max(left, 0.01))
            try:
                db = pool.getconn(timeout)
            except PoolTimeout as err:
                if pool.get_stats().get("pool_size", 0) >= self.max_connections:
                    raise StoreBusy(
                        f"All {self.max_connections} connections to {self.where} are in use. "
                        "Nothing was changed: try again"
                    ) from err
                raise translate_error(err, self.where) from err
            try:
                begin(db, self._role)
            except BaseException as err:
                is_broken = db.broken or db.closed
                roll_back(db)
                pool.putconn(db)
                # Nothing was asked of the server yet, so it can be asked again.
                if is_broken and isinstance(err, psycopg.OperationalError) and ticks() < end:
                    sleep(RETRY_SECONDS)
                    continue
                if isinstance(err, psycopg.Error):
                    raise translate_error(err, self.where) from err
                raise
            return db

    def count_connections(self) -> dict[str, int]:
        """What the pool counts (`psycopg_pool`): connections, who waits for one, what went wrong;
        {} before the first is opened.
        """
        with self._lock:
            return dict(self._pool.get_stats()) if self._pool is not None else {}

    def close(self) -> None:
        """Close every connection of this process."""
        with self._lock:
            self._closed = True
            if self._pool is not None:
                self._pool.close()
            self._pool = None


def choose_role(db: TenantConnection) -> str:
    """The role that transactions take: ours, unless the user is no member of it.

    Nobody is held by row security who owns the server, so it is taken off.
    """
    is_member = db.fetch_value(
        "select pg_has_role(current_user, oid, 'member') from pg_roles where rolname = %(role)s",
        role=APP_ROLE,
    )
    is_free = db.fetch_value(
        "select rolsuper or rolbypassrls from pg_roles where rolname = current_user"
    )
    if is_free and not is_member:
        raise StoreError(
            f"The database has no role {APP_ROLE}: `reverie server migrate` creates it"
        )
    return APP_ROLE if is_member else ""


def has_citus(db: TenantConnection) -> bool:
    """True if the database is one of a Citus cluster."""
    return bool(db.fetch_value("select 1 from pg_extension where extname = 'citus'"))


def run_steps(db: TenantConnection, steps: list[str]) -> psycopg.Cursor[tuple[Any, ...]]:
    """Execute statements in one round trip; the result of the last."""
    if db.is_spread:
        # Citus passes a `set local` on to the nodes as the whole query that it came in, so each
        # statement has to be one of its own.
        with db.pipeline():
            return [db.execute(step) for step in steps][-1]
    found = db.execute("; ".join(steps))
    while found.nextset():
        pass
    return found


def check_sound(db: TenantConnection) -> None:
    """StoreError if a statement of the transaction failed, though whoever made it went on: the
    server would take everything back at `commit`, and report no error.
    """
    if db.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
        raise StoreError("A step of this change failed, so nothing of it was kept. Try again")


def roll_back(db: TenantConnection) -> None:
    """End an open transaction, whatever state it is in."""
    # What broke the transaction is already on its way up.
    with suppress(psycopg.Error):
        if not db.closed and db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            db.execute("rollback")
    db.tenant = db.readable = ""


class OpenTransaction(threading.local):
    """The transaction in which this thread writes to one store, and the one that its reads share
    (`reading_together`).
    """

    db: TenantConnection | None = None
    shares: bool = False
    reader: TenantConnection | None = None  # None until something is read
    reader_end: ExitStack | None = None


class PostgresConnections:
    """The transactions of one tenant, with the rights of one reader and writer."""

    replaces: ClassVar[str] = REPLACEMENT

    def __init__(self, pool: PostgresPool, tenant: str, readable: str, writable: str) -> None:
        self.pool = pool
        self.tenant = tenant
        self.readable = readable
        self.writable = writable
        self._open = OpenTransaction()

    def settings(self, role: str) -> dict[str, str]:
        """What says who is asking, until the end of a transaction."""
        settings = {
            "search_path": f"{SCHEMA}, public",
            "lock_timeout": f"{int(LOCK_TIMEOUT * 1000)}",
            "reverie.tenant": self.tenant,
            "reverie.readable": to_space_pattern(self.readable),
            "reverie.matched": self.pool.matched_by(self.readable),
            "reverie.writable": to_space_pattern(self.writable),
        }
        if timeout := find_statement_timeout():
            settings["statement_timeout"] = f"{timeout}"
        return {"role": role, **settings} if role else settings

    def set_up(self, role: str) -> list[str]:
        """The statements that make the settings, literal as Citus wants them."""
        return [
            sql.SQL("set local {} = {}")
            .format(sql.SQL(name), sql.Literal(value) if name != "search_path" else sql.SQL(value))
            .as_string(None)
            for name, value in self.settings(role).items()
        ]

    def note_readable(self, spaces: Sequence[str]) -> None:
        """Keep spaces that PostgreSQL has said this reader may read, in a transaction of ours."""
        self.pool.note_matched(self.readable, spaces)

    @contextmanager
    def reading(self) -> Iterator[TenantConnection]:
        """A connection to read from; inside a transaction of this thread, that one."""
        if self._open.db is not None:
            with self._translating():
                yield self._open.db
        elif self._open.shares:
            with self._sharing():
                yield self._open.reader or self._begin_shared()
        else:
            with self._transaction(READ) as db:
                yield db
                db.execute("commit")

    @contextmanager
    def reading_together(self) -> Iterator[None]:
        """Have what this thread reads meanwhile share one transaction, which begins with the first
        statement. A writing one within is one of its own.
        """
        if self._open.db is not None or self._open.shares:
            yield
            return
        self._open.shares = True
        try:
            yield
        finally:
            self._open.shares = False
            self._end_shared()

    @contextmanager
    def _sharing(self) -> Iterator[None]:
        """What goes wrong ends the shared transaction; the next to read begins another."""
        try:
            with self._translating():
                yield
        except BaseException:
            self._end_shared()
            raise

    def _begin_shared(
        self, begin: Callable[[TenantConnection, str], None] | None = None
    ) -> TenantConnection:
        """The shared transaction, begun."""
        stack = ExitStack()
        db = stack.enter_context(
            self.pool.transaction(begin or (lambda db, role: self._start(db, role, READ)))
        )
        self._open.reader, self._open.reader_end = db, stack
        return db

    def _end_shared(self) -> None:
        """Give the connection of the shared transaction back."""
        db, stack = self._open.reader, self._open.reader_end
        self._open.reader = self._open.reader_end = None
        if db is not None and stack is not None:
            # Everything was read by now.
            with stack, suppress(psycopg.Error):
                if not db.closed:
                    db.execute("commit")

    @contextmanager
    def snapshot(self) -> Iterator[TenantConnection]:
        """A connection that sees one moment in time, however long its reader takes."""
        if self._open.db is not None:
            with self._translating():
                yield self._open.db
            return
        db = self.pool.connect()
        try:
            role = choose_role(db)
            self._start(db, role, "begin isolation level repeatable read read only")
            yield db
            db.execute("commit")
        except psycopg.Error as err:
            raise translate_error(err, self.pool.where) from err
        finally:
            db.close()

    @contextmanager
    def writing(self) -> Iterator[TenantConnection]:
        """One transaction: committed at the end, rolled back on any error or interrupt."""
        opened = self._open.db
        if opened is not None:
            with self._translating(), opened.savepoint():
                yield opened
            return
        # Who waits for a connection must hold none.
        self._end_shared()
        with self._transaction("begin") as db:
            db.drops_columns = False
            try:
                yield db
                check_sound(db)
                self._commit(db)
            finally:
                # Whether or not it is known to be committed.
                if db.drops_columns:
                    self.pool.columns.forget(self.tenant)

    @contextmanager
    def transaction_without_counter(self) -> Iterator[TenantConnection]:
        """A transaction that gives no numbers and waits for nobody who does."""
        begin = "begin isolation level read committed"
        with self.pool.transaction(lambda db, role: self._start(db, role, begin)) as db:
            yield db
            check_sound(db)
            db.execute("commit")

    @contextmanager
    def _transaction(self, statement: str) -> Iterator[TenantConnection]:
        with self.pool.transaction(lambda db, role: self._start(db, role, statement)) as db:
            if statement != "begin":
                yield db
                return
            self._open.db = db
            try:
                yield db
            finally:
                self._open.db = None

    def _start(self, db: TenantConnection, role: str, statement: str) -> None:
        """Begin, in one round trip; who writes waits for its turn in the tenant."""
        db.tenant, db.readable = self.tenant, self.readable
        steps = [statement, *self.set_up(role)]
        if statement != "begin":
            run_steps(db, steps)
            return
        name = sql.Literal(self.tenant).as_string(None)
        lock = f"select memory, event from counter where tenant = {name} for update"
        row = run_steps(db, [*steps, lock]).fetchone()
        if row is None:
            db.run("insert into counter (tenant) values (%(tenant)s) on conflict do nothing")
            row = db.execute(lock).fetchone() or (0, 0)
        db.last_memory, db.last_event = db.numbers = row

    def _commit(self, db: TenantConnection) -> None:
        """Write the numbers that were given, tell who listens, and commit: one round trip."""
        steps = []
        name = sql.Literal(self.tenant).as_string(None)
        if (db.last_memory, db.last_event) != db.numbers:
            steps.append(
                f"update counter set memory = {db.last_memory}, event = {db.last_event} "
                f"where tenant = {name}"
            )
            if db.last_event != db.numbers[1]:
                steps.append(f"select pg_notify('{EVENTS_CHANNEL}', {name})")
        if db.drops_columns:
            steps.append(f"select pg_notify('{COLUMNS_CHANNEL}', {name})")
        try:
            db.execute("; ".join([*steps, "commit"]))
        except psycopg.OperationalError as err:
            if not db.broken:
                raise
            raise StoreGone(
                f"The connection to {self.pool.where} was lost while a change was being kept. "
                "Look whether it is there before you repeat it"
            ) from err

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as err:
            raise translate_error(err, self.pool.where) from err

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[TenantConnection]:
        """A connection to read from whose statements end after `seconds` with QueryCanceled."""
        with self.reading() as db:
            if seconds is None:
                yield db
                return
            with db.savepoint():
                most = find_statement_timeout()
                own = max(1, int(seconds * 1000))
                db.execute(f"set local statement_timeout = {min(own, most) if most else own}")
                yield db
                db.execute(f"set local statement_timeout = {find_statement_timeout()}")

    def is_in_transaction(self) -> bool:
        """True within `writing` of this thread."""
        return self._open.db is not None

    def fetch_rows(self, query: str, **values: Any) -> list[Any]:
        """All rows of a query; repeated once if the connection broke: reading changes nothing."""
        if self._open.db is not None or self._open.reader is not None:
            try:
                with self.reading() as db:
                    return db.fetch_rows(query, **values)
            except StoreGone:
                if self.is_in_transaction():
                    raise
        return self._fetch_at_once(query, **values)

    def _fetch_at_once(self, query: str, **values: Any) -> list[Any]:
        """All rows of a query in a new transaction, in one round trip; on a broken connection it is
        repeated on another. Within `reading_together` the transaction stays.
        """
        found: list[Any] = []
        stays = self._open.shares

        def ask(db: TenantConnection, role: str) -> None:
            if db.is_spread:
                self._start(db, role, READ)
                found[:] = db.fetch_rows(query, **values)
                return
            db.tenant, db.readable = self.tenant, self.readable
            with db.pipeline():
                db.execute(READ)
                settings = self.settings(role)
                db.execute(set_config_statement(len(settings)), sum(settings.items(), ()))
                cursor = db.run(query, **values)
                if not stays:
                    db.execute("commit")
            found[:] = cursor.fetchall()

        if stays:
            self._begin_shared(ask)
        else:
            with self.pool.transaction(ask) as db:
                if db.is_spread:
                    db.execute("commit")
        return found

    def fetch_value(self, query: str, **values: Any) -> Any:
        """The first value of the first row of a query; None if there is no row."""
        rows = self.fetch_rows(query, **values)
        return rows[0][0] if rows else None


@lru_cache(maxsize=8)
def set_config_statement(count: int) -> str:
    """A statement that makes so many settings until the transaction ends."""
    return "select " + ", ".join(["set_config(%s, %s, true)"] * count)
