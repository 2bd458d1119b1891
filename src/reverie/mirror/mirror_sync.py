"""The mirror kept in step: what people wrote is taken in, what the store says is written, never in
a caller's path.

`follow_store` runs at the end of a step of background work and looks first whether anything is to
be done: an event after the cursor, a page that looks otherwise than when it was written, or a new
one (one `stat` a page). `sync_mirror` is for who asks, here and now. Between processes the lease
MIRROR says who is at it.

A space is done in one go: read the pages concerned, compare (`three_way_merge`), apply what people
did as one event `mirror`, which `undo` takes back, then write (`page_rendering`). If the store or a
page was altered meanwhile, it is done again: nothing is written over what was not read. After a
crash at any point the next run comes to the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from reverie.core import clock
from reverie.core.config import Settings
from reverie.core.errors import StoreError
from reverie.core.model import Filter, Record
from reverie.mirror.file_exchange import NO_LOOK, FileLook, stat_look
from reverie.mirror.home_place import ROOTS_KEY, is_originals_mirror
from reverie.mirror.mirror_folder import MirrorFolder, PageTrouble
from reverie.mirror.page_placement import PageLine
from reverie.mirror.page_rendering import diff_page, remove_memories
from reverie.mirror.space_sync import (
    ALL_MEMORIES,
    MirrorReport,
    SyncRequest,
    group_lines_by_page,
    record_space_trouble,
    sync_space,
)
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import DEFAULT_LEASE_SECONDS, hold_lease
from reverie.storage import UNLOGGED, Problem, Store
from reverie.storage.erased_texts import PURGING

# the lease, the cursor, and what `verify` calls it
MIRROR = "mirror"
# Seconds that a page must have been left alone: editors save in several steps, and some while
# somebody types.
QUIET_SECONDS = 1.5
# meta: spaces that have pages
SPACES_KEY = "mirror_spaces"
# meta: folders in which the mirror is, or was before it was moved or switched off


class DeletionQuestion(NamedTuple):
    """Many lines are gone from a page; nothing of it is forgotten until somebody answers."""

    space: str
    path: Path
    gone: int
    of: int


def find_mirror_root(settings: Settings, store: Store) -> Path | None:
    """The folder of a store's mirror; None if it is switched off, the store not the home's, or the
    folder that of the home which this one is a copy of.
    """
    root = settings.mirror_root if settings.enabled and store.url == settings.url else None
    return None if root is None or is_originals_mirror(store, settings, root) else root


def has_mirror_work(work: WorkContext) -> bool:
    """True if something has happened in the store since the mirror last followed it."""
    if find_mirror_root(work.settings, work.store) is None:
        return False
    store = work.store
    return bool(store.meta(UNLOGGED) or store.changes_after(store.cursor(MIRROR)))


def follow_store(work: WorkContext) -> int:
    """Bring in step what is out of step, unless somebody else is at it; how many edits it took."""
    root = find_mirror_root(work.settings, work.store)
    if root is None:
        return 0
    # Read first: what comes while the pages are written is left for the next step.
    store, last = work.store, work.store.last_event()
    stale = bool(store.meta(UNLOGGED))
    altered = [] if stale else store.changes_after(store.cursor(MIRROR))
    spaces = list_all_spaces(store) if stale else list_due_spaces(work, root, altered)
    done: list[MirrorReport] = []
    holder = clock.new_id("mirror")
    if spaces:
        # Nobody waits here: whoever holds it brings the same spaces in step.
        if not store.acquire(MIRROR, holder, DEFAULT_LEASE_SECONDS, work.now):
            return 0
        request = SyncRequest(afresh=stale)
        try:
            done = [try_sync_space(work, root, space, request) for space in sorted(spaces)]
        # Released only here: else together with the cursor, below.
        except BaseException:
            store.release(MIRROR, holder)
            raise
    if spaces or altered or stale:
        # One transaction: each costs some milliseconds, and this is done after every turn.
        with store.transaction():
            store.release(MIRROR, holder)
            store.advance(MIRROR, last)
            if stale:
                store.set_meta(UNLOGGED, "")
    return sum(report.taken for report in done)


def sync_mirror(
    work: WorkContext,
    spaces: Iterable[str] | None,
    request: SyncRequest,
    now: Callable[[], float],
) -> list[MirrorReport]:
    """Bring these spaces, or all, in step, now. Waits while another process is at it.

    Raises StoreBusy if that takes long.
    """
    root, store = find_mirror_root(work.settings, work.store), work.store
    if root is None:
        return []
    with hold_mirror_lease(store, now):
        wanted = list_all_spaces(store) if spaces is None else set(spaces)
        stale = bool(store.meta(UNLOGGED))
        request = request._replace(afresh=request.afresh or stale)
        done = [try_sync_space(work, root, space, request) for space in sorted(wanted)]
        # Only a look at every space makes up for events that were never written.
        if stale and spaces is None:
            store.set_meta(UNLOGGED, "")
        return [
            report._replace(troubles=(*report.troubles, *list_stray_edits(work, report.space)))
            for report in done
        ]


def hold_mirror_lease(
    store: Store, now: Callable[[], float]
) -> AbstractContextManager[Callable[[], bool]]:
    """Hold the lease on the mirror: see `hold_lease`."""
    return hold_lease(
        store, MIRROR, now, "Another process is at the mirror. Nothing was changed: try again"
    )


def try_sync_space(
    work: WorkContext,
    root: Path,
    space: str,
    request: SyncRequest,
) -> MirrorReport:
    """Sync one space; an error is recorded and reported, and does not stop other spaces.

    Only trouble of the store, or of the whole process, is everybody's: StoreError, MemoryError.
    """
    folder = MirrorFolder(root, space)
    # Where memory is switched off its pages are left alone.
    if work.settings.is_off(space):
        return MirrorReport(space, folder.path)
    # Noted before a page is written, so that a purge reaches what a crash leaves behind.
    add_to_meta_set(work.store, SPACES_KEY, space)
    add_to_meta_set(work.store, ROOTS_KEY, str(root))
    try:
        return sync_space(work, folder, request)
    except (StoreError, MemoryError):
        raise
    except Exception as err:  # a page holds whatever people and programs put there
        why = (
            f"{folder.path} could not be brought in step ({type(err).__name__}: {err}): "
            "its pages are left as they are. Take back your last edit there, then run: "
            "reverie data mirror"
        )
        return MirrorReport(space, folder.path, troubles=record_space_trouble(folder, why))


def list_due_spaces(
    work: WorkContext,
    root: Path,
    altered: Iterable[Record],
) -> set[str]:
    """Spaces with an altered memory or page that nobody is writing just now."""
    spaces = list_record_spaces(altered, work.store)
    mirrored = list_mirrored_spaces(work.store) if root.is_dir() else set[str]()
    due = set()
    for space in spaces | mirrored:
        folder = MirrorFolder(root, space)
        edited = folder.altered_looks(folder.state())
        is_edited = space in spaces or edited
        ages = (abs(work.now - look[0] / 1e9) for look in edited.values())
        if is_edited and all(age >= QUIET_SECONDS for age in ages):
            due.add(space)
    return due


def list_record_spaces(records: Iterable[Record], store: Store) -> set[str]:
    """The spaces in which altered memories are, and were."""
    listed = list(records)
    memories = store.get(list(dict.fromkeys(record.memory_id for record in listed)))
    before = {record.before["space"] for record in listed if "space" in record.before}
    return {memory.space for memory in memories} | before


def list_mirrored_spaces(store: Store) -> set[str]:
    """The spaces that have pages."""
    return load_meta_set(store, SPACES_KEY)


def list_all_spaces(store: Store) -> set[str]:
    """The spaces that have pages, or an active memory."""
    return list_mirrored_spaces(store) | set(store.stats().spaces)


def load_meta_set(store: Store, name: str) -> set[str]:
    """The set of texts that is kept under a name."""
    return set(json.loads(store.meta(name) or "[]"))


def add_to_meta_set(
    store: Store,
    name: str,
    value: str,
) -> None:
    """Keep one more text under a name."""
    known = load_meta_set(store, name)
    if value not in known:
        store.set_meta(name, json.dumps(sorted({*known, value})))


def list_former_roots(settings: Settings, store: Store) -> list[Path]:
    """Folders in which the mirror was before it was moved or switched off."""
    if store.url != settings.url:
        return []
    # Also those that are not there just now: a drive may be plugged in again.
    former = load_meta_set(store, ROOTS_KEY) - {str(find_mirror_root(settings, store))}
    return sorted(map(Path, former))


def list_space_folders(root: Path, store: Store) -> list[MirrorFolder]:
    """The folders of all spaces that have pages, in one root."""
    return [MirrorFolder(root, space) for space in sorted(list_mirrored_spaces(store))]


def list_mirror_folders(work: WorkContext) -> list[Path]:
    """The mirror's folders, of now and of before, that are there."""
    root = find_mirror_root(work.settings, work.store)
    folders = (root, *list_former_roots(work.settings, work.store))
    return [folder for folder in folders if folder is not None and folder.is_dir()]


def iter_former_pages(
    work: WorkContext, spaces: Iterable[str]
) -> Iterator[tuple[MirrorFolder, str, bool]]:
    """Pages of these spaces in former folders of the mirror: (folder, name, whether it was edited
    since it was written). Those that are gone are left out.
    """
    wanted = list(spaces)
    for root in list_former_roots(work.settings, work.store):
        for space in wanted:
            folder = MirrorFolder(root, space)
            for name, look in folder.state().looks.items():
                looks_now = stat_look(folder.path / name)
                if looks_now != NO_LOOK:
                    yield folder, name, looks_now != look


def list_stray_edits(work: WorkContext, space: str) -> list[str]:
    """Messages about pages of a space that somebody has edited in a former folder of the mirror."""
    return [
        f"{folder.path / name} was edited, but the mirror is no longer there: nothing "
        "of it was taken in. Copy what you want to keep to the page where the mirror "
        f"is now, then delete {folder.path}"
        for folder, name, is_edited in iter_former_pages(work, (space,))
        if is_edited
    ]


def list_deletion_questions(settings: Settings, store: Store) -> list[DeletionQuestion]:
    """What waits for an answer, by space and page."""
    root = find_mirror_root(settings, store)
    if root is None:
        return []
    return [
        DeletionQuestion(folder.space, folder.path / name, gone, of)
        for folder in list_space_folders(root, store)
        for name, (gone, of) in folder.state().questions.items()
    ]


def find_mirror_problems(work: WorkContext, repair: bool) -> list[Problem]:
    """Pages that cannot be followed, or that differ from the store although nothing waits.

    For `verify`; `repair` brings them in step.
    """
    root, store = find_mirror_root(work.settings, work.store), work.store
    spaces = sorted(list_mirrored_spaces(store))
    problems = []
    for space in spaces:
        problems += [Problem(MIRROR, why) for why in list_stray_edits(work, space)]
    # While the mirror has not followed the store yet, its pages may differ.
    if root is None or store.meta(UNLOGGED) or store.meta(PURGING):
        return problems
    for space in spaces:
        if not work.settings.is_off(space):
            problems += check_space_pages(work, MirrorFolder(root, space), repair)
    return problems


def check_space_pages(
    work: WorkContext,
    folder: MirrorFolder,
    repair: bool,
) -> list[Problem]:
    """What is wrong with a space's pages; `repair` brings them in step.

    What only waits to be taken in or written, or for an answer, is not wrong.
    """
    wrong = [Problem(MIRROR, why) for why in folder.state().troubles.values()]
    wrong += find_stale_pages(work, folder)
    if not wrong or not repair:
        return wrong
    left = set(sync_space(work, folder, SyncRequest(afresh=True, retry=True)).troubles)
    return [problem._replace(repaired=problem.message not in left) for problem in wrong]


def find_stale_pages(work: WorkContext, folder: MirrorFolder) -> list[Problem]:
    """Pages that differ from the store although neither was altered since they were written."""
    state = folder.state()
    # What the mirror has not followed yet is no fault of a page.
    if state.seq < 0 or work.store.changes_after(state.seq):
        return []
    memories = work.store.browse(Filter(spaces=(folder.space,), limit=ALL_MEMORIES))
    lines = group_lines_by_page(folder.space, memories)
    looks = folder.looks(state.looks)
    edited = {name for name, look in looks.items() if look != state.looks[name]}
    found = []
    # What somebody has edited waits to be taken in.
    for name in sorted({*state.looks, *lines} - state.held - edited):
        why = explain_stale_page(folder, name, lines.get(name, {}))
        if why:
            found.append(Problem(MIRROR, why))
    return found


def explain_stale_page(
    folder: MirrorFolder,
    name: str,
    ours: Mapping[str, PageLine],
) -> str:
    """How a page differs from what the store says; "" if it does not."""
    try:
        wrong = diff_page(folder.read(name).page, ours)
    except PageTrouble as trouble:
        return str(trouble)
    if not wrong:
        return ""
    id, how = min(wrong.items())
    return f"{folder.path / name} is out of step with the store in {len(wrong):,} lines: {id} {how}"


def erase_from_mirror(
    work: WorkContext,
    ids: Iterable[str],
    texts: Iterable[str],
    now: Callable[[], float],
) -> tuple[Path, ...]:
    """Take memories out of every page and copy, whatever waits there, former folders included.

    Returns files that may still hold them, and former folders that are not there, or not just now.
    """
    if not list_mirrored_spaces(work.store):
        return ()
    gone, erased = set(ids), {text.strip() for text in texts}
    with hold_mirror_lease(work.store, now):
        former = list_former_roots(work.settings, work.store)
        left = [folder for folder in former if not folder.is_dir()]
        for top in list_mirror_folders(work):
            for folder in list_space_folders(top, work.store):
                if folder.hidden.is_dir():
                    left += erase_from_pages(folder, gone, erased)
        return tuple(left)


def erase_from_pages(
    folder: MirrorFolder,
    ids: set[str],
    texts: set[str],
) -> list[Path]:
    """Take memories out of every page and copy of a space.

    Returns the files that may still hold them.
    """
    unreached, state = [], folder.state()
    looks = dict(state.looks)
    for name, look in state.looks.items():
        try:
            looks[name] = erase_from_page(folder, name, look, ids, texts)
        except (PageTrouble, OSError):
            unreached.append(folder.path / name)
    # They hold whole pages, and nobody would ever look at them again.
    for half in folder.temporary_files(state.looks):
        half.unlink(missing_ok=True)
    try:
        folder.keep_state(state._replace(looks=looks))
    except (PageTrouble, OSError):
        unreached.append(folder.hidden)
    return unreached


def erase_from_page(
    folder: MirrorFolder,
    name: str,
    look: FileLook,
    ids: set[str],
    texts: set[str],
) -> FileLook:
    """Take memories out of one page and its copy; the look to note for it, which was `look`.

    Raises PageTrouble if somebody alters it just now.
    """
    folder.keep_copy(name, folder.copy(name).without_memories(ids))
    found = folder.read(name)
    clean = remove_memories(found.page, ids, texts)
    if found.data is None or clean.text == found.page.text:
        return look
    written = folder.write(found, clean)
    if written is None:
        raise PageTrouble(f"{folder.path / name} is being edited")
    # If nobody has edited it, the page is not to be taken for an edited one.
    return written if found.look == look else look
