"""A folder in which logs lie: the own one of the home, and one that somebody else moves about.

A file is written under a temporary name, flushed and renamed, so that whoever carries the folder
away carries whole files, or such as a reader passes over. A folder that was there and is not is
away, as a disk that is not mounted: it is never made anew.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Protocol

from reverie.core.atomic_file import make_private_folder, write_atomically
from reverie.core.errors import ReverieError
from reverie.sync.device_logs.batch_file import owner_of

FOLDER = "reverie-log"  # in the folder that the user named
OWN, CLONES = "devices", "devices-git"  # in the home: the own log; what git has of places
LOG_FOLDERS = (OWN, CLONES)
MAKE_ROOM = (
    "Make room, or take away the files of machines that you no longer have: reverie sync "
    "remove-device NAME --files"
)


class PlaceAway(ReverieError):
    """The folder or repository through which your devices are kept in step cannot be reached just
    now. What waits is sent later; see `reverie sync status`.
    """


class CannotShow(PlaceAway):
    """The place takes nothing new. What others left there can be read."""


class PlaceFull(CannotShow):
    """The place is full."""


def explain_refusal(path: Path, err: OSError) -> PlaceAway:
    """Why a file of a place could not be written, and what to do."""
    if err.errno in (errno.ENOSPC, errno.EDQUOT):
        return PlaceFull(f"{path.parent} is full: {path.name} cannot be written. {MAKE_ROOM}")
    if err.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return CannotShow(
            f"{path.parent} may only be read ({err.strerror}), so nothing of this machine comes "
            "there. Have it made writable for you; what others write there is read meanwhile"
        )
    return PlaceAway(f"{path} cannot be written: {err.strerror}")


class Place(Protocol):
    """Where logs lie that other devices read."""

    def open(self) -> None:
        """Look what is there now; PlaceAway if it cannot be reached."""

    def sizes(self) -> dict[str, int]:
        """The files of logs and keys by name, with their sizes."""

    def read(self, name: str) -> bytes:
        """What a file holds; PlaceAway if it cannot be read."""

    def write(self, name: str, data: bytes) -> None:
        """Put a file there, whole; CannotShow, PlaceFull among them, if the place takes none."""

    def remove(self, name: str) -> None:
        """Take a file away."""

    def erase_log(self, device: str) -> None:
        """Take away all files of a device, at once for others; PlaceAway if that cannot be."""

    def finish(self) -> None:
        """Make sure that what was written and removed is so for others; PlaceAway if it is not."""

    def close(self) -> None:
        """Let go of it."""


class LogFolder:
    """A folder of files of logs."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def create(self) -> None:
        """Make the folder, for its owner alone, if it is not there."""
        make_private_folder(self.path)

    def open(self) -> None:
        """PlaceAway if the folder is not there."""
        if not self.path.is_dir():
            raise PlaceAway(
                f"{self.path} is not there. If its disk or service is off, it is tried again; "
                f"if it was moved: reverie sync add NEW_PLACE"
            )

    def sizes(self) -> dict[str, int]:
        """The files of logs by name, with their sizes."""
        try:
            with os.scandir(self.path) as found:
                return {one.name: one.stat().st_size for one in found if owner_of(one.name)}
        except OSError as err:
            raise PlaceAway(f"{self.path} cannot be read: {err.strerror}") from err

    def read(self, name: str) -> bytes:
        """What a file holds."""
        try:
            return (self.path / name).read_bytes()
        except OSError as err:
            raise PlaceAway(f"{self.path / name} cannot be read: {err.strerror}") from err

    def write(self, name: str, data: bytes) -> None:
        """Put a file there, whole, and durable when this returns."""
        try:
            write_atomically(self.path / name, data)
        except OSError as err:
            raise explain_refusal(self.path / name, err) from err

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        try:
            with suppress(FileNotFoundError):
                (self.path / name).unlink()
        except OSError as err:
            raise explain_refusal(self.path / name, err) from err

    def erase_log(self, device: str) -> None:
        """Take away all files of a device: those too that a process which died left half written,
        and copies that whoever carries the folder has made under longer names.
        """
        try:
            for path in list(self.path.iterdir()):
                if is_named_after(path.name, device):
                    path.unlink(missing_ok=True)
        except OSError as err:
            raise explain_refusal(self.path / device, err) from err

    def finish(self) -> None:
        """Nothing: each file was whole when it was written."""

    def close(self) -> None:
        """Nothing: each file was closed when it was read or written."""


def is_named_after(name: str, device: str) -> bool:
    """True for a file of a device, and for what is left of one or a copy of it."""
    return name.removeprefix(".").startswith(f"{device}-")


def own_folder(home: Path) -> LogFolder:
    """The folder of a home in which its own log lies."""
    return LogFolder(Path(home) / OWN)


def erase_log_files(home: Path) -> list[Path]:
    """Remove the files of logs in a home, all of which may hold what was erased; those that could
    not be removed. A home that is in step with others writes a snapshot next, and fetches anew.
    """
    folders = [Path(home) / name for name in LOG_FOLDERS]
    for folder in folders:
        rmtree(folder, ignore_errors=True)
    return [path for folder in folders for path in folder.rglob("*") if not path.is_dir()]
