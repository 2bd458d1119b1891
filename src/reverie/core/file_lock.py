"""Locks that are held by an open file: they end with the process, however it ends.

Hooks take one, so nothing is imported here that they have not.
"""

from __future__ import annotations

import os
import sys

from reverie.core.atomic_file import make_private_folder


def take_lock(lock: str) -> int | None:
    """The lock file, open and locked; None if somebody else holds it."""
    make_private_folder(os.path.dirname(lock))
    file = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        lock_open_file(file)
    except OSError:
        os.close(file)
        return None
    return file


def name_holder(file: int) -> None:
    """Write into a lock file that is held which process has it. Its first byte stays what it is:
    Windows lets nobody else read what is locked.
    """
    os.ftruncate(file, 0)
    os.lseek(file, 1, os.SEEK_SET)
    os.write(file, str(os.getpid()).encode())
    os.lseek(file, 0, os.SEEK_SET)


def name_nobody(file: int) -> None:
    """Take the name of an earlier holder out of a lock file that is held: its process may be
    another one by now, and whoever wants the lock ends the one that is named.
    """
    os.ftruncate(file, 0)


def read_holder(lock: str) -> int:
    """The process that wrote itself into a lock file; 0 where none did."""
    try:
        with open(lock, "rb") as file:
            file.seek(1)
            return int(file.read(20))
    except (OSError, ValueError):
        return 0


def lock_open_file(file: int) -> None:
    """Lock an open file until it is closed. OSError if somebody else has it; never waits."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def share_open_file(file: int) -> None:
    """Lock an open file together with others that share it, until it is closed. OSError if somebody
    has it alone; never waits. On Windows, which has no such locks, it does nothing.
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
