"""The files of a home beside its databases that hold what was said, what was learned or a key.

An encrypted home keeps them sealed (`core.private_files`). Here they are listed and converted, when
a home is encrypted or decrypted. What holds no texts stays as it is: settings, notes and counts of
sessions, locks, marks, models, maps (ids and places), and the mirror's pages, which are there to be
read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reverie.core.age_sealing import open_with, public_of, seal_to
from reverie.core.atomic_file import replace_file, write_beside
from reverie.core.environment import is_encrypted
from reverie.core.errors import CannotOpen
from reverie.core.file_blanking import blank_open_file, erase_file
from reverie.core.home_key import HomeKey, read_home_key
from reverie.core.private_files import (
    SEALED_HEADER,
    SEALED_LINE,
    is_locked,
    open_line,
    seal_line,
)

# Below the home. `*.json` of sessions and `*.known` hold no texts.
SEALED_FILES = (
    "device-keys",
    "place-keys",
    "server-key",
    "scrubbing.json",
    "spans/span_*.json",
    "hooks/spool/*.json",
    "hooks/spool/*.held",
    "hooks/sessions/*.block*",
    "hooks/sessions/*.plan*",
    "hooks/guards/*.json*",
    "hooks/news/*.json*",
    "versions/*/*",
)
# Their lines are sealed one by one.
LOGS = ("hooks/trouble.log", "hooks/trouble.log.1")
# Made anew when they are needed, or of no use: gone when a home is encrypted.
# Vectors that lie ready to be searched could be turned back into words, more or less.
REMOVED_FILES = (
    "trouble.txt",
    "cache/*-vectors-*",
    ".*.part",
    "hooks/*/.*.part",
    "versions/*/.*.part",
)


def list_side_files(home: Path) -> Iterator[Path]:
    """The files that an encrypted home keeps sealed as a whole."""
    for pattern in SEALED_FILES:
        for path in sorted(home.glob(pattern)):
            if path.is_file() and not path.is_symlink() and not path.name.endswith(".part"):
                yield path


def list_logs(home: Path) -> Iterator[Path]:
    """The files whose lines an encrypted home seals one by one."""
    yield from filter(Path.is_file, (home / name for name in LOGS))


def find_plain_side_files(home: Path) -> Iterator[Path]:
    """Files of an encrypted home that lie there in the clear, though they hold texts."""
    yield from find_unsealed_files(home)
    yield from list_removed_files(home)


def list_removed_files(home: Path) -> Iterator[Path]:
    """The files that an encrypted home does not keep."""
    for pattern in REMOVED_FILES:
        yield from filter(Path.is_file, home.glob(pattern))


def find_unsealed_files(home: Path) -> Iterator[Path]:
    """Those of them that are kept, and are to be sealed."""
    for path in list_side_files(home):
        with suppress(OSError), path.open("rb") as file:
            head = file.read(len(SEALED_HEADER))
            if head and head != SEALED_HEADER:
                yield path
    for path in list_logs(home):
        with suppress(OSError):
            if not all(map(is_sealed_line, path.read_bytes().splitlines())):
                yield path


def seal_plain_files(home: Path) -> int:
    """Seal what lies in an encrypted home in the clear, as after a conversion that was killed; how
    many files that were. None in a home that is locked or not encrypted.

    Hooks may be at work: what they have half written is left to them.
    """
    if not is_encrypted(home) or is_locked(home):
        return 0
    key = read_home_key(home)
    return sum(convert_file(path, key, None) for path in find_unsealed_files(home)) if key else 0


def convert_side_files(
    home: Path,
    key: HomeKey | None,
    *,
    former: HomeKey | None = None,
) -> int:
    """Seal the side files of a home to a key, or with None open them with the `former` one, which
    is that of the home as long as it is encrypted; how many were converted.

    What is as it should be is left alone, so after a kill it is simply called again.
    HomeLockedError if a key is needed and not to be had.
    """
    home = Path(home)
    if key is None and former is None:
        former = read_home_key(home) if is_encrypted(home) else None
        if former is None:
            return 0
    paths = [*list_side_files(home), *list_logs(home)]
    count = sum(convert_file(path, key, former) for path in paths)
    if key is not None:
        for path in list(list_removed_files(home)):
            with suppress(OSError):
                erase_file(path)
            count += 1
    return count


def convert_file(path: Path, key: HomeKey | None, former: HomeKey | None) -> bool:
    """Convert one file; False if it was as it should be, or is gone meanwhile."""
    try:
        with path.open("r+b") as file:
            before = os.fstat(file.fileno())
            data = file.read()
            made = convert_data(path, data, key, former)
            if made == data:
                return False
            with write_beside(path, made, mode=0o600) as half:
                now = path.stat()
                # Somebody has written it anew, and sealed it or not as the home is now.
                if (now.st_ino, now.st_mtime_ns) != (before.st_ino, before.st_mtime_ns):
                    return False
                replace_file(half, path)
            if key is not None:
                with suppress(OSError):
                    blank_open_file(file.fileno())
    except FileNotFoundError:
        return False
    return True


def convert_data(path: Path, data: bytes, key: HomeKey | None, former: HomeKey | None) -> bytes:
    """What a file holds, as it should lie in the home."""
    if path.name.startswith(Path(LOGS[0]).name):
        return convert_log(data, key, former)
    if data.startswith(SEALED_HEADER) == (key is not None) or not data:
        return data
    if key is not None:
        return seal_to([public_of(key.files)], data)
    assert former is not None
    try:
        return open_with(former.files, data)
    except CannotOpen:  # no key of this home opens it, then or now
        return data


def convert_log(data: bytes, key: HomeKey | None, former: HomeKey | None) -> bytes:
    """The lines of a log, each as it should be."""
    lines = []
    for line in data.splitlines(keepends=True):
        if is_sealed_line(line) == (key is not None):
            lines.append(line)
        elif key is not None:
            lines.append(seal_line(public_of(key.files), line))
        else:
            assert former is not None
            try:
                lines.append(open_line(former.files, line))
            except CannotOpen:
                lines.append(line)
    return b"".join(lines)


def is_sealed_line(line: bytes) -> bool:
    """True for a line of a log that was sealed by itself."""
    return line.startswith(SEALED_LINE)
