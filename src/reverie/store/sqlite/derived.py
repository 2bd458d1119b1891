"""A database beside the store that can be made again: opened at the first need, begun anew where it is damaged."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from reverie.errors import StoreDamaged
from reverie.store.sqlite.connection import Connections
from reverie.store.sqlite.migrate import statements


class Derived:
    """One such database. It is made when something is first written to it."""

    schema: ClassVar[Path]

    def __init__(self, path: str) -> None:
        self.path = path
        self._opened: Connections | None = None
        self._lock = threading.RLock()

    def _there(self) -> bool:
        return self._opened is not None or (self.path != ":memory:" and Path(self.path).is_file())

    def _connections(self) -> Connections:
        with self._lock:
            if self._opened is None:
                try:
                    self._opened = opened(self.path, self.schema)
                except StoreDamaged:
                    self.clear()
                    self._opened = opened(self.path, self.schema)
            return self._opened

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection, or None where nothing was ever written."""
        if not self._there():
            yield None
            return
        with self._connections().reading() as db:
            yield db

    def clear(self) -> None:
        """Throw it all away; the next write begins it anew."""
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


def opened(path: str, schema: Path) -> Connections:
    """Connections to a database with the tables of a schema."""
    made = Connections(path)
    try:
        with made.writing() as db:
            if not db.execute("select 1 from sqlite_master where name = 'words'").fetchone():
                for statement in statements(schema.read_text("utf-8")):
                    db.execute(statement)
    except BaseException:
        made.close()
        raise
    return made
