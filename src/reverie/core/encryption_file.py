"""`encryption.json`, which makes a home an encrypted one, and the copy of it.

It says in clear to which public key side files are sealed, by which check value a wrong key is told
apart from damage, and in which ways (`core.key_ways`) the secret is kept. Whoever writes into the
home needs it, so it stands there twice: while the first is damaged or lost, the copy stands in for
it, and nothing that happens is lost.

Always true: where the copy is, the home is encrypted with the key that it names. It is written
after the first and removed before it, so a kill in between leaves at most no copy, or one with
earlier ways of keeping the same key. `mend_encryption` brings them into step;
`find_encryption_fault` says whether they are, for `doctor` and `verify`.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.atomic_file import PathLike, write_atomically
from reverie.core.environment import ENCRYPTION_COPY, ENCRYPTION_FILE
from reverie.core.errors import NewerStore, StoreDamaged

if TYPE_CHECKING:
    from reverie.core.key_ways import KeyWay

VERSION = 1


class HomeEncryption(NamedTuple):
    """What `encryption.json` says."""

    recipient: str  # the public key of age to which side files are sealed
    check: str  # of the key of the databases
    ways: tuple[KeyWay, ...] = ()  # each by itself is enough

    def find(self, kind: str) -> KeyWay | None:
        """The way of a kind; None if the key is not kept so."""
        return next((way for way in self.ways if way.kind == kind), None)

    @property
    def name(self) -> str:
        """The home's name among unlocked ones: another key, another name."""
        return self.recipient[4:24]


def read_encryption(home: PathLike) -> HomeEncryption | None:
    """How a home is encrypted, by the copy if the file is damaged or lost; None if it is not.

    StoreDamaged if neither can be read, NewerStore if a newer Reverie wrote it.
    """
    path = os.path.join(home, ENCRYPTION_FILE)
    try:
        found = load_encryption(path)
    except StoreDamaged as err:
        damage = err
    else:
        if found is not None:
            return found
        damage = describe_damage(path)
    try:
        copy = load_encryption(os.path.join(home, ENCRYPTION_COPY))
    except StoreDamaged as err:
        raise damage from err
    if copy is None and os.path.lexists(path):
        raise damage
    return copy


def load_encryption(path: str) -> HomeEncryption | None:
    """What one of the two files says; None if it is not there. Errors as those of
    `read_encryption`.
    """
    try:
        with open(path, "rb") as file:
            values: Any = json.loads(file.read())
        version = int(values["version"])
        if version > VERSION:
            raise NewerStore
        # Files of before have no sum.
        if values.get("sum", checksum(values)) != checksum(values):
            raise ValueError("the sum is another")
        ways = tuple(map(way_from_json, values["ways"]))
        return HomeEncryption(str(values["recipient"]), str(values["check"]), ways)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        raise describe_damage(path) from err


def describe_damage(path: str) -> StoreDamaged:
    """The error of a file that cannot be read, where there is no copy of it either."""
    return StoreDamaged(
        f"{path}, which says how this memory is encrypted, cannot be read, and nor can a copy of "
        "it. Bring it back from a backup of the home, or make it anew from your recovery key: "
        "reverie data key --recovery"
    )


def write_encryption(home: PathLike, encryption: HomeEncryption) -> None:
    """Write `encryption.json`, whole or not at all: from then on the home is encrypted. Then its
    copy; where that cannot be written, there is none.
    """
    data = encode_encryption(encryption)
    write_atomically(os.path.join(home, ENCRYPTION_FILE), data, mode=0o600)
    copy = os.path.join(home, ENCRYPTION_COPY)
    try:
        write_atomically(copy, data, mode=0o600)
    except OSError:
        # An earlier one may name a way that was given up just now.
        with suppress(OSError):
            os.unlink(copy)


def encode_encryption(encryption: HomeEncryption) -> bytes:
    """What the file holds."""
    values: dict[str, Any] = {
        "version": VERSION,
        "recipient": encryption.recipient,
        "check": encryption.check,
        "ways": [way_to_json(way) for way in encryption.ways],
    }
    return json.dumps({**values, "sum": checksum(values)}, indent=1).encode()


def checksum(values: dict[str, Any]) -> str:
    """By which a file is known that a disk has altered and that can be read all the same."""
    from hashlib import sha256

    others = {name: value for name, value in values.items() if name != "sum"}
    return sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()[:32]


def unlink_encryption(home: PathLike) -> None:
    """Remove the copy, then `encryption.json`: from then on the home is not encrypted."""
    for name in (ENCRYPTION_COPY, ENCRYPTION_FILE):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(home, name))


def find_encryption_fault(home: PathLike) -> str:
    """What is wrong with one of the two files, and which one serves; "" if nothing is.

    StoreDamaged if neither can be read.
    """
    if read_encryption(home) is None:
        return ""
    contents = {}
    for name, other in ((ENCRYPTION_FILE, ENCRYPTION_COPY), (ENCRYPTION_COPY, ENCRYPTION_FILE)):
        path = os.path.join(home, name)
        try:
            contents[name] = load_encryption(path)
        except StoreDamaged:
            return f"{path} is damaged; {other} serves meanwhile"
        if contents[name] is None:
            return f"{path} is missing; {other} serves meanwhile"
    if contents[ENCRYPTION_FILE] == contents[ENCRYPTION_COPY]:
        return ""
    return f"{os.path.join(home, ENCRYPTION_COPY)} is not what {ENCRYPTION_FILE} is, which holds"


def mend_encryption(home: PathLike) -> str:
    """Write both files as the one that can be read says; what was wrong, "" if nothing was.

    StoreDamaged if neither can be read.
    """
    fault = find_encryption_fault(home)
    encryption = read_encryption(home) if fault else None
    if encryption is not None:
        write_encryption(home, encryption)
    return fault


def renew_copy(home: PathLike) -> None:
    """Write the copy anew if it is not what `encryption.json` is, which has to be readable; of
    that nobody need be told.
    """
    with suppress(StoreDamaged):
        if load_encryption(os.path.join(home, ENCRYPTION_FILE)) is not None:
            mend_encryption(home)


def way_to_json(way: KeyWay) -> dict[str, str]:
    """A way as the file has it."""
    from binascii import b2a_base64

    return {**way._asdict(), "sealed": b2a_base64(way.sealed, newline=False).decode()}


def way_from_json(found: Any) -> KeyWay:
    """A way as the file has it; ValueError, KeyError or TypeError for what is none."""
    from binascii import a2b_base64

    from reverie.core.key_ways import KeyWay

    sealed = a2b_base64(found["sealed"], strict_mode=True)
    return KeyWay(str(found["kind"]), sealed, str(found["public"]), str(found["place"]))
