"""Which devices hold the keys of sealed logs: the first, those that are paired, and removal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.core.age_sealing import load_age, new_secret, public_of
from reverie.core.errors import BadInput, NotFound
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store
from reverie.sync.device_logs.age_keys import clean_code, new_code, seal_by_code
from reverie.sync.device_logs.batch_file import REQUEST
from reverie.sync.device_logs.home_keys import (
    KEYS_GONE,
    HomeKeys,
    load_keys,
    save_keys,
    save_ring,
)
from reverie.sync.device_logs.key_exchange import (
    answer_request,
    ask_text,
    is_able_to_accept,
    list_key_files,
    recover_ring,
)
from reverie.sync.device_logs.key_ring import (
    DeviceKey,
    KeyRing,
    Removal,
    new_ring,
    put_on_ring,
    take_off_ring,
)
from reverie.sync.device_logs.log_folder import PlaceAway
from reverie.sync.device_logs.log_state import OwnLog, list_known, load_own, load_peers
from reverie.sync.device_logs.log_step import renew_log, visit_place

NOT_SEALED = (
    "The logs of this memory are not sealed, so no machine holds keys. To seal them: reverie sync "
    "remove PLACE, then reverie sync add with an empty folder. To take the files of a machine "
    "away: reverie sync remove-device NAME --files"
)


NOBODY_ACCEPTS = (
    "No other machine that is still one of yours has put its keys there, so none could accept this "
    "one, and what is sealed could not be read again. Nothing was changed. First pair another one "
    "(on it: reverie sync add PLACE)"
)


class PairedDevice(NamedTuple):
    """A device that holds the keys."""

    device: str
    name: str
    at: float  # since when


class PairingState(NamedTuple):
    """Who holds the keys of this home's sealed logs, and who asks for them."""

    code: str = ""  # that this machine's screen shows while it waits to be paired
    paired: tuple[PairedDevice, ...] = ()
    removed: tuple[Removal, ...] = ()
    waiting: tuple[str, ...] = ()  # the numbers of devices that ask to be paired
    recovery: str = ""  # the secret recovery key, the one time that it is told
    trouble: str = ""  # what is wrong with the keys of this home


def start_ring(work: WorkContext, own: OwnLog) -> str:
    """Make the keys of the first device; the recovery key, which is kept nowhere."""
    secret, recovery = new_secret(), new_secret()
    me = DeviceKey(own.device, own.name, public_of(secret), work.now)
    home = work.settings.home
    save_ring(home, HomeKeys(secret), new_ring(me, public_of(recovery)))
    return recovery


def start_waiting(work: WorkContext, own: OwnLog) -> str:
    """Ask the paired devices for the keys; the code to be typed on one of them."""
    secret, code = new_secret(), new_code()
    asks = REQUEST + seal_by_code(code, ask_text(own, public_of(secret)))
    save_keys(work.settings.home, HomeKeys(secret, None, code, asks))
    return code


def describe_pairing(store: Store, home: Path, *, looks: bool = False) -> PairingState | None:
    """Who holds the keys; None if nothing is sealed. `looks`: who asks for them, too."""
    own = load_own(store)
    try:
        keys = load_keys(home)
    except BadInput as err:
        return PairingState(trouble=str(err))
    if keys is None:
        return PairingState(trouble=KEYS_GONE) if own and own.is_sealed else None
    if keys.ring is None:
        return PairingState(keys.code)
    asking = find_requests(own, home) if looks and own else {}
    known = {one.device for one in keys.ring.devices}
    return PairingState(
        "",
        tuple(PairedDevice(one.device, one.name, one.at) for one in keys.ring.devices),
        keys.ring.removed,
        tuple(device for device in asking if device not in known),
    )


def find_requests(own: OwnLog, home: Path) -> Mapping[str, bytes]:
    """The key files of devices that ask to be paired, by device, of all places that are there."""
    return {
        device: data
        for device, data in read_key_files(own, home).items()
        if data.startswith(REQUEST)
    }


def read_key_files(own: OwnLog, home: Path) -> dict[str, bytes]:
    """The key files of other devices, of all places that are there; PlaceAway if none is."""
    found: dict[str, bytes] = {}
    away: list[PlaceAway] = []
    for place in own.places:
        try:
            with visit_place(place, own, home) as there:
                found |= dict(list_key_files(own.device, there, there.sizes()))
        except PlaceAway as err:
            away.append(err)
    if own.places and len(away) == len(own.places):
        raise away[0]
    return found


def need_paired(store: Store, home: Path) -> tuple[OwnLog, HomeKeys, KeyRing]:
    """This device and its ring; BadInput if it has none."""
    own, keys = load_own(store), load_keys(home)
    if own is None or keys is None:
        raise BadInput(KEYS_GONE if own and own.is_sealed else NOT_SEALED)
    if keys.ring is None:
        raise BadInput(
            f"This machine waits to be paired itself. On a paired one: "
            f"reverie sync pair --accept {keys.code}"
        )
    load_age()
    return own, keys, keys.ring


def accept_device(work: WorkContext, typed: str) -> PairedDevice:
    """Give the keys to the device whose screen shows a code; NotFound if none asks by it."""
    code = clean_code(typed)
    home = work.settings.home
    own, _, _ = need_paired(work.store, home)
    requests = find_requests(own, home)
    answers = (answer_request(data, one, code, work.now) for one, data in requests.items())
    asks = next(filter(None, answers), None)
    if asks is None:
        waits = f"{len(requests)} wait with another code" if requests else "none waits"
        raise NotFound(
            f"No machine asks to be paired with the code {code} ({waits}). Compare it with the "
            "other screen (reverie sync pair); its file may still be on its way"
        )
    with work.store.transaction():
        _, keys, ring = need_paired(work.store, home)
        if ring.find_removal(asks.device):
            raise BadInput(f"{asks.name} was removed. On it: reverie sync pair --again")
        keys = keys._replace(accepted=(*keys.accepted, asks.device))
        save_ring(home, keys, put_on_ring(ring, asks))
    return PairedDevice(asks.device, asks.name, asks.at)


def remove_device(work: WorkContext, named: str) -> PairedDevice:
    """Take a device off the ring: what is sealed from now on it cannot read. NotFound if there is
    none of this name or number.
    """
    with work.store.transaction():
        home = work.settings.home
        own, keys, ring = need_paired(work.store, home)
        found = [one for one in ring.devices if named in (one.name, one.device)]
        if not found:
            listed = ", ".join(f"{one.name} ({one.device})" for one in ring.devices)
            raise NotFound(
                f"No paired device is called {named}. There are: {listed}. See: reverie sync pair"
            )
        if len(found) > 1:
            listed = ", ".join(one.device for one in found)
            raise BadInput(f"{len(found)} devices are called {named}. Say which: {listed}")
        gone = found[0]
        if gone.public == public_of(keys.secret):
            raise BadInput(
                "That is this machine. Remove it on another one; to stop being in step here: "
                "reverie sync remove PLACE"
            )
        peers = load_peers(work.store)
        # A copied home writes under another number with the same key.
        removals = [
            Removal(
                one.device, one.name, peers[one.device].last if one.device in peers else 0, work.now
            )
            for one in ring.devices
            if one.public == gone.public
        ]
        save_ring(home, keys, take_off_ring(ring, removals, list_known(work.store, own)))
    return PairedDevice(gone.device, gone.name, gone.at)


def ask_again(work: WorkContext) -> str:
    """Give up this home's keys, under a new number, and ask to be paired; the code. BadInput where
    no other machine that shows its keys could accept it: what is sealed would be lost.
    """
    own, keys = load_own(work.store), load_keys(work.settings.home)
    if own is not None and keys is not None and keys.ring is not None:
        shown = read_key_files(own, work.settings.home)
        if not any(is_able_to_accept(keys, own, device, shown[device]) for device in shown):
            raise BadInput(NOBODY_ACCEPTS)
    with work.store.transaction():
        own = load_own(work.store)
        if own is None or load_keys(work.settings.home) is None:
            raise BadInput(KEYS_GONE if own and own.is_sealed else NOT_SEALED)
        fresh = renew_log(work, own)
    return start_waiting(work, fresh)


def recover_keys(work: WorkContext, phrase: str) -> int:
    """Pair this machine by the recovery key; how many devices have the keys now."""
    public_of(phrase)
    home = work.settings.home
    own, keys = load_own(work.store), load_keys(home)
    if own is None or keys is None:
        raise BadInput("First name the folder or repository: reverie sync add PLACE")
    ring = recover_ring(phrase, read_key_files(own, home))
    if ring is None:
        raise NotFound("The recovery key opens nothing that lies there. Is it that of this folder?")
    if ring.find_removal(own.device):
        raise BadInput(
            "This machine was removed from those that hold the keys. First: reverie sync pair "
            "--again, then reverie sync pair --recover"
        )
    with work.store.transaction():
        me = DeviceKey(own.device, own.name, public_of(keys.secret), work.now)
        ring = put_on_ring(ring, me)
        save_ring(home, keys, ring)
    return len(ring.devices)
