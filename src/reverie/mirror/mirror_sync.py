"""The mirror kept in step: what people wrote is taken in, what the store says is written, never in
a caller's path.

`follow` runs at the end of a step of settling and looks first whether anything is to be done: an
event after the cursor, a page that looks otherwise than when it was written, or a new one (one
`stat` a page). `mirrored` is for who asks, here and now. Between processes the lease MIRROR says
who is at it.

A space is done in one go: read the pages concerned, compare (`mirror.merging`), apply what people
did as one event `mirror`, which `undo` takes back, then write (`mirror.weaving`). If the store or a
page was altered meanwhile, it is done again: nothing is written over what was not read. After a
crash at any point the next run comes to the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from reverie.core import clock
from reverie.core.config import Settings
from reverie.core.errors import StoreError
from reverie.core.model import Record
from reverie.mirror.file_exchange import NO_LOOK, FileLook, stat_look
from reverie.mirror.mirror_folder import MirrorFolder
from reverie.mirror.space_sync import MirrorReport, SyncRequest, record_space_trouble, sync_space
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import DEFAULT_LEASE_SECONDS, hold_lease
from reverie.storage import UNLOGGED, Problem, Store
from reverie.storage.erased_texts import PURGING

MIRROR = "mirror"  # the lease and the cursor
QUIET_SECONDS = (
    1.5  # seconds that a page must have been left alone (CONSTANTS: watch debounce, 1500 ms)
)
SPACES_KEY = "mirror_spaces"  # meta: where there are pages
# meta: folders in which the mirror is, or was before it was moved or switched off
ROOTS_KEY = "mirror_roots"


class DeletionQuestion(NamedTuple):
    """Many lines are gone from a page: were they deleted? Until somebody answers, nothing of it is
    forgotten.
    """

    space: str
    path: Path
    gone: int
    of: int


def find_mirror_root(settings: Settings, store: Store) -> Path | None:
    """Where the mirror of a store is; None if it has none: it is switched off, or the store is not
    the home's.
    """
    return settings.mirror_root if settings.enabled and store.url == settings.url else None


def has_mirror_work(work: WorkContext) -> bool:
    """Whether something has happened in the store since the mirror was last looked after."""
    return find_mirror_root(work.settings, work.store) is not None and bool(
        work.store.meta(UNLOGGED) or work.store.changes_after(work.store.cursor(MIRROR))
    )


def follow_store(work: WorkContext) -> int:
    """Bring in step what is out of step, unless somebody else is at it; how many lines of people
    were taken in.
    """
    root = find_mirror_root(work.settings, work.store)
    if root is None:
        return 0
    store, last, stale = work.store, work.store.last_event(), bool(work.store.meta(UNLOGGED))
    altered = [] if stale else store.changes_after(store.cursor(MIRROR))
    spaces = (
        list_mirrored_spaces(store) | list_living_spaces(store)
        if stale
        else list_due_spaces(work, root, altered)
    )
    done: list[MirrorReport] = []
    holder = clock.new_id("mirror")
    if spaces:
        if not store.acquire(MIRROR, holder, DEFAULT_LEASE_SECONDS, work.now):
            return 0
        try:
            done = [
                try_sync_space(work, root, space, SyncRequest(afresh=stale))
                for space in sorted(spaces)
            ]
        except BaseException:
            store.release(MIRROR, holder)
            raise
    if spaces or altered or stale:
        with (
            store.transaction()
        ):  # one transaction: each costs some milliseconds, and this is done after every turn
            store.release(MIRROR, holder)
            store.advance(MIRROR, last)
            if stale:
                store.set_meta(UNLOGGED, "")
    return sum(one.taken for one in done)


def sync_mirror(
    work: WorkContext, spaces: Iterable[str] | None, order: SyncRequest, now: Callable[[], float]
) -> list[MirrorReport]:
    """Bring these spaces, or all, in step, now; waits while another process is at it. StoreBusy if
    that takes long.
    """
    root = find_mirror_root(work.settings, work.store)
    if root is None:
        return []
    with hold_mirror_lease(work.store, now):
        some = (
            list_mirrored_spaces(work.store) | list_living_spaces(work.store)
            if spaces is None
            else set(spaces)
        )
        stale = bool(work.store.meta(UNLOGGED))
        done = [
            try_sync_space(work, root, space, order._replace(afresh=order.afresh or stale))
            for space in sorted(some)
        ]
        if stale and spaces is None:
            work.store.set_meta(UNLOGGED, "")
        return [
            one._replace(troubles=(*one.troubles, *list_stray_edits(work, one.space)))
            for one in done
        ]


def hold_mirror_lease(
    store: Store, now: Callable[[], float]
) -> AbstractContextManager[Callable[[], bool]]:
    """Nobody else is at the mirror: see `leased`."""
    return hold_lease(
        store, MIRROR, now, "Another process is at the mirror. Nothing was changed: try again"
    )


def try_sync_space(work: WorkContext, root: Path, space: str, order: SyncRequest) -> MirrorReport:
    """One space; what goes wrong in it, foreseen or not, is written down and told, and stops no
    other one.

    Only trouble of the store, or of the whole process, is everybody's: StoreError, MemoryError.
    """
    try:
        return sync_enabled_space(work, root, space, order)
    except (StoreError, MemoryError):
        raise
    except Exception as err:  # a page holds whatever people and programs put there
        folder = MirrorFolder(root, space)
        why = (
            f"{folder.path} could not be brought in step ({type(err).__name__}: {err}): its pages are left as they "
            "are. Take back your last edit there, then run: reverie mirror"
        )
        return MirrorReport(space, folder.path, troubles=record_space_trouble(folder, why))


def sync_enabled_space(
    work: WorkContext, root: Path, space: str, order: SyncRequest
) -> MirrorReport:
    """One space; where memory is switched off its pages are let be."""
    folder = MirrorFolder(root, space)
    if work.settings.is_off(space):
        return MirrorReport(space, folder.path)
    for name, one in (
        (SPACES_KEY, space),
        (ROOTS_KEY, str(root)),
    ):  # first: a purge reaches what a crash leaves behind
        if one not in (there := load_meta_set(work.store, name)):
            work.store.set_meta(name, json.dumps(sorted({*there, one})))
    return sync_space(work, folder, order)


def list_due_spaces(work: WorkContext, root: Path, altered: Iterable[Record]) -> set[str]:
    """Spaces of which a memory was altered, or a page, since they were last in step."""
    spaces = list_record_spaces(altered, work.store)
    if root.is_dir():
        spaces |= {
            space
            for space in list_mirrored_spaces(work.store)
            if list_edited_pages(MirrorFolder(root, space))
        }
    return {space for space in spaces if not is_being_edited(MirrorFolder(root, space), work.now)}


def list_record_spaces(records: Iterable[Record], store: Store) -> set[str]:
    """Where these memories are, and where they were."""
    listed = list(records)
    there = store.get(list(dict.fromkeys(record.memory_id for record in listed)))
    return {memory.space for memory in there} | {
        record.before["space"] for record in listed if "space" in record.before
    }


def list_edited_pages(folder: MirrorFolder) -> dict[str, FileLook]:
    """The pages that somebody has altered since the space was last in step, and how they look."""
    return folder.altered_looks(folder.state())


def is_being_edited(folder: MirrorFolder, now: float) -> bool:
    """Whether somebody is just writing a page: it was altered a moment ago."""
    return any(
        abs(now - look[0] / 1e9) < QUIET_SECONDS for look in list_edited_pages(folder).values()
    )


def list_mirrored_spaces(store: Store) -> set[str]:
    """Spaces that have pages."""
    return load_meta_set(store, SPACES_KEY)


def load_meta_set(store: Store, name: str) -> set[str]:
    """What is noted under a name."""
    return set(json.loads(store.meta(name) or "[]"))


def list_former_roots(settings: Settings, store: Store) -> list[Path]:
    """Folders in which the mirror was before it was moved or switched off; their pages follow the
    store no longer.
    """
    return (
        []
        if store.url != settings.url
        else sorted(
            Path(root)
            for root in load_meta_set(store, ROOTS_KEY) - {str(find_mirror_root(settings, store))}
        )
    )


def list_stray_edits(work: WorkContext, space: str) -> list[str]:
    """Pages of a space that somebody has edited in a folder in which the mirror is no longer."""
    folders = [MirrorFolder(root, space) for root in list_former_roots(work.settings, work.store)]
    return [
        f"{folder.path / name} was edited, but the mirror is no longer there: nothing of it was taken in. Copy "
        f"what you want to keep to the page where the mirror is now, then delete {folder.path}"
        for folder in folders
        for name, look in folder.state().looks.items()
        if stat_look(folder.path / name) not in (look, NO_LOOK)
    ]


def list_living_spaces(store: Store) -> set[str]:
    """Spaces in which a memory counts."""
    return set(store.stats().spaces)


def list_deletion_questions(settings: Settings, store: Store) -> list[DeletionQuestion]:
    """What waits for an answer, by space and page."""
    root = find_mirror_root(settings, store)
    folders = (
        [MirrorFolder(root, space) for space in sorted(list_mirrored_spaces(store))] if root else []
    )
    return [
        DeletionQuestion(folder.space, folder.path / name, gone, of)
        for folder in folders
        for name, (gone, of) in folder.state().questions.items()
    ]


def find_mirror_problems(work: WorkContext, repair: bool) -> list[Problem]:
    """Pages that cannot be followed, or do not say what the store says although nothing is waiting;
    see `verify`.
    """
    from reverie.mirror.mirror_check import PROBLEM_AREA, check_space_pages

    root, spaces = (
        find_mirror_root(work.settings, work.store),
        sorted(list_mirrored_spaces(work.store)),
    )
    behind = [
        Problem(PROBLEM_AREA, why) for space in spaces for why in list_stray_edits(work, space)
    ]
    if (
        root is None or work.store.meta(UNLOGGED) or work.store.meta(PURGING)
    ):  # then it has not followed yet
        return behind
    return behind + [
        problem
        for space in spaces
        if not work.settings.is_off(space)
        for problem in check_space_pages(work, MirrorFolder(root, space), repair)
    ]


def erase_from_mirror(
    work: WorkContext, ids: Iterable[str], texts: Iterable[str], now: Callable[[], float]
) -> tuple[Path, ...]:
    """Take memories out of every page and copy, whatever waits there, also where the mirror was
    before.

    Returns files that may still hold them, and folders of before that are not there, or not there
    just now.
    """
    root, before = (
        find_mirror_root(work.settings, work.store),
        list_former_roots(work.settings, work.store),
    )
    roots = [one for one in (root, *before) if one is not None and one.is_dir()]
    if not (spaces := sorted(list_mirrored_spaces(work.store))):
        return ()
    from reverie.mirror.mirror_check import erase_from_pages

    gone, said = set(ids), {text.strip() for text in texts}
    with hold_mirror_lease(work.store, now):
        return (
            *(one for one in before if not one.is_dir()),
            *(
                path
                for one in roots
                for space in spaces
                if (folder := MirrorFolder(one, space)).hidden.is_dir()
                for path in erase_from_pages(folder, gone, said)
            ),
        )
