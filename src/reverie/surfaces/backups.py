"""Daily copies of the database in `home/backups`, newest first, and what purging means for them (X20)."""

from contextlib import suppress
from pathlib import Path

from reverie import Mind
from reverie.config import Settings
from reverie.errors import BadInput, ReverieError
from reverie.surfaces.reading import stamp


def folder(settings: Settings) -> Path:
    """Where they lie."""
    return settings.home / "backups"


def newest_first(settings: Settings) -> list[Path]:
    """The daily copies."""
    return sorted(folder(settings).glob("reverie-*.db"), reverse=True)


def damaged(settings: Settings) -> list[Path]:
    """Files that a repair has put aside."""
    return sorted(settings.home.glob("reverie.db.damaged-*"))


def daily(mind: Mind, now: float) -> Path | None:
    """Make today's copy unless it is there, and let the oldest go. None if there was nothing to do."""
    settings = mind.settings
    path = folder(settings) / f"reverie-{stamp(now)}.db"
    if settings.backups <= 0 or settings.store or path.exists():
        return None
    with suppress(BadInput):  # somebody else made it just now
        mind.backup(path)
    for old in newest_first(settings)[settings.backups :]:
        old.unlink(missing_ok=True)
    return path


def purge(settings: Settings, ids: list[str]) -> None:
    """What is erased for good is erased from the copies too. A copy that cannot be opened is removed."""
    from reverie.store import open_store

    for path in newest_first(settings):
        try:
            store = open_store(f"sqlite:///{path}")
            try:
                store.purge(ids)
            finally:
                store.close()
        except ReverieError:
            path.unlink(missing_ok=True)
        for tail in ("-wal", "-shm"):
            path.with_name(path.name + tail).unlink(missing_ok=True)
