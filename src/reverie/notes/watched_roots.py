"""The folders that are searched, and for whom: the event log says it, so that it survives the loss
of the index.

A root is a folder and the space whose readers may search it. Beside those that somebody added,
every space has one of its own: the folder of its Markdown mirror, in which `MEMORY.md` and the
daily logs count and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.model import Event

if TYPE_CHECKING:
    from reverie.storage import Store

# the verb of events that add or remove a root
VERB = "folder"
# events that are read
MAX_EVENTS = 100_000
# files of a space's mirror, from its folder
MIRROR_FILES = re.compile(r"MEMORY\.md|memory/\d{4}-\d\d-\d\d\.md")


class WatchedRoot(NamedTuple):
    """A folder that is searched by those who may see a space."""

    path: str  # absolute, links resolved
    space: str
    own: bool = False  # the space's mirror

    @property
    def is_reachable(self) -> bool:
        """True if the folder can be seen just now; a drive may be unplugged."""
        return Path(self.path).is_dir()


def list_roots(
    store: Store,
    spaces: Sequence[str],
    mirror: Callable[[str], Path | None],
) -> list[WatchedRoot]:
    """The roots of these spaces: those that were added, in order, then the mirrors that exist.

    `mirror` tells the folder of a space's mirror.
    """
    roots = list_added_roots(store.events(verbs=(VERB,), limit=MAX_EVENTS), spaces)
    for space in spaces:
        folder = mirror(space)
        if folder:
            own = to_mirror_root(folder, space)
            roots += [own] if own.is_reachable else []
    return roots


def list_added_roots(
    events: Iterable[Event],
    spaces: Sequence[str],
) -> list[WatchedRoot]:
    """The roots that were added to these spaces and not removed since."""
    found: dict[WatchedRoot, bool] = {}
    for event in events:
        path = event.payload.get("path")
        if event.space in spaces and isinstance(path, str):
            found[WatchedRoot(path, event.space)] = bool(event.payload.get("watched"))
    return [root for root, watched in found.items() if watched]


def list_watch_events(store: Store) -> list[Event]:
    """For each folder that anybody watches, the event that added it."""
    last = {
        (event.space, event.payload.get("path")): event
        for event in store.events(verbs=(VERB,), limit=MAX_EVENTS)
    }
    return [event for event in last.values() if event.payload.get("watched")]


def to_mirror_root(folder: Path, space: str) -> WatchedRoot:
    """The folder of a space's mirror as a root."""
    return WatchedRoot(os.path.realpath(folder), space, own=True)


def build_watch_event(
    root: WatchedRoot,
    watched: bool,
    now: float,
) -> Event:
    """The event by which a root is watched from now on, or is not any longer."""
    return Event(
        VERB,
        root.space,
        now,
        payload={"path": root.path, "watched": watched},
    )
