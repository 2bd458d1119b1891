"""A scrub: everything that is stored gone through once more, and what today's rules know as a
secret taken out.

What was kept before a shape was known, by an older version or by another program, goes the same way
as what a purge erases: for good. All else about a memory stays. First the database, some rows at a
time, so that others go on writing; then what is derived from it or lies beside it: the indexes of
files and of code, whose files are read again with today's rules; the mirror's pages and its hidden
copies; shared files; what hooks have laid ready; logs. At the end the files are written anew, so
that no byte stays.

A run may be stopped at any point: what was done stays done. What is to be taken out is written down
before anything is (`intention`), and whoever opens the home next does the rest. A note in the store
says that files are still to be written anew. What is not Reverie's (the files themselves that
are searched, `config.toml`, what `install` keeps of a host's settings) is named and never altered;
so are copies, unless they are asked for.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reverie.code import past_task_vectors
from reverie.core.config import ME
from reverie.core.model import Event
from reverie.erasure import intention
from reverie.erasure.own_files import (
    Progress,
    is_oversized,
    scrub_file,
    scrub_files,
    take_in_edits,
)
from reverie.mirror.mirror_sync import hold_mirror_lease, list_mirror_folders
from reverie.notes import file_versions
from reverie.pipeline.event_reader import WorkContext
from reverie.privacy.scrub_rules import TextScrubber
from reverie.storage import backups
from reverie.storage.erased_texts import PURGING, REWRITE_PENDING
from reverie.storage.indexed_files import FileIndex
from reverie.storage.indexed_transcripts import TranscriptIndex
from reverie.storage.scrub_scan import ScrubFinding
from reverie.sync.device_logs.local_changes import note_scrubbed_here
from reverie.sync.device_logs.log_folder import erase_log_files
from reverie.sync.device_logs.log_state import load_own

# rows that are looked at in one transaction
ROWS_PER_STEP = 500
VERB = "scrub"
# the kind of finding that an index of an earlier version is, whatever it holds: nobody reads it
EARLIER_VERSION = "earlier-version"


class ScrubReport(NamedTuple):
    """What a scrub found, and what it could do about it."""

    # what holds something; of a run that wrote: what was cleaned
    finds: tuple[ScrubFinding, ...] = ()
    # backups, damaged files and versions that still hold it
    copies: tuple[Path, ...] = ()
    # files that are not Reverie's and hold it
    yours: tuple[Path, ...] = ()
    # files that may still hold it: somebody is reading or writing them, or they are too large to be
    # read
    unreached: tuple[Path, ...] = ()
    written: bool = False

    @property
    def kinds(self) -> dict[str, int]:
        """How many findings there are of each kind."""
        counts = Counter[str]()
        for find in self.finds:
            counts[find.kind] += find.times
        return dict(sorted(counts.items()))

    @property
    def holds(self) -> bool:
        """True if something of Reverie's still holds a secret."""
        return bool(self.copies or self.unreached or (self.finds and not self.written))


def scrub_everywhere(
    work: WorkContext,
    clean: TextScrubber,
    now: Callable[[], float],
    progress: Progress,
    *,
    write: bool,
    copies: bool,
) -> ScrubReport:
    """Search everything that is stored; with `write`, clean it, and with `copies` backups too.

    What an earlier run that was killed had to take out is taken out first.
    """
    if not write:
        return scrub_home_and_copies(work, clean, now, progress, None)
    with intention.hold_erasure_lock(work):
        finish_scrub(work, now)
        todo = intention.ScrubIntention(clean.texts, copies, intention.name_store(work))
        return scrub_home_and_copies(work, clean, now, progress, todo)


def finish_scrub(work: WorkContext, now: Callable[[], float]) -> None:
    """Do what a scrub that was killed had written down, if there is one."""
    todo = intention.read_intention(work)
    if todo is not None:
        clean = TextScrubber(todo.texts, work.policy)
        scrub_home_and_copies(work, clean, now, lambda *_: None, todo)


def scrub_home_and_copies(
    work: WorkContext,
    clean: TextScrubber,
    now: Callable[[], float],
    progress: Progress,
    todo: intention.ScrubIntention | None,
) -> ScrubReport:
    """Do what is intended, from the beginning to the end; without an intention, only look."""
    report = run_scrub(work, clean, now, progress, todo)
    progress("Looking through the copies", 0, None)
    copies = [
        *backups.find_copies_holding(work.settings, work.store, clean),
        *find_versions_holding(work, clean),
    ]
    if todo is not None:
        if todo.copies:
            copies = backups.scrub_copies(work.settings, copies, clean)
        intention.clear_intention(work)
    return report._replace(copies=tuple(copies))


def run_scrub(
    work: WorkContext,
    clean: TextScrubber,
    now: Callable[[], float],
    progress: Progress,
    todo: intention.ScrubIntention | None,
) -> ScrubReport:
    """Search the store and the other files of the home; with an intention, note it and clean them.

    Backups are not looked at: `storage.backups` says what they hold.
    """
    write = todo is not None
    if todo is not None:
        # else these edits would come into the store after it was gone through
        take_in_edits(work, now)
        intention.note_intention(work, todo)
    # asked of the indexes before they forget
    pending = bool(work.store.meta(REWRITE_PENDING) or work.store.meta(PURGING))
    yours = tuple(iter_user_files(work, clean))
    finds = [*scrub_store(work, clean, progress, write=write)]
    if write and finds:
        # Who read them before they were cleaned must not write them into the index afterwards.
        work.store.transcripts.start_over()
    derived = list(scan_indexes(work, clean, progress))
    left: list[Path] = []
    if write and (finds or pending or derived):
        left += clean_indexes(work, derived)
        # pages and shared lines say what the store says now
        take_in_edits(work, now, afresh=True)
    with hold_mirror_lease(work.store, now):
        file_finds, stuck = scrub_files(work, clean, progress, write=write)
    finds += [find for find, _ in derived] + file_finds
    oversized = [path for path in stuck if is_oversized(path)]
    if write and (finds or pending):
        progress("Writing the files anew", 0, None)
        # What is too large stays so: no later run could do more.
        left += [path for path in stuck if path not in oversized]
        left += work.store.compact()
        if finds and load_own(work.store) is not None:
            left += erase_log_files(work.settings.home)
        work.store.set_meta(REWRITE_PENDING, "yes" if left else "")
    unreached = tuple(dict.fromkeys((*left, *oversized)))
    report = ScrubReport(tuple(finds), (), yours, unreached, write)
    if write and finds:
        note_scrubbed_here(work.store)
        record_scrub(work, report, now())
    return report


def record_scrub(
    work: WorkContext,
    report: ScrubReport,
    at: float,
) -> None:
    """Log how much a scrub has cleaned, and of what kind."""
    kinds = [list(row) for row in report.kinds.items()]
    work.store.append(
        [
            Event(
                verb=VERB,
                space=ME,
                at=at,
                payload={"kinds": kinds},
            )
        ]
    )


# The store


def scrub_store(
    work: WorkContext,
    clean: TextScrubber,
    progress: Progress,
    *,
    write: bool,
) -> Iterator[ScrubFinding]:
    """What rows of the store hold, and with `write` held."""
    store, after, done = work.store, None, 0
    total = store.size()
    while True:
        with store.transaction() if write else nullcontext():
            step = store.scrub(clean, after, ROWS_PER_STEP, write=write)
            if write and step.finds:
                store.set_meta(REWRITE_PENDING, "yes")
        yield from step.finds
        done, after = done + step.rows, step.after
        progress("Looking through the memory", min(done, total), total)
        if after is None:
            return


# Indexes: what holds something is forgotten, and read again from its file


# What erases it says False if somebody is reading the index of code, which is then left.
DerivedFind = tuple[ScrubFinding, Callable[[], object]]


def scan_indexes(
    work: WorkContext,
    clean: TextScrubber,
    progress: Progress,
) -> Iterator[DerivedFind]:
    """What the indexes of files and of code hold, each with the function that takes it out."""
    progress("Looking through the indexes", 0, None)
    store = work.store
    for what, index in (("notes", store.files), ("code", store.code_chunks)):
        yield from scan_index(what, index, clean)
    yield from scan_conversations(store.transcripts, clean)
    for index_port in (store.files, store.code_chunks, store.code, store.transcripts):
        for old in index_port.obsolete_files():
            find = ScrubFinding("index", str(old), EARLIER_VERSION)
            yield find, partial(old.unlink, missing_ok=True)
    # Names and terms of code belong to many files, so the whole index goes: it is made again when
    # it is needed.
    counts = Counter(kind for text in store.code.texts() for kind in clean.scrub_text(text)[1])
    for kind, times in sorted(counts.items()):
        yield ScrubFinding("code", "index", kind, times), store.code.scrub


def scan_index(
    what: str,
    index: FileIndex,
    clean: TextScrubber,
) -> Iterator[DerivedFind]:
    """What one index of files holds, file by file."""
    for (root, path), kinds in scan_index_texts(index, clean).items():
        is_file = not root.startswith(past_task_vectors.PREFIX)
        place = os.path.join(root, path) if is_file else root  # noqa: PTH118 - only a name
        for kind, times in sorted(kinds.items()):
            find = ScrubFinding(what, clean.scrub_text(place)[0], kind, times)
            yield find, partial(index.drop, root, [path])


def scan_conversations(index: TranscriptIndex, clean: TextScrubber) -> Iterator[DerivedFind]:
    """What the index of past conversations holds, one by one: each is read again from the log."""
    for (space, session), kinds in scan_index_texts(index, clean).items():
        for kind, times in sorted(kinds.items()):
            find = ScrubFinding("conversation", clean.scrub_text(session)[0], kind, times)
            yield find, partial(index.drop, space, session)


def scan_index_texts(
    index: FileIndex | TranscriptIndex,
    clean: TextScrubber,
) -> dict[tuple[str, str], Counter[str]]:
    """(root, path) → what the index holds of a file, or of a conversation, counted by kind."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for root, path, text in index.texts():
        _, kinds = clean.scrub_text(text)
        if kinds:
            found.setdefault((root, path), Counter()).update(kinds)
    return found


def clean_indexes(work: WorkContext, derived: list[DerivedFind]) -> list[Path]:
    """Take out what was found and write the indexes anew. Returns those that somebody reads."""
    store = work.store
    left = [Path(store.code.path) for _, erase in derived if erase() is False]
    left += past_task_vectors.erase_past_tasks(store.code_chunks)
    indexes = store.files, store.code_chunks, store.transcripts
    return left + [Path(index.path) for index in indexes if not index.scrub()]


# What is not ours, and copies


def iter_user_files(work: WorkContext, clean: TextScrubber) -> Iterator[Path]:
    """Files of the user's that hold one of the given texts: settings, and what is searched."""
    # What today's rules know is taken out wherever these files are read.
    if not clean.texts:
        return
    home = work.settings.home
    settings = (home / "config.toml", *sorted((home / "installed").rglob("*")))
    for path in (*filter(Path.is_file, settings), *iter_searched_files(work)):
        if scrub_file(path, clean, home, write=False)[0]:
            yield path


def iter_searched_files(work: WorkContext) -> Iterator[Path]:
    """The user's files that are searched: not the mirror's pages, which are ours."""
    pages = list_mirror_folders(work)
    for index in (work.store.files, work.store.code_chunks):
        for root in index.roots():
            if root.startswith(past_task_vectors.PREFIX):
                continue
            for name in index.indexed_files(root):
                path = Path(root) / name
                if not any(path.is_relative_to(folder) for folder in pages):
                    yield path


def find_versions_holding(work: WorkContext, clean: TextScrubber) -> list[Path]:
    """Versions of the user's files that hold a secret; named by their hash, they go as a whole."""
    home = work.settings.home
    versions = sorted(file_versions.versions_folder(home).glob("*/*"))
    return [path for path in versions if scrub_file(path, clean, home, write=False)[0]]
