"""A scrub: everything that is stored gone through once more, and what today's rules know as a
secret taken out.

What was kept before a shape was known, by an older version or by another program, goes the same way
as what a purge erases: for good. All else about a memory stays. First the database, some rows at a
time, so that others go on writing; then what is derived from it or lies beside it: the indexes of
files and of code, whose files are read again with today's rules; the mirror's pages and its hidden
copies; shared files; what hooks have laid ready; logs. At the end the files are written anew, so
that no byte stays.

A run may be stopped at any point: what was done stays done, the next run goes on. A note in the
store says that files are still to be written anew. What is not Reverie's (the files themselves that
are searched, `config.toml`, what `install` keeps of a host's settings) is named and never altered;
so are copies, unless they are asked for.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reverie.code import past_task_vectors
from reverie.core.config import ME
from reverie.core.model import Event
from reverie.erasure.interruptions import REWRITE_PENDING, has_unfinished_erasure
from reverie.mirror.file_exchange import read_bytes_if_present, stat_look, swap_file
from reverie.mirror.mirror_folder import MirrorFolder
from reverie.mirror.mirror_sync import (
    find_mirror_root,
    hold_mirror_lease,
    list_former_roots,
    list_mirrored_spaces,
    sync_mirror,
)
from reverie.mirror.space_sync import SyncRequest
from reverie.notes import file_versions
from reverie.pipeline.event_reader import WorkContext
from reverie.porting import shared_files
from reverie.privacy.scrub_rules import TextScrubber
from reverie.storage.scrub_scan import ScrubFinding, TextCleaner
from reverie.storage.sqlite.code_index import CodeIndex
from reverie.storage.sqlite.file_index import FileIndex

# rows that are looked at in one transaction
ROWS_PER_STEP = 500
# Larger files are not looked at.
MAX_FILE_BYTES = 64_000_000
# times that a file is read again because somebody was writing it
MAX_REREADS = 5


# lines of a file among which one of JSON is looked for
MAX_PROBED_LINES = 50
VERB = "scrub"
# These are in the home, and yet the user's.
USER_FILES = ("config.toml", "installed")
EXCLUDED_FOLDERS = ("backups", "versions", "cache")
# the kind of finding that an index of an earlier version is, whatever it holds: nobody reads it
EARLIER_VERSION = "earlier-version"
DATABASE_SUFFIXES = (".db", ".db-wal", ".db-shm", ".db-journal", ".lock")

Progress = Callable[[str, int, int | None], None]


class ScrubReport(NamedTuple):
    """What a scrub found, and what it could do about it."""

    # what holds something; of a run that wrote: what was cleaned
    finds: tuple[ScrubFinding, ...] = ()
    # backups, damaged files and versions that still hold it
    copies: tuple[Path, ...] = ()
    # files that are not Reverie's and hold it
    yours: tuple[Path, ...] = ()
    # files that may still hold it: somebody is reading or writing them
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


def run_scrub(
    work: WorkContext,
    clean: TextScrubber,
    now: Callable[[], float],
    progress: Progress,
    *,
    write: bool,
) -> ScrubReport:
    """Go through the store and all that lies beside it; `write` cleans it.

    Backups are not looked at: `storage.backups` says what they hold.
    """
    store, roots = work.store, list_mirror_folders(work)
    if write:
        # else these edits would come into the store after it was gone through
        take_in_edits(work, now)
    # asked of the indexes before they forget
    pending = has_unfinished_erasure(work)
    yours = tuple(iter_user_files(work, clean))
    finds = [*scrub_store(work, clean, progress, write=write)]
    derived = list(scan_indexes(work, clean, progress))
    left: list[Path] = []
    if write and (finds or pending or derived):
        left += clean_indexes(work, derived)
        # pages and shared lines say what the store says now
        take_in_edits(work, now, afresh=True)
    with hold_mirror_lease(store, now):
        file_finds, stuck = scrub_files(work, clean, roots, progress, write=write)
    finds += [find for find, _ in derived] + file_finds
    if write and (finds or pending):
        progress("Writing the files anew", 0, None)
        left += stuck + list(store.compact())
        store.set_meta(REWRITE_PENDING, "yes" if left else "")
        if finds:
            kinds = [list(row) for row in ScrubReport(tuple(finds)).kinds.items()]
            store.append([Event(verb=VERB, space=ME, at=now(), payload={"kinds": kinds})])
    return ScrubReport(tuple(finds), (), yours, tuple(dict.fromkeys(left)), write)


def take_in_edits(work: WorkContext, now: Callable[[], float], *, afresh: bool = False) -> None:
    """Take in what people wrote on pages and in shared files, and bring these in step.

    `afresh`: all of it. Raises StoreBusy, and nothing is done, if others are at the pages for too
    long.
    """
    sync_mirror(work, list_mirrored_spaces(work.store), SyncRequest(afresh=afresh, retry=True), now)
    for share in shared_files.load_shares(work.store):
        shared_files.sync_share(work, share)


# The store


def scrub_store(
    work: WorkContext, clean: TextScrubber, progress: Progress, *, write: bool
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


DerivedFind = tuple[ScrubFinding, Callable[[], list[Path]]]


def scan_indexes(
    work: WorkContext, clean: TextScrubber, progress: Progress
) -> Iterator[DerivedFind]:
    """What the indexes of files and of code hold, each with the function that takes it out."""
    progress("Looking through the indexes", 0, None)
    store = work.store
    for what, index in (("notes", store.files), ("code", store.code_chunks)):
        for (root, path), kinds in scan_index_texts(index, clean).items():
            is_file = not root.startswith(past_task_vectors.PREFIX)
            place = os.path.join(root, path) if is_file else root  # noqa: PTH118 - only a name
            drop = partial(drop_indexed_file, index, root, path)
            for kind, times in sorted(kinds.items()):
                yield ScrubFinding(what, clean.scrub_text(place)[0], kind, times), drop
    for old in (
        *store.files.obsolete_files(),
        *store.code_chunks.obsolete_files(),
        *store.code.obsolete_files(),
    ):
        yield ScrubFinding("index", str(old), EARLIER_VERSION), partial(remove_old_index, old)
    counts = Counter(kind for text in store.code.texts() for kind in clean.scrub_text(text)[1])
    for kind, times in sorted(counts.items()):
        yield ScrubFinding("code", "index", kind, times), partial(empty_code_index, store.code)


def scan_index_texts(index: FileIndex, clean: TextScrubber) -> dict[tuple[str, str], Counter[str]]:
    """(root, path) → what the index holds of a file, counted by kind."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for root, path, text in index.texts():
        _, kinds = clean.scrub_text(text)
        if kinds:
            found.setdefault((root, path), Counter()).update(kinds)
    return found


def drop_indexed_file(index: FileIndex, root: str, path: str) -> list[Path]:
    """Take a file out of an index; nothing is left over."""
    index.drop(root, [path])
    return []


def remove_old_index(path: Path) -> list[Path]:
    """Remove an index of an earlier version; nothing is left over."""
    path.unlink(missing_ok=True)
    return []


def empty_code_index(index: CodeIndex) -> list[Path]:
    """Empty the index of code, whose names and terms belong to many files; the file if it is busy.

    It is made again when it is needed.
    """
    return [] if index.scrub() else [Path(index.path)]


def clean_indexes(work: WorkContext, derived: list[DerivedFind]) -> list[Path]:
    """Take out what was found and write the indexes anew. Returns those that somebody reads."""
    left = [path for _, drop in derived for path in drop()]
    left += past_task_vectors.erase_past_tasks(work.store.code_chunks)
    return left + [
        Path(index.path)
        for index in (work.store.files, work.store.code_chunks)
        if not index.scrub()
    ]


# Files


def scrub_files(
    work: WorkContext, clean: TextCleaner, roots: list[Path], progress: Progress, *, write: bool
) -> tuple[list[ScrubFinding], list[Path]]:
    """(what files of ours hold, and with `write` held; those that could not be written)."""
    finds: list[ScrubFinding] = []
    stuck: list[Path] = []
    unedited = list_unedited_pages(work) if write else []
    shares = [Path(share.path) for share in shared_files.load_shares(work.store)]
    paths = list(dict.fromkeys((*iter_own_files(work, roots), *shares)))
    for done, path in enumerate(paths, 1):
        progress("Looking through the files", done, len(paths))
        kinds, is_clean = scrub_file(path, clean, write=write)
        for kind, times in sorted(kinds.items()):
            finds.append(ScrubFinding("file", clean.scrub_text(str(path))[0], kind, times))
        if not is_clean:
            stuck.append(path)
    save_page_looks(unedited)
    return finds, stuck


def list_unedited_pages(work: WorkContext) -> list[tuple[MirrorFolder, str]]:
    """Pages in former folders of the mirror that nobody has edited since it was moved."""
    found = []
    for root in list_former_roots(work.settings, work.store):
        for space in sorted(list_mirrored_spaces(work.store)):
            folder = MirrorFolder(root, space)
            for name, look in folder.state().looks.items():
                if stat_look(folder.path / name) == look:
                    found.append((folder, name))
    return found


def save_page_looks(pages: list[tuple[MirrorFolder, str]]) -> None:
    """Note how cleaned pages look now, or they would be taken for edited ones."""
    for folder, name in pages:
        state, look = folder.state(), stat_look(folder.path / name)
        if look != state.looks.get(name):
            folder.keep_state(state._replace(looks={**state.looks, name: look}))


def scrub_file(path: Path, clean: TextCleaner, *, write: bool) -> tuple[Counter[str], bool]:
    """(what a file holds, counted by kind; False if it was to be written and could not)."""
    for _ in range(MAX_REREADS):
        try:
            data = read_bytes_if_present(path)
            if data is None or len(data) > MAX_FILE_BYTES:
                return Counter(), True
            cleaned, kinds = scrub_bytes(data, clean)
            if not kinds or not write or swap_file(path, cleaned, data) is not None:
                return kinds, True
            if read_bytes_if_present(path) is None:
                return kinds, True
        except OSError:
            return Counter(), False
    return kinds, False


def scrub_bytes(data: bytes, clean: TextCleaner) -> tuple[bytes, Counter[str]]:
    """A file's bytes cleaned: of JSON its values, of lines of JSON each line's, else the text."""
    text = data.decode("utf-8", "surrogateescape")
    lines = text.splitlines(keepends=True) if parse_json_container(text) is None else [text]
    if all(parse_json_container(line) is None for line in lines[:MAX_PROBED_LINES]):
        lines = [text]
    counts = Counter[str]()
    for place, line in enumerate(lines):
        value = parse_json_container(line)
        cleaned, kinds = clean.scrub_text(line) if value is None else clean.scrub_value(value)
        if kinds:
            lines[place] = str(cleaned) if value is None else to_json_like(cleaned, line)
            counts.update(kinds)
    return "".join(lines).encode("utf-8", "surrogateescape"), counts


def to_json_like(value: Any, line: str) -> str:
    """A value as JSON in the manner of the line it replaces: its letters, its line end."""
    text = json.dumps(value, ensure_ascii=line.isascii())
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half a character of a pair, which only JSON's escapes can say.
        text = json.dumps(value)
    return text + line[len(line.rstrip()) :]


def parse_json_container(text: str) -> Any:
    """The JSON object or list that a text is; None if it is neither."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def list_mirror_folders(work: WorkContext) -> list[Path]:
    """The mirror's folders, of now and of before, that are there."""
    root = find_mirror_root(work.settings, work.store)
    folders = (root, *list_former_roots(work.settings, work.store))
    return [folder for folder in folders if folder is not None and folder.is_dir()]


def iter_own_files(work: WorkContext, roots: list[Path]) -> Iterator[Path]:
    """Files that Reverie writes: in the home, and the mirror's pages wherever they are."""
    home = work.settings.home
    apart = [*roots, *list_searched_folders(work)]
    if work.store.url == work.settings.url:
        for path in sorted(home.rglob("*")):
            first = path.relative_to(home).parts[0]
            if first in (*USER_FILES, *EXCLUDED_FOLDERS):
                continue
            if not path.is_file() or path.is_symlink():
                continue
            if path.name.endswith(DATABASE_SUFFIXES) or ".db.damaged-" in path.name:
                continue
            if not any(path.is_relative_to(folder) for folder in apart):
                yield path
    for root in roots:
        for space in sorted(list_mirrored_spaces(work.store)):
            folder = MirrorFolder(root, space)
            looks = folder.state().looks
            for name in sorted({*looks, *folder.day_pages()}):
                if folder.owns(name):
                    yield folder.path / name
            yield from sorted(folder.hidden.glob("*.json"))
            yield from folder.temporary_files(looks)


def list_searched_folders(work: WorkContext) -> list[Path]:
    """Folders of the user's that are searched and lie within the home."""
    home = work.settings.home.resolve()
    roots = [Path(root) for root in work.store.files.roots()]
    return [
        work.settings.home / root.relative_to(home)
        for root in roots
        if root != home and root.is_relative_to(home)
    ]


# What is not ours, and copies


def iter_user_files(work: WorkContext, clean: TextScrubber) -> Iterator[Path]:
    """Files of the user's that hold one of the given texts: settings, and what is searched."""
    # What today's rules know is taken out wherever these files are read.
    if not clean.texts:
        return
    home = work.settings.home
    for path in (home / "config.toml", *sorted((home / "installed").rglob("*"))):
        if path.is_file() and scrub_file(path, clean, write=False)[0]:
            yield path
    pages = list_mirror_folders(work)
    for index in (work.store.files, work.store.code_chunks):
        for root in index.roots():
            if root.startswith(past_task_vectors.PREFIX):
                continue
            for name in index.indexed_files(root):
                path = Path(root) / name
                is_page = any(path.is_relative_to(folder) for folder in pages)
                if not is_page and scrub_file(path, clean, write=False)[0]:
                    yield path


def find_versions_holding(work: WorkContext, clean: TextScrubber) -> list[Path]:
    """Versions of the user's files that hold a secret; named by their hash, they go as a whole."""
    return [
        path
        for path in sorted(file_versions.versions_folder(work.settings.home).glob("*/*"))
        if scrub_file(path, clean, write=False)[0]
    ]
