"""The backend for teams: PostgreSQL with pgvector, one database for many tenants.

`PostgresDatabase` owns the connections and the schema; `database.store(tenant)` gives the store of
one tenant, with the rights of one reader. Row security in the database holds every statement to
both, whatever the code asks for.

What differs from the embedded backend: NUL characters become U+FFFD, and so do half surrogate pairs
(in lists and payloads a question mark, as everywhere); vectors are kept in 16 bits a number. An
error inside a nested transaction takes back that one alone. `copy` and `backup` write the format of
the embedded backend. The indexes of files, code and transcripts belong to the machine whose files
they are of, so they are databases there.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from reverie.core.config import hide_password
from reverie.core.errors import BadInput, ExtraMissing
from reverie.core.installation import advise_install
from reverie.core.model import Change, Event
from reverie.storage import Names, Problem, Stats

try:
    import psycopg
    import psycopg_pool  # noqa: F401 - asked for here, so that its absence is told in one place
except ImportError as err:
    raise ExtraMissing(
        f"A store on PostgreSQL needs psycopg. Install it with: {advise_install('postgres')}"
    ) from err

from reverie.storage.postgres import schema_migration, write_changes
from reverie.storage.postgres.candidate_search import PostgresSearch
from reverie.storage.postgres.column_memory import MAX_COLUMN_BYTES
from reverie.storage.postgres.connection import (
    COLUMNS_CHANNEL,
    EVENTS_CHANNEL,
    EVERYTHING,
    MAX_CONNECTIONS,
    PostgresConnections,
    PostgresPool,
    TenantConnection,
)
from reverie.storage.postgres.distribution import (
    SHARD_COUNT,
    distribute_tables,
    is_distributed,
)
from reverie.storage.postgres.error_messages import translate_error
from reverie.storage.postgres.half_vectors import to_half_vector
from reverie.storage.postgres.reading import StoreReading
from reverie.storage.postgres.schema_migration import migrate, read_version
from reverie.storage.postgres.text_scan import PostgresScrubbing
from reverie.storage.postgres.vector_search import (
    IndexedModel,
    find_crowded_models,
    index_crowded_models,
)
from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    import numpy as np

    from reverie.storage.postgres.backups import DetachedCopy
    from reverie.storage.purge_texts import RepeatPlaces
    from reverie.storage.sqlite.code_index import SqliteCodeIndex
    from reverie.storage.sqlite.file_index import SqliteFileIndex
    from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex

TENANT_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,38}")
DEFAULT_TENANT = "default"
BAD_ADDRESS = (
    "That is no address of a PostgreSQL database. It looks like "
    "postgresql://user@host:5432/database"
)
ALL_TENANTS = "*"  # no tenant's name; row security shows its bearer the numbers of all
# A lease that ends later than this many times its length from now was taken before the clock
# jumped, and may be taken over.
CLOCK_JUMP_FACTOR = 2.0


def open(url: str) -> PostgresStore:
    """Open the store of one tenant: `postgresql://user@host/database?tenant=acme`.

    It reads and writes everything of the tenant. The schema is created or migrated if need be.
    """
    server, tenant = split_tenant(url)
    database = PostgresDatabase(server)
    try:
        database.prepare()
        store = PostgresStore(database, tenant, owns_database=True)
        store.url = hide_password(url)  # as it was given: a home knows its store by that
        return store
    except BaseException:
        database.close()
        raise


def split_tenant(url: str) -> tuple[str, str]:
    """The URL without its `tenant`, and the tenant's name."""
    try:
        parts = urlsplit(url)
    except ValueError:
        # Without the URL: it may hold a password.
        raise BadInput(BAD_ADDRESS) from None
    given = parse_qsl(parts.query, keep_blank_values=True)
    tenants = [value for name, value in given if name == "tenant"] or [DEFAULT_TENANT]
    others = urlencode([(name, value) for name, value in given if name != "tenant"])
    return parts._replace(query=others).geturl(), check_tenant(tenants[-1])


def check_tenant(name: str) -> str:
    """The name, if it may be a tenant's."""
    if not TENANT_NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} is no name of a tenant: small letters, digits and hyphens, at most 39"
        )
    return name


class WaitingWork(NamedTuple):
    """Events of a tenant that no worker has dealt with."""

    tenant: str
    done: int  # the number of the last event that was dealt with
    waiting: int  # how many there are


class PostgresDatabase:
    """One database: its connections and its schema."""

    def __init__(
        self,
        url: str,
        *,
        cache: Path | None = None,
        max_connections: int = MAX_CONNECTIONS,
        column_bytes: int = MAX_COLUMN_BYTES,
    ) -> None:
        try:
            self.pool = PostgresPool(url, max_connections, column_bytes)
        except psycopg.ProgrammingError:
            raise BadInput(BAD_ADDRESS) from None
        self.cache = cache  # where indexes of files are kept, a folder a tenant; None: in memory
        self._listener: TenantConnection | None = None
        self._listening = threading.Lock()

    def __repr__(self) -> str:
        return f"PostgresDatabase({self.pool.where})"

    def prepare(self) -> int:
        """Create or migrate the schema; returns how many steps were taken."""
        with closing(self.pool.connect()) as db:
            try:
                steps = migrate(db)
                if steps and is_distributed(db):
                    distribute_tables(db)
            except psycopg.Error as err:
                raise translate_error(err, self.pool.where) from err
        return steps

    def describe_schema_trouble(self) -> str:
        """Why this version cannot work with the schema as it is; "" if it can."""
        # Any tenant's transaction will do: the version is one for all.
        with PostgresConnections(self.pool, DEFAULT_TENANT, "", "").reading() as db:
            return schema_migration.describe_trouble(read_version(db))

    def distribute(self, *, shard_count: int = SHARD_COUNT) -> list[str]:
        """Spread the tables over the nodes of a Citus cluster, with what they hold; the names of
        those that were not yet.
        """
        with closing(self.pool.connect()) as db:
            try:
                return distribute_tables(db, shard_count=shard_count)
            except psycopg.Error as err:
                raise translate_error(err, self.pool.where) from err

    def store(
        self, tenant: str, *, readable: str = EVERYTHING, writable: str = EVERYTHING
    ) -> PostgresStore:
        """The store of one tenant. `readable` and `writable` are regular expressions for spaces;
        "." is every space, and an empty one is none.
        """
        return PostgresStore(self, tenant, readable=readable, writable=writable)

    def ensure_indexes(self, tenant: str) -> list[IndexedModel]:
        """Create what indexes of vectors a tenant needs and has not; others go on meanwhile. The
        models that had none.
        """
        with self.store(tenant).connections.reading() as reading:
            crowded = find_crowded_models(reading)
        if not crowded:
            return []
        with closing(self.pool.connect()) as db:
            try:
                return index_crowded_models(db, crowded)
            except psycopg.Error as err:
                raise translate_error(err, self.pool.where) from err

    @contextmanager
    def across_tenants(self) -> Iterator[TenantConnection]:
        """A transaction that sees the numbers of all tenants, and nothing else of any."""
        workers = PostgresConnections(self.pool, ALL_TENANTS, "", "")
        with workers.transaction_without_counter() as db:
            yield db

    def tenants(self) -> list[str]:
        """The tenants that have ever written anything, in order."""
        with self.across_tenants() as db:
            rows = db.fetch_rows("select tenant from counter order by tenant")
        return [tenant for (tenant,) in rows]

    def list_waiting(self) -> list[WaitingWork]:
        """The tenants with events that no worker has dealt with, those with most of them first."""
        sql = """
            select c.tenant, coalesce(w.done, 0), c.event - coalesce(w.done, 0)
            from counter c left join work w on w.tenant = c.tenant
            where c.event > coalesce(w.done, 0)
            order by 3 desc, 1
        """
        with self.across_tenants() as db:
            return [WaitingWork(*row) for row in db.fetch_rows(sql)]

    def claim_tenant(self, worker: str, seconds: float, now: float) -> str | None:
        """A tenant with events that no worker has dealt with, taken for `seconds`; None without.

        Any number of workers may ask at once: each tenant is one's alone. The worker renews its
        claim with `renew_tenant`, and gives it back with `finish_tenant`. A claim that a worker
        with a wrong clock left behind is taken over as a lease is.
        """
        waiting = """
            select c.tenant
            from counter c left join work w on w.tenant = c.tenant
            where c.event > coalesce(w.done, 0)
              and (coalesce(w.until, 0) <= %(now)s or w.until >= %(beyond)s)
            order by coalesce(w.until, 0), c.tenant
        """
        beyond = now + CLOCK_JUMP_FACTOR * seconds
        with self.across_tenants() as db:
            names = [name for (name,) in db.fetch_rows(waiting, now=now, beyond=beyond)]
        return next((name for name in names if self._claim(name, worker, seconds, now)), None)

    def _claim(self, tenant: str, worker: str, seconds: float, now: float) -> bool:
        """True if the tenant was free and is the worker's now."""
        # Each in a transaction of its own: one shard, and nobody waits for anybody.
        with self.across_tenants() as db:
            db.tenant = tenant
            db.run("insert into work (tenant) values (%(tenant)s) on conflict do nothing")
            sql = """
                update work set worker = %(worker)s, until = %(until)s
                where tenant = (select tenant from work
                                where tenant = %(tenant)s
                                  and (until <= %(now)s or until >= %(beyond)s)
                                for update skip locked)
                  and tenant = %(tenant)s
            """
            beyond = now + CLOCK_JUMP_FACTOR * seconds
            claimed = db.run(sql, worker=worker, until=now + seconds, now=now, beyond=beyond)
            return claimed.rowcount == 1

    def renew_tenant(self, tenant: str, worker: str, seconds: float, now: float) -> bool:
        """Keep a claimed tenant for `seconds` more; False if another worker has it by now."""
        with self.across_tenants() as db:
            db.tenant = tenant
            sql = """
                update work set until = %(until)s
                where tenant = %(tenant)s and worker = %(worker)s
            """
            return db.run(sql, worker=worker, until=now + seconds).rowcount == 1

    def finish_tenant(self, tenant: str, worker: str, seq: int) -> None:
        """Give a claimed tenant back: everything up to the event `seq` is dealt with."""
        with self.across_tenants() as db:
            db.tenant = tenant
            sql = """
                update work set until = 0, worker = '', done = greatest(done, %(seq)s)
                where tenant = %(tenant)s and worker = %(worker)s
            """
            db.run(sql, worker=worker, seq=seq)

    def wait_for_events(self, timeout: float) -> set[str]:
        """The tenants in which events were written since the last call, after at most `timeout`
        seconds; returns at once if there are any. What another process has purged leaves the
        memory of this one meanwhile.

        The first call only begins to listen from then on. One thread at a time.
        """
        with self._listening:
            try:
                if self._listener is None or self._listener.closed or self._listener.broken:
                    self._listener = self.pool.connect()
                    self._listener.execute(f"listen {EVENTS_CHANNEL}")
                    self._listener.execute(f"listen {COLUMNS_CHANNEL}")
                heard = list(self._listener.notifies(timeout=timeout, stop_after=1))
            except psycopg.Error as err:
                self._listener = None
                raise translate_error(err, self.pool.where) from err
        for notice in heard:
            if notice.channel == COLUMNS_CHANNEL:
                self.pool.columns.forget(notice.payload)
        return {notice.payload for notice in heard if notice.channel == EVENTS_CHANNEL}

    def close(self) -> None:
        """Release the connections. Stores of this database cannot be used afterwards."""
        with suppress(psycopg.Error):
            if self._listener is not None:
                self._listener.close()
        self.pool.close()


class PostgresStore(StoreReading, PostgresSearch, PostgresScrubbing):
    """`Store` on PostgreSQL, for one tenant. The protocol's docstrings hold; here is only how."""

    # What PostgreSQL cannot store in a text is replaced by this.
    replaces_nul: ClassVar[str] = "\ufffd"
    # What differs between backends, for who shares code among them (`Store`).
    has_file: ClassVar[bool] = True  # written in the embedded backend's format
    keeps_indexes_beside: ClassVar[bool] = True  # on this machine, not on the server
    vector_precision: ClassVar[float] = 1e-3  # 16 bits a number

    def __init__(
        self,
        database: PostgresDatabase,
        tenant: str,
        *,
        readable: str = EVERYTHING,
        writable: str = EVERYTHING,
        owns_database: bool = False,
    ) -> None:
        self.database = database
        self.tenant = check_tenant(tenant)
        # For messages: without user and password.
        self.url = f"postgresql://{database.pool.where}?tenant={tenant}"
        self._owns_database = owns_database
        self._db = PostgresConnections(database.pool, self.tenant, readable, writable)
        cache = database.cache
        self._beside = ":memory:" if cache is None else str(cache / tenant / "reverie.db")

    def __repr__(self) -> str:
        return f"PostgresStore({self.url})"

    @property
    def connections(self) -> PostgresConnections:
        """The transactions of this store, for what the verbs do not offer: repairs by hand and
        tests of what happens when a statement fails.
        """
        return self._db

    @cached_property
    def files(self) -> SqliteFileIndex:
        from reverie.storage.sqlite.file_index import SqliteFileIndex

        return SqliteFileIndex.beside(self._beside, "files")

    @cached_property
    def code_chunks(self) -> SqliteFileIndex:
        from reverie.storage.sqlite.file_index import SqliteFileIndex

        return SqliteFileIndex.beside(self._beside, "chunks")

    @cached_property
    def code(self) -> SqliteCodeIndex:
        from reverie.storage.sqlite.code_index import SqliteCodeIndex

        return SqliteCodeIndex.beside(self._beside, "code")

    @cached_property
    def transcripts(self) -> SqliteTranscriptIndex:
        from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex

        return SqliteTranscriptIndex.beside(self._beside, "transcripts")

    # Writing

    def apply(
        self,
        changes: Sequence[Change],
        cause: Event,
        *,
        done: tuple[str, int] | None = None,
    ) -> int:
        with self._db.writing() as db:
            seq = write_changes.insert_event(db, cause)
            write_changes.apply_changes(db, changes, seq, cause.space)
            if done:
                write_changes.claim_cursor(db, *done)
        return seq

    def append(self, events: Sequence[Event]) -> list[int]:
        with self._db.writing() as db:
            return [write_changes.insert_event(db, event) for event in events]

    def advance(self, cursor: str, seq: int) -> None:
        with self._db.writing() as db:
            write_changes.advance_cursor(db, cursor, seq)

    def find_repeats(self, ids: Names, more: Collection[str] = ()) -> RepeatPlaces:
        from reverie.storage.postgres.memory_purge import find_repeat_places

        with self._db.reading() as db:
            return find_repeat_places(db, ids, more)

    def purge(
        self, ids: Names, more: Collection[str] = (), found: RepeatPlaces | None = None
    ) -> int:
        from reverie.storage.postgres.memory_purge import erase_memories

        with self._db.writing() as db:
            return erase_memories(db, ids, more, found)

    def ids_repeating(self, texts: Collection[str]) -> set[str]:
        from reverie.storage.postgres.memory_purge import find_repeating_ids

        with self._db.reading() as db:
            return find_repeating_ids(db, texts)

    def put_vectors(
        self,
        model: str,
        vectors: Mapping[str, np.ndarray],
        hashes: Mapping[str, bytes],
    ) -> int:
        kept = 0
        texts = """
            select id, num, text, space from memory
            where tenant = %(tenant)s and id = any(%(ids)s)
        """
        with self._db.writing() as db:
            # Columns in memory look for vectors only where they have none.
            if write_changes.replaces_vectors(db, model, vectors):
                write_changes.bump_generation(db)
            for id, num, text, space in db.fetch_rows(texts, ids=list(vectors)):
                if fingerprint_text(text) == hashes[id]:
                    write_changes.put_vector(
                        db, num, space, model, hashes[id], to_half_vector(vectors[id])
                    )
                    kept += 1
        return kept

    def await_vectors(self, model: str, *, again: bool = False) -> int:
        # Usually it is the current model already, and there is nothing to write.
        is_new = self._current_model() != model
        if is_new or again:
            with self._db.writing() as db:
                if is_new:
                    db.run(write_changes.MAKE_CURRENT, model=model)
                db.run(write_changes.QUEUE_MISSING)
        return self._count_waiting(model)

    def set_meta(self, name: str, value: str) -> None:
        with self._db.writing() as db:
            db.run(write_changes.SET_META, name=name, value=value)

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        # What joins a transaction is as durable as that: the setting would hold for all of it.
        may_be_late = not durable and not self._db.is_in_transaction()
        with self._db.writing() as db:
            if may_be_late:
                db.execute("set local synchronous_commit = off")
            yield

    # Coordination

    def acquire(
        self,
        lease: str,
        holder: str,
        seconds: float,
        now: float,
    ) -> bool:
        sql = """
            insert into lease (tenant, name, holder, until)
            values (%(tenant)s, %(name)s, %(holder)s, %(until)s)
            on conflict (tenant, name) do update
            set holder = excluded.holder, until = excluded.until
            where lease.holder = excluded.holder or lease.until <= %(now)s
               or lease.until >= %(beyond)s
        """
        with self._db.writing() as db:
            taken = db.run(
                sql,
                name=lease,
                holder=holder,
                until=now + seconds,
                now=now,
                beyond=now + CLOCK_JUMP_FACTOR * seconds,
            )
            return taken.rowcount == 1

    def release(self, lease: str, holder: str) -> None:
        sql = """
            delete from lease
            where tenant = %(tenant)s and name = %(name)s and holder = %(holder)s
        """
        with self._db.writing() as db:
            db.run(sql, name=lease, holder=holder)

    # Trust

    def verify(self, repair: bool = False, backups: Sequence[Path] = ()) -> list[Problem]:
        from reverie.storage.postgres.integrity_checks import verify_tenant

        # One that only looks keeps nobody from writing, and still sees one moment.
        with self._db.writing() if repair else self._db.snapshot() as db:
            problems = verify_tenant(db, repair, backups)
        # Creating an index waits for every open transaction.
        if repair and not self._db.is_in_transaction():
            for model, created in self.database.ensure_indexes(self.tenant):
                problems.append(
                    Problem("index", f"There is no index of the vectors of {model}", created)
                )
        return problems

    def stats(self, model: str | None = None) -> Stats:
        by = (
            "select {0}, count(*) from memory "
            "where tenant = %(tenant)s and retired_at is null group by {0}"
        )
        kinds = dict(self._db.fetch_rows(by.format("kind")))
        active = sum(kinds.values())
        current = self._current_model() if model is None else model
        return Stats(
            memories=active,
            retired=self._count_rows("memory") - active,
            events=self._count_rows("event"),
            edges=self._count_rows("edge"),
            vectors=self._count_rows("vector"),
            waiting=self._count_waiting(current),
            undecided=self._count_undecided_pairs(),
            bytes=self._count_bytes(),
            kinds=kinds,
            spaces=dict(self._db.fetch_rows(by.format("space"))),
        )

    def _count_rows(self, table: str) -> int:
        return self._count(f"select count(*) from {table} where tenant = %(tenant)s")

    def _count_bytes(self) -> int:
        """The bytes of this tenant's texts and vectors; what they take on disk is all tenants'."""
        return sum(
            self._count(
                f"select coalesce(sum(pg_column_size(t.*)), 0) from {table} t "
                "where tenant = %(tenant)s"
            )
            for table in ("memory", "event", "change", "edge", "posting", "vector")
        )

    def copy(self) -> DetachedCopy:
        from reverie.storage.postgres.backups import DetachedCopy, fill_copy

        copy = DetachedCopy(self.code)
        fill_copy(copy, self.dump(), self._read_notes())
        if model := self._current_model():
            copy.await_vectors(model)
        return copy

    def _read_notes(self) -> dict[str, str]:
        from reverie.storage.postgres.backups import read_notes

        with self._db.reading() as db:
            return read_notes(db)

    def backup(self, target: Path) -> None:
        from reverie.storage.postgres.backups import write_backup

        write_backup(target, self.dump(), self._read_notes())

    def restore_backup(self, source: Path, kept: Path) -> None:
        from tempfile import TemporaryDirectory

        from reverie.storage.postgres.backups import open_backup, overwrite_tenant

        with (
            TemporaryDirectory() as folder,
            closing(open_backup(source, Path(folder))) as backup,
            self._db.writing() as db,
        ):
            self.backup(kept)
            overwrite_tenant(db, backup)

    def dump(self, log: bool = True) -> Iterator[dict[str, Any]]:
        from reverie.storage.postgres.bulk_transfer import dump_rows

        with self._db.snapshot() as db:
            yield from dump_rows(db, log)

    def load(self, rows: Iterable[dict[str, Any]]) -> dict[str, int]:
        from reverie.storage.postgres.row_import import load_rows

        with self._db.writing() as db:
            return load_rows(db, rows)

    def has_current_schema(self) -> bool:
        with self._db.reading() as db:
            return not schema_migration.describe_trouble(read_version(db))

    def close(self) -> None:
        # Cached properties: only the indexes that were used are open.
        for name in ("files", "code", "code_chunks", "transcripts"):
            if name in vars(self):
                getattr(self, name).close()
        if self._owns_database:
            self.database.close()
