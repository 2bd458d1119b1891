"""What the store has let go of for good leaves the files too: pages, shared files, the index of
files, versions, what hooks have laid ready, logs, daily copies.

What somebody wrote on a page or in a shared file by then was said before: it is taken in first, so
that nothing of it is taken for the memory's, or blanked. Which memories went is noted in the same
transaction in which the store lets go of them. The note stays until every file was gone through:
whoever is killed in between, or finds another process at the files, leaves it to the worker or to
the next purge. It goes before the database is written anew.

The mirror says what memory says, so its pages are taken out of the index and read anew. A version
of a page cannot be altered, for its name is its hash: one that repeats what is erased goes as a
whole. The user's own files, and what they were before, are the user's: their versions are only
named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reverie.code import past_task_vectors
from reverie.core import clock
from reverie.core.errors import StoreBusy, StoreError
from reverie.core.kinds import RECORD_KINDS
from reverie.core.model import Filter, Memory
from reverie.erasure.interruptions import REWRITE_PENDING
from reverie.erasure.scrub import list_mirror_folders, scrub_files, take_in_edits
from reverie.mirror import mirror_sync, shared_lines
from reverie.mirror.apply_page_edits import list_past_texts
from reverie.mirror.file_exchange import read_bytes_if_present
from reverie.mirror.mirror_folder import MirrorFolder
from reverie.mirror.mirror_sync import find_mirror_root, hold_mirror_lease, list_mirrored_spaces
from reverie.mirror.page_blocks import PageItem, find_memory_ids, parse_mirror_page
from reverie.mirror.page_placement import MEMORY_ID
from reverie.mirror.space_sync import SyncRequest
from reverie.notes import file_versions, watched_roots
from reverie.notes.note_indexing import sync_root
from reverie.notes.note_vectors import hold_index_lease
from reverie.pipeline.event_reader import WorkContext
from reverie.porting import shared_files
from reverie.storage import Store, backups
from reverie.storage.erased_texts import PURGING, PassageEraser, is_distinctive, is_kept_field
from reverie.text.tokenization import fold_text

PATIENCE = 60.0  # seconds that whoever indexes now is waited for
ALL_MEMORIES = 1_000_000_000  # memories of a store


class PurgedMemories(NamedTuple):
    """Memories that the store has let go of."""

    ids: tuple[str, ...]
    names: tuple[tuple[str, str], ...]  # (space, what it is called in shared files)
    texts: tuple[str, ...]  # that they ever had

    @classmethod
    def from_memories(cls, store: Store, memories: Iterable[Memory]) -> PurgedMemories:
        """These, as long as the store has them."""
        there = tuple(memories)
        return cls(
            tuple(one.id for one in there),
            tuple((one.space, shared_lines.shared_name(one)) for one in there),
            tuple(sorted(list_past_texts(store, there))),
        )


def purge_everywhere(
    work: WorkContext, chosen: Callable[[], Iterable[Memory]], now: Callable[[], float]
) -> tuple[PurgedMemories, backups.PurgeResult]:
    """Erase for good what is `chosen` once everything that was written by now is taken in; see
    `Mind.purge`.
    """
    finish_purge(work, now)
    take_in_edits(work, now)
    with work.store.transaction():
        gone = PurgedMemories.from_memories(work.store, chosen())
        erased = work.store.purge(gone.ids)
        save_pending_purges(work.store, [*load_pending_purges(work.store), gone])
    left = finish_purge(work, now)
    return gone, backups.PurgeResult(
        erased, left, tuple(sorted(work.store.ids_repeating(gone.texts)))
    )


def save_pending_purges(store: Store, some: Iterable[PurgedMemories]) -> None:
    """Write down what files may still hold."""
    store.set_meta(PURGING, json.dumps(there) if (there := [*some]) else "")


def load_pending_purges(store: Store) -> list[PurgedMemories]:
    """What files may still hold."""
    return [
        PurgedMemories(tuple(ids), tuple((space, name) for space, name in names), tuple(texts))
        for ids, names, texts in json.loads(store.meta(PURGING) or "[]")
    ]


def finish_purge(work: WorkContext, now: Callable[[], float]) -> tuple[Path, ...]:
    """Take what the store has let go of out of all files. Returns those that may still hold it.

    Where another process is at them for too long, the note stays, and so does what it says.
    """
    store, left = work.store, list[Path]()
    if not (some := load_pending_purges(store)):
        return ()
    try:
        for gone in some:
            left += purge_from_files(work, gone, now)
    except StoreBusy:
        return tuple(dict.fromkeys((*left, *list_mirror_folders(work), Path(work.settings.home))))
    with store.transaction():
        save_pending_purges(store, [one for one in load_pending_purges(store) if one not in some])
    left += store.compact()
    if left:
        store.set_meta(REWRITE_PENDING, "yes")
    return tuple(dict.fromkeys(left))


def purge_from_files(
    work: WorkContext, gone: PurgedMemories, now: Callable[[], float]
) -> list[Path]:
    """Go through all files once. Returns those that may still hold these."""
    others = {
        memory.text.strip()
        for memory in work.store.get(sorted(work.store.ids_repeating(gone.texts)))
    }
    left = [
        *mirror_sync.erase_from_mirror(work, gone.ids, {*gone.texts} - others, now),
        *shared_files.erase_from_shares(work, gone.ids, gone.names, now),
    ]
    # records say less now
    mirror_sync.sync_mirror(
        work, list_mirrored_spaces(work.store), SyncRequest(afresh=True, retry=True), now
    )
    return [
        *left,
        *purge_from_hooks(work, gone, others, now),
        *purge_from_index(work, gone, now),
        *past_task_vectors.erase_past_tasks(work.store.code_chunks),
        *backups.purge_backups(work.settings, work.store, gone.ids, gone.texts),
    ]


def purge_from_index(
    work: WorkContext, gone: PurgedMemories, now: Callable[[], float]
) -> tuple[Path, ...]:
    """Erase memories from the index and from versions of pages. Returns files that may still hold
    them.
    """
    index, root = work.store.files, work.settings.mirror_root
    pages = None if root is None else os.path.realpath(root)
    try:
        with hold_index_lease(work.store, now, PATIENCE) as ours:
            reindex_mirror_pages(work, pages, ours)
            scrubbed = index.scrub()
    except StoreError:
        scrubbed = False
    events = work.store.events(verbs=(file_versions.VERB,), limit=file_versions.MAX_EVENTS)
    left = file_versions.erase_versions(
        work.settings.home,
        events,
        lambda path: pages is not None and is_path_inside(path, pages),
        make_repeat_check(gone),
    )
    return (*left, *(() if scrubbed else (Path(index.path),)))


def purge_from_hooks(
    work: WorkContext, gone: PurgedMemories, others: set[str], now: Callable[[], float]
) -> tuple[Path, ...]:
    """What lies ready for hooks, below `<home>/hooks`, and repeats these memories, goes; what waits
    to be taken in is blanked, as pages and logs are.

    Not where a text stands for another memory that is no record, nor on a line of a shared file: a
    blank there would be taken for what somebody wrote. Returns the files that could not be written.
    """
    repeats, laid = make_repeat_check(gone), work.settings.home / "hooks"
    for path in (*laid.glob("sessions/*.block*"), *laid.glob("guards/*")):
        with suppress(OSError, ValueError):
            if repeats(
                "\n".join(iter_strings(json.loads(path.read_bytes()))).encode("utf-8", "replace")
            ):
                path.unlink()
    with hold_mirror_lease(work.store, now):
        clean = SparingCleaner(PassageEraser(gone.texts), list_staying_names(work.store), others)
        return tuple(
            scrub_files(work, clean, list_mirror_folders(work), lambda *_: None, write=True)[1]
        )


CleanedValue = tuple[
    Any, tuple[str, ...]
]  # as it should stand, and the kinds of what was taken out


class SparingCleaner(NamedTuple):
    """Blanks texts wherever they do not stand for one of these memories: in its bullet, under its
    id.
    """

    clean: PassageEraser
    ids: set[str]
    others: set[str]  # texts of memories that repeat it: a line that lost its id may be theirs

    def scrub_text(self, text: str) -> CleanedValue:
        """A page, or any other text; in bullets as in the values of its hidden copy, lest they seem
        to be edited.
        """
        if not find_memory_ids(text):
            return self.clean.scrub_text(text)
        done: list[CleanedValue] = []
        prose = ""
        for block in parse_mirror_page(text, "").blocks:
            if isinstance(block, PageItem):
                done += [self.clean.scrub_text(prose), self.bullet(block)]
            prose = "" if isinstance(block, PageItem) else prose + block.raw
        done.append(self.clean.scrub_text(prose))
        return "".join(part for part, _ in done), merge_kinds(done)

    def bullet(self, item: PageItem) -> CleanedValue:
        """A bullet with what it says blanked, unless it stays."""
        if item.marked in self.ids or (not item.marked and item.line.text.strip() in self.others):
            return item.raw, ()
        said, kinds = self.clean.scrub_text(item.line.text)
        return (
            (item.raw.replace(item.line.text, said), kinds)
            if kinds and item.line.text in item.raw
            else (self.clean.scrub_text(item.raw))
        )

    def scrub_value(self, value: Any) -> CleanedValue:
        """A value of JSON with all cleaned but what stands under the id of one of these, or holds
        it as its own.
        """
        if isinstance(value, dict):
            if str(value.get("id")) in self.ids:
                return value, ()
            done = {
                name: (inner, ())
                if name in self.ids or is_kept_field(name, inner)
                else self.line(inner)
                if MEMORY_ID.fullmatch(name)
                else self.scrub_value(inner)
                for name, inner in value.items()
            }
            return {name: inner for name, (inner, _) in done.items()}, merge_kinds(done.values())
        if isinstance(value, list):
            each = [self.scrub_value(inner) for inner in value]
            return [inner for inner, _ in each], merge_kinds(each)
        return self.clean.scrub_value(value)

    def line(self, value: Any) -> CleanedValue:
        """What a hidden copy keeps under an id: its text, then its heading and its time."""
        if not isinstance(value, list) or not value:
            return self.scrub_value(value)
        text, kinds = self.scrub_value(value[0])
        return [text, *value[1:]], kinds


def merge_kinds(parts: Iterable[CleanedValue]) -> tuple[str, ...]:
    """The kinds of what was taken out of any of these."""
    return tuple(dict.fromkeys(kind for _, kinds in parts for kind in kinds))


def list_staying_names(store: Store) -> set[str]:
    """By what names files call the memories that are no records, and those of shared lines."""
    there = store.browse(Filter(active=None, limit=ALL_MEMORIES))
    files = [
        read_bytes_if_present(Path(share.path)) or b"" for share in shared_files.load_shares(store)
    ]
    return {
        *(memory.id for memory in there if memory.kind not in RECORD_KINDS),
        *(line.id for file in files for line in shared_lines.parse_shared_file(file).lines),
    } - {""}


def iter_strings(value: Any) -> Iterator[str]:
    """Every text in a value of JSON, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from iter_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from iter_strings(inner)


def reindex_mirror_pages(work: WorkContext, pages: str | None, ours: Callable[[], bool]) -> None:
    """Take the mirror's pages out of the index and read those anew that are there; equal chunks
    keep their vectors.
    """
    index, watched = (
        work.store.files,
        {str(event.payload.get("path")) for event in watched_roots.list_watch_events(work.store)},
    )
    there = index.roots()
    for root in there:
        index.drop(
            root,
            [
                path
                for path in index.indexed_files(root)
                if root not in watched
                or (pages is not None and is_path_inside(os.path.join(root, path), pages))  # noqa: PTH118 - names
            ],
        )
    for own in list_mirror_roots(work):
        if own.path in there:
            sync_root(index, own, clock.now, lambda *_: None, ours, work.policy)


def list_mirror_roots(work: WorkContext) -> list[watched_roots.WatchedRoot]:
    """The mirrors of all spaces that have pages, as roots of the index."""
    top = find_mirror_root(work.settings, work.store)
    return (
        [
            watched_roots.to_mirror_root(MirrorFolder(top, space).path, space)
            for space in sorted(list_mirrored_spaces(work.store))
        ]
        if top
        else []
    )


def is_path_inside(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, going by its name."""
    return Path(path).is_relative_to(folder)


def make_repeat_check(gone: PurgedMemories) -> Callable[[bytes], bool]:
    """Whether a file repeats memories: an id, a text as a passage, a short text as a whole line."""
    said = {fold_text(text) for text in gone.texts} - {""}
    marked, long = [id.encode() for id in gone.ids], [text for text in said if is_distinctive(text)]

    def repeats(data: bytes) -> bool:
        if any(id in data for id in marked):
            return True
        text = data.decode("utf-8", "replace")
        whole = fold_text(text)
        return any(passage in whole for passage in long) or not said.isdisjoint(
            fold_text(line.strip(" \t-*+")) for line in text.splitlines()
        )

    return repeats
