"""The schema in numbered steps; `schema.sql` is a fresh database after all of them.

`pragma user_version` says how many steps a file has taken. A file that has taken more than we know
was written by a newer Reverie and is left alone.
"""

import sqlite3
from pathlib import Path
from sqlite3 import Connection

from reverie.core.errors import NewerStore
from reverie.storage.sqlite.connection import fetch_value

FOLDER = Path(__file__).parent / "migrations"
LATEST = 7  # the number of the last file in migrations/; a test compares


def list_migrations() -> list[Path]:
    """The migrations in order: 0001_start.sql, …"""
    return sorted(FOLDER.glob("[0-9]*.sql"))


def version(db: Connection) -> int:
    """How many steps this file has taken."""
    number: int = fetch_value(db, "pragma user_version")
    return number


def migrate(db: Connection, last: int = LATEST) -> int:
    """Take the missing steps up to `last`, each in a transaction; returns how many were taken.

    Raises NewerStore, before a byte is changed, for a file of a newer Reverie.
    """
    current = version(db)
    if current > LATEST:
        raise NewerStore(
            f"This memory store has schema {current}, this Reverie knows {LATEST}. "
            "Upgrade with: pip install --upgrade reverie. Nothing was changed."
        )
    taken = 0
    while current < last:
        db.execute("begin immediate")
        try:
            # Another process may have been quicker.
            current = version(db)
            if current < last:
                script = list_migrations()[current].read_text("utf-8")
                for statement in split_statements(script):
                    db.execute(statement)
                current += 1
                db.execute(f"pragma user_version = {current}")
                taken += 1
            db.execute("commit")
        finally:
            if db.in_transaction:
                db.execute("rollback")
    return taken


def split_statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would commit in between."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current.strip())
            current = ""
    return found
