"""Who may read a home: a home is its owner's alone, files `0600` and folders `0700`.

What we write is so from the beginning, whatever the umask (`core.atomic_file`). A home that an
earlier version made is tightened by whoever opens it first. That is found out by two looks, at the
folder and at the database; the whole home is gone through once, and the store keeps that it was.
What its owner opens up to others afterwards stays so, and `reverie doctor` names it.

The worker also removes here what processes that died left half written.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reverie.core.config import Settings
from reverie.core.errors import StoreError
from reverie.core.model import Event
from reverie.storage import Store

TIGHTENED = "home_tightened"  # the name under which the store keeps what `tighten_home` did
OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# What `core.atomic_file` writes beside a file, and half a database of a backup, repair or restore.
LEFTOVER = re.compile(r"^\..+\.\d+\.part$|\.db(?:\.part|\.restoring)(?:-wal|-shm|-journal)?$")
LEFTOVER_SECONDS = 3_600.0


def tighten_home(
    settings: Settings,
    store: Store,
    now: float,
) -> None:
    """Take from others what they may do in a home that an earlier version made; once, ever."""
    # A store elsewhere is its owner's, and on Windows these bits say nothing.
    if settings.store or store.url != settings.url or os.name == "nt":
        return
    database = Path(store.url.removeprefix("sqlite:///"))
    if not (is_open_to_others(settings.home) or is_open_to_others(database)):
        return
    # Who may not write the home has tightened nothing, and the next one looks again.
    with suppress(StoreError, OSError):
        if store.meta(TIGHTENED):
            return
        count = sum(map(close_to_others, [*iter_own_paths(settings.home), settings.home]))
        # Of a memory that holds nothing nobody could read anything; and a log with an event of
        # ours only would not look empty to whoever fills it from a backup.
        count *= bool(store.events(limit=1))
        done = {"files": count, "at": now, "told": not count}
        event = Event("tighten", "me", now, payload={"files": count})
        with store.transaction():
            if not store.meta(TIGHTENED):
                if count:
                    store.apply([], event)
                store.set_meta(TIGHTENED, json.dumps(done))


def take_notice(store: Store) -> str:
    """What to tell the user of a home that was tightened, once; "" when there is nothing."""
    done = json.loads(store.meta(TIGHTENED) or "{}")
    if done.get("told", True):
        return ""
    with suppress(StoreError):
        store.set_meta(TIGHTENED, json.dumps(done | {"told": True}))
    return (
        f"This memory could be read by others on this machine: {done['files']} of its files and "
        "folders. They are yours alone now."
    )


def find_open_paths(home: Path) -> Iterator[Path]:
    """The paths that others may read: the home itself, and what is in it if they can reach it."""
    if os.name != "nt" and is_open_to_others(home):
        yield home
        yield from filter(is_open_to_others, iter_own_paths(home))


def iter_own_paths(folder: Path) -> Iterator[Path]:
    """The files and folders below a folder; links are neither followed nor named."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from iter_own_paths(Path(entry.path))
            yield Path(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def is_open_to_others(path: Path) -> bool:
    """True if somebody but its owner may do anything with a file or folder."""
    try:
        return bool(path.lstat().st_mode & OF_OTHERS)
    except OSError:
        return False


def close_to_others(path: Path) -> bool:
    """Take from others what they may do with a file or folder; True if that was anything."""
    if not is_open_to_others(path):
        return False
    try:
        path.chmod(path.lstat().st_mode & 0o7777 & ~OF_OTHERS)
    except OSError:  # another user's, or gone meanwhile
        return False
    return True


def remove_leftovers(home: Path, now: float) -> int:
    """Remove what processes that died left half written in a home; how many files that were.

    A file that was written within the hour may be somebody's who is still at it.
    """
    count = 0
    for path in iter_own_paths(home):
        if LEFTOVER.search(path.name):
            with suppress(OSError):
                if now - path.stat().st_mtime > LEFTOVER_SECONDS:
                    path.unlink()
                    count += 1
    return count
