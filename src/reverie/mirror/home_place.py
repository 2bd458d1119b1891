"""Whether this home is a copy of another one: its database then speaks of the original's pages.

A home notes where it is, and which file its database is. Another place with the original still at
the old one is a copy; with nothing there, or something else, it was moved.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.storage import Store

PLACE = "home_place"  # in `meta`: [folder, device, inode of the database]
COPIED = "home_copied"  # in `meta`: [folder of the original, its folder of pages]
# in `meta`: folders that pages were ever written to
ROOTS_KEY = "mirror_roots"


def read_place(store: Store) -> list[Any] | None:
    """Where the home was last; None if nobody noted that, or the note is damaged."""
    with suppress(ValueError):
        noted: list[Any] | None = json.loads(store.meta(PLACE) or "null")
        return noted
    return None


def note_home_place(store: Store, settings: Settings) -> None:
    """Note where the home is; in a copy, forget the original's pages, before any is touched."""
    here = describe_place(settings.home)
    if store.url != settings.url or here is None:
        return
    noted = read_place(store)
    if noted == here:
        return
    with store.transaction():
        if noted and describe_place(Path(noted[0])) == noted:
            root = settings.mirror_root
            store.set_meta(COPIED, json.dumps([noted[0], str(root) if root else ""]))
            store.set_meta(ROOTS_KEY, "")
        store.set_meta(PLACE, json.dumps(here))


def describe_place(home: Path) -> list[str | int] | None:
    """[folder, device, inode] of a home's database; None without one."""
    try:
        found = (home / "reverie.db").stat()
    except OSError:
        return None
    return [os.path.realpath(home), found.st_dev, found.st_ino]


def read_original(store: Store) -> str:
    """The folder of the home that this one is a copy of; "" if it is none."""
    return str(json.loads(store.meta(COPIED) or '[""]')[0])


def forget_original(store: Store) -> None:
    """Let a copy be a home like any other."""
    store.set_meta(COPIED, "")


def is_originals_mirror(store: Store, settings: Settings, root: Path) -> bool:
    """True for the pages of the home that this one was copied from."""
    if root.is_relative_to(settings.home):
        return False
    original: list[str] = json.loads(store.meta(COPIED) or "[]")
    return str(root) in original[1:]
