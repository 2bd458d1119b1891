"""Taking away the files of a machine that is no longer one of the user's, so that nothing is lost.

What only its log told must be in another log first. So all of it is read once more, this machine's
own log is made to tell whatever it has from others, and only where that lies whole are the files
taken away, place by place; in a place that is full it comes into their room (`place_writer`). It is
kept in the own log's state what is still to be taken away where, so whoever is killed, or finds a
place away, goes on later. A file that cannot be read goes only if the user was told of it and
agreed.
"""

from __future__ import annotations

from typing import NamedTuple

from reverie.core.config import ME, Settings
from reverie.core.errors import BadInput, NotFound
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store
from reverie.sync.device_logs.batch_file import owner_of
from reverie.sync.device_logs.home_keys import (
    UNPAIRED,
    is_waiting,
    last_trusted,
    list_wanted,
    load_keys,
)
from reverie.sync.device_logs.local_changes import add_waiting
from reverie.sync.device_logs.log_reading import PeerLog, group_by_device
from reverie.sync.device_logs.log_state import (
    DepartingLog,
    LogPlace,
    OwnLog,
    list_gone,
    load_own,
    load_peers,
    save_own,
    save_peers,
)
from reverie.sync.device_logs.log_step import visit_place

LEAVES_OUT = (
    "Memory is switched off here in {off}, so this machine does not have all that {name} told. Say "
    "it on a machine that leaves out nothing, or first: reverie on, there"
)
UNREAD = "{count:,} files of {name} cannot be read here, and would be lost: {why}"


class DeviceFiles(NamedTuple):
    """The files of another machine, as they lie at the places."""

    device: str
    name: str
    # (the place, how many files lie there, the numbers of those that were not read)
    places: tuple[tuple[LogPlace, int, tuple[int, ...]], ...]
    troubles: tuple[str, ...] = ()  # what of its log was not taken in, and why

    def shown(self) -> DeviceFiles:
        """They as people see them: without what one is known by at a git host."""
        places = ((place.shown(), count, numbers) for place, count, numbers in self.places)
        return self._replace(places=tuple(places))

    @property
    def total(self) -> int:
        """How many files lie at all places."""
        return sum(count for _, count, _ in self.places)

    @property
    def unread(self) -> int:
        """How many of them were not read."""
        return sum(len(numbers) for _, _, numbers in self.places)


def find_device(work: WorkContext, named: str) -> tuple[str, str]:
    """(number, name) of another machine that is known here or has files at a place; NotFound for
    none, BadInput for several and for this one.
    """
    own = need_own(work.store)
    if is_waiting(work.settings.home):
        raise BadInput(f"{UNPAIRED}, and can read nothing of what others told")
    if named == own.device:
        raise BadInput(
            "That is this machine. Say it on another one; to stop being in step here: "
            "reverie sync remove PLACE"
        )
    known = list_devices(work, own)
    found = [device for device, name in known.items() if named in (device, name)]
    if len(found) == 1:
        return found[0], known[found[0]] or found[0]
    if found:
        raise BadInput(f"{len(found)} machines are called {named}. Say which: {', '.join(found)}")
    listed = ", ".join(f"{name or 'a machine'} ({device})" for device, name in known.items())
    raise NotFound(
        f"No other machine is called {named}. There are: {listed or 'none'}. See: "
        "reverie sync status"
    )


def list_devices(work: WorkContext, own: OwnLog) -> dict[str, str]:
    """Other machines by number, with their names: of the ring, of the logs, of files alone."""
    keys = load_keys(work.settings.home)
    found: dict[str, str] = {}
    for place in own.places:
        with visit_place(place, own, work.settings.home) as there:
            found |= dict.fromkeys(filter(None, map(owner_of, there.sizes())), "")
    if keys is not None and keys.ring is not None:
        found |= {one.device: one.name for one in keys.ring.removed}
        found |= {one.device: one.name for one in keys.ring.devices}
    for peer in load_peers(work.store).values():
        found[peer.device] = peer.name or found.get(peer.device, "")
    found.pop(own.device, None)
    return dict(sorted(found.items()))


def need_own(store: Store) -> OwnLog:
    """This machine's log; BadInput if it is in step with no other."""
    own = load_own(store)
    if own is None:
        raise BadInput("This memory is in step with no other machine: reverie sync add FOLDER")
    return own


def forget_reading(work: WorkContext, device: str) -> None:
    """Have the whole log of a machine read once more: what was left out before is taken in now."""
    with work.store.transaction():
        peers = load_peers(work.store)
        if peers.pop(device, None) is not None:
            save_peers(work.store, peers.values())


def look_over(work: WorkContext, device: str, name: str) -> DeviceFiles:
    """What lies of a machine at all places, and what of it was not read; PlaceAway if one cannot be
    reached, BadInput where this machine leaves out some of it.
    """
    own = need_own(work.store)
    if off := list_left_out(work.settings):
        raise BadInput(LEAVES_OUT.format(off=", ".join(off), name=name))
    peer = load_peers(work.store).get(device) or PeerLog(device)
    places = []
    for place in own.places:
        with visit_place(place, own, work.settings.home) as there:
            names = [one for one in there.sizes() if owner_of(one) == device]
        numbers = group_by_device(names).get(device, [])
        unread = list_wanted(work.settings.home, peer, numbers)
        places.append((place, len(names), tuple(unread)))
    after = last_trusted(work.settings.home, device)
    troubles = (
        why for number, why in peer.troubles.items() if not number.isdigit() or int(number) <= after
    )
    return DeviceFiles(device, name, tuple(places), tuple(troubles))


def list_left_out(settings: Settings) -> list[str]:
    """The user's spaces in which memory is switched off here."""
    off = ["all spaces"] if not settings.enabled else []
    return off + [space for space in settings.off if space.partition("/")[0] == ME]


def start_departure(work: WorkContext, found: DeviceFiles, *, even_unread: bool) -> None:
    """Have a machine's files taken away everywhere, once this one's own log tells what they told;
    BadInput if some cannot be read, unless those are to go too.
    """
    if found.unread and not even_unread:
        why = "; ".join(found.troubles) or "they have not arrived whole"
        raise BadInput(UNREAD.format(count=found.unread, name=found.name, why=why))
    with work.store.transaction():
        own = need_own(work.store)
        leaves = tuple(
            DepartingLog(found.device, found.name, place.kind, place.where, unread)
            for place, _, unread in found.places
        )
        rest = tuple(one for one in own.departing if one.device != found.device)
        carried = dict.fromkeys((*own.carried, found.device))
        save_own(
            work.store,
            own._replace(
                departing=(*rest, *leaves),
                carried=tuple(carried),
                full_after="",
                tells_again=True,
                talk_after=0,
            ),
        )
        add_waiting(work.store, (), gone=list_gone(work.store))
