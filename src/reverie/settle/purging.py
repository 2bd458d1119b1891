"""What is erased for good leaves the index of files and the versions of the mirror's pages too.

The mirror says what memory says, so its pages are taken out of the index, read anew, and what went is scrubbed from
the index's file. A version of a page cannot be altered, for its name is its hash: one that repeats what is erased goes
as a whole. The user's own files, and what they were before, are the user's: their versions are only named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reverie import clock
from reverie.errors import StoreError
from reverie.files import roots, versions
from reverie.files.index import synced
from reverie.mirror import jsonl
from reverie.mirror.files import Folder
from reverie.mirror.pages import Item, ids_in, parse
from reverie.mirror.swapping import bytes_of
from reverie.model import Filter
from reverie.settle import sharing
from reverie.settle.filing import indexing
from reverie.settle.mirroring import alone, known, root_of
from reverie.settle.reading import Work
from reverie.settle.scrubbing import in_files, own_roots
from reverie.store import Store
from reverie.store.erasing import CHANCE, KEPT, Passages
from reverie.words import folded

PATIENCE = 60.0          # seconds that whoever indexes now is waited for
EVERY = 1_000_000_000    # memories of a store


def unfiled(work: Work, ids: Iterable[str], texts: Iterable[str], now: Callable[[], float]) -> tuple[Path, ...]:
    """Erase memories from the index and from versions of pages. Returns files that may still hold them."""
    index, root = work.store.files, work.settings.mirror_root
    pages = None if root is None else os.path.realpath(root)
    try:
        with indexing(work.store, now, PATIENCE) as ours:
            reindexed(work, pages, ours)
            scrubbed = index.scrub()
    except StoreError:
        scrubbed = False
    events = work.store.events(verbs=(versions.VERB,), limit=versions.MOST)
    left = versions.erase(work.settings.home, events, lambda path: pages is not None and inside(path, pages),
                          repeating(set(ids), texts))
    return (*left, *(() if scrubbed else (Path(index.path),)))


def unlaid(work: Work, ids: Iterable[str], texts: Iterable[str], kept: Iterable[str]) -> tuple[Path, ...]:
    """What lies ready for hooks or waits to be taken in, below `<home>/hooks`, and repeats these memories, goes.

    In pages, shared files and logs the texts are blanked, but not where they stand for a memory that is `kept`, nor on
    a shared line that is none of ours: a blank there would be taken for what somebody wrote. Returns the files that
    could not be written.
    """
    said = list(texts)
    repeats = repeating(set(ids), said)
    for path in (work.settings.home / "hooks").glob("*/*"):
        with suppress(OSError, ValueError):
            if repeats("\n".join(strings(json.loads(path.read_bytes()))).encode("utf-8", "replace")):
                path.unlink()
    with alone(work.store, clock.now):
        clean = Sparing(Passages(said), staying(work.store, {*kept}))
        return tuple(in_files(work, clean, own_roots(work), lambda *_: None, write=True)[1])


Clean = tuple[Any, tuple[str, ...]]    # as it should stand, and the kinds of what was taken out


class Sparing(NamedTuple):
    """Blanks texts wherever they do not stand for one of these memories: in its bullet, under its id."""

    clean: Passages
    ids: set[str]

    def text(self, text: str) -> Clean:
        """A page, or any other text; in bullets as in the values of its hidden copy, lest they seem to be edited."""
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
        if item.marked in self.ids:
            return item.raw, ()
        said, kinds = self.clean.text(item.line.text)
        return (item.raw.replace(item.line.text, said), kinds) if kinds and item.line.text in item.raw else (
            self.clean.text(item.raw))

    def value(self, value: Any) -> Clean:
        """A value of JSON with all cleaned but what stands under the id of one of these, or holds it as its own."""
        if isinstance(value, dict):
            if str(value.get("id")) in self.ids:
                return value, ()
            done = {name: (inner, ()) if name in (*KEPT, *self.ids) else self.value(inner)
                    for name, inner in value.items()}
            return {name: inner for name, (inner, _) in done.items()}, kinds_of(done.values())
        if isinstance(value, list):
            each = [self.value(inner) for inner in value]
            return [inner for inner, _ in each], kinds_of(each)
        return self.clean.value(value)


def kinds_of(parts: Iterable[Clean]) -> tuple[str, ...]:
    """The kinds of what was taken out of any of these."""
    return tuple(dict.fromkeys(kind for _, kinds in parts for kind in kinds))


def staying(store: Store, kept: Collection[str]) -> set[str]:
    """By what names files call the memories that are kept, and those of shared lines that no memory answers for."""
    there = store.browse(Filter(active=None, limit=EVERY))
    files = [bytes_of(Path(share.path)) or b"" for share in sharing.shares(store)]
    shared = {line.id for file in files for line in jsonl.read(file).lines}
    ours = {jsonl.name_of(memory) for memory in there}
    return {*kept, *(jsonl.name_of(memory) for memory in there if memory.id in kept), *(shared - ours)} - {""}


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


def repeated(store: Store, texts: Iterable[str]) -> tuple[str, ...]:
    """The ids of memories that say one of these texts within their own: somebody was told to remember those too."""
    said = Passages(list(texts))
    there = store.browse(Filter(active=None, limit=EVERY))
    return tuple(sorted(one.id for one in there if said.text(one.text)[1] or said.text(one.title)[1]))


def reindexed(work: Work, pages: str | None, ours: Callable[[], bool]) -> None:
    """Take the mirror's pages out of the index and read those anew that are there; equal chunks keep their vectors."""
    index, watched = work.store.files, {str(event.payload.get("path")) for event in roots.watched(work.store)}
    there = index.roots()
    for root in there:
        index.drop(root, [path for path in index.known(root) if root not in watched or (
            pages is not None and inside(os.path.join(root, path), pages))])    # noqa: PTH118 - names, not places
    for own in spaces_indexed(work):
        if own.path in there:
            synced(index, own, clock.now, lambda *_: None, ours, work.policy)


def spaces_indexed(work: Work) -> list[roots.Root]:
    """The mirrors of all spaces that have pages, as roots of the index."""
    top = root_of(work.settings, work.store)
    return [roots.own(Folder(top, space).path, space) for space in sorted(known(work.store))] if top else []


def inside(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, going by its name."""
    return Path(path).is_relative_to(folder)


def repeating(ids: set[str], texts: Iterable[str]) -> Callable[[bytes], bool]:
    """Whether a file repeats memories: an id, a text as a passage, a short text as a whole line."""
    said = {folded(text) for text in texts} - {""}
    marked, long = [id.encode() for id in ids], [text for text in said if len(text) >= CHANCE]

    def repeats(data: bytes) -> bool:
        if any(id in data for id in marked):
            return True
        text = data.decode("utf-8", "replace")
        whole = folded(text)
        return (any(passage in whole for passage in long)
                or not said.isdisjoint(folded(line.strip(" \t-*+")) for line in text.splitlines()))

    return repeats
