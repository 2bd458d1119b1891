# mypy: no-check-untyped-defs
"""A crash at a chosen statement: the store's writing connection raises, as a full disk, a bug or
Ctrl-C would.
"""

import sqlite3
from contextlib import contextmanager

from reverie.core.errors import StoreError

# trouble of the disk, ours, the user's
FAILURES = (
    sqlite3.OperationalError,
    MemoryError,
    KeyboardInterrupt,
)
CRASHES = (StoreError, MemoryError, KeyboardInterrupt)  # what reaches the caller


class FailingConnection:
    """A connection that passes everything on and raises once, before or after the n-th
    statement.
    """

    def __init__(self, db, statement, failure, late):
        self.db, self.left, self.failure, self.late = db, statement, failure, late

    def __getattr__(self, name):
        return getattr(self.db, name)

    def execute(self, *args):
        self.left -= 1
        if self.left != 0:
            return self.db.execute(*args)
        if self.late:
            self.db.execute(*args)
        raise self.failure("a crash that was asked for")


@contextmanager
def failing_at_statement(store, statement, failure, late):
    """Within, the n-th statement that the store writes with fails; yields the fuse, of which `left`
    tells.
    """
    connections = store.connections
    fuse = FailingConnection(connections.writer, statement, failure, late)
    connections.writer = fuse
    try:
        yield fuse
    finally:
        connections.writer = fuse.db
