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
from reverie.core.kinds import RECORDS
from reverie.core.model import Filter, Memory
from reverie.erasure.interruptions import UNFINISHED
from reverie.erasure.scrub import in_files, own_roots, taken_in
from reverie.mirror import mirror_sync, shared_lines
from reverie.mirror.apply_page_edits import ever_said
from reverie.mirror.file_exchange import bytes_of
from reverie.mirror.mirror_folder import Folder
from reverie.mirror.mirror_sync import alone, known, root_of
from reverie.mirror.page_blocks import Item, ids_in, parse
from reverie.mirror.page_placement import ID
from reverie.mirror.space_sync import Order
from reverie.notes import file_versions, watched_roots
from reverie.notes.note_indexing import synced
from reverie.notes.note_vectors import indexing
from reverie.pipeline.event_reader import Work
from reverie.porting import shared_files
from reverie.storage import Store, backups
from reverie.storage.erased_texts import PURGING, Passages, stays, tells
from reverie.text.tokenization import folded

PATIENCE = 60.0  # seconds that whoever indexes now is waited for
EVERY = 1_000_000_000  # memories of a store


class Gone(NamedTuple):
    """Memories that the store has let go of."""

    ids: tuple[str, ...]
    names: tuple[tuple[str, str], ...]  # (space, what it is called in shared files)
    texts: tuple[str, ...]  # that they ever had

    @classmethod
    def of(cls, store: Store, memories: Iterable[Memory]) -> Gone:
        """These, as long as the store has them."""
        there = tuple(memories)
        return cls(
            tuple(one.id for one in there),
            tuple((one.space, shared_lines.name_of(one)) for one in there),
            tuple(sorted(ever_said(store, there))),
        )


def purged(
    work: Work, chosen: Callable[[], Iterable[Memory]], now: Callable[[], float]
) -> tuple[Gone, backups.Purged]:
    """Erase for good what is `chosen` once everything that was written by now is taken in; see
    `Mind.purge`.
    """
    finished(work, now)
    taken_in(work, now)
    with work.store.alone():
        gone = Gone.of(work.store, chosen())
        erased = work.store.purge(gone.ids)
        note(work.store, [*pending(work.store), gone])
    left = finished(work, now)
    return gone, backups.Purged(erased, left, tuple(sorted(work.store.repeated(gone.texts))))


def note(store: Store, some: Iterable[Gone]) -> None:
    """Write down what files may still hold."""
    store.set_meta(PURGING, json.dumps(there) if (there := [*some]) else "")


def pending(store: Store) -> list[Gone]:
    """What files may still hold."""
    return [
        Gone(tuple(ids), tuple((space, name) for space, name in names), tuple(texts))
        for ids, names, texts in json.loads(store.meta(PURGING) or "[]")
    ]


def finished(work: Work, now: Callable[[], float]) -> tuple[Path, ...]:
    """Take what the store has let go of out of all files. Returns those that may still hold it.

    Where another process is at them for too long, the note stays, and so does what it says.
    """
    store, left = work.store, list[Path]()
    if not (some := pending(store)):
        return ()
    try:
        for gone in some:
            left += cleaned(work, gone, now)
    except StoreBusy:
        return tuple(dict.fromkeys((*left, *own_roots(work), Path(work.settings.home))))
    with store.alone():
        note(store, [one for one in pending(store) if one not in some])
    left += store.compact()
    if left:
        store.set_meta(UNFINISHED, "yes")
    return tuple(dict.fromkeys(left))


def cleaned(work: Work, gone: Gone, now: Callable[[], float]) -> list[Path]:
    """Go through all files once. Returns those that may still hold these."""
    others = {
        memory.text.strip() for memory in work.store.get(sorted(work.store.repeated(gone.texts)))
    }
    left = [
        *mirror_sync.erased(work, gone.ids, {*gone.texts} - others, now),
        *shared_files.erased(work, gone.ids, gone.names, now),
    ]
    # records say less now
    mirror_sync.mirrored(work, known(work.store), Order(afresh=True, retry=True), now)
    return [
        *left,
        *unlaid(work, gone, others, now),
        *unfiled(work, gone, now),
        *past_task_vectors.erased(work.store.code_chunks),
        *backups.purge(work.settings, work.store, gone.ids, gone.texts),
    ]


def unfiled(work: Work, gone: Gone, now: Callable[[], float]) -> tuple[Path, ...]:
    """Erase memories from the index and from versions of pages. Returns files that may still hold
    them.
    """
    index, root = work.store.files, work.settings.mirror_root
    pages = None if root is None else os.path.realpath(root)
    try:
        with indexing(work.store, now, PATIENCE) as ours:
            reindexed(work, pages, ours)
            scrubbed = index.scrub()
    except StoreError:
        scrubbed = False
    events = work.store.events(verbs=(file_versions.VERB,), limit=file_versions.MOST)
    left = file_versions.erase(
        work.settings.home,
        events,
        lambda path: pages is not None and inside(path, pages),
        repeating(gone),
    )
    return (*left, *(() if scrubbed else (Path(index.path),)))


def unlaid(work: Work, gone: Gone, others: set[str], now: Callable[[], float]) -> tuple[Path, ...]:
    """What lies ready for hooks, below `<home>/hooks`, and repeats these memories, goes; what waits
    to be taken in is blanked, as pages and logs are.

    Not where a text stands for another memory that is no record, nor on a line of a shared file: a
    blank there would be taken for what somebody wrote. Returns the files that could not be written.
    """
    repeats, laid = repeating(gone), work.settings.home / "hooks"
    for path in (*laid.glob("sessions/*.block*"), *laid.glob("guards/*")):
        with suppress(OSError, ValueError):
            if repeats(
                "\n".join(strings(json.loads(path.read_bytes()))).encode("utf-8", "replace")
            ):
                path.unlink()
    with alone(work.store, now):
        clean = Sparing(Passages(gone.texts), staying(work.store), others)
        return tuple(in_files(work, clean, own_roots(work), lambda *_: None, write=True)[1])


Clean = tuple[Any, tuple[str, ...]]  # as it should stand, and the kinds of what was taken out


class Sparing(NamedTuple):
    """Blanks texts wherever they do not stand for one of these memories: in its bullet, under its
    id.
    """

    clean: Passages
    ids: set[str]
    others: set[str]  # texts of memories that repeat it: a line that lost its id may be theirs

    def text(self, text: str) -> Clean:
        """A page, or any other text; in bullets as in the values of its hidden copy, lest they seem
        to be edited.
        """
        if not ids_in(text):
            return self.clean.text(text)
        done: list[Clean] = []
        prose = ""
        for block in parse(text, "").blocks:
            if isinstance(block, Item):
                done += [self.clean.text(prose), self.bullet(block)]
            prose = "" if isinstance(block, Item) else prose + block.raw
        done.append(self.clean.text(prose))
        return "".join(part for part, _ in done), kinds_of(done)

    def bullet(self, item: Item) -> Clean:
        """A bullet with what it says blanked, unless it stays."""
        if item.marked in self.ids or (not item.marked and item.line.text.strip() in self.others):
            return item.raw, ()
        said, kinds = self.clean.text(item.line.text)
        return (
            (item.raw.replace(item.line.text, said), kinds)
            if kinds and item.line.text in item.raw
            else (self.clean.text(item.raw))
        )

    def value(self, value: Any) -> Clean:
        """A value of JSON with all cleaned but what stands under the id of one of these, or holds
        it as its own.
        """
        if isinstance(value, dict):
            if str(value.get("id")) in self.ids:
                return value, ()
            done = {
                name: (inner, ())
                if name in self.ids or stays(name, inner)
                else self.line(inner)
                if ID.fullmatch(name)
                else self.value(inner)
                for name, inner in value.items()
            }
            return {name: inner for name, (inner, _) in done.items()}, kinds_of(done.values())
        if isinstance(value, list):
            each = [self.value(inner) for inner in value]
            return [inner for inner, _ in each], kinds_of(each)
        return self.clean.value(value)

    def line(self, value: Any) -> Clean:
        """What a hidden copy keeps under an id: its text, then its heading and its time."""
        if not isinstance(value, list) or not value:
            return self.value(value)
        text, kinds = self.value(value[0])
        return [text, *value[1:]], kinds


def kinds_of(parts: Iterable[Clean]) -> tuple[str, ...]:
    """The kinds of what was taken out of any of these."""
    return tuple(dict.fromkeys(kind for _, kinds in parts for kind in kinds))


def staying(store: Store) -> set[str]:
    """By what names files call the memories that are no records, and those of shared lines."""
    there = store.browse(Filter(active=None, limit=EVERY))
    files = [bytes_of(Path(share.path)) or b"" for share in shared_files.shares(store)]
    return {
        *(memory.id for memory in there if memory.kind not in RECORDS),
        *(line.id for file in files for line in shared_lines.read(file).lines),
    } - {""}


def strings(value: Any) -> Iterator[str]:
    """Every text in a value of JSON, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def reindexed(work: Work, pages: str | None, ours: Callable[[], bool]) -> None:
    """Take the mirror's pages out of the index and read those anew that are there; equal chunks
    keep their vectors.
    """
    index, watched = (
        work.store.files,
        {str(event.payload.get("path")) for event in watched_roots.watched(work.store)},
    )
    there = index.roots()
    for root in there:
        index.drop(
            root,
            [
                path
                for path in index.known(root)
                if root not in watched
                or (pages is not None and inside(os.path.join(root, path), pages))  # noqa: PTH118 - names
            ],
        )
    for own in spaces_indexed(work):
        if own.path in there:
            synced(index, own, clock.now, lambda *_: None, ours, work.policy)


def spaces_indexed(work: Work) -> list[watched_roots.Root]:
    """The mirrors of all spaces that have pages, as roots of the index."""
    top = root_of(work.settings, work.store)
    return (
        [watched_roots.own(Folder(top, space).path, space) for space in sorted(known(work.store))]
        if top
        else []
    )


def inside(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, going by its name."""
    return Path(path).is_relative_to(folder)


def repeating(gone: Gone) -> Callable[[bytes], bool]:
    """Whether a file repeats memories: an id, a text as a passage, a short text as a whole line."""
    said = {folded(text) for text in gone.texts} - {""}
    marked, long = [id.encode() for id in gone.ids], [text for text in said if tells(text)]

    def repeats(data: bytes) -> bool:
        if any(id in data for id in marked):
            return True
        text = data.decode("utf-8", "replace")
        whole = folded(text)
        return any(passage in whole for passage in long) or not said.isdisjoint(
            folded(line.strip(" \t-*+")) for line in text.splitlines()
        )

    return repeats
