"""The keys of a home for sealed logs, in a file that its owner alone may read.

They are in no database, so no export and no backup holds them, and they are never printed. A home
without the file seals nothing. Whoever alters the file does so in a transaction of the store, which
holds off other processes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.core.errors import BadInput, CannotOpen
from reverie.core.model import EMPTY_MAPPING
from reverie.core.private_files import SEALED_HEADER, read_private_bytes, write_private_bytes
from reverie.sync.device_logs.age_keys import is_secret_key
from reverie.sync.device_logs.batch_file import RING
from reverie.sync.device_logs.key_ring import (
    MAX_NUMBER,
    KeyRing,
    check_ring,
    is_out_of_date,
    open_batch,
    ring_from_json,
    ring_to_json,
    seal_batch,
    seal_ring,
)
from reverie.sync.device_logs.log_reading import PeerLog, list_unread
from reverie.sync.device_logs.sealer import LIES_OPEN, PlainSealer, Sealer

FILE = "device-keys"
UNPAIRED = "This machine is not paired yet: reverie sync pair says how"

KEYS_GONE = (
    f"The file {FILE} of this home, which holds the keys of the sealed logs, is gone: nothing is "
    "written or read. Bring it back from a copy, or be paired anew: reverie sync add PLACE"
)


class HomeKeys(NamedTuple):
    """The keys of a home."""

    secret: str  # this device's own
    ring: KeyRing | None = None  # None: it waits to be paired
    code: str = ""  # that its screen shows while it waits
    file: bytes = b""  # what it shows the others: its ring, sealed, or that it asks to be paired
    # devices whose ring was sealed to this one already: if it is no longer, this one was removed
    heard: tuple[str, ...] = ()
    # by device the key by which it asks for proofs that a ring is by this one (`ring_proofs`)
    asked: Mapping[str, str] = EMPTY_MAPPING
    accepted: tuple[str, ...] = ()  # devices that were put on the ring here

    def __repr__(self) -> str:
        """Without keys: what is shown or logged by mistake must not give them away."""
        return f"HomeKeys(paired={self.ring is not None})"


def load_keys(home: Path) -> HomeKeys | None:
    """The keys of a home; None if it seals nothing. BadInput if the file cannot be read."""
    path = Path(home) / FILE
    try:
        values = json.loads(read_private_bytes(home, path))
        ring = values["ring"]
        keys = HomeKeys(
            str(values["secret"]),
            ring_from_json(ring) if ring else None,
            str(values["code"]),
            base64.b64decode(values["file"]),
            tuple(map(str, values.get("heard", ()))),
            {str(device): str(key) for device, key in values.get("asked", {}).items()},
            tuple(map(str, values.get("accepted", ()))),
        )
        return check_keys(keys)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as err:
        raise BadInput(
            f"{path}, which holds the keys of your devices' logs, cannot be read. Bring it back "
            "from a copy, or remove it and pair this machine again: reverie sync add PLACE"
        ) from err


def check_keys(keys: HomeKeys) -> HomeKeys:
    """The keys; ValueError where one is none."""
    if not is_secret_key(keys.secret):
        raise ValueError("one of the keys is none")
    if keys.ring is not None:
        check_ring(keys.ring)
    for key in keys.asked.values():
        bytes.fromhex(key)
    return keys


def save_keys(home: Path, keys: HomeKeys) -> None:
    """Keep the keys of a home."""
    values = {
        "secret": keys.secret,
        "ring": ring_to_json(keys.ring) if keys.ring else None,
        "code": keys.code,
        "file": base64.b64encode(keys.file).decode(),
        "heard": list(keys.heard),
        "asked": dict(keys.asked),
        "accepted": list(keys.accepted),
    }
    write_private_bytes(home, Path(home) / FILE, json.dumps(values).encode())


def save_ring(home: Path, keys: HomeKeys, ring: KeyRing) -> HomeKeys:
    """Keep a ring, which the others are shown from now on."""
    # Who is no longer on the ring is shown no proofs.
    asked = {device: key for device, key in keys.asked.items() if ring.find(device)}
    sealed = seal_ring(ring, keys.secret, asked.values())
    done = keys._replace(ring=ring, code="", file=RING + sealed, asked=asked)
    save_keys(home, done)
    return done


def is_waiting(home: Path) -> bool:
    """True if a home waits to be paired."""
    keys = load_keys(home)
    return keys is not None and keys.ring is None


def last_trusted(home: Path, device: str) -> int:
    """The last file of a device that is to be read, as `KeyRing.last_trusted`; all are in a home
    that seals nothing.
    """
    keys = load_keys(home)
    return keys.ring.last_trusted(device) if keys and keys.ring else MAX_NUMBER


def list_wanted(home: Path, peer: PeerLog, numbers: Iterable[int]) -> list[int]:
    """The files of a device that were not read yet and are to be, in order."""
    last = last_trusted(home, peer.device)
    return [number for number in list_unread(peer, numbers) if number <= last]


class RingSealer:
    """Seals for the devices on the ring of a home, as it stands at each call."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def _ring(self) -> KeyRing:
        keys = load_keys(self.home)
        if keys is None or keys.ring is None:
            raise CannotOpen(UNPAIRED)
        return keys.ring

    def seal(self, plain: bytes) -> bytes:
        """For the devices on the ring."""
        return seal_batch(self._ring(), plain)

    def open(self, sealed: bytes, device: str, number: int) -> bytes:
        """What a device on the ring sealed, or one that was removed since."""
        ring = self._ring()
        removal = ring.find_removal(device)
        if removal is not None and number > ring.last_trusted(device):
            raise CannotOpen(f"was written by {removal.name}, which was removed: it is not read")
        if not sealed.startswith(SEALED_HEADER):
            raise CannotOpen(LIES_OPEN)
        if removal is None and ring.find(device) is None:
            raise CannotOpen("is by a machine that is not paired: it is not read")
        plain, epoch = open_batch(ring, sealed)
        if is_out_of_date(ring, epoch, device, number):
            raise CannotOpen(
                "was sealed with a key that a removed machine knows too: it is not read until its "
                "writer has heard of the removal, and seals it anew"
            )
        return plain


class HomeSealer:
    """Seals for the devices on the ring of a home that has keys, and nothing where it has none.

    Each call looks anew: a home may be sealed while another process brings it in step.
    """

    def __init__(self, home: Path) -> None:
        self.home = home

    def _sealer(self) -> Sealer:
        return RingSealer(self.home) if (Path(self.home) / FILE).exists() else PlainSealer()

    def seal(self, plain: bytes) -> bytes:
        """The bytes as they lie in the folder."""
        return self._sealer().seal(plain)

    def open(self, sealed: bytes, device: str, number: int) -> bytes:
        """What a device wrote in its file of this number."""
        return self._sealer().open(sealed, device, number)


def open_sealer(home: Path) -> Sealer:
    """What seals the logs of a home."""
    return HomeSealer(home)
