"""Files that are replaced as a whole: a reader sees the old content or the new, never half of it.

New content goes into a temporary file in the same folder (`.<name>.<number>.part`, mode 0600, so
that nobody reads early what they may not read in the end), is flushed to the disk, and is renamed
over the file; then the folder is flushed, so that a crash of the machine cannot bring the old file
back. The temporary file is gone afterwards, whatever happens.

`pathlib` is not imported here: hooks write files too, and it takes them a fifth of their time.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import get_native_id
from typing import TypeAlias

PathLike: TypeAlias = "str | os.PathLike[str]"


def write_atomically(
    path: PathLike,
    data: bytes | Iterable[bytes],
    *,
    mode: int | None = None,
    new_mode: int = 0o600,
    durable: bool = True,
) -> None:
    """Replace a file by one that holds `data`, a whole or its pieces in order.

    The file gets `mode`; without one it keeps the mode it has, and a new file gets `new_mode`. A
    file that can be made again from elsewhere need not be `durable`: then nothing is flushed, and
    a crash of the machine (not of the process) may leave it empty.
    """
    with write_beside(
        path,
        data,
        mode=mode,
        new_mode=new_mode,
        durable=durable,
    ) as half:
        replace_file(half, path, durable=durable)


@contextmanager
def write_beside(
    path: PathLike,
    data: bytes | Iterable[bytes],
    *,
    mode: int | None = None,
    new_mode: int = 0o600,
    durable: bool = True,
) -> Iterator[str]:
    """The path of a temporary file beside `path` that holds `data`: to be looked at, then renamed.

    It is gone after the block unless it was renamed. Parameters are those of `write_atomically`.
    """
    half = temporary_path(path)
    # Left by a process that died, or put there by somebody: never write into a file that exists.
    with suppress(FileNotFoundError):
        os.unlink(half)
    try:
        with open(half, "xb", opener=open_private) as file:
            file.writelines((data,) if isinstance(data, bytes) else data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(half, mode_of(path, new_mode) if mode is None else mode)
        yield half
    finally:
        with suppress(FileNotFoundError):
            os.unlink(half)


def replace_file(
    half: PathLike,
    path: PathLike,
    *,
    durable: bool = True,
) -> None:
    """Rename a file over another one in the same folder, and flush the folder if `durable`."""
    os.replace(half, path)
    if durable:
        sync_folder(os.path.dirname(os.path.abspath(path)))


def sync_folder(folder: str) -> None:
    """Flush a folder's entries to the disk, where the system can do that."""
    # Windows opens no folders, and some network file systems flush none. The file is in its place
    # already, so an error here would tell the caller of a failure that there was not.
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def temporary_path(path: PathLike) -> str:
    """The path of the temporary file that this thread writes in a file's stead."""
    folder, name = os.path.split(os.fspath(path))
    # A thread's number is unique among all processes, so two writers never share a file. Digits
    # alone: the mirror knows its leftovers by them.
    return os.path.join(folder, f".{name}.{get_native_id()}.part")


def open_private(path: str, flags: int) -> int:
    """An `opener` of files that only their owner may read."""
    return os.open(path, flags, 0o600)


def create_private_file(path: PathLike) -> None:
    """Create an empty file that only its owner may read, unless there is one or cannot be.

    For whoever opens files with modes of its own, as SQLite does; its journals take the mode of
    their database. What is there already is not even opened: closing it again would end the locks
    that this process holds on it.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def make_private_folder(folder: PathLike) -> None:
    """Create a folder, and those above it that are missing, for their owner alone.

    `os.makedirs` leaves those above to the umask.
    """
    folder = os.path.abspath(folder)
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    if not os.path.lexists(above):
        make_private_folder(above)
    # Another process may be making it, too.
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)


def mode_of(path: PathLike, otherwise: int) -> int:
    """The permission bits of a file; `otherwise` where there is none."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        return otherwise
