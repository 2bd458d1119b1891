"""Daily copies of the database in `home/backups`, and what erasing for good means for them (X20,
CC-4).

Only copies of the home's own database are touched. A purge says which files it could not reach:
copies that are busy, newer or write-protected, and damaged files that a repair has put aside.
Copies that were made elsewhere with `Mind.backup` are their owner's.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from reverie.core.config import Settings
from reverie.core.errors import BadInput, ReverieError, StoreBusy, StoreDamaged
from reverie.storage import Store, open_store
from reverie.storage.scrub_scan import TextCleaner, scan_database_copy

ROWS_PER_STEP = 500  # of a copy that are scrubbed in one transaction


class PurgeResult(NamedTuple):
    """What erasing for good did."""

    erased: int  # memories, with the wordings that were merged into them
    unreached: tuple[Path, ...]  # files that may still hold them
    # ids of other memories that say the same within their text: they stay
    repeated: tuple[str, ...] = ()


def backup_folder(settings: Settings) -> Path:
    """Where they lie."""
    return settings.home / "backups"


def list_daily_backups(settings: Settings) -> list[Path]:
    """The daily copies."""
    return sorted(backup_folder(settings).glob("reverie-*.db"), reverse=True)


def list_damaged_files(settings: Settings) -> list[Path]:
    """Files that a repair has put aside."""
    return sorted(settings.home.glob("reverie.db.damaged-*"))


def format_file_date(at: float, form: str = "%Y%m%d") -> str:
    """A moment as part of a file's name."""
    return datetime.fromtimestamp(at, UTC).strftime(form)


def make_daily_backup(store: Store, settings: Settings, now: float) -> Path | None:
    """Make today's copy unless it is there, and let the oldest go. None if there was
    nothing to do.
    """
    path = backup_folder(settings) / f"reverie-{format_file_date(now)}.db"
    if settings.backups <= 0 or settings.store or path.exists():
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(BadInput):  # somebody else made it just now
        store.backup(path)
    for old in list_daily_backups(settings)[settings.backups :]:
        old.unlink(missing_ok=True)
    return path


def list_replaced_copies(settings: Settings) -> list[Path]:
    """Copies of what a restored backup took the place of. They stay until somebody removes them."""
    return sorted(backup_folder(settings).glob("before-*.db"), reverse=True)


def restore_from_backup(store: Store, settings: Settings, source: Path, now: float) -> Path:
    """Go back to a backup. Returns the copy of what was there until now; a refused backup makes
    none.
    """
    name = f"before-{format_file_date(now, '%Y%m%d-%H%M%S')}"
    backup_folder(settings).mkdir(parents=True, exist_ok=True)
    kept = next(
        one for n in count(1) if not (one := backup_folder(settings) / f"{name}-{n}.db").exists()
    )
    store.restore_backup(source, kept)
    return kept


def purge_backups(
    settings: Settings, store: Store, ids: Sequence[str], texts: Collection[str]
) -> tuple[Path, ...]:
    """Erase memories from the daily copies of a store too. Returns the files that may still hold
    them.

    A copy may know only what was said, and not yet the memory that was made of it: so `texts`. A
    damaged copy, which nobody can erase from, is removed.
    """
    if store.url != settings.url or settings.store:  # the home's copies are of another one
        return ()
    return (
        *purge_copies([*list_daily_backups(settings), *list_replaced_copies(settings)], ids, texts),
        *list_damaged_files(settings),
    )


def purge_copies(copies: Iterable[Path], ids: Sequence[str], texts: Collection[str]) -> list[Path]:
    """Those copies that the memories could not be erased from."""
    left = []
    for path in copies:
        try:
            purge_copy(path, ids, texts)
        except (ReverieError, OSError):
            left.append(path)
    return left


def purge_copy(path: Path, ids: Sequence[str], texts: Collection[str]) -> None:
    """Erase memories from one copy."""
    alter_copy(path, lambda store: store.purge(ids, texts))


def alter_copy(path: Path, change: Callable[[Store], object]) -> None:
    """Alter one copy, and leave it as one file without a byte of what went.

    A damaged one, which nobody can alter, is removed. StoreBusy if somebody is reading it.
    """
    try:
        store = open_store(f"sqlite:///{path}")
        try:
            change(store)
            if store.compact():
                raise StoreBusy(f"{path} is being read by another process")
        finally:
            store.close()
    except StoreDamaged:
        path.unlink(missing_ok=True)
    for tail in ("-wal", "-shm"):
        path.with_name(path.name + tail).unlink(missing_ok=True)


def find_copies_holding(settings: Settings, store: Store, clean: TextCleaner) -> list[Path]:
    """The copies that hold something; a damaged one that cannot be read may."""
    if store.url != settings.url or settings.store:
        return []
    return [
        path
        for path in (
            *list_daily_backups(settings),
            *list_replaced_copies(settings),
            *list_damaged_files(settings),
        )
        if may_hold_text(path, clean)
    ]


def may_hold_text(path: Path, clean: TextCleaner) -> bool:
    """Whether a copy holds something, or cannot be read."""
    try:
        return any(True for _ in scan_database_copy(path, clean))
    except (ReverieError, OSError):
        return True


def scrub_copies(settings: Settings, copies: Iterable[Path], clean: TextCleaner) -> list[Path]:
    """Clean these copies; a damaged one, and what else cannot be cleaned, is removed. Returns those
    that stay.
    """
    left = []
    for path in copies:
        try:
            if path in (*list_daily_backups(settings), *list_replaced_copies(settings)):
                alter_copy(path, lambda store: scrub_whole_store(store, clean))
            else:
                path.unlink(missing_ok=True)
        except (ReverieError, OSError):
            left.append(path)
    return left


def scrub_whole_store(store: Store, clean: TextCleaner) -> None:
    """Clean every row of a copy."""
    after = store.scrub(clean, None, ROWS_PER_STEP, write=True).after
    while after is not None:
        after = store.scrub(clean, after, ROWS_PER_STEP, write=True).after
