"""Who has the databases of a home open, so that they can be exchanged for encrypted ones at once.

Whoever opens one holds a shared lock on `databases.lock` until it is closed; a conversion
(`home_conversion`) needs the lock alone. It writes whole converted copies beside the databases,
`NAME.converting`, and then exchanges all: the moment is that in which `encryption.json` comes or
goes, so a copy that is of the home's present kind belongs in its database's place, and any other
was given up. Whoever comes first after a conversion that was killed finishes it so; the file
`conversion-pending` says that there is something to look for.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from reverie.core.atomic_file import make_private_folder, sync_folder
from reverie.core.clock import sleep, ticks
from reverie.core.environment import ENCRYPTION_COPY, ENCRYPTION_FILE, is_encrypted
from reverie.core.errors import StoreBusy
from reverie.core.file_blanking import blank_open_file, erase_file
from reverie.core.file_lock import lock_open_file, share_open_file
from reverie.storage.sqlite.database_library import (
    DATABASE_NAME,
    HOME_FOLDERS,
    is_encrypted_database,
    is_plain_database,
)

LOCK_FILE = "databases.lock"
PENDING_FILE = "conversion-pending"
CONVERTED = ".converting"  # the suffix of a whole copy that waits for its place
HALF = ".db.part"  # how half a database ends
JOURNALS = ("-wal", "-shm", "-journal")
WAIT_SECONDS = 60.0  # for a conversion to end
POLL_SECONDS = 0.02


class HomeGate:
    """The shared lock of one opened database, released by `leave` or when nobody has it any more.

    Without a home, or where no lock can be written, it holds nothing.
    """

    def __init__(self, home: Path | None) -> None:
        self._file = None if home is None else enter_home(home)

    def leave(self) -> None:
        """Release the lock."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.leave()


def enter_home(home: Path) -> int | None:
    """The lock file of a home, open and shared; None where it cannot be written.

    Waits for a conversion, and finishes one that was killed. StoreBusy if that takes too long.
    """
    end = ticks() + WAIT_SECONDS
    while True:
        file = open_lock_file(home)
        if file is None:
            return None
        is_pending = (home / PENDING_FILE).exists()
        try:
            if is_pending:
                lock_open_file(file)
                finish_conversion(home)
                os.close(file)
                continue
            share_open_file(file)
            # The pending file may have come between the look and the lock.
            if not (home / PENDING_FILE).exists():
                return file
            os.close(file)
        except OSError:
            os.close(file)
            if ticks() > end:
                raise StoreBusy(
                    "This memory is just being encrypted or decrypted. Nothing was changed: "
                    "try again"
                ) from None
            sleep(POLL_SECONDS)


def open_lock_file(home: Path) -> int | None:
    """The lock file of a home, open; None where it cannot be written or locks are not to be had."""
    if sys.platform == "win32":  # it has no shared locks, and keeps open files from being replaced
        return None
    try:
        make_private_folder(home)
        return os.open(home / LOCK_FILE, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return None


def list_databases(home: Path) -> list[Path]:
    """The databases of a home: its own first, then indexes and copies of it."""
    own = home / DATABASE_NAME
    others = [path for name in HOME_FOLDERS for path in sorted((home / name).glob("*.db"))]
    return [*([own] if own.is_file() else []), *others]


def finish_conversion(home: Path) -> None:
    """Put converted copies in their places, or remove them if the conversion was given up.

    For whoever has the home alone. Interrupted, it is done again from where it was.
    """
    encrypted = is_encrypted(home)
    is_wanted = is_encrypted_database if encrypted else is_plain_database
    for folder in (home, *(home / name for name in HOME_FOLDERS)):
        for copy in sorted(folder.glob(f"*{CONVERTED}")):
            place = copy.with_name(copy.name.removesuffix(CONVERTED))
            if is_wanted(copy):
                exchange(copy, place)
            else:
                erase_file(copy)
        for half in folder.glob(f"*{HALF}*"):
            erase_file(half)
        sync_folder(str(folder))
    for name in (ENCRYPTION_FILE, ENCRYPTION_COPY):
        for half in home.glob(f".{name}.*.part"):
            half.unlink(missing_ok=True)
    # What could not be converted and can be made again.
    is_other = is_plain_database if encrypted else is_encrypted_database
    for index in (home / "cache").glob("*.db"):
        if is_other(index):
            remove_with_journals(index)
    with suppress(FileNotFoundError):
        (home / PENDING_FILE).unlink()
    sync_folder(str(home))


def exchange(copy: Path, place: Path) -> None:
    """Put a whole copy in the place of a database that nobody has open."""
    for tail in JOURNALS:
        erase_file(place.with_name(place.name + tail))
    if is_plain_database(place):
        with suppress(OSError), place.open("r+b") as file:
            blank_open_file(file.fileno())
    copy.replace(place)


def remove_with_journals(database: Path) -> None:
    """Remove a database that nobody has open."""
    for tail in (*JOURNALS, ""):
        erase_file(database.with_name(database.name + tail))
