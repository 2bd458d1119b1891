"""The keys that a user's devices share, and who those devices are.

Batches are sealed to the key of an epoch, which every device on the ring holds. Who is removed is
given no later epoch, so reads nothing new. A ring lies in the folder once for each device, sealed
to all devices and to the recovery key, and carries a MAC under each epoch that its writer holds:
it is believed if that of the reader's own latest epoch is right, so neither an outsider, who has
none, nor a removed device, which has only earlier ones, can put anybody on it, once the reader has
heard of the removal. Rings only grow: joining two is commutative, and an older one changes
nothing. Pure but for random keys.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from reverie.core.age_sealing import new_secret, open_with, public_of, seal_to
from reverie.core.errors import CannotOpen

FORMAT = 1


class DeviceKey(NamedTuple):
    """A device on the ring."""

    device: str  # as its files are called
    name: str
    public: str
    at: float  # when it was put on the ring
    code: str = ""  # by which it was paired, for it to know that it was


class Removal(NamedTuple):
    """A device that was taken off the ring."""

    device: str
    name: str
    upto: int  # the last file of its log that is still read
    at: float


class Epoch(NamedTuple):
    """A key that batches are sealed to."""

    number: int
    secret: str
    # (device, number of its last file) of what is believed though it has an earlier epoch's key:
    # who was removed has that key, and could write under another's name
    known: tuple[tuple[str, int], ...] = ()

    def has_known(self, device: str, number: int) -> bool:
        """True if a file was there when the epoch began."""
        return number <= dict(self.known).get(device, 0)


class KeyRing(NamedTuple):
    """Who a user's devices are, and what they seal with."""

    epochs: tuple[Epoch, ...]  # the latest is the last
    devices: tuple[DeviceKey, ...]
    removed: tuple[Removal, ...] = ()
    recovery: str = ""  # a public key whose secret one the user has written down

    @property
    def latest(self) -> Epoch:
        """The epoch that is sealed to now."""
        return self.epochs[-1]

    def find(self, device: str) -> DeviceKey | None:
        """A device by its number; None if it is not on the ring."""
        return next((one for one in self.devices if one.device == device), None)

    def find_removal(self, device: str) -> Removal | None:
        """How a device was removed; None if it was not."""
        return next((one for one in self.removed if one.device == device), None)


def new_ring(device: DeviceKey, recovery: str) -> KeyRing:
    """A ring with one device."""
    return KeyRing((Epoch(1, new_secret()),), (device,), recovery=recovery)


def put_on_ring(ring: KeyRing, device: DeviceKey) -> KeyRing:
    """The ring with a further device, or with what has changed about one."""
    left = tuple(one for one in ring.devices if one.device != device.device)
    return ring._replace(devices=tuple(sorted((*left, device))))


def take_off_ring(
    ring: KeyRing,
    removals: Iterable[Removal],
    known: Iterable[tuple[str, int]],
) -> KeyRing:
    """The ring without some devices, and with an epoch that they are not given.

    `known`: the last file of each device that was read, up to which older keys are believed.
    """
    latest = Epoch(ring.latest.number + 1, new_secret(), tuple(sorted(known)))
    removed = {one.device: one for one in (*ring.removed, *removals)}
    return ring._replace(
        epochs=(*ring.epochs, latest),
        devices=tuple(one for one in ring.devices if one.device not in removed),
        removed=tuple(removed[device] for device in sorted(removed)),
    )


def join_rings(ours: KeyRing, theirs: KeyRing) -> KeyRing:
    """What two rings come to."""
    removed: dict[str, Removal] = {}
    for removal in (*ours.removed, *theirs.removed):
        known = removed.get(removal.device)
        if known is None or removal.upto < known.upto:
            removed[removal.device] = removal
    devices: dict[str, DeviceKey] = {}
    for device in (*ours.devices, *theirs.devices):
        known_key = devices.get(device.device)
        if device.device not in removed and (known_key is None or device.at > known_key.at):
            devices[device.device] = device
    return KeyRing(
        tuple(sorted({*ours.epochs, *theirs.epochs})),
        tuple(devices[name] for name in sorted(devices)),
        tuple(removed[name] for name in sorted(removed)),
        max(ours.recovery, theirs.recovery),
    )


def seal_ring(ring: KeyRing) -> bytes:
    """A ring as it lies in the folder: for its devices and the recovery key alone."""
    text = json.dumps([FORMAT, ring], separators=(",", ":"))
    macs = [mac_with(epoch, text.encode()).hex() for epoch in ring.epochs]
    publics = {one.public for one in ring.devices} | ({ring.recovery} if ring.recovery else set())
    return seal_to(sorted(publics), json.dumps([text, macs]).encode())


class OpenedRing(NamedTuple):
    """A ring that could be read, which does not yet mean that it is believed."""

    ring: KeyRing
    text: bytes
    macs: tuple[str, ...]

    def is_vouched_by(self, epoch: Epoch) -> bool:
        """True if whoever wrote the ring holds an epoch's key."""
        wanted = mac_with(epoch, self.text).hex()
        return any(hmac.compare_digest(wanted, mac) for mac in self.macs)


def open_ring(secret: str, sealed: bytes) -> OpenedRing:
    """A ring that was sealed to a key; CannotOpen if it was not, or cannot be read."""
    opened = open_with(secret, sealed)
    try:
        text, macs = json.loads(opened)
        known, values = json.loads(text)
        if known != FORMAT:
            raise CannotOpen("is of a later Reverie. Upgrade: pip install --upgrade reverie")
        return OpenedRing(ring_from_json(values), text.encode(), tuple(map(str, macs)))
    except (ValueError, TypeError, AttributeError) as err:
        raise CannotOpen("holds no keys") from err


def ring_to_json(ring: KeyRing) -> list[Any]:
    """A ring as JSON values."""
    return list(ring)


def ring_from_json(values: list[Any]) -> KeyRing:
    """A ring from JSON values."""
    epochs, devices, removed, recovery = values
    return KeyRing(
        tuple(epoch_from_json(*one) for one in epochs),
        tuple(DeviceKey(*one) for one in devices),
        tuple(Removal(*one) for one in removed),
        str(recovery),
    )


def epoch_from_json(number: int, secret: str, known: list[Any]) -> Epoch:
    """An epoch from JSON values."""
    return Epoch(number, secret, tuple((str(device), int(last)) for device, last in known))


def is_out_of_date(ring: KeyRing, epoch: Epoch, device: str, number: int) -> bool:
    """True for a file that was sealed with an earlier key after a later one was there."""
    later = (one for one in ring.epochs if one.number > epoch.number)
    return not all(one.has_known(device, number) for one in later)


def mac_with(epoch: Epoch, data: bytes) -> bytes:
    """32 bytes that only those who hold an epoch's key can make for these data."""
    key = hashlib.sha256(b"reverie device logs\0" + epoch.secret.encode()).digest()
    return hmac.digest(key, data, "sha256")


def seal_batch(ring: KeyRing, plain: bytes) -> bytes:
    """A batch, for the devices on the ring, with a MAC that shows it is by one of them."""
    epoch = ring.latest
    return seal_to([public_of(epoch.secret)], mac_with(epoch, plain) + plain)


def open_batch(ring: KeyRing, sealed: bytes) -> tuple[bytes, Epoch]:
    """What a device on the ring sealed, and with which key; CannotOpen if it was none of them, or
    it was altered.
    """
    for epoch in reversed(ring.epochs):
        try:
            found = open_with(epoch.secret, sealed)
        except CannotOpen:
            continue
        mac, plain = found[:32], found[32:]
        if hmac.compare_digest(mac, mac_with(epoch, plain)):
            return plain, epoch
        raise CannotOpen("was written by none of your devices")
    raise CannotOpen(
        "cannot be opened with the keys of this machine: it was altered, is none of your devices', "
        "or was sealed after this machine was removed (then pair it again: reverie sync pair "
        "--again)"
    )
