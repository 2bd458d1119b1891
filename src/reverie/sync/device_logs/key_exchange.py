"""What the devices' key files at a place say, taken in; and this home's own, shown there.

Each device has one such file beside its log. That of a paired device holds the ring; that of a
device that waits asks to be paired, sealed by the code on its screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from reverie.core.age_sealing import public_of
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
    KeyRing,
    OpenedRing,
    join_rings,
    open_ring,
    put_on_ring,
)
from reverie.sync.device_logs.log_folder import Place
from reverie.sync.device_logs.log_state import OwnLog, load_own, save_own

NOT_FOR_HERE = (
    "its keys cannot be opened here: it is none of your devices, or this machine was removed. "
    "If neither: reverie sync pair --again"
)
NO_KEYS = "its key file has half arrived, or is damaged"
FORKED = (
    "machines were removed here and there at the same time, so the two no longer know each other's "
    "keys. On one of the two: reverie sync pair --again, then accept its code on the other"
)
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
    """Take in what the others' key files say, and show this home's own; what is wrong with whose
    keys, "" for nothing. Does nothing in a home that seals nothing.
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
        keys, troubles = take_rings(home, own, keys, files)
        ring = keys.ring
        if before and ring and before.latest != ring.latest:
            tell_anew(work.store, ring)
        if ring and not ring.find(own.device) and not ring.find_removal(own.device):
            me = DeviceKey(own.device, own.name, public_of(keys.secret), work.now)
            keys = save_ring(home, keys, put_on_ring(ring, me))
    name = key_file_name(own.device)
    if name not in names or there.read(name) != keys.file:
        there.write(name, keys.file)
        there.finish()
    return troubles


def tell_anew(store: Store, ring: KeyRing) -> None:
    """Have the own log sealed anew if some of it was not known yet when a removal made a new key:
    others do not believe that part.
    """
    own = load_own(store)
    if own is not None and not ring.latest.has_known(own.device, own.number):
        save_own(store, own._replace(must_compact=True))


def take_rings(
    home: Path,
    own: OwnLog,
    keys: HomeKeys,
    files: Mapping[str, bytes],
) -> tuple[HomeKeys, dict[str, str]]:
    """The keys after those of other devices, and what is wrong with whose."""
    troubles: dict[str, str] = {}
    for device, data in files.items():
        if not data.startswith(RING):
            # Who asks to be paired is not wrong.
            troubles[device] = "" if data.startswith(REQUEST) else NO_KEYS
            continue
        try:
            keys = take_ring(home, own, keys, data.removeprefix(RING))
            troubles[device] = ""
            if keys.ring and device not in keys.heard:
                keys = keys._replace(heard=(*keys.heard, device))
                save_keys(home, keys)
        except CannotOpen as err:
            troubles[device] = "" if is_yet_to_hear(keys, device) else str(err)
    return keys, troubles


def is_yet_to_hear(keys: HomeKeys, device: str) -> bool:
    """True if a ring that cannot be opened may be by a device that has not heard yet of this one:
    who waits, or was paired just now, sees such.
    """
    return keys.ring is None or (keys.ring.find(device) is not None and device not in keys.heard)


def take_ring(home: Path, own: OwnLog, keys: HomeKeys, sealed: bytes) -> HomeKeys:
    """The keys after a ring of another device; CannotOpen if it is not to be believed."""
    try:
        found = open_ring(keys.secret, sealed)
    except CannotOpen as err:
        raise CannotOpen(NOT_FOR_HERE) from err
    if keys.ring is None:
        me = found.ring.find(own.device)
        if me is None or me.code != keys.code:
            raise CannotOpen(NOT_VOUCHED)
        return save_ring(home, keys, found.ring)
    if found.is_vouched_by(keys.ring.latest):
        joined = join_rings(keys.ring, found.ring)
        return save_ring(home, keys, joined) if joined != keys.ring else keys
    if any(found.is_vouched_by(epoch) for epoch in keys.ring.epochs):
        # A removed device has the earlier keys too, so such a ring could be made by it in another's
        # name: whether the two belong together only the user can say, who sees both screens.
        if found.ring.latest.number >= keys.ring.latest.number:
            raise CannotOpen(FORKED)
        return keys  # it has not heard of the latest epoch yet
    raise CannotOpen(NOT_VOUCHED)


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
