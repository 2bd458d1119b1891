"""The schema by numbered steps. `schema.sql` is what a fresh database looks like after all of them.

`pragma user_version` says how many steps a file has taken. A file that has taken more than we know
was written by a newer Reverie and is left alone.
"""

import sqlite3
from pathlib import Path

from reverie.core.errors import NewerStore

FOLDER = Path(__file__).parent / "migrations"
LATEST = 3  # the number of the last file in migrations/; a test compares


def steps() -> list[Path]:
    """The migrations in order: 0001_start.sql, …"""
    return sorted(FOLDER.glob("[0-9]*.sql"))


def version(db: sqlite3.Connection) -> int:
    """How many steps this file has taken."""
    number: int = db.execute("pragma user_version").fetchone()[0]
    return number


def migrate(db: sqlite3.Connection) -> int:
    """Take the steps that are missing, each in a transaction; returns how many were taken."""
    have = version(db)
    if have > LATEST:
        raise NewerStore(
            f"This memory store has schema {have}, this Reverie knows {LATEST}. "
            "Upgrade with: pip install --upgrade reverie. Nothing was changed."
        )
    taken = 0
    while have < LATEST:
        db.execute("begin immediate")
        try:
            have = version(db)  # another process may have been quicker
            if have < LATEST:
                for statement in statements(steps()[have].read_text("utf-8")):
                    db.execute(statement)
                db.execute(f"pragma user_version = {have + 1}")
                taken += 1
                have += 1
            db.execute("commit")
        finally:
            if db.in_transaction:
                db.execute("rollback")
    return taken


def statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would commit in between."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current.strip())
            current = ""
    return found
