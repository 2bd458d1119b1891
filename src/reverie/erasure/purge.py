"""Purging memories from the files too: pages, shared files, the index of files, versions, what
hooks have laid ready, logs, backups.

What somebody wrote on a page or in a shared file by then was said before: it is taken in first, so
that nothing of it is taken for the memory's, or blanked. Which memories went is noted in the same
transaction in which the store deletes them. The note stays until every file was gone through:
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
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

from reverie.code import past_task_vectors
from reverie.core import clock
from reverie.core.errors import StoreBusy, StoreError
from reverie.core.kinds import RECORD_KINDS
from reverie.core.model import Memory
from reverie.core.private_files import read_private_bytes
from reverie.erasure.intention import hold_erasure_lock
from reverie.erasure.own_files import (
    is_oversized,
    scrub_files,
    sync_pages,
    take_in_edits,
)
from reverie.memory.episodes import name_what_was_done
from reverie.mirror import mirror_sync, shared_lines
from reverie.mirror.apply_page_edits import list_past_texts
from reverie.mirror.file_exchange import read_bytes_if_present
from reverie.mirror.page_blocks import PageItem, find_memory_ids, parse_mirror_page
from reverie.mirror.page_placement import MEMORY_ID
from reverie.notes import file_versions, watched_roots
from reverie.notes.note_indexing import sync_root
from reverie.notes.note_vectors import hold_index_lease
from reverie.pipeline.event_reader import WorkContext
from reverie.porting import shared_files
from reverie.reconciliation.stated_dependencies import find_made_grounds
from reverie.storage import Store, backups
from reverie.storage.erased_texts import (
    PURGING,
    REWRITE_PENDING,
    PassageEraser,
    is_distinctive,
    is_kept_field,
)
from reverie.storage.indexed_transcripts import TranscriptIndex
from reverie.sync.device_logs.log_folder import erase_log_files
from reverie.sync.device_logs.log_state import load_own
from reverie.sync.sync_state import note_purged
from reverie.sync.wire_format import PurgedMemory
from reverie.text.tokenization import fold_text

# seconds that whoever indexes now is waited for
PATIENCE = 60.0


class PurgedMemories(NamedTuple):
    """Memories that the store has deleted for good."""

    ids: tuple[str, ...]
    names: tuple[tuple[str, str], ...]  # (space, what it is called in shared files)
    texts: tuple[str, ...]  # that they ever had

    @classmethod
    def from_memories(
        cls,
        store: Store,
        memories: Iterable[Memory],
        said: Iterable[str] = (),
    ) -> PurgedMemories:
        """These memories, while the store still has them, with texts that were only said."""
        listed = tuple(memories)
        return cls(
            tuple(memory.id for memory in listed),
            tuple((memory.space, shared_lines.shared_name(memory)) for memory in listed),
            tuple(sorted({*list_past_texts(store, listed), *said})),
        )


def purge_everywhere(
    work: WorkContext,
    chosen: Callable[[], Iterable[Memory]],
    said: Sequence[str],
    now: Callable[[], float],
) -> tuple[PurgedMemories, backups.PurgeResult]:
    """Purge the `chosen` memories and what was `said`, as `mind.data.purge` says, after taking in
    edits.
    """
    with hold_erasure_lock(work):
        return purge_alone(work, chosen, said, now)


def purge_said(work: Callable[[], WorkContext], texts: Sequence[str]) -> None:
    """Purge words that were only said, wherever they stand."""
    purge_everywhere(work(), tuple, texts, lambda: work().now)


def purge_alone(
    work: WorkContext,
    chosen: Callable[[], Iterable[Memory]],
    said: Sequence[str],
    now: Callable[[], float],
) -> tuple[PurgedMemories, backups.PurgeResult]:
    """`purge_everywhere`, while nobody else erases."""
    finish_purge(work, now)
    take_in_edits(work, now)
    listed, texts = choose_with_grounds(work.store, chosen, said)
    # Before the transaction: others may write while the store is looked through.
    found = work.store.find_repeats([memory.id for memory in listed], texts)
    with work.store.transaction():
        listed, texts = choose_with_grounds(work.store, chosen, said)
        gone = PurgedMemories.from_memories(work.store, listed, texts)
        erased = work.store.purge(gone.ids, texts, found) + len(said)
        save_pending_purges(work.store, [*load_pending_purges(work.store), gone])
        note_purged(work.store, (PurgedMemory(one.id, one.space) for one in listed))
    repeating: dict[PurgedMemories, set[str]] = {}
    left = finish_purge(work, now, repeating)
    if gone not in repeating:
        repeating[gone] = work.store.ids_repeating(gone.texts)
    return gone, backups.PurgeResult(erased, left, tuple(sorted(repeating[gone])))


def choose_with_grounds(
    store: Store, chosen: Callable[[], Iterable[Memory]], said: Sequence[str]
) -> tuple[tuple[Memory, ...], tuple[str, ...]]:
    """(the memories that go, with those that only stand as their grounds; the texts that go)."""
    listed = tuple(chosen())
    listed = (*listed, *find_made_grounds(store, listed))
    return listed, (*said, *list_recorded_names(store, listed))


def list_recorded_names(store: Store, memories: Iterable[Memory]) -> Iterator[str]:
    """What the tasks and goals were called of which these memories tell how they went: whatever
    was done in them is recorded under that name.
    """
    for memory in memories:
        for record in store.history(memory.id) if memory.kind in RECORD_KINDS else ():
            if record.event.verb != "experience":
                continue
            told = store.event(record.event.payload.get("event", 0))
            if told and (name := name_what_was_done(told)):
                yield name


def save_pending_purges(store: Store, some: Iterable[PurgedMemories]) -> None:
    """Note the purged memories that files may still hold."""
    pending = list(some)
    store.set_meta(PURGING, json.dumps(pending) if pending else "")


def load_pending_purges(store: Store) -> list[PurgedMemories]:
    """The purged memories that files may still hold."""
    return [
        PurgedMemories(tuple(ids), tuple(map(tuple, names)), tuple(texts))
        for ids, names, texts in json.loads(store.meta(PURGING) or "[]")
    ]


def finish_purge(
    work: WorkContext,
    now: Callable[[], float],
    repeating: dict[PurgedMemories, set[str]] | None = None,
) -> tuple[Path, ...]:
    """Take purged memories out of all files. Returns those that may still hold them.

    `repeating` is given the ids of memories that repeat them: finding those takes longest. Where
    another process is at the files for too long, the note stays, and so does what it says.
    """
    store, left = work.store, list[Path]()
    pending = load_pending_purges(store)
    if not pending:
        return ()
    try:
        for gone in pending:
            ids = store.ids_repeating(gone.texts)
            left += purge_from_files(work, gone, ids, now)
            if repeating is not None:
                repeating[gone] = ids
    except StoreBusy:
        folders = mirror_sync.list_mirror_folders(work)
        return tuple(dict.fromkeys((*left, *folders, Path(work.settings.home))))
    with store.transaction():
        added = [gone for gone in load_pending_purges(store) if gone not in pending]
        save_pending_purges(store, added)
        # Whoever is killed from here on leaves bytes that nothing else tells of.
        was_pending = store.meta(REWRITE_PENDING)
        store.set_meta(REWRITE_PENDING, "yes")
    left += store.compact({text for gone in pending for text in (*gone.ids, *gone.texts)})
    # What is too large to be read stays so: no later run could do more.
    if not was_pending and all(is_oversized(path) for path in left):
        store.set_meta(REWRITE_PENDING, "")
    return tuple(dict.fromkeys(left))


def purge_from_files(
    work: WorkContext,
    gone: PurgedMemories,
    repeating: Iterable[str],
    now: Callable[[], float],
) -> list[Path]:
    """Go through all files once; `repeating` memories stay. Returns files that may still hold
    these memories.
    """
    store = work.store
    others = {memory.text.strip() for memory in store.get(sorted(repeating))}
    left = [
        *mirror_sync.erase_from_mirror(
            work,
            gone.ids,
            {*gone.texts} - others,
            now,
        ),
        *shared_files.erase_from_shares(work, gone.ids, gone.names, now),
    ]
    # Records of what was said are blanked by now, so their pages say less.
    sync_pages(work, now, afresh=True)
    return [
        *left,
        *purge_from_hooks(work, gone, others, now),
        *purge_from_index(work, gone, now),
        *purge_from_conversations(store.transcripts, gone),
        *past_task_vectors.erase_past_tasks(store.code_chunks),
        *backups.purge_backups(work.settings, store, gone.ids, gone.texts),
        *(erase_log_files(work.settings.home) if load_own(store) is not None else ()),
    ]


def purge_from_index(
    work: WorkContext,
    gone: PurgedMemories,
    now: Callable[[], float],
) -> list[Path]:
    """Erase memories from the index and from versions of pages.

    Returns files that may still hold them.
    """
    index, root = work.store.files, work.settings.mirror_root
    pages = None if root is None else os.path.realpath(root)

    def is_page(path: str) -> bool:
        return pages is not None and Path(path).is_relative_to(pages)

    try:
        with hold_index_lease(work.store, now, PATIENCE) as may_continue:
            reindex_mirror_pages(work, is_page, may_continue)
            is_scrubbed = index.scrub()
    except StoreError:
        is_scrubbed = False
    events = work.store.events(
        verbs=(file_versions.VERB,),
        limit=file_versions.MAX_EVENTS,
    )
    repeats = make_repeat_check(gone)
    left = file_versions.erase_versions(work.settings.home, events, is_page, repeats)
    return left if is_scrubbed else [*left, Path(index.path)]


def purge_from_conversations(index: TranscriptIndex, gone: PurgedMemories) -> list[Path]:
    """Drop conversations that repeat these memories from their index; the rest of them is read
    again from the log, which is blanked by now. Returns files that may still hold something.
    """
    # Who read the log before that must not write it into the index afterwards.
    index.start_over()
    repeats = make_repeat_check(gone)
    found = {
        (space, session)
        for space, session, text in index.texts()
        if repeats(text.encode("utf-8", "replace"))
    }
    for space, session in sorted(found):
        index.drop(space, session)
    return [] if index.scrub() else [Path(index.path)]


def purge_from_hooks(
    work: WorkContext,
    gone: PurgedMemories,
    others: set[str],
    now: Callable[[], float],
) -> list[Path]:
    """Remove what lies ready for hooks and repeats these memories; blank what waits to be read.

    Below `<home>/hooks` and, as pages and logs are, in all files of ours. Not where a text stands
    for another memory that is no record, nor on a line of a shared file: a blank there would be
    taken for what somebody wrote. Returns the files that could not be written.
    """
    remove_hook_files(work.settings.home / "hooks", make_repeat_check(gone))
    with mirror_sync.hold_mirror_lease(work.store, now):
        clean = SparingCleaner(PassageEraser(gone.texts), StayingNames(work.store), others)
        _, stuck = scrub_files(work, clean, lambda *_: None, write=True)
        return stuck


def remove_hook_files(hooks: Path, repeats: Callable[[bytes], bool]) -> None:
    """Remove what lies ready for hooks and repeats what was purged."""
    laid_ready = ("sessions/*.block*", "sessions/*.plan*", "guards/*", "news/*")
    for path in chain.from_iterable(map(hooks.glob, laid_ready)):
        with suppress(OSError, ValueError):
            text = "\n".join(iter_strings(json.loads(read_private_bytes(hooks.parent, path))))
            if repeats(text.encode("utf-8", "replace")):
                path.unlink()


# a value as it should stand, and the kinds of what was taken out
CleanedValue = tuple[Any, tuple[str, ...]]


class SparingCleaner(NamedTuple):
    """Blanks texts, but not where they stand for a memory that stays: in its bullet, by its id."""

    clean: PassageEraser
    ids: Container[str]
    others: set[str]  # texts of memories that repeat it: a line that lost its id may be theirs

    def scrub_text(self, text: str) -> CleanedValue:
        """A page, or any other text, cleaned.

        In bullets as in the values of the page's hidden copy, lest they seem to be edited.
        """
        if not find_memory_ids(text):
            return self.clean.scrub_text(text)
        parts: list[CleanedValue] = []
        blocks = parse_mirror_page(text, "").blocks
        for is_item, run in groupby(blocks, lambda block: isinstance(block, PageItem)):
            if is_item:
                parts += [self.bullet(block) for block in run if isinstance(block, PageItem)]
            else:
                parts.append(self.clean.scrub_text("".join(block.raw for block in run)))
        return "".join(part for part, _ in parts), merge_kinds(parts)

    def bullet(self, item: PageItem) -> CleanedValue:
        """A bullet with its text cleaned, unless the memory stays."""
        text = item.line.text
        cleaned, kinds = self.clean.scrub_text(text)
        if kinds and text in item.raw:
            cleaned = item.raw.replace(text, cleaned)
        else:
            cleaned, kinds = self.clean.scrub_text(item.raw)
        is_anothers = not item.marked and text.strip() in self.others
        # Asked last: nearly every line holds nothing.
        if not kinds or is_anothers or item.marked in self.ids:
            return item.raw, ()
        return cleaned, kinds

    def scrub_value(self, value: Any) -> CleanedValue:
        """A value of JSON, cleaned but for what stands under the id of a memory that stays."""
        if isinstance(value, dict):
            fields = {name: self.field(name, inner) for name, inner in value.items()}
            cleaned = {name: inner for name, (inner, _) in fields.items()}
            kinds = merge_kinds(fields.values())
            if not kinds or str(value.get("id")) in self.ids:
                return value, ()
            return cleaned, kinds
        if isinstance(value, list):
            items = [self.scrub_value(inner) for inner in value]
            return [inner for inner, _ in items], merge_kinds(items)
        return self.clean.scrub_value(value)

    def field(self, name: str, value: Any) -> CleanedValue:
        """The value of a field, cleaned unless the name says that it stays."""
        if is_kept_field(name, value):
            return value, ()
        is_line = MEMORY_ID.fullmatch(name)
        cleaned, kinds = self.line(value) if is_line else self.scrub_value(value)
        return (value, ()) if not kinds or name in self.ids else (cleaned, kinds)

    def line(self, value: Any) -> CleanedValue:
        """What a hidden copy keeps under an id: its text, then its heading and its time."""
        if not isinstance(value, list) or not value:
            return self.scrub_value(value)
        text, kinds = self.scrub_value(value[0])
        return [text, *value[1:]], kinds


def merge_kinds(parts: Iterable[CleanedValue]) -> tuple[str, ...]:
    """The kinds of what was taken out of any of these, each once."""
    return tuple(dict.fromkeys(kind for _, kinds in parts for kind in kinds))


class StayingNames:
    """The names that files call these by: memories that are no records, and shared lines.

    Each is looked up when it is met: a home has very many, and few stand beside what is erased.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.known: dict[str, bool] = {}
        for share in shared_files.load_shares(store):
            data = read_bytes_if_present(share.file) or b""
            self.known |= {line.id: True for line in shared_lines.parse_shared_file(data).lines}
        self.known[""] = False

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self.known:
            found = self.store.get([name])
            self.known[name] = bool(found) and found[0].kind not in RECORD_KINDS
        return self.known[name]


def iter_strings(value: Any) -> Iterator[str]:
    """Every text in a value of JSON, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from iter_strings(inner)


def reindex_mirror_pages(
    work: WorkContext,
    is_page: Callable[[str], bool],
    may_continue: Callable[[], bool],
) -> None:
    """Drop the mirror's pages from the index and read anew those that are there.

    Equal chunks keep their vectors. What nobody watches any more is dropped too.
    """
    store, index = work.store, work.store.files
    watch_events = watched_roots.list_watch_events(store)
    watched = {str(event.payload.get("path")) for event in watch_events}
    roots = index.roots()
    for root in roots:
        names = list(index.indexed_files(root))
        if root in watched:
            names = [name for name in names if is_page(str(Path(root, name)))]
        index.drop(root, names)
    mirror = mirror_sync.find_mirror_root(work.settings, store)
    folders = mirror_sync.list_space_folders(mirror, store) if mirror else []
    for folder in folders:
        own = watched_roots.to_mirror_root(folder.path, folder.space)
        if own.path in roots:
            sync_root(index, own, clock.now, lambda *_: None, may_continue, work.policy)


def make_repeat_check(gone: PurgedMemories) -> Callable[[bytes], bool]:
    """A test for bytes that repeat a memory: its id, its text as a passage, or as a whole line."""
    texts = {fold_text(text) for text in gone.texts} - {""}
    passages = [text for text in texts if is_distinctive(text)]
    ids = [id.encode() for id in gone.ids]

    def repeats(data: bytes) -> bool:
        if any(id in data for id in ids):
            return True
        text = data.decode("utf-8", "replace")
        folded = fold_text(text)
        if any(passage in folded for passage in passages):
            return True
        return any(fold_text(line.strip(" \t-*+")) in texts for line in text.splitlines())

    return repeats
