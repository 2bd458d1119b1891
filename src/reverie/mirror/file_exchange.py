"""Putting a file in the place of another without losing what somebody saves at that very moment.

Where the system can exchange two files in one step (Linux), what stood there is looked at after it
was taken away: if it is not what was read, or somebody still has it open for writing, it is put
back. Elsewhere it is looked at just before. A file is never half written. `swap_file` returns None
where nothing was done because something else stood there.
"""

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from reverie.core.atomic_file import make_private_folder, write_beside

# flags of renameat2(2), and its folder argument for paths as they are
NO_REPLACE, EXCHANGE = 1, 2
AT_FDCWD = -100
# by this kernel, or on this file system
UNSUPPORTED_ERRNOS = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)

# of a file: when it was altered (ns), bytes, inode
FileLook = tuple[int, int, int]
NO_LOOK: FileLook = (0, 0, 0)


def stat_look(path: Path) -> FileLook:
    """How a file looks from outside; NO_LOOK if it is not there."""
    try:
        seen = path.lstat()
    except OSError:
        return NO_LOOK
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino)


def read_bytes_if_present(path: Path) -> bytes | None:
    """A file's bytes; None if it is not there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def replace_whole_file(path: Path, data: bytes) -> FileLook:
    """Put a file in the place of whatever stands there, whole or not at all; how it looks then."""
    with page_beside(path, data) as half:
        # A rename keeps the look.
        look = stat_look(half)
        half.replace(path)
    return look


def swap_file(
    path: Path,
    data: bytes,
    old: bytes | None,
    new_mode: int = 0o600,
) -> FileLook | None:
    """Put a file in the place of one that holds `old`; None, nothing done, if it does not.

    What was there keeps its mode; a new file gets `new_mode`.
    """
    with page_beside(path, data, new_mode) as half:
        look = stat_look(half)
        return look if put_in_place(half, path, data, old) else None


@contextmanager
def page_beside(path: Path, data: bytes, new_mode: int = 0o600) -> Iterator[Path]:
    """A new file beside another one, which is gone afterwards unless it was renamed."""
    make_private_folder(path.parent)
    # Pages can be written again from the store, and flushing takes 7 ms for each instead of 1.
    with write_beside(path, data, new_mode=new_mode, durable=False) as half:
        yield Path(half)


def put_in_place(
    half: Path,
    path: Path,
    data: bytes,
    old: bytes | None,
) -> bool:
    """Put a file in the place of one that holds `old`; False if not, and all is as it was."""
    if read_bytes_if_present(path) != old:
        return False
    try:
        rename_with_flag(half, path, NO_REPLACE if old is None else EXCHANGE)
    except OSError as err:
        # Somebody made the file, or removed it, just now.
        if err.errno in (errno.EEXIST, errno.ENOENT):
            return False
        # Without an exchange the look just before has to do.
        if err.errno not in UNSUPPORTED_ERRNOS:
            raise
        half.replace(path)
        return True
    if old is None or (not is_being_written(half) and read_bytes_if_present(half) == old):
        return True
    swap_back(half, path, data)
    return False


def swap_back(
    half: Path,
    path: Path,
    ours: bytes,
) -> None:
    """Exchange the files again, and keep what somebody wrote to ours in between.

    What was appended to ours is appended there; a later save of the whole file holds.
    """
    rename_with_flag(half, path, EXCHANGE if path.exists() else NO_REPLACE)
    later = read_bytes_if_present(half) or ours
    if later == ours:
        return
    if later.startswith(ours):
        with path.open("ab") as file:
            file.write(later[len(ours) :])
    else:
        rename_with_flag(half, path, EXCHANGE)


def is_being_written(path: Path) -> bool:
    """True if somebody has a file open for writing (Linux only, elsewhere False).

    Then no read lease on it is given: fcntl(2).
    """
    if sys.platform != "linux":
        return False
    import fcntl

    with path.open("rb") as file:
        try:
            # Who opens it now is signalled: choose a signal that ends no process.
            fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as err:
            return err.errno == errno.EAGAIN
        with suppress(OSError):
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def rename_with_flag(
    one: Path,
    other: Path,
    flag: int,
) -> None:
    """Rename by renameat2(2). Raises OSError, with ENOSYS where there is none."""
    call = load_renameat2()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(
        AT_FDCWD,
        os.fsencode(one),
        AT_FDCWD,
        os.fsencode(other),
        flag,
    ):
        raise OSError(
            ctypes.get_errno(),
            os.strerror(ctypes.get_errno()),
            str(other),
        )


@cache
def load_renameat2() -> Any:
    """The system's function of this name; None where there is none."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
