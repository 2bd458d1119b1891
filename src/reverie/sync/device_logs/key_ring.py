"""The keys that a user's devices share, and who those devices are.

Batches are sealed to the key of an epoch, which every device on the ring holds. Who is removed is
given no later epoch, so reads nothing new. A ring lies in the folder once for each device, sealed
to all devices and to the recovery key, and carries a MAC under each epoch that its writer holds:
it is believed if that of the reader's own latest epoch is right, so neither an outsider, who has
none, nor a removed device, which has only earlier ones, can put anybody on it, once the reader has
heard of the removal. Rings only grow: joining two is commutative, and an older one changes
nothing. Of a machine that removed another one without having heard of a removal here, a ring is
believed by a proof of its own (`ring_proofs`), and `merge_forks` makes one of the two. Pure but for
random keys.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.age_sealing import new_secret, open_with, public_of, seal_to
from reverie.core.errors import CannotOpen
from reverie.core.model import EMPTY_MAPPING
from reverie.sync.device_logs.age_keys import is_public_key, is_secret_key
from reverie.sync.device_logs.ring_proofs import ask_proofs, prove
from reverie.sync.wire_format import is_number

FORMAT = 1
MAX_NUMBER = 99_999_999  # of a file of a log


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

    def last_trusted(self, device: str) -> int:
        """The last file of a device that is to be read: what one that was removed wrote after that
        is none of the user's.
        """
        removal = self.find_removal(device)
        return removal.upto if removal else MAX_NUMBER


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
    """What two rings come to.

    The key of a device that is known, and that for recovery, never change: else a machine could put
    one of its own in their place, and read on after it was removed.
    """
    removed: dict[str, Removal] = {}
    for removal in (*ours.removed, *theirs.removed):
        known = removed.get(removal.device)
        if known is None or removal.upto < known.upto:
            removed[removal.device] = removal
    devices: dict[str, DeviceKey] = {}
    for device in (*ours.devices, *theirs.devices):
        if device.device in removed:
            continue
        first = devices.setdefault(device.device, device)
        if device.at > first.at:
            devices[device.device] = device._replace(public=first.public)
    return KeyRing(
        tuple(sorted({*ours.epochs, *theirs.epochs})),
        tuple(devices[name] for name in sorted(devices)),
        tuple(removed[name] for name in sorted(removed)),
        ours.recovery or theirs.recovery,
    )


def join_heard(ours: KeyRing, theirs: KeyRing, kept: Collection[str]) -> KeyRing:
    """What two rings come to where each may know of removals that the other does not.

    Of the devices that the side with fewer removals has alone, those are left out that this machine
    did not put on the ring itself (`kept`): one that was removed may have put them there. Whoever
    did put one there puts it there again, once it has heard.
    """
    out_here = {one.device for one in ours.removed}
    out_there = {one.device for one in theirs.removed}
    if out_there - out_here:
        ours = with_devices(ours, {*kept, *(one.device for one in theirs.devices)})
    if out_here - out_there:
        theirs = with_devices(theirs, {one.device for one in ours.devices})
    return join_rings(ours, theirs)


def with_devices(ring: KeyRing, wanted: Collection[str]) -> KeyRing:
    """The ring with those of its devices that are wanted."""
    return ring._replace(devices=tuple(one for one in ring.devices if one.device in wanted))


def merge_forks(
    ours: KeyRing,
    theirs: KeyRing,
    kept: Collection[str],
    known: Iterable[tuple[str, int]],
) -> KeyRing:
    """What two rings come to neither of which knows the other's latest epoch: both removals hold.

    A device that the one removed was given the other's latest key, so unless both removed the same
    a further epoch begins, which none of them is given; `known` as for `take_off_ring`. Always so:
    whoever is removed on a ring holds no key of its latest epoch.
    """
    joined = join_heard(ours, theirs, kept)
    out_here = {one.device for one in ours.removed}
    if out_here == {one.device for one in theirs.removed}:
        return joined
    return take_off_ring(joined, (), known)


def seal_ring(ring: KeyRing, secret: str, asked: Iterable[str] = ()) -> bytes:
    """A ring as it lies in the folder: for its devices and the recovery key alone, with what asks
    the others for proofs in the name of the owner of `secret`, and proofs by the keys that it was
    `asked` by.
    """
    text = json.dumps([FORMAT, ring], separators=(",", ":"))
    macs = [mac_with(epoch, text.encode()).hex() for epoch in ring.epochs]
    asks = ask_proofs(secret, (one.public for one in ring.devices))
    proofs = [prove(key, text.encode()) for key in asked]
    publics = {one.public for one in ring.devices} | ({ring.recovery} if ring.recovery else set())
    return seal_to(sorted(publics), json.dumps([text, macs, asks, proofs]).encode())


class OpenedRing(NamedTuple):
    """A ring that could be read, which does not yet mean that it is believed."""

    ring: KeyRing
    text: bytes
    macs: tuple[str, ...]
    asks: Mapping[str, str] = EMPTY_MAPPING  # by public key what asks its owner for proofs
    proofs: tuple[str, ...] = ()

    def is_vouched_by(self, epoch: Epoch) -> bool:
        """True if whoever wrote the ring holds an epoch's key."""
        wanted = mac_with(epoch, self.text).hex()
        # Of other letters it would raise: whoever wrote the ring is not believed yet.
        return any(mac.isascii() and hmac.compare_digest(wanted, mac) for mac in self.macs)


def open_ring(secret: str, sealed: bytes) -> OpenedRing:
    """A ring that was sealed to a key; CannotOpen if it was not, or cannot be read."""
    opened = open_with(secret, sealed)
    try:
        text, macs, asks, proofs = json.loads(opened)
        known, values = json.loads(text)
        if known != FORMAT:
            raise CannotOpen("is of a later Reverie. Upgrade: pip install --upgrade reverie")
        return OpenedRing(
            try_sealing(check_ring(ring_from_json(values))),
            text.encode(),
            tuple(map(str, macs)),
            {str(public): str(ask) for public, ask in asks.items()},
            tuple(map(str, proofs)),
        )
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as err:
        raise CannotOpen("holds no keys") from err


def try_sealing(ring: KeyRing) -> KeyRing:
    """The ring; BadInput, a ValueError, if age takes one of its keys for none."""
    seal_to((one.public for one in ring.devices), b"")
    if ring.recovery:
        seal_to((ring.recovery,), b"")
    for epoch in ring.epochs:
        public_of(epoch.secret)
    return ring


def check_ring(ring: KeyRing) -> KeyRing:
    """The ring; ValueError if it is none that a device could seal with or keep."""
    if not ring.epochs or not ring.devices:
        raise ValueError("there is no key to seal with")
    if not all(is_count(one.number) and is_secret_key(one.secret) for one in ring.epochs):
        raise ValueError("one of the keys is none")
    if not all(is_public_key(one.public) for one in ring.devices):
        raise ValueError("one of the keys is none")
    texts = [(one.device, one.name, one.code) for one in ring.devices]
    texts += [(one.device, one.name, "") for one in ring.removed]
    counts = [one.upto for one in ring.removed]
    counts += [last for epoch in ring.epochs for _, last in epoch.known]
    moments = [one.at for one in ring.devices] + [one.at for one in ring.removed]
    if not all(isinstance(part, str) for parts in texts for part in parts):
        raise ValueError("one of the devices has no name")
    if not (all(map(is_count, counts)) and all(map(is_number, moments))):
        raise ValueError("one of the numbers is none")
    return ring


def is_count(value: object) -> bool:
    """True for a number of a file or of an epoch."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


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
