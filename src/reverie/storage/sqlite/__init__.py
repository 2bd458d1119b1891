"""The embedded backend: one SQLite file, or `:memory:`.

`SqliteStore` says who may do what when (connections, transactions); the modules beside it do it.
Python's own sqlite3 must do: no extensions. A file that cannot be read raises StoreDamaged when it
is opened; `repair_store(url)` mends it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core.errors import BadInput, StoreDamaged, StoreError, StoreReadOnly
from reverie.core.model import Change, Edge, Event, Filter, Memory, Record
from reverie.storage import Problem, SessionSpan, Stats
from reverie.storage.sqlite import read_queries, write_changes
from reverie.storage.sqlite.connection import SqliteConnections, translate_error
from reverie.storage.sqlite.schema_migration import LATEST, migrate, version
from reverie.storage.sqlite.text_scan import SqliteScrubbing
from reverie.storage.sqlite.write_changes import ChangePlace

if TYPE_CHECKING:
    import numpy as np

    from reverie.storage.code_index_port import CodeIndex
    from reverie.storage.column_cache import Corpus, Floats
    from reverie.storage.note_index_port import FileIndex
    from reverie.storage.sqlite.column_shards import ShardCache

# A lease that ends later than this many times its length from now was taken before the clock
# jumped, and may be taken over.
CLOCK_JUMP_FACTOR = 2.0


def path_from_url(url: str) -> str:
    """The path in a URL: sqlite:///relative.db, sqlite:////absolute.db, sqlite://:memory:"""
    rest = url.removeprefix("sqlite://")
    return rest if rest == ":memory:" else rest.removeprefix("/")


def open(url: str) -> SqliteStore:
    """Open the store, creating it if it is not there."""
    return SqliteStore(url)


class SqliteStore(SqliteScrubbing):
    """`Store` on SQLite. The protocol's docstrings hold; here is only how."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.path = path_from_url(url)
        self._db = SqliteConnections(self.path)
        # Our own writes. `pragma data_version` counts those of other connections only, and in
        # memory there is but one.
        self._writes = 0
        self._shards: dict[str, tuple[ShardCache, sqlite3.Connection]] = {}
        try:
            taken = version(self._db.writer)
            if self._db.read_only and taken < LATEST:
                raise StoreReadOnly(
                    f"The memory store at {self.path} has an older schema and cannot be written to "
                    "bring it up to date. Check who may write to the folder."
                )
            if taken != LATEST:
                migrate(self._db.writer)
        except sqlite3.Error as err:
            self._db.close()
            raise translate_error(err, self.path) from err
        except StoreError:
            self._db.close()
            raise

    @property
    def connections(self) -> SqliteConnections:
        """The connections to the database file, for what the verbs do not offer: pragmas, repairs
        by hand and tests of what happens when a statement fails.
        """
        return self._db

    @cached_property
    def files(self) -> FileIndex:
        from reverie.storage.sqlite.note_index import SqliteFileIndex

        return SqliteFileIndex.beside(self.path, "files")

    @cached_property
    def code_chunks(self) -> FileIndex:
        from reverie.storage.sqlite.note_index import SqliteFileIndex

        return SqliteFileIndex.beside(self.path, "chunks")

    @cached_property
    def code(self) -> CodeIndex:
        from reverie.storage.sqlite.code_index import SqliteCodeIndex

        return SqliteCodeIndex.beside(self.path, "code")

    # Writing

    def apply(
        self, changes: Sequence[Change], cause: Event, *, done: tuple[str, int] | None = None
    ) -> int:
        with self._db.writing() as db:
            seq = write_changes.insert_event(db, cause)
            for place, change in enumerate(changes):
                write_changes.apply_change(db, ChangePlace(seq, place), change)
            if done:
                write_changes.claim_cursor(db, *done)
            self._writes += 1
        return seq

    def append(self, events: Sequence[Event]) -> list[int]:
        with self._db.writing() as db:
            return [write_changes.insert_event(db, event) for event in events]

    def advance(self, cursor: str, seq: int) -> None:
        with self._db.writing() as db:
            write_changes.advance_cursor(db, cursor, seq)

    def purge(self, ids: Sequence[str], more: Collection[str] = ()) -> int:
        from reverie.storage.sqlite.memory_purge import erase_memories

        with self._db.writing() as db:
            erased = erase_memories(db, ids, more)
            self._writes += 1
        if erased:
            # What was erased must not live on in the journal.
            self._db.checkpoint()
        return erased

    def ids_repeating(self, texts: Collection[str]) -> set[str]:
        from reverie.storage.sqlite.memory_purge import find_repeating_ids

        with self._db.reading() as db:
            return find_repeating_ids(db, texts)

    def put_vectors(
        self, model: str, vectors: Mapping[str, np.ndarray], hashes: Mapping[str, bytes]
    ) -> int:
        from reverie.storage.sqlite.vector_table import put_memory_vectors

        with self._db.writing() as db:
            self._writes += 1
            return put_memory_vectors(db, model, vectors, hashes)

    def await_vectors(self, model: str) -> int:
        from reverie.storage.sqlite.vector_table import enqueue_model

        with self._db.reading() as db:
            # The usual case, in which there is nothing to write.
            if read_queries.read_current_model(db) == model:
                return read_queries.count_waiting(db, model)
        with self._db.writing() as db:
            enqueue_model(db, model)
            return read_queries.count_waiting(db, model)

    def set_meta(self, name: str, value: str) -> None:
        with self._db.writing() as db:
            db.execute(
                "insert into meta (name, value) values (?, ?) "
                "on conflict (name) do update set value = excluded.value",
                (name, value),
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._db.writing():
            yield

    # Coordination

    def acquire(self, lease: str, holder: str, seconds: float, now: float) -> bool:
        with self._db.writing() as db:
            row = db.execute("select holder, until from lease where name = ?", (lease,)).fetchone()
            taken = row and row[0] != holder and now < row[1] < now + CLOCK_JUMP_FACTOR * seconds
            if not taken:
                db.execute(
                    "insert into lease (name, holder, until) values (?, ?, ?) on conflict (name) "
                    "do update set holder = excluded.holder, until = excluded.until",
                    (lease, holder, now + seconds),
                )
            return not taken

    def release(self, lease: str, holder: str) -> None:
        with self._db.writing() as db:
            db.execute("delete from lease where name = ? and holder = ?", (lease, holder))

    def holder(self, lease: str, now: float) -> str | None:
        row = self._db.fetch_one(
            "select holder from lease where name = ? and until > ?", (lease, now)
        )
        return row[0] if row else None

    # Reading

    def get(self, ids: Sequence[str]) -> list[Memory]:
        with self._db.reading() as db:
            return read_queries.read_memories(db, ids)

    def browse(self, where: Filter) -> list[Memory]:
        with self._db.reading() as db:
            return read_queries.browse_memories(db, where)

    def with_triggers(self, spaces: Sequence[str], *, within: float | None = None) -> list[Memory]:
        found: list[Memory] = []
        with self._db.reading() as db, read_queries.query_deadline(db, within):
            for memory in read_queries.iter_triggered_memories(db, spaces):
                found.append(memory)  # noqa: PERF402 - what was read before the deadline stays
        return found

    def tagged_numbers(self, tags: Sequence[str], spaces: Sequence[str]) -> list[int]:
        with self._db.reading() as db:
            return read_queries.find_tagged_numbers(db, tags, spaces)

    def tag_counts(self, spaces: Sequence[str]) -> dict[str, int]:
        with self._db.reading() as db:
            return read_queries.count_tags(db, spaces)

    def edges(self, ids: Sequence[str], rels: Sequence[str] = ()) -> list[Edge]:
        with self._db.reading() as db:
            return read_queries.read_edges(db, ids, rels)

    def edges_around(self, nodes: Sequence[str], spaces: Sequence[str], most: int) -> list[Edge]:
        from reverie.storage.sqlite.graph_neighbourhood import read_edges_around

        with self._db.reading() as db:
            return read_edges_around(db, nodes, spaces, most)

    def scan_edges(self, after: tuple[str, str, str], limit: int) -> list[Edge]:
        with self._db.reading() as db:
            return read_queries.scan_edges(db, after, limit)

    def edges_between(
        self, rels: Sequence[str], spaces: Sequence[str] = (), limit: int = 100
    ) -> list[Edge]:
        with self._db.reading() as db:
            return read_queries.read_edges_between(db, rels, spaces, limit)

    def events(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        verbs: Sequence[str] = (),
        session: str | None = None,
        space: str | None = None,
        newest: bool = False,
        limit: int = 1000,
    ) -> list[Event]:
        where = read_queries.EventFilter(after, before, verbs, session, space)
        with self._db.reading() as db:
            return read_queries.read_events(db, where, newest=newest, limit=limit)

    def search_events(
        self,
        verbs: Sequence[str],
        *,
        space: str = "",
        containing: Sequence[str] = (),
        since: float | None = None,
        until: float | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        from reverie.storage.sqlite.log_search import search_events

        with self._db.reading() as db:
            return search_events(db, verbs, space, containing, since, until, limit)

    def event_rows(
        self, verb: str, *, space: str = "", after: int, until: int, limit: int
    ) -> list[tuple[int, float, str, str, str]]:
        from reverie.storage.sqlite.log_search import read_event_rows

        with self._db.reading() as db:
            return read_event_rows(db, verb, space, after, until, limit)

    def session_spans(
        self,
        verbs: Sequence[str],
        *,
        space: str = "",
        containing: Sequence[str] = (),
        limit: int = 100,
    ) -> list[SessionSpan]:
        with self._db.reading() as db:
            return read_queries.read_session_spans(db, verbs, space, containing, limit)

    def event(self, seq: int) -> Event | None:
        with self._db.reading() as db:
            return read_queries.read_event(db, seq)

    def history(self, memory_id: str) -> list[Record]:
        with self._db.reading() as db:
            return read_queries.read_history(db, memory_id)

    def changes_of(self, seq: int) -> list[Record]:
        with self._db.reading() as db:
            return read_queries.read_changes_of(db, seq)

    def changes_since(self, at: float, spaces: Sequence[str]) -> list[Record]:
        with self._db.reading() as db:
            return read_queries.read_changes_since(db, at, spaces)

    def changes_after(self, seq: int) -> list[Record]:
        with self._db.reading() as db:
            return read_queries.read_changes_after(db, seq)

    def last_event(self) -> int:
        return int(self._db.fetch_one("select coalesce(max(seq), 0) from event")[0])

    def cursor(self, name: str) -> int:
        with self._db.reading() as db:
            return read_queries.read_cursor(db, name)

    def meta(self, name: str) -> str | None:
        row = self._db.fetch_one("select value from meta where name = ?", (name,))
        return row[0] if row else None

    # Finding

    def search_words(
        self,
        terms: Sequence[str],
        spaces: Sequence[str],
        limit: int,
        *,
        within: float | None = None,
        where: Filter | None = None,
        now: float | None = None,
    ) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        asked = (where or Filter())._replace(spaces=tuple(spaces))
        with self._db.reading() as db, read_queries.query_deadline(db, within):
            # The last list is the best one; a deadline leaves what was found before it.
            for found in read_queries.search_word_index(db, terms, asked, limit, now):  # noqa: B007
                pass
        return found

    def corpus(self, model: str, spaces: Sequence[str]) -> Corpus:
        from reverie.storage.sqlite.column_shards import ShardCache

        if model not in self._shards:
            self._shards[model] = (ShardCache(model), self._db.extra_reader())
        shards, db = self._shards[model]
        with self._db.using_extra():
            return shards.corpus(db, self._writes, spaces)

    def scores(self, model: str, corpus: Corpus, terms: Sequence[str]) -> list[Floats]:
        shards, db = self._shards[model]
        with self._db.using_extra():
            return shards.scores(db, corpus, terms)

    def unembedded_texts(self, limit: int, model: str | None = None) -> list[tuple[str, str]]:
        with self._db.reading() as db:
            return read_queries.read_unembedded_texts(db, limit, model)

    def known_vectors(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        from reverie.storage.sqlite.vector_table import read_known_vectors

        with self._db.reading() as db:
            return read_known_vectors(db, model, hashes)

    def vectors(self, model: str, ids: Sequence[str]) -> dict[str, np.ndarray]:
        from reverie.storage.sqlite.vector_table import read_memory_vectors

        with self._db.reading() as db:
            return read_memory_vectors(db, model, ids)

    # Trust

    def verify(self, repair: bool = False) -> list[Problem]:
        from reverie.storage.sqlite.integrity_checks import verify_database

        if self._db.read_only and not repair:
            with self._db.reading() as db:
                return verify_database(db, repair)
        with self._db.writing() as db:
            self._writes += 1
            return verify_database(db, repair)

    def stats(self, model: str | None = None) -> Stats:
        with self._db.reading() as db:

            def count(sql: str) -> int:
                number: int = db.execute(sql).fetchone()[0]
                return number

            def count_by(column: str) -> dict[str, int]:
                active = f"select {column}, count(*) from memory where retired_at is null"
                return dict(db.execute(f"{active} group by {column}"))

            kinds = count_by("kind")
            active = sum(kinds.values())
            current = read_queries.read_current_model(db) if model is None else model
            return Stats(
                memories=active,
                retired=count("select count(*) from memory") - active,
                events=count("select count(*) from event"),
                edges=count("select count(*) from edge"),
                vectors=count("select count(*) from vector"),
                waiting=read_queries.count_waiting(db, current),
                undecided=read_queries.count_undecided_pairs(db),
                bytes=count("pragma page_count") * count("pragma page_size"),
                kinds=kinds,
                spaces=count_by("space"),
            )

    def backup(self, target: Path) -> None:
        if target.exists():
            raise BadInput(f"{target} exists already; choose another name")
        half = target.with_name(target.name + ".part")
        half.unlink(missing_ok=True)
        try:
            with (
                self._db.snapshot() as db,
                closing(sqlite3.connect(half, isolation_level=None)) as copy,
            ):
                db.backup(copy)
                copy.execute("pragma journal_mode = delete")  # one file, whole by itself
            half.replace(target)
        except sqlite3.Error as err:
            raise translate_error(err, str(target)) from err
        finally:
            half.unlink(missing_ok=True)

    def restore_backup(self, source: Path, kept: Path) -> None:
        from reverie.storage.sqlite.restore_backup import restore_database

        if self.path == ":memory:":
            raise BadInput("A store in memory cannot be restored; open one on disk")
        restore_database(self.path, source, partial(self.backup, kept))
        self._writes += 1

    def dump(self, log: bool = True) -> Iterator[dict[str, Any]]:
        from reverie.storage.sqlite.bulk_transfer import dump_rows

        with self._db.snapshot() as db:
            rows = dump_rows(db, log)
            # In memory all share one connection: others must not wait for a slow reader, nor change
            # what it reads.
            yield from list(rows) if self._db.private else rows

    def load(self, rows: Iterable[dict[str, Any]]) -> dict[str, int]:
        from reverie.storage.sqlite.bulk_transfer import load_rows

        with self._db.writing() as db:
            self._writes += 1
            return load_rows(db, rows)

    def has_current_schema(self) -> bool:
        with self._db.reading() as db:
            return version(db) == LATEST

    def close(self) -> None:
        for shards, _ in self._shards.values():
            shards.stemmer.close()
        # Cached properties: only the indexes that were used are open.
        for name in ("files", "code", "code_chunks"):
            if name in vars(self):
                getattr(self, name).close()
        self._db.close()


def repair_store(url: str, backups: Sequence[Path], stamp: str) -> list[Problem]:
    """Mend a file that cannot be opened or fails its check. `stamp` names the damaged copy.

    The new file takes the place of the damaged one only when it is whole: an interrupt leaves
    everything as it was.
    """
    from reverie.storage.sqlite.salvage import salvage_database

    path = Path(path_from_url(url))
    if not path.exists():
        raise StoreDamaged(f"There is no file at {path}")
    damaged = path.with_name(f"{path.name}.damaged-{stamp}")
    half = path.with_name(path.name + ".part")
    half.unlink(missing_ok=True)
    try:
        problems = salvage_database(half, path, list(backups))
        for tail in ("-wal", "-shm", ""):
            part = path.with_name(path.name + tail)
            if part.exists():
                part.rename(damaged.with_name(damaged.name + tail))
        half.replace(path)
    except sqlite3.Error as err:
        raise translate_error(err, str(path)) from err
    finally:
        half.unlink(missing_ok=True)
    kept = f"it is kept as {damaged.name}"
    return [
        problem._replace(message=problem.message.replace("a copy of it is kept", kept))
        for problem in problems
    ]
