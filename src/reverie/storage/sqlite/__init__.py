"""The embedded backend: one SQLite file, or `:memory:`.

`SqliteStore` says who may do what when (connections, transactions); the modules beside it do it.
Python's own sqlite3 must do, or SQLCipher in an encrypted home (`database_library`): no extensions.
A file that cannot be read raises StoreDamaged when it is opened; `repair_store(url)` mends it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, ClassVar

from reverie.core.atomic_file import create_private_file
from reverie.core.errors import BadInput, StoreDamaged, StoreError, StoreReadOnly
from reverie.core.model import Change, Event
from reverie.storage import Names, Problem, Stats
from reverie.storage.sqlite import database_library, write_changes
from reverie.storage.sqlite.candidate_search import SqliteSearch
from reverie.storage.sqlite.connection import SqliteConnections, translate_error
from reverie.storage.sqlite.schema_migration import LATEST, migrate, version
from reverie.storage.sqlite.text_scan import SqliteScrubbing
from reverie.storage.sqlite.write_changes import ChangePlace
from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    import numpy as np

    from reverie.storage.purge_texts import RepeatPlaces
    from reverie.storage.sqlite.code_index import SqliteCodeIndex
    from reverie.storage.sqlite.column_shards import ShardCache
    from reverie.storage.sqlite.file_index import SqliteFileIndex
    from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex

# A lease that ends later than this many times its length from now was taken before the clock
# jumped, and may be taken over.
CLOCK_JUMP_FACTOR = 2.0


def path_from_url(url: str) -> str:
    """The path in a URL.

    sqlite:///relative.db, sqlite:////absolute.db, sqlite://:memory:
    """
    rest = url.removeprefix("sqlite://")
    return rest if rest == ":memory:" else rest.removeprefix("/")


def open(url: str) -> SqliteStore:
    """Open the store, creating it if it is not there."""
    return SqliteStore(url)


class SqliteStore(SqliteSearch, SqliteScrubbing):
    """`Store` on SQLite. The protocol's docstrings hold; here is only how."""

    has_file: ClassVar[bool] = True
    keeps_indexes_beside: ClassVar[bool] = True
    vector_precision: ClassVar[float] = 0.0

    def __init__(self, url: str, key: bytes | None = None) -> None:
        """`key` is that of a copy in memory; a file has that of the home it lies in."""
        self.url = url
        self.path = path_from_url(url)
        self._db = SqliteConnections(self.path, key)
        self._writes = 0
        self._shards: dict[str, tuple[ShardCache, Connection]] = {}
        self._searched_model = ""
        self._origin: SqliteStore | None = None  # what this is a copy of, whose code is read
        try:
            taken = version(self._db.writer)
            if self._db.read_only and taken < LATEST:
                raise StoreReadOnly(
                    f"The memory store at {self.path} has an older schema and cannot be written to "
                    "bring it up to date. Check who may write to the folder."
                )
            if taken != LATEST:
                migrate(self._db.writer)
        except database_library.Error as err:
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
    def files(self) -> SqliteFileIndex:
        from reverie.storage.sqlite.file_index import SqliteFileIndex

        return SqliteFileIndex.beside(self.path, "files")

    @cached_property
    def code_chunks(self) -> SqliteFileIndex:
        from reverie.storage.sqlite.file_index import SqliteFileIndex

        return SqliteFileIndex.beside(self.path, "chunks")

    @cached_property
    def code(self) -> SqliteCodeIndex:
        if self._origin is not None:
            return self._origin.code
        from reverie.storage.sqlite.code_index import SqliteCodeIndex

        return SqliteCodeIndex.beside(self.path, "code")

    @cached_property
    def transcripts(self) -> SqliteTranscriptIndex:
        from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex

        return SqliteTranscriptIndex.beside(self.path, "transcripts")

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

    def find_repeats(self, ids: Names, more: Collection[str] = ()) -> RepeatPlaces:
        from reverie.storage.sqlite.memory_purge import find_repeat_places

        with self._db.reading() as db:
            return find_repeat_places(db, ids, more)

    def purge(
        self, ids: Names, more: Collection[str] = (), found: RepeatPlaces | None = None
    ) -> int:
        from reverie.storage.sqlite.memory_purge import erase_memories

        with self._db.writing() as db:
            erased = erase_memories(db, ids, more, found)
            self._writes += 1
        if erased:
            # What was erased must not live on among the words, or in the journal.
            self.merge_words()
            self._db.checkpoint()
        return erased

    def ids_repeating(self, texts: Collection[str]) -> set[str]:
        from reverie.storage.sqlite.memory_purge import find_repeating_ids

        with self._db.reading() as db:
            return find_repeating_ids(db, texts)

    def put_vectors(
        self,
        model: str,
        vectors: Mapping[str, np.ndarray],
        hashes: Mapping[str, bytes],
    ) -> int:
        kept = 0
        with self._db.writing() as db:
            self._writes += 1
            for id, vector in vectors.items():
                row = db.execute("select num, text from memory where id = ?", (id,)).fetchone()
                if row is None or fingerprint_text(row[1]) != hashes[id]:
                    continue
                db.execute(
                    "insert or replace into vector (memory, model, hash, vec) values (?, ?, ?, ?)",
                    (row[0], model, hashes[id], vector.astype("<f4").tobytes()),
                )
                db.execute(write_changes.HAS_VECTOR, (row[0], model))
                kept += 1
        return kept

    def await_vectors(self, model: str, *, again: bool = False) -> int:
        # Usually it is the current model already, and there is nothing to write.
        is_new = self._current_model() != model
        if is_new or again:
            with self._db.writing() as db:
                if is_new:
                    db.execute("insert or replace into embedder (model) values (?)", (model,))
                db.execute(write_changes.QUEUE_MISSING)
        return self._count_waiting(model)

    def set_meta(self, name: str, value: str) -> None:
        with self._db.writing() as db:
            db.execute(
                "insert into meta (name, value) values (?, ?) "
                "on conflict (name) do update set value = excluded.value",
                (name, value),
            )

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        with self._db.writing(durable=durable):
            yield

    def reading(self) -> AbstractContextManager[None]:
        # Each thread has a connection of its own anyway.
        return nullcontext()

    # Coordination

    def acquire(
        self,
        lease: str,
        holder: str,
        seconds: float,
        now: float,
    ) -> bool:
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

    # Trust

    def verify(self, repair: bool = False, backups: Sequence[Path] = ()) -> list[Problem]:
        from reverie.storage.sqlite.integrity_checks import verify_database
        from reverie.storage.sqlite.sealed_rows import seal_older_rows

        if self._db.read_only and not repair:
            with self._db.reading() as db:
                return verify_database(db, repair)
        with self._db.writing() as db:
            self._writes += 1
            problems = verify_database(db, repair, backups)
            if not any(problem.what == "file" for problem in problems):
                seal_older_rows(db)
            return problems

    def stats(self, model: str | None = None) -> Stats:
        kinds: Counter[str] = Counter()
        spaces: Counter[str] = Counter()
        # Once through the table for both: it takes most of the time of all this.
        for kind, space, count in self._db.fetch_all(
            "select kind, space, count(*) from memory where retired_at is null group by kind, space"
        ):
            kinds[kind] += count
            spaces[space] += count
        active = kinds.total()
        current = self._current_model() if model is None else model
        return Stats(
            memories=active,
            retired=self._count("select count(*) from memory") - active,
            events=self._count("select count(*) from event"),
            edges=self._count("select count(*) from edge"),
            vectors=self._count("select count(*) from vector"),
            waiting=self._count_waiting(current),
            undecided=self._count_undecided_pairs(),
            bytes=self._count("pragma page_count") * self._count("pragma page_size"),
            kinds=dict(kinds),
            spaces=dict(sorted(spaces.items())),
        )

    def copy(self) -> SqliteStore:
        copy = SqliteStore("sqlite://:memory:", self._db.key)
        with self._db.snapshot() as db:
            db.backup(copy.connections.writer)
        copy._origin = self
        return copy

    def backup(self, target: Path) -> None:
        if target.exists():
            raise BadInput(f"{target} exists already; choose another name")
        half = target.with_name(target.name + ".part")
        half.unlink(missing_ok=True)
        create_private_file(half)
        try:
            with (
                self._db.snapshot() as db,
                closing(database_library.connect(half, self._db.key)) as copy,
            ):
                db.backup(copy)
                copy.execute("pragma journal_mode = delete")  # one file, whole by itself
            half.replace(target)
        except database_library.Error as err:
            raise translate_error(err, str(target)) from err
        finally:
            half.unlink(missing_ok=True)

    def restore_backup(self, source: Path, kept: Path) -> None:
        from reverie.storage.sqlite.restore_backup import restore_database

        if self.path == ":memory:":
            raise BadInput("A store in memory cannot be restored; open one on disk")
        restore_database(self.path, self._db.key, source, partial(self.backup, kept))
        self._writes += 1

    def dump(self, log: bool = True) -> Iterator[dict[str, Any]]:
        from reverie.storage.sqlite.bulk_transfer import dump_rows

        with self._db.snapshot() as db:
            rows = dump_rows(db, log)
            # In memory all share one connection: others must not wait for a slow reader, nor change
            # what it reads.
            yield from list(rows) if self._db.private else rows

    def load(
        self,
        rows: Iterable[dict[str, Any]],
    ) -> dict[str, int]:
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
        for name in ("files", "code", "code_chunks", "transcripts"):
            if name in vars(self) and (name != "code" or self._origin is None):
                getattr(self, name).close()
        self._db.close()


def repair_store(
    url: str,
    backups: Sequence[Path],
    stamp: str,
) -> list[Problem]:
    """Mend a file that cannot be opened or fails its check. `stamp` names the damaged copy.

    The new file takes the place of the damaged one only when it is whole: an interrupt leaves
    everything as it was.
    """
    from reverie.storage.sqlite.salvage import salvage_database

    path = Path(path_from_url(url))
    if not path.exists():
        raise StoreDamaged(f"There is no file at {path}")
    key = database_library.find_database_key(path)
    damaged = path.with_name(f"{path.name}.damaged-{stamp}")
    half = path.with_name(path.name + ".part")
    half.unlink(missing_ok=True)
    create_private_file(half)
    try:
        problems = salvage_database(half, path, list(backups), key)
        for tail in ("-wal", "-shm", ""):
            part = path.with_name(path.name + tail)
            if part.exists():
                part.rename(damaged.with_name(damaged.name + tail))
        half.replace(path)
    except database_library.Error as err:
        raise translate_error(err, str(path)) from err
    finally:
        half.unlink(missing_ok=True)
    kept = f"it is kept as {damaged.name}"
    return [
        problem._replace(message=problem.message.replace("a copy of it is kept", kept))
        for problem in problems
    ]
