"""The files that Reverie writes, gone through for what is to be erased: the mirror's pages and its
hidden copies, shared files, what hooks have laid ready, logs. A purge and a scrub do it alike.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reverie.core.errors import CannotOpen
from reverie.core.private_files import (
    SEALED_HEADER,
    open_bytes,
    open_lines,
    seal_bytes,
    seal_lines,
)
from reverie.erasure.intention import NAME as INTENTION
from reverie.mirror.file_exchange import read_bytes_if_present, stat_look, swap_file
from reverie.mirror.mirror_folder import MirrorFolder
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
from reverie.sync.device_logs.log_folder import LOG_FOLDERS

# Larger files are not read, and whoever asks is told their names.
MAX_FILE_BYTES = 64_000_000
# times that a file is read again because somebody was writing it
MAX_REREADS = 5
# lines of a file among which one of JSON is looked for
MAX_PROBED_LINES = 50
# These are in the home, and yet the user's.
USER_FILES = (
    "config.toml",
    "encryption.json",
    "encryption-copy.json",
    "installed",
    "mcp-token",
    "server-key",
    "place-keys",
    "device-keys",
)
# Of these, backups, versions and the logs of devices are gone through by other means; a cache is
# nobody's words.
EXCLUDED_FOLDERS = ("backups", "versions", "cache", *LOG_FOLDERS)
DATABASE_SUFFIXES = (".db", ".db-wal", ".db-shm", ".db-journal", ".lock")

# is told (stage, done, total)
Progress = Callable[[str, int, int | None], None]


def take_in_edits(
    work: WorkContext,
    now: Callable[[], float],
    *,
    afresh: bool = False,
) -> None:
    """Take in what people wrote on pages and in shared files, and bring these in step.

    `afresh`: all of it. Raises StoreBusy, and nothing is done, if others are at the pages for too
    long.
    """
    sync_pages(work, now, afresh=afresh)
    for share in shared_files.load_shares(work.store):
        shared_files.sync_share(work, share)


def sync_pages(
    work: WorkContext,
    now: Callable[[], float],
    *,
    afresh: bool,
) -> None:
    """Bring the pages of all spaces in step; `afresh`: all of them."""
    request = SyncRequest(afresh=afresh, retry=True)
    sync_mirror(work, list_mirrored_spaces(work.store), request, now)


def scrub_files(
    work: WorkContext,
    clean: TextCleaner,
    progress: Progress,
    *,
    write: bool,
) -> tuple[list[ScrubFinding], list[Path]]:
    """(what files of ours hold, and with `write` held; those that could not be read or written)."""
    finds: list[ScrubFinding] = []
    stuck: list[Path] = []
    unedited = list_unedited_pages(work) if write else []
    shares = [share.file for share in shared_files.load_shares(work.store)]
    paths = list(dict.fromkeys((*iter_own_files(work), *shares)))
    for done, path in enumerate(paths, 1):
        progress("Looking through the files", done, len(paths))
        kinds, is_clean = scrub_file(path, clean, work.settings.home, write=write)
        for kind, times in sorted(kinds.items()):
            finds.append(ScrubFinding("file", clean.scrub_text(str(path))[0], kind, times))
        if not is_clean:
            stuck.append(path)
    for folder, name in unedited:
        note_page_look(folder, name)
    return finds, stuck


def list_unedited_pages(work: WorkContext) -> list[tuple[MirrorFolder, str]]:
    """Pages in former folders of the mirror that nobody has edited there."""
    former = iter_former_pages(work, sorted(list_mirrored_spaces(work.store)))
    return [(folder, name) for folder, name, is_edited in former if not is_edited]


def note_page_look(folder: MirrorFolder, name: str) -> None:
    """Note how a cleaned page looks now, or it would be taken for an edited one."""
    state, look = folder.state(), stat_look(folder.path / name)
    if look != state.looks.get(name):
        folder.keep_state(state._replace(looks={**state.looks, name: look}))


def scrub_file(
    path: Path,
    clean: TextCleaner,
    home: Path,
    *,
    write: bool,
) -> tuple[Counter[str], bool]:
    """(what a file holds, counted by kind; False if it was not read, or was to be written and could
    not). What is sealed in an encrypted home is opened, and sealed again.
    """
    for _ in range(MAX_REREADS):
        try:
            data = read_bytes_if_present(path)
            if data is None or is_oversized(path):
                return Counter(), data is None
            plain = open_private_data(home, data)
            cleaned, kinds = scrub_bytes(plain, clean)
            if plain != data:
                is_log = not data.startswith(SEALED_HEADER)
                cleaned = (seal_lines if is_log else seal_bytes)(home, cleaned)
            if not kinds or not write or swap_file(path, cleaned, data) is not None:
                return kinds, True
            if read_bytes_if_present(path) is None:
                return kinds, True
        except OSError:
            return Counter(), False
    return kinds, False


def open_private_data(home: Path, data: bytes) -> bytes:
    """What a file of the home holds; a sealed one that is none of ours stays as it is."""
    try:
        return open_lines(home, open_bytes(home, data))
    except CannotOpen:
        return data


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
    counts = Counter[str]()
    parts = split_json_lines(data.decode("utf-8", "surrogateescape"))
    for place, line in enumerate(parts):
        value = parse_json_container(line)
        cleaned, kinds = clean.scrub_text(line) if value is None else clean.scrub_value(value)
        if kinds:
            parts[place] = str(cleaned) if value is None else to_json_like(cleaned, line)
            counts.update(kinds)
    return "".join(parts).encode("utf-8", "surrogateescape"), counts


def split_json_lines(text: str) -> list[str]:
    """The lines of a text if they are JSON, each by itself; else the text as a whole."""
    if parse_json_container(text) is not None:
        return [text]
    lines = text.splitlines(keepends=True)
    is_json = any(parse_json_container(line) is not None for line in lines[:MAX_PROBED_LINES])
    return lines if is_json else [text]


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
    roots = list_mirror_folders(work)
    if work.store.url == work.settings.url:
        apart = [*roots, *list_searched_folders(work)]
        for path in sorted(work.settings.home.rglob("*")):
            is_apart = any(path.is_relative_to(folder) for folder in apart)
            if is_own_file(path, work.settings.home) and not is_apart:
                yield path
    for root in roots:
        for folder in list_space_folders(root, work.store):
            yield from iter_mirror_files(folder)


def is_own_file(path: Path, home: Path) -> bool:
    """True for a file in the home that Reverie writes, and that is no database."""
    if path.relative_to(home).parts[0] in (*USER_FILES, *EXCLUDED_FOLDERS):
        return False
    # What is to be taken out is needed until the end, and removed then.
    if path.name == INTENTION:
        return False
    if path.name.endswith(DATABASE_SUFFIXES) or ".db.damaged-" in path.name:
        return False
    return path.is_file() and not path.is_symlink()


def iter_mirror_files(folder: MirrorFolder) -> Iterator[Path]:
    """The pages of a space that are ours, and the hidden files beside them."""
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
