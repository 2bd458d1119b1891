"""The files that Reverie writes, gone through for what is to be erased: the mirror's pages and its
hidden copies, shared files, what hooks have laid ready, logs. A purge and a scrub do it alike.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reverie.mirror.file_exchange import read_bytes_if_present, stat_look, swap_file
from reverie.mirror.mirror_sync import (
    iter_former_pages,
    list_mirror_folders,
    list_mirrored_spaces,
    list_space_folders,
    sync_mirror,
)
from reverie.mirror.space_sync import SyncRequest
from reverie.pipeline.event_reader import WorkContext
from reverie.porting import shared_files
from reverie.storage.scrub_scan import ScrubFinding, TextCleaner

# Larger files are not read, and whoever asks is told their names.
MAX_FILE_BYTES = 64_000_000
# times that a file is read again because somebody was writing it
MAX_REREADS = 5
# lines of a file among which one of JSON is looked for
MAX_PROBED_LINES = 50
# These are in the home, and yet the user's.
USER_FILES = ("config.toml", "installed")
# Of these, backups and versions are gone through by other means; a cache is nobody's words.
EXCLUDED_FOLDERS = ("backups", "versions", "cache")
DATABASE_SUFFIXES = (".db", ".db-wal", ".db-shm", ".db-journal", ".lock")

# is told (stage, done, total)
Progress = Callable[[str, int, int | None], None]


def take_in_edits(work: WorkContext, now: Callable[[], float], *, afresh: bool = False) -> None:
    """Take in what people wrote on pages and in shared files, and bring these in step.

    `afresh`: all of it. Raises StoreBusy, and nothing is done, if others are at the pages for too
    long.
    """
    sync_pages(work, now, afresh=afresh)
    for share in shared_files.load_shares(work.store):
        shared_files.sync_share(work, share)


def sync_pages(work: WorkContext, now: Callable[[], float], *, afresh: bool) -> None:
    """Bring the pages of all spaces in step; `afresh`: all of them."""
    request = SyncRequest(afresh=afresh, retry=True)
    sync_mirror(work, list_mirrored_spaces(work.store), request, now)


def scrub_files(
    work: WorkContext, clean: TextCleaner, progress: Progress, *, write: bool
) -> tuple[list[ScrubFinding], list[Path]]:
    """(what files of ours hold, and with `write` held; those that could not be read or written)."""
    finds: list[ScrubFinding] = []
    stuck: list[Path] = []
    former = iter_former_pages(work, sorted(list_mirrored_spaces(work.store)))
    unedited = [(folder, name) for folder, name, is_edited in former if write and not is_edited]
    shares = [share.file for share in shared_files.load_shares(work.store)]
    paths = list(dict.fromkeys((*iter_own_files(work), *shares)))
    for done, path in enumerate(paths, 1):
        progress("Looking through the files", done, len(paths))
        kinds, is_clean = scrub_file(path, clean, write=write)
        for kind, times in sorted(kinds.items()):
            finds.append(ScrubFinding("file", clean.scrub_text(str(path))[0], kind, times))
        if not is_clean:
            stuck.append(path)
    # How cleaned pages look now is noted, or they would be taken for edited ones.
    for folder, name in unedited:
        state, look = folder.state(), stat_look(folder.path / name)
        if look != state.looks.get(name):
            folder.keep_state(state._replace(looks={**state.looks, name: look}))
    return finds, stuck


def scrub_file(path: Path, clean: TextCleaner, *, write: bool) -> tuple[Counter[str], bool]:
    """(what a file holds, counted by kind; False if it was not read, or was to be written and could
    not).
    """
    for _ in range(MAX_REREADS):
        try:
            data = read_bytes_if_present(path)
            if data is None or is_oversized(path):
                return Counter(), data is None
            cleaned, kinds = scrub_bytes(data, clean)
            if not kinds or not write or swap_file(path, cleaned, data) is not None:
                return kinds, True
            if read_bytes_if_present(path) is None:
                return kinds, True
        except OSError:
            return Counter(), False
    return kinds, False


def is_oversized(path: Path) -> bool:
    """True if a file is too large to be read through."""
    if path.name.endswith(DATABASE_SUFFIXES):  # gone through row by row
        return False
    try:
        return path.stat().st_size > MAX_FILE_BYTES
    except OSError:
        return False


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


def iter_own_files(work: WorkContext) -> Iterator[Path]:
    """Files that Reverie writes: in the home, and the mirror's pages wherever they are."""
    home, roots = work.settings.home, list_mirror_folders(work)
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
        for folder in list_space_folders(root, work.store):
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
