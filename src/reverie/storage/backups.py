"""Daily copies of the database in `home/backups`, and purging and scrubbing them.

Only copies of the home's own database are touched; copies made elsewhere with `mind.data.backup`
belong to their owner. A purge says which files it could not reach: copies that are busy, newer or
write-protected, and damaged files that a repair has put aside.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from reverie.core.atomic_file import make_private_folder
from reverie.core.config import Settings
from reverie.core.errors import BadInput, ReverieError, StoreBusy, StoreDamaged
from reverie.storage import Store, open_store
from reverie.storage.scrub_scan import TextCleaner, scan_database_copy

ROWS_PER_STEP = 500  # rows of a copy that are scrubbed in one transaction


class PurgeResult(NamedTuple):
    """What a purge did."""

    erased: int  # memories, with the wordings that were merged into them
    unreached: tuple[Path, ...]  # files that may still hold them
    # ids of other memories that say the same within their text: they stay
    repeated: tuple[str, ...] = ()


def backup_folder(settings: Settings) -> Path:
    """The folder of the backups."""
    return settings.home / "backups"


def list_daily_backups(settings: Settings) -> list[Path]:
    """The daily copies, newest first."""
    return sorted(backup_folder(settings).glob("reverie-*.db"), reverse=True)


def list_damaged_files(settings: Settings) -> list[Path]:
    """The damaged files that a repair has put aside, newest first."""
    # They cannot be searched: a purge names them, and a scrub deletes them.
    return sorted(settings.home.glob("reverie.db.damaged-*"))


def list_copies(settings: Settings) -> list[Path]:
    """All copies that can be altered: the daily ones, and what restored backups replaced."""
    return [*list_daily_backups(settings), *list_replaced_copies(settings)]


def format_file_date(at: float, form: str = "%Y%m%d") -> str:
    """A timestamp as part of a file's name, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime(form)


def make_daily_backup(
    store: Store,
    settings: Settings,
    now: float,
) -> Path | None:
    """Make today's copy and delete the oldest beyond `settings.backups`; None if it was there."""
    path = backup_folder(settings) / f"reverie-{format_file_date(now)}.db"
    # A store elsewhere is its owner's to copy.
    if settings.backups <= 0 or settings.store or not store.has_file or path.exists():
        return None
    make_private_folder(path.parent)
    # Another process may have made it just now.
    with suppress(BadInput):
        store.backup(path)
    for old in list_daily_backups(settings)[settings.backups :]:
        old.unlink(missing_ok=True)
    return path


def list_replaced_copies(settings: Settings) -> list[Path]:
    """Copies of what restored backups replaced, newest first; only the user removes them."""
    return sorted(backup_folder(settings).glob("before-*.db"), reverse=True)


def restore_from_backup(
    store: Store,
    settings: Settings,
    source: Path,
    now: float,
) -> Path:
    """Restore a backup. Returns the copy of the former content; a refused backup makes none."""
    folder = backup_folder(settings)
    make_private_folder(folder)
    name = f"before-{format_file_date(now, '%Y%m%d-%H%M%S')}"
    candidates = (folder / f"{name}-{number}.db" for number in count(1))
    kept = next(path for path in candidates if not path.exists())
    store.restore_backup(source, kept)
    return kept


def purge_backups(
    settings: Settings,
    store: Store,
    ids: Sequence[str],
    texts: Collection[str],
) -> tuple[Path, ...]:
    """Erase memories from the copies of a store. Returns the files that may still hold them.

    A copy may hold what was said before a memory was made of it, hence `texts`. A damaged copy,
    which nothing can be erased from, is deleted.
    """
    if not has_own_copies(settings, store):
        return ()
    unreached = alter_copies(
        list_copies(settings), lambda copy: copy.purge(ids, texts), (*ids, *texts)
    )
    return (*unreached, *list_damaged_files(settings))


def has_own_copies(settings: Settings, store: Store) -> bool:
    """True if the copies in the home are of this store and not of another one."""
    return store.url == settings.url and not settings.store


def alter_copies(
    copies: Iterable[Path],
    change: Callable[[Store], object],
    texts: Collection[str] = (),
) -> list[Path]:
    """Alter these copies, which takes out `texts`. Returns those that could not be altered."""
    unreached = []
    for path in copies:
        try:
            alter_copy(path, change, texts)
        except (ReverieError, OSError):
            unreached.append(path)
    return unreached


def alter_copy(path: Path, change: Callable[[Store], object], texts: Collection[str] = ()) -> None:
    """Alter one copy, and leave it as one file without a byte of what was erased.

    A damaged copy, which nobody can alter, is deleted. Raises StoreBusy if somebody is reading it.
    """
    try:
        store = open_store(f"sqlite:///{path}")
        try:
            change(store)
            if store.compact(texts):
                raise StoreBusy(f"{path} is being read by another process")
        finally:
            store.close()
    except StoreDamaged:
        path.unlink(missing_ok=True)
    for tail in ("-wal", "-shm"):
        path.with_name(path.name + tail).unlink(missing_ok=True)


def find_copies_holding(
    settings: Settings,
    store: Store,
    clean: TextCleaner,
) -> list[Path]:
    """The copies with something to clean, and damaged ones that cannot be read."""
    if not has_own_copies(settings, store):
        return []
    copies = (*list_copies(settings), *list_damaged_files(settings))
    return [path for path in copies if may_hold_text(path, clean)]


def may_hold_text(path: Path, clean: TextCleaner) -> bool:
    """True if a copy holds something to clean, or cannot be read."""
    try:
        return any(True for _ in scan_database_copy(path, clean))
    except (ReverieError, OSError):
        return True


def scrub_copies(
    settings: Settings,
    copies: Iterable[Path],
    clean: TextCleaner,
) -> list[Path]:
    """Clean these copies, or delete those that cannot be cleaned. Returns those that stay as is."""
    known = list_copies(settings)
    unreached = []
    for path in copies:
        if path in known:
            unreached += alter_copies([path], lambda store: scrub_whole_store(store, clean))
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError:
            unreached.append(path)
    return unreached


def scrub_whole_store(store: Store, clean: TextCleaner) -> None:
    """Clean every row of a store."""
    after = store.scrub(clean, None, ROWS_PER_STEP, write=True).after
    while after is not None:
        after = store.scrub(clean, after, ROWS_PER_STEP, write=True).after
