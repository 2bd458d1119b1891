"""Starting the detached worker, by whoever can afford nothing: no store is opened and nothing heavy
imported.

`wake` is for hooks. A lock on a file says whether a worker lives; the one who gets the lock starts
the worker and hands the lock over, still held, so that of a thousand who come at once one starts
one. The system lets go of it when the worker ends, however it ends.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from reverie.core import clock

# whether a process can be given an open file, and the lock with it
INHERITED = sys.platform != "win32"
REST_SECONDS = 30.0  # seconds after a worker failed in which hooks start no other: each would fail


def wake_worker(home: str, lock: str) -> bool:
    """Start a worker for this home unless one lives; whether one was started. Never waits."""
    held = None if is_resting(lock) else take_lock(lock)
    if held is None:
        return False
    try:
        if INHERITED:
            start_worker_process(home, "", held)
    finally:
        os.close(held)
    if not INHERITED:  # then it takes the lock itself; of two that were started one leaves at once
        start_worker_process(home, "")
    return True


def note_worker_exit(lock: str, failed: bool) -> None:
    """A worker leaves: it failed, so that none is started for a while, or it did not."""
    with suppress(OSError):
        if failed:
            os.close(os.open(f"{lock}.failed", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
            os.utime(f"{lock}.failed")
        else:
            os.unlink(f"{lock}.failed")


def is_resting(lock: str) -> bool:
    """Whether a worker failed a moment ago."""
    try:
        return 0 <= clock.now() - os.stat(f"{lock}.failed").st_mtime < REST_SECONDS
    except OSError:
        return False


def take_lock(lock: str) -> int | None:
    """The lock's open file, if nobody holds it."""
    os.makedirs(os.path.dirname(lock), 0o700, exist_ok=True)
    file = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        lock_open_file(file)
    except OSError:
        os.close(file)
        return None
    return file


def lock_open_file(file: int) -> None:
    """Lock an open file until it is closed; OSError if somebody else has. Never waits."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_worker_alive(lock: str) -> bool:
    """Whether a worker lives: somebody holds the lock."""
    if not os.path.isfile(lock):
        return False
    held = take_lock(lock)
    if held is not None:
        os.close(held)
    return held is None


def start_worker_process(home: str, holder: str, lock: int | None = None) -> None:
    """A process of its own session, that holds on to nothing of ours but the lock it is given."""
    import subprocess

    command = [sys.executable, "-m", "reverie", "worker", "--home", home, "--holder", holder]
    apart: dict[str, Any] = (
        {"creationflags": 0x00000208} if sys.platform == "win32" else {"start_new_session": True}
    )
    if lock is not None:
        command += ["--lock", str(lock)]
        apart["pass_fds"] = (lock,)
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=os.path.splitdrive(home)[0] + os.sep,
        close_fds=True,
        **apart,
    ).returncode = 0  # nobody waits for it
