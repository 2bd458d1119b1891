"""Making the index what the files are: compare stamps, read what may have changed, index what has.

A file whose stamp is the same is not opened; one whose bytes have the same hash is not cut up; a
chunk whose text is the same keeps its vector. What was indexed and is not there any more is
dropped, unless its folder cannot be opened just now. Everything is done in transactions of a few
megabytes: whoever is interrupted goes on there the next time.

Words can be found at once; vectors follow in the background, in small batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.core.errors import NotFound
from reverie.core.privacy_policy import Policy
from reverie.notes.folder_walk import (
    FileSkipped,
    FolderListing,
    ListedFile,
    read_text_file,
    walk_folder,
)
from reverie.notes.text_chunks import chunk_text
from reverie.notes.watched_roots import WatchedRoot
from reverie.privacy import redact
from reverie.storage.indexed_files import (
    UNSURE_STAMP,
    ChunkDifference,
    ChunkedFile,
    FileIndex,
    IndexedFile,
)

# bytes of files indexed in one transaction
BATCH_BYTES = 2_000_000


# A thousand empty files are some work too.
FILE_COST_BYTES = 1_000

Progress = Callable[[str, int, int | None], None]


class IndexReport(NamedTuple):
    """What a sync found and did."""

    files: int = 0  # that count now
    indexed: int = 0  # files that were new or had changed
    gone: int = 0  # files that are not there any more
    bytes: int = 0  # that were read
    chunks: ChunkDifference = ChunkDifference()
    skipped: Mapping[str, int] = {}  # files left out, by reason
    # folders that cannot be seen just now; what is known of them is kept
    missing: tuple[str, ...] = ()
    stopped: bool = False  # there was no time for all; the next sync goes on

    def plus(self, other: IndexReport) -> IndexReport:
        """The sums of both."""
        return IndexReport(
            self.files + other.files,
            self.indexed + other.indexed,
            self.gone + other.gone,
            self.bytes + other.bytes,
            self.chunks.plus(other.chunks),
            Counter(self.skipped) + Counter(other.skipped),
            self.missing + other.missing,
            self.stopped or other.stopped,
        )


class SyncPlan(NamedTuple):
    """The files that a sync has to open, and those that are gone."""

    changed: list[ListedFile]  # new, or with another stamp
    gone: list[str]


def plan_sync(known: Mapping[str, IndexedFile], found: FolderListing) -> SyncPlan:
    """Compare the index with the folder; files in an unreadable folder do not count as deleted."""
    there = {file.path for file in found.files}
    unreadable = tuple(f"{folder}/" for folder in found.unreadable)
    changed = [
        file
        for file in found.files
        if file.path not in known or known[file.path].stamp != file.stamp
    ]
    gone = [path for path in known if path not in there and not path.startswith(unreadable)]
    return SyncPlan(changed, gone)


class SyncRun(NamedTuple):
    """One sync of a root: what is known of it, and what may be read."""

    root: str
    # the files in the index when it began
    known: Mapping[str, IndexedFile]
    now: Callable[[], float]
    # how many files were left out, by reason; it grows as files are opened
    skipped: Counter[str]
    policy: Policy


class OpenedFiles(NamedTuple):
    """What came of opening files that may have changed."""

    fresh: list[tuple[IndexedFile, str]]  # those that have, with their text
    same: list[IndexedFile]  # with another stamp, but the bytes that they had
    left: list[str]  # that are known and do not count any more
    bytes: int  # that were read


def open_changed_files(run: SyncRun, files: Iterable[ListedFile]) -> OpenedFiles:
    """Open files that may have changed.

    What is no text, and what has a secret in its path, is left out and not kept; what cannot be
    read just now is kept as it is known.
    """
    fresh: list[tuple[IndexedFile, str]] = []
    same: list[IndexedFile] = []
    left: list[str] = []
    size = 0
    for file in files:
        before = run.known.get(file.path)
        try:
            if redact(file.path, run.policy)[1]:
                raise FileSkipped(why="a secret in its name")
            content = read_text_file(
                Path(run.root, file.path),
                run.now(),
                run.policy,
            )
        except FileNotFoundError:
            # it has gone since the folder was walked: the next sync drops it
            continue
        except FileSkipped as err:
            run.skipped[err.why] += 1
            # what was indexed before somebody marked it as private must go
            left += [file.path] if before else []
            continue
        except OSError:
            run.skipped["unreadable"] += 1
            continue
        size += len(content.data)
        indexed = IndexedFile(file.path, content.stamp, content.hash)
        if before is None or before.hash != indexed.hash:
            fresh.append((indexed, content.text))
        elif before.stamp != indexed.stamp:
            same.append(indexed)
    return OpenedFiles(fresh, same, left, size)


def sync_root(
    index: FileIndex,
    root: WatchedRoot,
    now: Callable[[], float],
    progress: Progress,
    going: Callable[[], bool],
    policy: Policy,
) -> IndexReport:
    """Bring the index of a root up to date, as long as `going` returns True."""
    policy = policy.within(root.space)
    try:
        found = walk_folder(root, policy=policy)
    except NotFound:
        return IndexReport(missing=(root.path,))
    skipped = found.skipped.copy()
    skipped["unreadable"] += len(found.unreadable)
    run = SyncRun(
        root.path,
        index.indexed_files(root.path),
        now,
        skipped,
        policy,
    )
    plan = plan_sync(run.known, found)
    total = sum(file.stamp.size for file in plan.changed)
    done = IndexReport(len(found.files))
    for batch in group_by_bytes(plan.changed):
        if not going():
            return done._replace(stopped=True, skipped=+skipped)
        done = done.plus(index_files(index, run, batch))
        progress(f"indexing {Path(root.path).name}", done.bytes, total)
    dropped = ChunkDifference(dropped=index.drop(root.path, plan.gone))
    return done._replace(
        gone=len(plan.gone),
        chunks=done.chunks.plus(dropped),
        skipped=+skipped,
    )


def index_files(
    index: FileIndex,
    run: SyncRun,
    files: Iterable[ListedFile],
) -> IndexReport:
    """Index those of these files that have changed."""
    found = open_changed_files(run, files)
    entries: list[ChunkedFile] = []
    for file, text in found.fresh:
        redacted, _ = redact(text, run.policy, keep_lines=True)
        entries.append(ChunkedFile(file, chunk_text(redacted)))
    index.update_stamps(run.root, found.same)
    index.drop(run.root, found.left)
    chunks = index.put(run.root, entries)
    return IndexReport(
        indexed=len(entries),
        bytes=found.bytes,
        chunks=chunks,
    )


def reindex_file(
    index: FileIndex,
    root: WatchedRoot,
    path: str,
    now: Callable[[], float],
    policy: Policy,
) -> None:
    """Bring the index of one file that was just written up to date."""
    run = SyncRun(
        root.path,
        index.indexed_files(root.path),
        now,
        Counter(),
        policy.within(root.space),
    )
    # UNSURE_STAMP is like no other, so the file is read.
    index_files(index, run, [ListedFile(path, UNSURE_STAMP)])


def group_by_bytes(files: Iterable[ListedFile]) -> Iterator[list[ListedFile]]:
    """Files in groups of about BATCH_BYTES."""
    group: list[ListedFile] = []
    size = 0
    for file in files:
        group.append(file)
        size += file.stamp.size + FILE_COST_BYTES
        if size >= BATCH_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
