"""What a scrub is about to do, written down before anything is erased, so that whoever opens the
home next can finish one that was killed.

A file of the home, not a row: no journal, free page or backup of the database ever holds it. It
names the texts that the user wants gone as they are, for they are met in any letter case and as
JSON and addresses write them, which no digest can do. They stand in other files of the home for as
long as this one is there. Only its owner may read it, and it is overwritten before it is removed.
A scrub by rules names no text. A purge needs no such file: what it is about to take out of files
is noted in the transaction that takes it out of the store (`erased_texts.PURGING`).

A lock on a file beside it says that somebody is at it. The system releases it when that process
ends, however it ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import clock
from reverie.core.atomic_file import sync_folder
from reverie.core.errors import StoreBusy
from reverie.core.file_blanking import blank_open_file
from reverie.core.file_lock import take_lock
from reverie.core.private_files import read_private_bytes, write_private_bytes

if TYPE_CHECKING:
    from reverie.pipeline.event_reader import WorkContext

NAME = "scrubbing.json"
# seconds that another process's scrub is waited for
PATIENCE = 60.0
POLL_SECONDS = 0.05


class ScrubIntention(NamedTuple):
    """A scrub that is to be finished."""

    texts: tuple[str, ...]
    copies: bool
    # of which store; "" for that of the home, wherever that is moved
    store: str


def intention_file(home: Path) -> Path:
    """Where a scrub of this home is written down."""
    return home / NAME


def has_place(work: WorkContext) -> bool:
    """True if there is anything to be written down for: what is in memory ends with its process."""
    return not work.store.url.endswith(":memory:")


def note_intention(work: WorkContext, todo: ScrubIntention) -> None:
    """Write down what is about to be scrubbed, on the disk before this returns."""
    if has_place(work):
        written = json.dumps(todo._asdict()).encode()
        home = work.settings.home
        write_private_bytes(home, intention_file(home), written)


def name_store(work: WorkContext) -> str:
    """The name of a store in an intention."""
    return "" if work.store.url == work.settings.url else work.store.url


def read_intention(work: WorkContext) -> ScrubIntention | None:
    """The scrub of this store that is to be finished; None if there is none."""
    if not has_place(work):
        return None
    home = work.settings.home
    try:
        written = json.loads(read_private_bytes(home, intention_file(home)))
        texts = tuple(map(str, written["texts"]))
        found = ScrubIntention(texts, bool(written["copies"]), str(written["store"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        # Never half written by us, so not ours; what it asked for can only be done by rules.
        return ScrubIntention((), False, name_store(work))
    return found if found.store == name_store(work) else None


def clear_intention(work: WorkContext) -> None:
    """Overwrite what was written down, and remove it."""
    if not has_place(work):
        return
    path = intention_file(work.settings.home)
    with suppress(FileNotFoundError), path.open("r+b") as file:
        blank_open_file(file.fileno())
    path.unlink(missing_ok=True)
    sync_folder(str(path.parent))


@contextmanager
def hold_erasure_lock(work: WorkContext, patience: float = PATIENCE) -> Iterator[None]:
    """Be the only one who scrubs this home, or finishes what another one left, in this block.

    StoreBusy if somebody else is at it for longer than `patience` seconds.
    """
    if not has_place(work):
        yield
        return
    end = clock.ticks() + patience
    while (held := take_lock(str(work.settings.home / "erasing.lock"))) is None:
        if clock.ticks() > end:
            raise StoreBusy("Another process is erasing here. Nothing was changed: try again")
        clock.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        os.close(held)
