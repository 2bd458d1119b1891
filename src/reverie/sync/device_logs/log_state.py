"""What a home knows of its own log and of the other devices', kept in the store with the memories.

Marks stand beside the memories they are about and change in the same transaction. They are kept by
number rather than id, so that nothing that looks for the id of a purged memory finds it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from reverie.storage import Store
from reverie.sync.device_logs.log_reading import PeerLog
from reverie.sync.device_logs.marks import Marks, marks_from_json, marks_to_json
from reverie.sync.wire_format import number_of

DEVICE_META = "devices:own"
PEERS_META = "devices:others"
WAITING_META = "devices:waiting"
LINKS_META = "devices:links"
CONFLICTS_META = "devices:conflicts"
MARKS_META = "devices:marks:"
GONE_META = "devices:gone"
CURSOR = "devices"
GONE = "gone"  # instead of the marks of a memory that was purged
MAX_CONFLICTS = 50  # that are named by `reverie sync status`
FOLDER, GIT, SERVER = "folder", "git", "server"
# In an address: a name and password, or over http a name alone, which may be a token.
LOGIN = re.compile(r"(https?://)[^/@\s]+@|(?<=://)()[^/@\s:]+:[^/@\s]*@")


class LogPlace(NamedTuple):
    """A place through which the logs move."""

    kind: str  # FOLDER, GIT or SERVER
    where: str
    seen_at: float = 0.0  # when it could be reached last
    tried_at: float = 0.0
    fails: int = 0  # in a row
    trouble: str = ""

    def shown(self) -> LogPlace:
        """The place as people see it: without what one is known by at a git host."""
        return self._replace(where=hide_login(self.where))


def hide_login(where: str) -> str:
    """An address without the password or token in it."""
    return LOGIN.sub(r"\1…@", where)


class OpenLog(NamedTuple):
    """A log of this home that nobody sealed, by the number that the device had then."""

    device: str
    number: int  # of its last file
    digest: str  # of that file


class DepartingLog(NamedTuple):
    """The files of another device that are to be taken away from a place."""

    device: str
    name: str
    kind: str  # of the place
    where: str
    left: tuple[int, ...] = ()  # files that cannot be read, and go all the same

    def shown(self) -> DepartingLog:
        """It as people see it: without what one is known by at a git host."""
        return self._replace(where=hide_login(self.where))


class OwnLog(NamedTuple):
    """This device, and how far its log has come."""

    device: str
    name: str
    places: tuple[LogPlace, ...] = ()
    number: int = 0  # of the last file that was written
    digest: str = ""  # of that file
    since: int = 1  # the first file that is still needed
    # going through all memories once: the last id, "" at the beginning; None: it is done
    full_after: str | None = None
    # it tells what was told before once more, as it is now: others may have altered it
    tells_again: bool = False
    # a snapshot that is being written: its first number, and the last id; 0: none is
    snapshot: int = 0
    snapshot_after: str = ""
    # the last file of the last snapshot, or of going through all memories; 0: none
    snapshot_end: int = 0
    # the first file of that, if all that is before it is told again in it
    told_from: int = 0
    must_compact: bool = False  # something was purged that stands in older files
    # (in the logs, here) of spaces that are called otherwise on other machines
    spaces: tuple[tuple[str, str], ...] = ()
    is_sealed: bool = False  # without its keys nothing is written
    # what this home wrote before it was sealed, which is taken away where it still lies
    open_logs: tuple[OpenLog, ...] = ()
    # spaces whose talk, and that of those below, is told too; and the last event looked at for it
    talk: tuple[str, ...] = ()
    talk_after: int = 0
    # numbers that this home had before: its former logs, as of a home that was copied
    former: tuple[str, ...] = ()
    # what is to be taken away once the own log tells all that is here (`departure`)
    departing: tuple[DepartingLog, ...] = ()
    # devices whose talk the own log tells instead of theirs
    carried: tuple[str, ...] = ()

    @property
    def has_all_memories(self) -> bool:
        """True if all memories have been gone through."""
        return self.full_after is None

    @property
    def is_whole(self) -> bool:
        """True if the log is not being written anew, and need not be."""
        return self.has_all_memories and not self.snapshot and not self.must_compact

    @property
    def last_told(self) -> int:
        """The last file of the last time that the log told all."""
        return self.snapshot_end or self.since - 1

    @property
    def relays(self) -> bool:
        """True if what came from others is told too: to those at another place, or in the stead of
        a log that is taken away.
        """
        return len(self.places) > 1 or bool(self.departing)


class Waiting(NamedTuple):
    """What is to be written into the own log."""

    ids: tuple[str, ...] = ()
    # what was only used: it goes with the next of the others, or after a while
    used: tuple[str, ...] = ()
    since: float = 0.0  # when the first of `used` was
    gone: tuple[str, ...] = ()  # numbers of memories that were purged
    said: tuple[str, ...] = ()  # keys of what was said in sessions


class KnownMarks(NamedTuple):
    """The marks of a memory here."""

    marks: Marks
    is_told: bool = False  # it stands in the own log


def load_own(store: Store) -> OwnLog | None:
    """This device; None if the home is in step with no others."""
    values = json.loads(store.meta(DEVICE_META) or "null")
    if values is None:
        return None
    places = tuple(LogPlace(**one) for one in values.pop("places", ()))
    known = {name: value for name, value in values.items() if name in OwnLog._fields}
    known["spaces"] = tuple((there, here) for there, here in known.get("spaces", ()))
    known["open_logs"] = tuple(OpenLog(*one) for one in known.get("open_logs", ()))
    known["talk"] = tuple(known.get("talk", ()))
    known["former"] = tuple(known.get("former", ()))
    known["carried"] = tuple(known.get("carried", ()))
    known["departing"] = tuple(
        DepartingLog(device, name, kind, where, tuple(left))
        for device, name, kind, where, left in known.get("departing", ())
    )
    return OwnLog(**known, places=places)


def save_own(store: Store, own: OwnLog | None) -> None:
    """Keep how far the own log has come; None: there is none any more."""
    values: dict[str, Any] | None = None
    if own is not None:
        values = {**own._asdict(), "places": [place._asdict() for place in own.places]}
    store.set_meta(DEVICE_META, json.dumps(values) if values else "")


def load_peers(store: Store) -> dict[str, PeerLog]:
    """The other devices."""
    listed = json.loads(store.meta(PEERS_META) or "[]")
    return {one["device"]: PeerLog(**one) for one in listed}


def save_peers(store: Store, peers: Iterable[PeerLog]) -> None:
    """Keep what is known of the other devices."""
    store.set_meta(PEERS_META, json.dumps([peer._asdict() for peer in peers]))


def list_known(store: Store, own: OwnLog) -> list[tuple[str, int]]:
    """(device, number of its last file) that are known here, this device's own among them."""
    found = {device: peer.last for device, peer in load_peers(store).items()}
    return sorted((found | {own.device: own.number}).items())


def load_waiting(store: Store) -> Waiting:
    """What is to be written into the own log."""
    values: dict[str, Any] = json.loads(store.meta(WAITING_META) or "{}")
    lists = {name: tuple(values.get(name, ())) for name in ("ids", "used", "gone", "said")}
    return Waiting(**lists, since=float(values.get("since", 0.0)))


def save_waiting(store: Store, waiting: Waiting) -> None:
    """Keep what is to be written into the own log."""
    store.set_meta(WAITING_META, json.dumps(waiting._asdict()))


def end_departure(store: Store, done: DepartingLog) -> None:
    """Note that a machine's files are gone from a place; after the last one it is forgotten."""
    with store.transaction():
        own = load_own(store)
        if own is None:
            return
        left = tuple(one for one in own.departing if one != done)
        save_own(store, own._replace(departing=left))
        if done.device not in {one.device for one in left}:
            peers = load_peers(store)
            peers.pop(done.device, None)
            save_peers(store, peers.values())


def load_links(store: Store) -> dict[str, list[str]]:
    """Memories that are not here yet, with those that have edges to them."""
    found: dict[str, list[str]] = json.loads(store.meta(LINKS_META) or "{}")
    return found


def save_links(store: Store, links: dict[str, list[str]]) -> None:
    """Keep which edges wait for their end."""
    store.set_meta(LINKS_META, json.dumps(links))


def load_conflicts(store: Store) -> list[tuple[str, str, float]]:
    """(memory, the one with the other words, when) of texts that were revised on two devices."""
    return [(a, b, at) for a, b, at in json.loads(store.meta(CONFLICTS_META) or "[]")]


def note_conflicts(store: Store, pairs: Iterable[tuple[str, str]], now: float) -> None:
    """Name further texts that were revised on two devices."""
    fresh = list(pairs)
    if fresh:
        known = [one for one in load_conflicts(store) if (one[0], one[1]) not in fresh]
        found = [*known, *((a, b, now) for a, b in fresh)]
        store.set_meta(CONFLICTS_META, json.dumps(found[-MAX_CONFLICTS:]))


def drop_conflicts(store: Store, ids: set[str]) -> None:
    """Name these memories no longer."""
    known = load_conflicts(store)
    left = [one for one in known if not {one[0], one[1]} & ids]
    if left != known:
        store.set_meta(CONFLICTS_META, json.dumps(left))


def load_marks(store: Store, id: str) -> KnownMarks | None:
    """The marks of a memory; None if it is in no log yet."""
    written = store.meta(MARKS_META + number_of(id))
    if not written or written == GONE:
        return None
    values = json.loads(written)
    return KnownMarks(marks_from_json(values["marks"]), bool(values.get("told")))


def save_marks(store: Store, id: str, known: KnownMarks) -> None:
    """Keep the marks of a memory."""
    values: dict[str, Any] = {"marks": marks_to_json(known.marks)}
    if known.is_told:
        values["told"] = 1
    text = json.dumps(values, separators=(",", ":"))
    store.set_meta(MARKS_META + number_of(id), text)


def is_gone(store: Store, number: str) -> bool:
    """True if a memory was purged, here or on another device."""
    return store.meta(MARKS_META + number) == GONE


def note_gone(store: Store, number: str) -> None:
    """Keep in mind that a memory was purged: it never comes back."""
    if not is_gone(store, number):
        store.set_meta(MARKS_META + number, GONE)
        store.set_meta(GONE_META, json.dumps([*list_gone(store), number]))


def list_gone(store: Store) -> list[str]:
    """The numbers of memories that were purged since the home is in step with others."""
    found: list[str] = json.loads(store.meta(GONE_META) or "[]")
    return found
