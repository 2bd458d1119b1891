"""Adding and removing places, and how things stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from reverie.core.errors import BadInput, NotFound
from reverie.core.model import UNDECIDED_RELATIONS
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store
from reverie.sync.device_logs.log_folder import FOLDER as LOG_FOLDER
from reverie.sync.device_logs.log_folder import LogFolder
from reverie.sync.device_logs.log_reading import list_missing
from reverie.sync.device_logs.log_state import (
    CURSOR,
    FOLDER,
    GIT,
    LogPlace,
    OwnLog,
    load_conflicts,
    load_own,
    load_peers,
    save_own,
    save_peers,
)
from reverie.sync.device_logs.log_step import new_device
from reverie.sync.device_logs.own_log import count_waiting
from reverie.sync.device_logs.space_names import find_namesakes

GIT_ADDRESS = re.compile(r"(?:ssh|git|file|git\+\w+)://.+|[\w.-]+@[\w.-]+:.+|https?://.+\.git/?")


class OtherDevice(NamedTuple):
    """Another device, as far as it is known here."""

    device: str
    name: str = ""
    seen_at: float = 0.0  # when something of it was read last, by the clock here
    wrote_at: float = 0.0  # when it wrote that, by its own clock
    files: int = 0  # that were read
    missing: int = 0  # files that have not arrived though later ones have
    troubles: tuple[str, ...] = ()


class DevicesStatus(NamedTuple):
    """How a home stands with the user's other devices."""

    device: str
    name: str
    places: tuple[LogPlace, ...] = ()
    others: tuple[OtherDevice, ...] = ()
    waiting: int = 0  # memories that are not in the own log yet
    # (memory, the one with the other words, when) of texts that were revised on two devices
    conflicts: tuple[tuple[str, str, float], ...] = ()
    # spaces of projects that have one name, which may be one in two folders
    namesakes: tuple[tuple[str, str], ...] = ()


def is_git_address(where: str) -> bool:
    """True for the address of a git repository, or a bare one in a folder."""
    path = Path(where).expanduser()
    is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
    return is_bare or (not path.exists() and GIT_ADDRESS.fullmatch(where) is not None)


def add_place(work: WorkContext, where: str, name: str) -> LogPlace:
    """Be in step through a folder or a git repository from now on; BadInput for what is neither.

    Added again, all that lies there is read again.
    """
    place = make_place(where, work.settings.home)
    with work.store.transaction():
        own = load_own(work.store)
        if own is None:
            work.store.advance(CURSOR, work.store.last_event())
            own = OwnLog(new_device(), name)
        rest = [one for one in own.places if (one.kind, one.where) != (place.kind, place.where)]
        # With another place, what others told goes there too.
        save_own(work.store, own._replace(places=(*rest, place), full_after=""))
        save_peers(work.store, ())
    return place


def make_place(where: str, home: Path) -> LogPlace:
    """The place that was named, made ready."""
    if not where.strip() or where.startswith("-"):
        raise BadInput("Name a folder that is carried to your other machines, or a git repository")
    if is_git_address(where):
        path = Path(where).expanduser()
        return LogPlace(GIT, str(path.absolute()) if path.exists() else where)
    folder = Path(where).expanduser().absolute()
    if not folder.is_dir():
        raise BadInput(
            f"There is no folder {folder}. Make it first, or name a git repository by its address"
        )
    inside = Path(home).resolve()
    if folder.resolve() == inside or inside in folder.resolve().parents:
        raise BadInput(f"{folder} is in the home of this memory: choose another folder")
    if folder.name != LOG_FOLDER:
        folder = folder / LOG_FOLDER
    LogFolder(folder).create()
    return LogPlace(FOLDER, str(folder))


def remove_place(store: Store, where: str) -> LogPlace:
    """Be in step through a place no longer; NotFound if it is none. What lies there stays, and so
    does what is here.
    """
    with store.transaction():
        own = load_own(store)
        places = own.places if own else ()
        wanted = {where, str(Path(where).expanduser().absolute())}
        wanted |= {f"{one}/{LOG_FOLDER}" for one in wanted}
        found = next((one for one in places if one.where in wanted), None)
        if own is None or found is None:
            listed = ", ".join(one.where for one in places) or "none"
            raise NotFound(f"{where} is no place of your devices' logs. There are: {listed}")
        save_own(store, own._replace(places=tuple(one for one in places if one != found)))
    return found


def describe_devices(store: Store) -> DevicesStatus | None:
    """How this home stands with the other devices; None if it is in step with none."""
    own = load_own(store)
    if own is None:
        return None
    others = (
        OtherDevice(
            peer.device,
            peer.name,
            peer.seen_at,
            peer.wrote_at,
            peer.upto + len(peer.beyond),
            len(list_missing(peer)),
            tuple(peer.troubles.values()),
        )
        for peer in load_peers(store).values()
    )
    return DevicesStatus(
        own.device,
        own.name,
        own.places,
        tuple(sorted(others)),
        count_waiting(store),
        list_open_conflicts(store),
        tuple(find_namesakes(store)),
    )


def list_open_conflicts(store: Store) -> tuple[tuple[str, str, float], ...]:
    """Texts that were revised on two devices and about which nobody has decided yet."""
    return tuple(one for one in load_conflicts(store) if is_open(store, one[0], one[1]))


def is_open(store: Store, id: str, beside: str) -> bool:
    """True while two versions of a text contradict each other."""
    pair = {id, beside}
    edges = store.edges([beside], UNDECIDED_RELATIONS)
    return any({edge.src, edge.dst} == pair for edge in edges) and all(
        memory.active for memory in store.get([id, beside])
    )
