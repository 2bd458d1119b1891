"""What the devices' key files at a place say, taken in; and this home's own, shown there.

Each device has one such file beside its log. That of a paired device holds the ring; that of a
device that waits asks to be paired, sealed by the code on its screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from reverie.core.age_sealing import open_with, public_of
from reverie.core.errors import CannotOpen, ReverieError
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store
from reverie.sync.device_logs.age_keys import is_public_key, open_by_code
from reverie.sync.device_logs.batch_file import REQUEST, RING, key_file_name, key_file_owner
from reverie.sync.device_logs.home_keys import (
    HomeKeys,
    load_keys,
    save_keys,
    save_ring,
)
from reverie.sync.device_logs.key_ring import (
    DeviceKey,
    Epoch,
    KeyRing,
    OpenedRing,
    join_heard,
    join_rings,
    merge_forks,
    open_ring,
    put_on_ring,
)
from reverie.sync.device_logs.log_folder import Place
from reverie.sync.device_logs.log_state import OwnLog, list_known, load_own, save_own
from reverie.sync.device_logs.ring_proofs import is_proved, open_ask

NOT_FOR_HERE = (
    "its keys cannot be opened here: it is none of your devices, or this machine was removed. "
    "If neither: reverie sync pair --again"
)
MUTUAL = (
    "it was removed here, and removed this machine in turn. If both are yours: on one of the two "
    "reverie sync pair --again, then accept its code on the other"
)
NO_KEYS = "its key file has half arrived, or is damaged"
FORKED = (
    "machines were removed here and there at the same time, so the two no longer know each other's "
    "keys. On one of the two: reverie sync pair --again, then accept its code on the other"
)
# By so many removals another ring may be ahead; there is no end to numbers that a machine makes up.
MAX_AHEAD = 1_000
NOT_VOUCHED = "its keys are not vouched for by your devices: they are not used"


def list_key_files(own: str, there: Place, names: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """The key files of other devices, with whose they are."""
    for name in sorted(names):
        device = key_file_owner(name)
        if device is not None and device != own:
            yield device, there.read(name)


def exchange_keys(
    work: WorkContext,
    own: OwnLog,
    there: Place,
    names: Mapping[str, int],
) -> dict[str, str]:
    """Take in what the others' key files say; what is wrong with whose keys, "" for nothing. Does
    nothing in a home that seals nothing.
    """
    home = work.settings.home
    if load_keys(home) is None:
        return {}
    files = dict(list_key_files(own.device, there, names))
    with work.store.transaction():
        keys = load_keys(home)
        if keys is None:
            return {}
        before = keys.ring
        intake = RingIntake(home, own, keys, list_known(work.store, own))
        troubles = intake.take(files)
        keys = intake.keys
        ring = keys.ring
        if before and ring:
            tell_anew(work.store, set(ring.epochs) - set(before.epochs))
        if ring and not ring.find(own.device) and not ring.find_removal(own.device):
            me = DeviceKey(own.device, own.name, public_of(keys.secret), work.now)
            keys = save_ring(home, keys, put_on_ring(ring, me))
    return troubles


def show_keys(home: Path, own: OwnLog, there: Place, names: Mapping[str, int]) -> None:
    """Have this home's own key file lie there as it is; nothing in a home that seals nothing."""
    keys, name = load_keys(home), key_file_name(own.device)
    if keys is not None and (name not in names or there.read(name) != keys.file):
        there.write(name, keys.file)
        there.finish()


def tell_anew(store: Store, fresh: Iterable[Epoch]) -> None:
    """Have the own log sealed anew if some of it was not known yet when a removal made a new key:
    others do not believe that part.
    """
    own = load_own(store)
    if own is not None and not all(one.has_known(own.device, own.number) for one in fresh):
        save_own(store, own._replace(must_compact=True))


class RingIntake:
    """Takes in the rings that other devices show at a place; `keys` are those of the home then."""

    def __init__(
        self,
        home: Path,
        own: OwnLog,
        keys: HomeKeys,
        known: Iterable[tuple[str, int]],
    ) -> None:
        self.home, self.own, self.keys = home, own, keys
        self.known = tuple(known)  # the last file of each device that was read

    def take(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Take in key files by device; what is wrong with whose, "" for nothing."""
        troubles: dict[str, str] = {}
        for device, data in files.items():
            if not data.startswith(RING):
                # Who asks to be paired is not wrong.
                troubles[device] = "" if data.startswith(REQUEST) else NO_KEYS
                continue
            try:
                self._take_ring(device, data.removeprefix(RING))
                troubles[device] = ""
                if self.keys.ring and device not in self.keys.heard:
                    self.keys = self.keys._replace(heard=(*self.keys.heard, device))
                    save_keys(self.home, self.keys)
            except CannotOpen as err:
                is_usual = device in self.own.former or is_yet_to_hear(self.keys, device)
                troubles[device] = "" if is_usual else str(err)
        return troubles

    def _take_ring(self, device: str, sealed: bytes) -> None:
        """Take in a ring of another device; CannotOpen if it is not to be believed."""
        try:
            found = open_ring(self.keys.secret, sealed)
        except CannotOpen as err:
            ring = self.keys.ring
            is_mutual = ring is not None and ring.find_removal(device) is not None
            raise CannotOpen(MUTUAL if is_mutual else NOT_FOR_HERE) from err
        ring = self.keys.ring
        if ring is None:
            me = found.ring.find(self.own.device)
            if me is None or me.code != self.keys.code:
                raise CannotOpen(NOT_VOUCHED)
            self.keys = save_ring(self.home, self.keys, found.ring)
        else:
            self._keep(self._join(ring, device, found))
        self._note_ask(device, found)

    def _join(self, ring: KeyRing, device: str, found: OpenedRing) -> KeyRing:
        """The ring of this home after one that could be opened."""
        kept = (self.own.device, *self.keys.accepted)
        if found.ring.latest.number > ring.latest.number + MAX_AHEAD:
            raise CannotOpen(NOT_VOUCHED)
        if found.is_vouched_by(ring.latest):
            return join_heard(ring, found.ring, kept)
        if not any(map(found.is_vouched_by, ring.epochs)):
            raise CannotOpen(NOT_VOUCHED)
        if found.ring.latest in ring.epochs:
            return ring  # it has not heard of the latest epoch yet
        # A removed device has the earlier keys too, so such a ring could be made by it in another's
        # name: that it is by this device must be proved.
        author = ring.find(device)
        if author is None or not is_proved(
            self.keys.secret, author.public, found.text, found.proofs
        ):
            self._note_ask(device, found)
            raise CannotOpen(FORKED)
        return merge_forks(ring, found.ring, kept, self.known)

    def _note_ask(self, device: str, found: OpenedRing) -> None:
        """Keep by which key a device of the ring asks for proofs, and show them from now on."""
        keys, ring = self.keys, self.keys.ring
        key = open_ask(keys.secret, found.asks)
        if ring and key and ring.find(device) and keys.asked.get(device) != key:
            keys = keys._replace(asked={**keys.asked, device: key})
            self.keys = save_ring(self.home, keys, ring)

    def _keep(self, ring: KeyRing) -> None:
        if ring != self.keys.ring:
            self.keys = save_ring(self.home, self.keys, ring)


def is_yet_to_hear(keys: HomeKeys, device: str) -> bool:
    """True if a ring that cannot be opened may be by a device that has not heard yet of this one:
    who waits, or was paired just now, sees such.
    """
    return keys.ring is None or (keys.ring.find(device) is not None and device not in keys.heard)


def is_able_to_accept(keys: HomeKeys, own: OwnLog, device: str, data: bytes) -> bool:
    """True if the device of a key file could accept this machine, were that to ask for the keys.

    A number that this machine had itself could not, nor could a removed device, unless that removed
    this one in turn and so goes on with keys of its own. One of which nothing is known may: two
    machines that both began with an empty folder do not know each other.
    """
    if not data.startswith(RING) or device in own.former:
        return False
    if keys.ring is None or keys.ring.find_removal(device) is None:
        return True
    return device in keys.heard and not is_sealed_to(keys.secret, data.removeprefix(RING))


def is_sealed_to(secret: str, sealed: bytes) -> bool:
    """True if something can be opened with a key."""
    try:
        open_with(secret, sealed)
    except CannotOpen:
        return False
    return True


def ask_text(own: OwnLog, public: str) -> bytes:
    """What a device that waits says of itself."""
    return json.dumps({"device": own.device, "name": own.name, "public": public}).encode()


def answer_request(data: bytes, device: str, code: str, now: float) -> DeviceKey | None:
    """Who asks to be paired in a key file, if it is by this code."""
    if not data.startswith(REQUEST):
        return None
    try:
        values = json.loads(open_by_code(code, data.removeprefix(REQUEST)))
        asks = DeviceKey(device, str(values["name"]), str(values["public"]), now, code)
        is_its_own = values["device"] == device and is_public_key(asks.public)
        return asks if is_its_own else None
    except (CannotOpen, ValueError, KeyError, TypeError):
        return None


def recover_ring(phrase: str, files: Mapping[str, bytes]) -> KeyRing | None:
    """The ring that the recovery key opens, of all that lie at a place; None if it opens none."""
    best: OpenedRing | None = None
    for data in files.values():
        if not data.startswith(RING):
            continue
        try:
            found = open_ring(phrase.strip(), data.removeprefix(RING))
        except ReverieError:
            continue
        if best is None or found.ring.latest.number > best.ring.latest.number:
            best = found
        elif found.is_vouched_by(best.ring.latest):
            best = best._replace(ring=join_rings(best.ring, found.ring))
    return best.ring if best else None
