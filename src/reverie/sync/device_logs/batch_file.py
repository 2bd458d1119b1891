"""A batch of a device's log as a file: written once, never changed, named by device and number.

Outside stand a few bytes that say what it is, how long it is, and a checksum, so that a file that
has half arrived and one that is damaged are told apart without a key. All else is sealed: whose it
is, its number, what came before it (the chain), and the entries, as lines of JSON, compressed. The
name tells nobody more than device, number and size. Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.errors import CannotOpen, ReverieError
from reverie.core.private_files import SEALED_HEADER
from reverie.sync.device_logs.sealer import Sealer
from reverie.sync.wire_format import is_number

MAGIC = b"RVLOG1\r\n"
HEAD = struct.Struct(f">{len(MAGIC)}sQ32s")
FORMAT = 1
NAME = re.compile(r"([0-9a-f]{12})-([0-9]{8})\.log")
KEY_NAME = re.compile(r"([0-9a-f]{12})-keys\.age")
RING, REQUEST = b"RVRING1\n", b"RVASKS1\n"  # how files begin that show keys, or ask for them
MAX_PLAIN_BYTES = 256_000_000
COMPRESSION = 3
BATCH, SNAPSHOT = "batch", "snapshot"


class HalfArrived(ReverieError):
    """A file of a device's log is shorter than it says: the rest is on its way."""


class DamagedFile(ReverieError):
    """A file of a device's log is not what was written."""


class LogName(NamedTuple):
    """What the name of a file says."""

    device: str
    number: int

    @property
    def text(self) -> str:
        """As the file is called."""
        return f"{self.device}-{self.number:08}.log"


class BatchHead(NamedTuple):
    """What a batch says of itself."""

    device: str
    number: int
    before: str  # the digest of the file with the number before; "" for the first
    kind: str = BATCH
    # of a snapshot: the number of its first file, before which none is needed
    begins: int = 0
    is_last: bool = False  # of a snapshot: the last of its files
    at: float = 0.0  # by the device's own clock
    name: str = ""  # what the device calls itself


HEAD_SORTS: Mapping[str, Any] = {
    **dict.fromkeys(("device", "before", "kind", "name"), str),
    **dict.fromkeys(("number", "begins"), int),
    "is_last": bool,
    "at": (int, float),
}


class LogBatch(NamedTuple):
    """A batch that was read."""

    head: BatchHead
    entries: tuple[Any, ...]  # JSON values
    digest: str  # of the file


def parse_name(name: str) -> LogName | None:
    """What the name of a file says; None for a file that is none of a log."""
    found = NAME.fullmatch(name)
    return LogName(found[1], int(found[2])) if found else None


def key_file_name(device: str) -> str:
    """How the file is called in which a device shows its keys, sealed."""
    return f"{device}-keys.age"


def key_file_owner(name: str) -> str | None:
    """The device whose keys a file shows; None for a file that shows none."""
    found = KEY_NAME.fullmatch(name)
    return found[1] if found else None


def owner_of(name: str) -> str | None:
    """The device whose file this is, of its log or its keys; None for a file of neither."""
    parsed = parse_name(name)
    return parsed.device if parsed else key_file_owner(name)


def is_sealed_file(name: str, data: bytes) -> bool:
    """True if what is to lie under a name of a device's file is sealed, as far as its first bytes
    tell: whoever only keeps it can read nothing of it.
    """
    if parse_name(name):
        magic, sealed = data[: len(MAGIC)], data[HEAD.size :]
        return magic == MAGIC and sealed.startswith(SEALED_HEADER)
    starts = (RING + SEALED_HEADER, REQUEST + SEALED_HEADER)
    return key_file_owner(name) is not None and data.startswith(starts)


def digest_file(data: bytes) -> str:
    """The digest by which the next file, or a server, names this one."""
    return hashlib.sha256(data).hexdigest()


def write_batch(head: BatchHead, entries: Iterable[Any], sealer: Sealer) -> bytes:
    """A batch as the bytes of its file."""
    lines = [{"format": FORMAT, **head._asdict()}, *entries]
    text = "\n".join(json.dumps(one, ensure_ascii=True, separators=(",", ":")) for one in lines)
    sealed = sealer.seal(zlib.compress(text.encode(), COMPRESSION))
    return HEAD.pack(MAGIC, len(sealed), hashlib.sha256(sealed).digest()) + sealed


def read_batch(data: bytes, name: LogName, sealer: Sealer) -> LogBatch:
    """The batch in a file of this name.

    HalfArrived if more of it is to come, DamagedFile if it is not what was written or is another
    file than its name says, CannotOpen if it was sealed for others.
    """
    if len(data) < HEAD.size:
        raise HalfArrived
    magic, length, checksum = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise DamagedFile(f"{name.text} is no file of a log, or damaged")
    sealed = data[HEAD.size :]
    if len(sealed) < length:
        raise HalfArrived
    if len(sealed) > length or hashlib.sha256(sealed).digest() != checksum:
        raise DamagedFile(f"{name.text} is damaged: its checksum is not that of what it holds")
    try:
        opened = sealer.open(sealed, *name)
    except CannotOpen as err:
        raise CannotOpen(f"{name.text} {err}") from err
    head, entries = read_lines(inflate(opened, name), name)
    if (head.device, head.number) != name:
        raise DamagedFile(f"{name.text} is another file of a log, under a wrong name")
    return LogBatch(head, entries, digest_file(data))


def inflate(packed: bytes, name: LogName) -> bytes:
    """What was compressed, as far as a batch may be long."""
    try:
        reader = zlib.decompressobj()
        plain = reader.decompress(packed, MAX_PLAIN_BYTES)
    except zlib.error as err:
        raise DamagedFile(f"{name.text} cannot be unpacked") from err
    if not reader.eof:
        raise DamagedFile(f"{name.text} cannot be unpacked, or is larger than a batch may be")
    return plain


def read_lines(plain: bytes, name: LogName) -> tuple[BatchHead, tuple[Any, ...]]:
    """The head and the entries of a batch."""
    try:
        first, *rest = [json.loads(line) for line in plain.split(b"\n")]
        if first["format"] != FORMAT:
            raise CannotOpen(
                f"{name.text} is in format {first['format']}, which this Reverie does not know. "
                "Upgrade it: pip install --upgrade reverie"
            )
        known = {key: first[key] for key in BatchHead._fields if key in first}
        return check_head(BatchHead(**known)), tuple(rest)
    except (ValueError, KeyError, TypeError) as err:
        raise DamagedFile(f"{name.text} cannot be read: {err}") from err
    except RecursionError as err:
        raise DamagedFile(f"{name.text} cannot be read: it is nested too deeply") from err


def check_head(head: BatchHead) -> BatchHead:
    """The head; ValueError where a value is not of its sort."""
    for key, value in head._asdict().items():
        is_right = isinstance(value, HEAD_SORTS[key])
        if not is_right or (isinstance(value, bool) and HEAD_SORTS[key] is not bool):
            raise ValueError(f"its {key} is {str(value)[:40]!r}")
    if not is_number(head.at):
        raise ValueError(f"its at is {head.at}")
    return head
