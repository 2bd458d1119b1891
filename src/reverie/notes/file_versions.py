"""What a file was before Reverie wrote to it, byte for byte, and writing a file atomically.

A version is kept in the home under the hash of its bytes, readable by its owner only (sealed, where
the home is encrypted): it is the
user's file as it was, secrets and all. The event log says which file had which bytes when, so
versions can be listed and brought back. Nothing is ever thrown away here but by a purge, and that
only of the mirror's own pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from reverie.core.atomic_file import make_private_folder
from reverie.core.errors import BadInput, NotFound
from reverie.core.model import Event
from reverie.core.privacy_policy import Policy
from reverie.core.private_files import read_private_bytes, write_private_bytes
from reverie.privacy import MARK_PATTERN, redact

# the verb of events that tell of a file written
VERB = "file"
# of these events, how many are looked at
MAX_EVENTS = 100_000
UPDATE_MODES = ("append", "replace")
# A file may begin with it.
BOM = "\ufeff"
# the hash of a file that was not there
NO_FILE = ""


class FileVersion(NamedTuple):
    """A file as it was until something was written to it."""

    number: int  # of the event: `mind.files.restore` takes it
    path: str  # absolute
    at: float  # when it ceased to be so
    why: str  # "append", "replace", "restore", "note"
    hash: str  # of its bytes; empty where there was no file
    size: int


def versions_folder(home: Path) -> Path:
    """The folder that versions are kept in."""
    return home / "versions"


def hash_version(data: bytes) -> str:
    """The name that a version is kept under."""
    return blake2b(data, digest_size=20).hexdigest()


def keep_version(home: Path, data: bytes) -> str:
    """Keep these bytes, once, and return their hash."""
    name = hash_version(data)
    place = versions_folder(home) / name[:2] / name
    if not place.is_file():
        make_private_folder(place.parent)
        write_private_bytes(home, place, data)
    return name


def read_version(home: Path, name: str) -> bytes:
    """The bytes of a version. Raises NotFound if they are gone or damaged."""
    try:
        data = read_private_bytes(home, versions_folder(home) / name[:2] / name)
    except FileNotFoundError as err:
        raise NotFound(f"The version {name} is not in {versions_folder(home)} any more") from err
    # what is damaged must not be put in the place of a file
    if hash_version(data) != name:
        raise NotFound(f"The version {name} in {versions_folder(home)} is damaged")
    return data


def erase_versions(
    home: Path,
    events: Iterable[Event],
    ours: Callable[[str], bool],
    repeats: Callable[[bytes], bool],
) -> list[Path]:
    """Erase versions of files of `ours` that repeat something; return those of other files."""
    whose: dict[object, list[str]] = {}
    for event in events:
        whose.setdefault(event.payload.get("before"), []).append(str(event.payload.get("path")))
    left = []
    for place in sorted(versions_folder(home).glob("*/*")):
        if not repeats(read_private_bytes(home, place)):
            continue
        # two files may have had the same bytes: one of them is reason enough to keep them
        if place.name in whose and all(map(ours, whose[place.name])):
            place.unlink(missing_ok=True)
        else:
            left.append(place)
    return left


def list_versions(events: Iterable[Event], path: str) -> list[FileVersion]:
    """The versions of a file, in the order of events."""
    return [
        FileVersion(
            event.seq,
            path,
            event.at,
            str(event.payload.get("mode", "")),
            str(event.payload.get("before", NO_FILE)),
            int(event.payload.get("size", 0)),
        )
        for event in events
        if event.payload.get("path") == path
    ]


def compose_file_update(
    old: bytes | None,
    text: str,
    mode: str,
    policy: Policy,
) -> bytes:
    """A file's bytes after redacted text was appended to it or put in its place.

    Appended text begins on a line of its own and ends with a line break; new lines end as most of
    the file's do. What it is appended to stays as it is, byte for byte.
    """
    check_update_mode(mode)
    before = decode_utf8(old or b"")
    # Who was shown the file redacted writes back marks where its secrets stand.
    if mode == "replace" and MARK_PATTERN.search(text) and redact(before, policy)[1]:
        raise BadInput(
            "The new text has a mark where the file holds a secret, which would be lost. "
            'Use mode="append", or edit the file by hand'
        )
    clean = redact(text, policy, keep_lines=True)[0].replace("\r\n", "\n")
    clean = clean if clean.endswith("\n") else clean + "\n"
    kept = (old or b"") if mode == "append" else b""
    if kept and not before.endswith(("\n", "\r", BOM)):
        clean = "\n" + clean
    return kept + clean.replace("\n", detect_line_end(before)).encode("utf-8", "replace")


def check_update_mode(mode: str) -> None:
    """Raise BadInput for what is no way of updating a file."""
    if mode not in UPDATE_MODES:
        raise BadInput(
            f"{mode!r} is not a way of updating a file; there are {', '.join(UPDATE_MODES)}"
        )


def detect_line_end(text: str) -> str:
    """How most lines of a text end: LF, CR LF or CR; LF where as many do."""
    both = text.count("\r\n")
    ends = {
        "\n": text.count("\n") - both,
        "\r\n": both,
        "\r": text.count("\r") - both,
    }
    # of equals the first
    return max(ends, key=lambda end: ends[end])


def decode_utf8(data: bytes) -> str:
    """A file's text, byte order mark included; BadInput if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        raise BadInput(
            "The file is not UTF-8; nothing was changed. Convert it first, or edit it by hand"
        ) from err


def read_if_present(place: Path) -> bytes | None:
    """A file's bytes; None where there is none."""
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None
