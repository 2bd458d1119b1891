"""Which library opens a database: Python's own SQLite, or SQLCipher where it is encrypted.

Only this module knows both. A database that lies in an encrypted home is opened with the home's
key; one that was written before, and is still plain, as it is. The errors are tuples, because those
of SQLCipher are no errors of `sqlite3`: `except database_library.Error` catches what either raises.
They have its codes, `sqlite_errorcode`, and the rest of the code asks only for those.

SQLCipher is loaded with the first key. A page is encrypted by AES-256 and sealed by an HMAC, in the
file as in its journals; what it would put into temporary files stays in memory.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from reverie.core.environment import is_encrypted
from reverie.core.errors import ExtraMissing
from reverie.core.installation import advise_install

PLAIN_HEADER = b"SQLite format 3\x00"  # how a file begins that is not encrypted
# By which a page is sealed. Of the time that SQLCipher's own choice, SHA-512, takes this takes half
# on processors that have instructions for it: 4.5 and 9.2 us a page (`python -m bench.at_rest`).
HMAC = "HMAC_SHA256"
DATABASE_NAME = "reverie.db"  # of a home
# Folders of a home with further databases in them.
HOME_FOLDERS = ("cache", "backups")

Errors = tuple[type[Exception], ...]
# Those of SQLCipher are added when it is loaded: an `except` looks here when something was raised.
# A message of SQLite that quotes damaged bytes cannot be decoded, and comes as such an error.
Error: Errors = (sqlite3.Error, UnicodeDecodeError)
DatabaseError: Errors = (sqlite3.DatabaseError, UnicodeDecodeError)
OperationalError: Errors = (sqlite3.OperationalError,)
IntegrityError: Errors = (sqlite3.IntegrityError,)
InterfaceError: Errors = (sqlite3.InterfaceError,)
ProgrammingError: Errors = (sqlite3.ProgrammingError,)
ERROR_NAMES = (
    "Error",
    "DatabaseError",
    "OperationalError",
    "IntegrityError",
    "InterfaceError",
    "ProgrammingError",
)


def load_sqlcipher() -> Any:
    """The module of SQLCipher. ExtraMissing where it is not installed."""
    try:
        import sqlcipher3.dbapi2 as sqlcipher
    except ImportError as err:
        raise ExtraMissing(
            "An encrypted memory needs a library that is not installed. "
            f"Install it with: {advise_install('encrypted')}"
        ) from err
    if sqlcipher.Error not in Error:
        for name in ERROR_NAMES:
            globals()[name] = (*globals()[name], getattr(sqlcipher, name))
        with sqlcipher.connect(":memory:") as first:
            # Of this process: what goes wrong is raised, and needs no line on stderr.
            first.execute("pragma cipher_log_level = none")
            # For what is attached.
            first.execute(f"pragma cipher_default_hmac_algorithm = {HMAC}")
        first.close()
    return sqlcipher


def home_of_database(path: str | Path) -> Path | None:
    """The home that a database is one of; None for a database of another place or name."""
    path = Path(path)
    if path.name == DATABASE_NAME:
        return path.absolute().parent
    return path.absolute().parent.parent if path.parent.name in HOME_FOLDERS else None


def find_database_key(path: str | Path) -> bytes | None:
    """The key with which a database is opened; None if its home is not encrypted.

    HomeLockedError where the key cannot be had.
    """
    home = home_of_database(path)
    if home is None:
        return None
    # Of a live database nobody reads the head: closing the file would end the locks that SQLite
    # holds on it for this process. A copy may have been put there from an unencrypted home.
    if Path(path).parent.name == "backups" and is_plain_database(path):
        return None
    if not is_encrypted(home):
        return None
    from reverie.core.home_key import read_home_key

    key = read_home_key(home)
    return None if key is None else key.database


def is_plain_database(path: str | Path) -> bool:
    """True for a file with content that is a database anybody can read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(PLAIN_HEADER)) == PLAIN_HEADER
    except OSError:
        return False


def is_encrypted_database(path: str | Path) -> bool:
    """True for a file with content that does not begin as a plain database does."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(len(PLAIN_HEADER))
    except OSError:
        return False
    return len(head) == len(PLAIN_HEADER) and head != PLAIN_HEADER


def key_of_file(path: str | Path, key: bytes | None) -> bytes | None:
    """The key with which a file is opened in a home that has `key`: None for a plain file."""
    return None if key is None or is_plain_database(path) else key


def connect(target: str | Path, key: bytes | None, **options: Any) -> Connection:
    """A connection, of SQLCipher if there is a key. `options` are those of `sqlite3.connect`.

    Statements commit by themselves unless a transaction was begun. A file that is opened with a
    wrong key raises when it is read first, with the code SQLITE_NOTADB.
    """
    options = {"isolation_level": None, **options}
    if key is None:
        plain: Connection = sqlite3.connect(target, **options)
        return plain
    db: Connection = load_sqlcipher().connect(str(target), **options)
    try:
        set_key(db, key)
    except BaseException:
        db.close()
        raise
    return db


def set_key(db: Connection, key: bytes) -> None:
    """Give a new connection its key, and keep what it sorts in memory."""
    db.execute(f'pragma key = "{key_literal(key)}"')
    db.execute(f"pragma cipher_hmac_algorithm = {HMAC}")
    db.execute("pragma temp_store = memory")


def key_literal(key: bytes | None) -> str:
    """A key as SQLCipher takes it: as it is, not as a passphrase; none is empty."""
    return "" if key is None else f"x'{key.hex()}'"


def copy_database(
    old: Connection, old_key: bytes | None, target: Path, new_key: bytes | None
) -> None:
    """Copy a database of one key into an empty file of another, as one file without journals."""
    new = connect(target, new_key)
    try:
        if (old_key is None) == (new_key is None):
            old.backup(new)
            new.execute("pragma journal_mode = delete")
            return
    finally:
        new.close()
    # SQLite copies pages, and those of a plain database have another layout.
    export_database(path_of(old), old_key, target, new_key)


def path_of(db: Connection) -> Path:
    """The file of a connection."""
    rows = db.execute("pragma database_list").fetchall()
    return Path(next(file for _, name, file in rows if name == "main"))


def export_database(
    source: Path, old_key: bytes | None, target: Path, new_key: bytes | None
) -> None:
    """Write every table, index and trigger of a database into an empty file of another key."""
    sqlcipher = load_sqlcipher()
    db: Connection = sqlcipher.connect(str(source), isolation_level=None, timeout=1.0)
    try:
        if old_key is not None:
            set_key(db, old_key)
        db.execute("pragma temp_store = memory")
        steps = db.execute("pragma user_version").fetchone()[0]
        db.execute("attach ? as converted key ?", (str(target), key_literal(new_key)))
        db.execute("select sqlcipher_export('converted')")
        db.execute(f"pragma converted.user_version = {steps}")
        with suppress(*Error):
            db.execute("detach converted")
    finally:
        db.close()


def library_version(db: Connection) -> tuple[int, ...]:
    """The version of SQLite that reads this database, such as (3, 45, 1)."""
    text = db.execute("select sqlite_version()").fetchone()[0]
    return tuple(int(part) for part in text.split("."))
