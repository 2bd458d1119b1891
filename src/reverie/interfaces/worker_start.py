"""Start the detached worker from a hook, which has milliseconds: no store is opened and nothing
heavy is imported.

A lock on a file says whether a worker is alive. Who gets the lock starts the worker and hands the
lock over, still held, so that of a thousand hooks at once only one starts a worker. The system
releases it when the worker ends, however it ends.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from reverie.core import clock
from reverie.core.file_lock import take_lock

# True where a process can be given an open file, and its lock with it.
INHERITED = sys.platform != "win32"
# After a worker failed hooks start no other for so long: each would fail.
REST_SECONDS = 30.0


def wake_worker(home: str, lock: str) -> bool:
    """Start a worker for this home unless one is alive; True if one was started. Never waits."""
    held = None if is_resting(lock) else take_lock(lock)
    if held is None:
        return False
    try:
        # It names the last worker until the next one writes itself down.
        os.ftruncate(held, 0)
        if INHERITED:
            start_worker_process(home, "", held)
    finally:
        os.close(held)
    if not INHERITED:
        # The worker takes the lock itself; of two that were started one exits at once.
        start_worker_process(home, "")
    return True


def note_worker_exit(lock: str, failed: bool) -> None:
    """Note how a worker exited; after a failure none is started for REST_SECONDS."""
    with suppress(OSError):
        if failed:
            os.close(os.open(f"{lock}.failed", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
            os.utime(f"{lock}.failed")
        else:
            os.unlink(f"{lock}.failed")


def is_resting(lock: str) -> bool:
    """True within REST_SECONDS of a worker's failure."""
    try:
        return 0 <= clock.now() - os.stat(f"{lock}.failed").st_mtime < REST_SECONDS
    except OSError:
        return False


def is_worker_alive(lock: str) -> bool:
    """True if a worker is alive: somebody holds the lock."""
    if not os.path.isfile(lock):
        return False
    held = take_lock(lock)
    if held is not None:
        os.close(held)
    return held is None


def start_worker_process(
    home: str,
    holder: str,
    lock: int | None = None,
) -> None:
    """Start the worker in a session of its own, with no open file of ours but the lock."""
    import subprocess

    words = ("-m", "reverie", "data", "worker", "--home", home, "--holder", holder)
    command = [sys.executable, *words]
    # DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP on Windows.
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
    ).returncode = 0  # set, or Python would warn that nobody waits for it
