"""Overwriting what a file held before it goes, so that it does not lie about in freed blocks.

Disks that write elsewhere than where they are told to may keep it all the same.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

ZEROS = bytes(1 << 20)


def blank_open_file(number: int) -> None:
    """Overwrite what an open file holds, or held when it was replaced, with zeros; `number` is its
    descriptor, open for writing. OSError if it cannot be written.
    """
    size = os.fstat(number).st_size
    done = 0
    while done < size:
        done += os.pwrite(number, ZEROS[: size - done], done)
    os.fsync(number)


def erase_file(path: Path) -> None:
    """Overwrite a file, and remove it, if it is there. What cannot be overwritten is removed all
    the same; OSError if it cannot be removed.
    """
    if path.is_file():
        with suppress(OSError), path.open("r+b") as file:
            blank_open_file(file.fileno())
        path.unlink(missing_ok=True)
