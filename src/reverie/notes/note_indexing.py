"""Making the index what the files are: compare stamps, read what may have changed, put what has.

A file whose stamp is the same is not opened; one whose bytes have the same hash is not cut up; a
chunk whose text is the same keeps its vector. What was indexed and is not there any more is
dropped, unless its folder cannot be opened just now. Everything is done in transactions of a few
megabytes: whoever is interrupted goes on there the next time.

Words can be found at once; vectors follow in `settle`, in small batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from reverie.core.errors import NotFound
from reverie.core.privacy_policy import USUAL, Policy
from reverie.notes.folder_walk import Content, LeftOut, Seen, Walked, read, walked
from reverie.notes.text_chunks import chunked
from reverie.notes.watched_roots import Root
from reverie.privacy import redact
from reverie.storage.note_index_port import UNSURE, Difference, Entry, FileIndex, Indexed

BATCH = 2_000_000  # bytes of files indexed in one transaction

Progress = Callable[[str, int, int | None], None]
Going = Callable[[], bool]
Made = TypeVar("Made")


class Synced(NamedTuple):
    """What a sync found and did."""

    files: int = 0  # that count now
    indexed: int = 0  # files that were new or had changed
    gone: int = 0  # files that are not there any more
    bytes: int = 0  # that were read
    chunks: Difference = Difference()
    skipped: Mapping[str, int] = {}  # files left out, by reason
    # folders that cannot be seen just now; what is known of them is kept
    missing: tuple[str, ...] = ()
    stopped: bool = False  # there was no time for all; the next sync goes on

    def plus(self, other: Synced) -> Synced:
        """Both together."""
        return Synced(
            self.files + other.files,
            self.indexed + other.indexed,
            self.gone + other.gone,
            self.bytes + other.bytes,
            self.chunks.plus(other.chunks),
            Counter(self.skipped) + Counter(other.skipped),
            self.missing + other.missing,
            self.stopped or other.stopped,
        )


class Plan(NamedTuple):
    """What a sync has to look at."""

    changed: list[Seen]  # new, or with another stamp
    gone: list[str]


def planned(known: Mapping[str, Indexed], found: Walked) -> Plan:
    """What may have changed, and what is not there any more. What lies in an unreadable folder is
    not gone.
    """
    there = {file.path for file in found.files}
    closed = tuple(f"{folder}/" for folder in found.unreadable)
    changed = [
        file
        for file in found.files
        if file.path not in known or known[file.path].stamp != file.stamp
    ]
    return Plan(
        changed, [path for path in known if path not in there and not path.startswith(closed)]
    )


class Opened(NamedTuple, Generic[Made]):
    """What opening some files that may have changed has found."""

    fresh: list[Made]  # what was made of those that have
    same: list[Indexed]  # with another stamp, but the bytes that they had
    left: list[str]  # that are known and do not count any more
    bytes: int  # that were read


def opened(
    root: str,
    files: Iterable[Seen],
    known: Mapping[str, Indexed],
    now: Callable[[], float],
    skipped: Counter[str],
    made: Callable[[Indexed, Content], Made],
    policy: Policy = USUAL,
) -> Opened[Made]:
    """Open some files that may have changed, and make something of each that has.

    What is no text, and what has a secret in its path, is left out and not kept; what cannot be
    read just now is kept as it is known. Why files are left out is counted in `skipped`.
    """
    fresh: list[Made] = []
    same: list[Indexed] = []
    left: list[str] = []
    size = 0
    for file in files:
        try:
            if redact(file.path, policy)[1]:
                raise LeftOut(why="a secret in its name")
            content = read(Path(root, file.path), now(), policy)
        except FileNotFoundError:
            continue
        except LeftOut as err:
            skipped[err.why] += 1
            left += [file.path] if file.path in known else []
            continue
        except OSError:
            skipped["unreadable"] += 1
            continue
        size += len(content.data)
        indexed = Indexed(file.path, content.stamp, content.hash)
        before = known.get(file.path)
        if before is None or before.hash != indexed.hash:
            fresh.append(made(indexed, content))
        elif before.stamp != indexed.stamp:
            same.append(indexed)
    return Opened(fresh, same, left, size)


def synced(
    index: FileIndex,
    root: Root,
    now: Callable[[], float],
    progress: Progress,
    going: Going,
    policy: Policy = USUAL,
) -> Synced:
    """Bring the index of a root up to date, as long as `going` says so."""
    try:
        found = walked(root, policy=policy)
    except NotFound:
        return Synced(missing=(root.path,))
    known = index.known(root.path)
    plan = planned(known, found)
    skipped = found.skipped.copy()
    skipped["unreadable"] += len(found.unreadable)
    total, done = sum(file.stamp.size for file in plan.changed), Synced(len(found.files))
    for batch in batches(plan.changed):
        if not going():
            return done._replace(stopped=True, skipped=+skipped)
        done = done.plus(put(index, root, batch, known, now, skipped, policy))
        progress(f"indexing {Path(root.path).name}", done.bytes, total)
    dropped = Difference(dropped=index.drop(root.path, plan.gone))
    return done._replace(gone=len(plan.gone), chunks=done.chunks.plus(dropped), skipped=+skipped)


def put(
    index: FileIndex,
    root: Root,
    files: Iterable[Seen],
    known: Mapping[str, Indexed],
    now: Callable[[], float],
    skipped: Counter[str],
    policy: Policy,
) -> Synced:
    """Index some files that may have changed."""
    found = opened(root.path, files, known, now, skipped, partial(entry_of, policy=policy), policy)
    index.stamp(root.path, found.same)
    index.drop(root.path, found.left)
    return Synced(
        indexed=len(found.fresh), bytes=found.bytes, chunks=index.put(root.path, found.fresh)
    )


def entry_of(file: Indexed, content: Content, policy: Policy = USUAL) -> Entry:
    """A file with its chunks."""
    return Entry(file, chunked(redact(content.text, policy, keep_lines=True)[0]))


def renew(
    index: FileIndex, root: Root, path: str, now: Callable[[], float], policy: Policy = USUAL
) -> None:
    """Bring the index of one file that was just written up to date."""
    put(index, root, [Seen(path, UNSURE)], index.known(root.path), now, Counter(), policy)


def batches(files: Iterable[Seen]) -> Iterator[list[Seen]]:
    """Files in groups of about BATCH bytes."""
    group: list[Seen] = []
    size = 0
    for file in files:
        group.append(file)
        size += file.stamp.size + 1_000  # a thousand empty files are some work too
        if size >= BATCH:
            yield group
            group, size = [], 0
    if group:
        yield group
