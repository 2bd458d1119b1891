"""The secret of an encrypted home while it is unlocked, in memory that the system forgets.

It lies in the folder that the system makes for a login and empties when that ends
(`XDG_RUNTIME_DIR`). Where there is none, as in containers, a folder of the user's own in a file
system that is kept in memory stands in for it; on no account is it written to a disk. Hooks read
it, so nothing is imported here that they have not.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress

from reverie.core import environment
from reverie.core.atomic_file import make_private_folder, write_atomically
from reverie.core.errors import BadInput

MEMORY_FILE_SYSTEMS = frozenset(("tmpfs", "ramfs"))
# Where Linux has such a file system, by default or often.
MEMORY_FOLDERS = ("/dev/shm", "/run/shm", "/tmp")
MOUNTS = "/proc/self/mounts"

NOWHERE = (
    "There is nowhere to keep the key while this memory is unlocked: no XDG_RUNTIME_DIR, and no "
    "file system that is kept in memory. Keep the key in another way: reverie data key "
    "--key-file PATH, or --keyring"
)


def find_unlocked_folder() -> str:
    """The folder for the keys of unlocked homes, which need not exist yet; "" if there is nowhere.

    A folder that is another user's, or open to others, is none.
    """
    runtime = environment.runtime_folder()
    if runtime and is_private_folder(runtime):
        return os.path.join(runtime, "reverie")
    if not hasattr(os, "getuid"):
        return ""
    for place in MEMORY_FOLDERS:
        folder = os.path.join(place, f"reverie-{os.getuid()}")
        if file_system_of(place) in MEMORY_FILE_SYSTEMS and (
            is_private_folder(folder) or not os.path.lexists(folder)
        ):
            return folder
    return ""


def is_private_folder(path: str) -> bool:
    """True for a folder of this user, no link, that nobody else may look into."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and is_own and not found.st_mode & 0o077


def file_system_of(place: str) -> str:
    """The type of the file system that is mounted at a place, as Linux names it; "" elsewhere."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="replace") as file:
            rows = [line.split() for line in file]
    except OSError:
        return ""
    # What was mounted last covers what was there.
    return next((row[2] for row in reversed(rows) if len(row) > 2 and row[1] == place), "")


def unlocked_file(name: str) -> str:
    """The path at which a home's secret lies while it is unlocked; "" if there is nowhere."""
    folder = find_unlocked_folder()
    return os.path.join(folder, f"{name}.key") if folder else ""


def save_unlocked(name: str, secret: str, until: float | None) -> str:
    """Keep a secret for this login, or until a time; the path. BadInput if there is nowhere."""
    path = unlocked_file(name)
    if not path:
        raise BadInput(NOWHERE)
    make_private_folder(os.path.dirname(path))
    # Somebody may have made it between the looks.
    if not is_private_folder(os.path.dirname(path)):
        raise BadInput(NOWHERE)
    data = json.dumps({"secret": secret, "until": until}).encode()
    write_atomically(path, data, mode=0o600, durable=False)
    return path


def read_unlocked(name: str, now: float) -> tuple[str, float | None] | None:
    """(secret, until when) of an unlocked home; None if it is locked. What has run out is removed,
    also of other homes' when they are looked at.
    """
    path = unlocked_file(name)
    if not path or not is_private_folder(os.path.dirname(path)):
        return None
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
        secret, until = str(found["secret"]), found["until"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if until is not None and not now < until:
        remove_unlocked(name)
        return None
    return secret, until


def remove_unlocked(name: str) -> bool:
    """Lock a home; True if it was unlocked."""
    path = unlocked_file(name)
    with suppress(OSError):
        if path:
            os.unlink(path)
            return True
    return False
