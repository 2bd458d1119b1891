"""The event log in DuckDB: SQL over long histories, and Parquet files of them.

The store is only read. Events are copied as raw rows and taken apart into the columns of in-memory
tables (`analytics.sql`), one verb at a time, when a query first needs them. It is a snapshot:
events recorded after it was opened are not in it. SQLite's own `json_extract` answers one query in
less time than it takes to copy a million events; DuckDB answers each further one in a hundredth of
that (`python -m bench.analytics`).

Anybody may ask, so SQL reaches no files, extensions, network or values of this program, and cannot
change that: DuckDB's configuration is locked before the first query.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from reverie.core.atomic_file import create_private_file, make_private_folder
from reverie.core.errors import BadInput, ExtraMissing
from reverie.core.installation import advise_install

if TYPE_CHECKING:
    import duckdb

    from reverie.storage import Store

BATCH = 100_000  # events that are copied at once
PATTERN = "pattern"
# table → its source: a verb of the log, or the patterns that the caller has learned
TABLES = {
    "tool_executions": "tool",
    "file_interactions": "file",
    "tasks": "task",
    "commits": "commit",
    "learned_patterns": PATTERN,
}
# Nothing is fetched or written, and no variable of this program is taken for a table.
SAFE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}

PatternRow = tuple[str, str, float | None, int, float, float]
"""A row of `learned_patterns`: type, data as JSON text, confidence, count, first and last seen."""


class QueryResult(NamedTuple):
    """The answer to a query: every row, in order."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class TableDescription(NamedTuple):
    """A table that can be queried. The CLI prints the fields by name."""

    name: str
    about: str
    columns: Mapping[str, str]  # name → type


class LogAnalysis:
    """The activity visible from a space, as it is now. A context manager."""

    def __init__(
        self,
        store: Store,
        space: str,
        patterns: Callable[[], Iterable[PatternRow]],
    ) -> None:
        self._store, self._space, self._patterns = store, space, patterns
        self._until = store.last_event()
        self._loaded: set[str] = set()
        self._db = open_duckdb()
        self._sealed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def tables(self) -> list[TableDescription]:
        """The tables that can be queried, with their columns."""
        about = dict(self._db.execute(ABOUT).fetchall())
        columns: dict[str, dict[str, str]] = {name: {} for name in about}
        for name, column, type in self._db.execute(COLUMNS).fetchall():
            columns[name][column] = type
        return [TableDescription(name, about[name], columns[name]) for name in about]

    def ask(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
    ) -> QueryResult:
        """The answer to one SQL statement in DuckDB's dialect.

        `parameters` stand for `?`, `$1` or `$name` in it. Raises BadInput with DuckDB's own words
        for SQL that does not work, KeyboardInterrupt where somebody stops it.
        """
        import duckdb

        self._seal()
        # DuckDB takes no half of a surrogate pair.
        statement = query.encode("utf-8", "replace").decode()
        try:
            self._fill_tables(self._find_tables(statement, parameters))
            result = self._db.execute(statement, parameters or None)
            columns = tuple(column[0] for column in result.description or ())
            return QueryResult(columns, result.fetchall())
        # Depending on where Ctrl-C arrives, DuckDB reports it in two ways.
        except RuntimeError as err:
            if "interrupt" not in str(err).lower():
                raise
            raise KeyboardInterrupt from err
        except duckdb.InterruptException as err:
            raise KeyboardInterrupt from err
        except (duckdb.Error, ValueError, OverflowError) as err:
            raise BadInput(f"That SQL does not work. {shorten_error(str(err))}") from err

    def parquet(self, folder: Path) -> dict[str, int]:
        """Write every table as a Parquet file into a new folder, all of them or none.

        Returns how many rows each has. Raises BadInput if something is there already. Works only
        before the first `ask`, which closes the way to files.
        """
        is_empty = folder.is_dir() and not any(folder.iterdir())
        if folder.exists() and not is_empty:
            raise BadInput(f"{folder} exists already. Name a new folder")
        parent = folder.absolute().parent
        if not parent.is_dir():
            raise BadInput(f"There is no folder {parent}")
        self._fill_tables(TABLES)
        rows: dict[str, int] = {}
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=parent) as scratch:
            half = Path(scratch, "half")
            make_private_folder(half)
            for name in TABLES:
                file = half / f"{name}.parquet"
                create_private_file(file)
                relation = self._db.table(name)
                relation.write_parquet(str(file))
                rows[name] = relation.count("*").fetchall()[0][0]
                sync_to_disk(file)
            # Renamed as a whole: a folder of half the tables would look complete.
            half.replace(folder)
        return rows

    def _find_tables(
        self, statement: str, parameters: Sequence[Any] | Mapping[str, Any]
    ) -> Iterable[str]:
        """The tables that a statement reads.

        DuckDB knows them for statements that only read and have no parameters; for others, every
        table that is mentioned.
        """
        import duckdb

        try:
            return self._db.get_table_names(statement)
        except duckdb.BinderException:
            return find_mentioned_tables(f"{statement} {parameters}")

    def _seal(self) -> None:
        """Close SQL's way to everything but these tables."""
        if not self._sealed:
            self._db.execute("set enable_external_access = false")
            self._db.execute("set lock_configuration = true")
            self._sealed = True

    def _fill_tables(self, tables: Iterable[str]) -> None:
        """Load these tables, unless they are loaded already."""
        for table in sorted(TABLES.keys() & set(tables) - self._loaded):
            source = TABLES[table]
            if source == PATTERN:
                self._append_rows(source, PATTERNS, list(self._patterns()))
            else:
                self._copy_events(source)
            self._db.execute(f"insert into {table} from log.{table}")
            # The raw rows are not asked for again, and a long history is large.
            self._db.execute(f"truncate log.{source}")
            self._loaded.add(table)

    def _copy_events(self, verb: str) -> None:
        """Copy the events of a verb."""
        after = 0
        while rows := self._store.event_rows(
            verb,
            space=self._space,
            after=after,
            until=self._until,
            limit=BATCH,
        ):
            self._append_rows(verb, EVENTS, rows)
            after = rows[-1][0]

    def _append_rows(
        self,
        table: str,
        columns: Mapping[str, type],
        rows: Sequence[tuple[Any, ...]],
    ) -> None:
        """Append rows to a table, as columns: a row at a time takes a hundred times as long."""
        import numpy as np

        if not rows:
            return
        batch: dict[str, Any] = {}
        by_column = zip(*rows, strict=True)
        for (name, kind), values in zip(
            columns.items(),
            by_column,
            strict=True,
        ):
            batch[name] = np.array(values, kind)
        self._db.register("batch", batch)
        self._db.execute(f"insert into log.{table} by name select * from batch")
        self._db.unregister("batch")


EVENTS: Mapping[str, type] = {
    "seq": int,
    "happened": float,
    "space": object,
    "session": object,
    "payload": object,
}
PATTERNS: Mapping[str, type] = {
    "type": object,
    "data": object,
    "confidence": float,
    "count": int,
    "first_seen": float,
    "last_seen": float,
}
ABOUT = "select table_name, comment from duckdb_tables() where schema_name = 'main' order by 1"
COLUMNS = """
    select table_name, column_name, data_type
    from duckdb_columns()
    where not internal and schema_name = 'main'
    order by column_index
"""


def open_duckdb() -> duckdb.DuckDBPyConnection:
    """An in-memory database with the tables, empty.

    Raises ExtraMissing where DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as err:
        raise ExtraMissing(
            "SQL over the log needs DuckDB, which is not installed. "
            f"Install it with: {advise_install('analytics')}"
        ) from err
    db = duckdb.connect(":memory:", config=SAFE)
    db.execute(Path(__file__).with_suffix(".sql").read_text("utf-8"))
    return db


def find_mentioned_tables(text: str) -> list[str]:
    """The tables that a text names.

    All of them where it may compute a name (`query`, `query_table`).
    """
    plain = text.lower()
    return [table for table in TABLES if table in plain or "query" in plain]


def shorten_error(said: str) -> str:
    """DuckDB's message on one line, without the drawing of the place."""
    return " ".join(said.partition("\n\n")[0].split())


def sync_to_disk(file: Path) -> None:
    """Wait until a file is on the disk."""
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
