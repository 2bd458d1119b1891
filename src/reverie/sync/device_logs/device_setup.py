"""Adding and removing places, and how things stand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reverie.core.age_sealing import load_age
from reverie.core.config import ME, Settings
from reverie.core.errors import BadInput, NotFound, ServerAway, Unauthenticated
from reverie.core.model import UNDECIDED_RELATIONS
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store
from reverie.sync.credentials import load_place_key, save_place_key
from reverie.sync.device_logs.batch_file import key_file_owner, owner_of
from reverie.sync.device_logs.home_keys import load_keys
from reverie.sync.device_logs.key_exchange import is_able_to_accept
from reverie.sync.device_logs.log_folder import FOLDER as LOG_FOLDER
from reverie.sync.device_logs.log_folder import LogFolder, PlaceAway
from reverie.sync.device_logs.log_reading import count_missing
from reverie.sync.device_logs.log_state import (
    CURSOR,
    FOLDER,
    GIT,
    SERVER,
    DepartingLog,
    LogPlace,
    OpenLog,
    OwnLog,
    end_departure,
    hide_login,
    load_conflicts,
    load_own,
    load_peers,
    save_own,
    save_peers,
)
from reverie.sync.device_logs.log_step import (
    is_written_here,
    new_device,
    renew_log,
    visit_place,
)
from reverie.sync.device_logs.own_log import count_waiting
from reverie.sync.device_logs.pairing import (
    PairingState,
    describe_pairing,
    start_ring,
    start_waiting,
)
from reverie.sync.device_logs.sealer import LIES_OPEN
from reverie.sync.device_logs.space_names import find_namesakes
from reverie.sync.server_client import ServerClient, parse_server_url

GIT_ADDRESS = re.compile(
    r"\A(?:(?:ssh|git|file|git\+\w+)://.+|[\w.-]+@[\w.-]+:.+|https?://.+\.git/?)"
)

TALK = "talk"
CODE_IS_LOCAL = (
    "The index of code is made from the files, so each machine makes its own by itself. What was "
    "learned about code is memory, and is on all machines as it is"
)
SEALED_HERE = "The logs of this memory are sealed. Leave --plain away"
SEALED_THERE = "The logs that lie there are sealed. Leave --plain away, and this machine is paired"
OPEN_HERE = (
    "The logs that lie there are sealed, and those of this memory, which go to other places too, "
    "are not. First: reverie sync remove PLACE, for each that reverie sync status names"
)
KEYS_LOST = (
    "The keys of this memory's sealed logs are gone, and no paired machine has put its own at "
    "{where}. Bring the file device-keys back from a copy, or first: reverie sync remove PLACE, "
    "for {others}"
)
OPEN_FOR_SERVER = (
    "A server only keeps what is sealed, and the logs of this memory, which go to other places "
    "too, are not. First: reverie sync remove PLACE, for each that reverie sync status names"
)
ALWAYS_SEALED = "A server only keeps what is sealed. Leave --plain away"
LOGGED_IN_TOO = (
    "You are logged in to {url} too: what is private would go there unsealed from then on. "
    "First: reverie logout"
)
OPEN_THERE = (
    "The logs that lie there are not sealed, and those of this memory are. Name an empty folder"
)


class OtherDevice(NamedTuple):
    """Another device, as far as it is known here."""

    device: str
    name: str = ""
    seen_at: float = 0.0  # when something of it was read last, by the clock here
    wrote_at: float = 0.0  # when it wrote that, by its own clock
    files: int = 0  # that were read
    missing: int = 0  # files that have not arrived though later ones have
    troubles: tuple[str, ...] = ()
    open_files: int = 0  # that whoever has a sealed place can read; they are not read here


class AddedPlace(NamedTuple):
    """A place that was added."""

    kind: str
    where: str
    is_sealed: bool = False
    # of the first device of a sealed place, told this one time: whoever has it can read everything
    recovery: str = ""
    code: str = ""  # by which this device asks to be paired; "" if it need not

    def __repr__(self) -> str:
        """Without the keys: what is shown or logged by mistake must not give them away."""
        return f"AddedPlace({self.where!r})"


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
    pairing: PairingState | None = None  # None: the logs are not sealed
    # what this machine wrote before it was sealed may lie open still: it waits to be paired
    has_open_log: bool = False
    talk: tuple[str, ...] = ()  # spaces whose talk is told too, with those below
    # files of machines that are to be taken away from a place
    departing: tuple[DepartingLog, ...] = ()


def is_git_address(where: str) -> bool:
    """True for the address of a git repository, or a bare one in a folder."""
    path = Path(where).expanduser()
    is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
    return is_bare or (not path.exists() and GIT_ADDRESS.fullmatch(where) is not None)


def is_server_address(where: str) -> bool:
    """True for the address of a server, which no git repository has."""
    return where.startswith(("https://", "http://")) and not is_git_address(where)


def prepare_server(work: WorkContext, where: str, key: str) -> LogPlace:
    """A server that is to keep sealed files, with its key checked and kept; Unauthenticated without
    one.
    """
    load_age()
    url, home = parse_server_url(where).url, work.settings.home
    known = key.strip() or load_place_key(home, url) or find_place_key(work.settings, url)
    client = ServerClient(url, known)
    try:
        if not client.whoami().get("user"):
            raise ServerAway(
                f"{url} does not say whose key this is: it is no server of this version"
            )
        client.list_files()
    except Unauthenticated as err:
        raise Unauthenticated(
            f"{url} does not accept this key. Check that it was copied whole; it may also have "
            f"been revoked or have run out. To get a new one: reverie sync add {url} --sealed"
        ) from err
    finally:
        client.close()
    save_place_key(home, url, known)
    return LogPlace(SERVER, url)


def find_place_key(settings: Settings, url: str) -> str:
    """The key that the home, or the environment, has to a server; Unauthenticated without one."""
    from reverie.sync.team_server import find_key

    try:
        return find_key(settings, url)
    except Unauthenticated as err:
        raise Unauthenticated(
            f"There is no key to {url} here. Log in: reverie sync add {url} --sealed"
        ) from err


def add_place(
    work: WorkContext,
    where: str,
    name: str,
    *,
    sealed: bool | None = None,
    key: str = "",
) -> AddedPlace:
    """Be in step through a folder, a git repository or a server from now on; BadInput for what is
    none of them. `key` is that to the server, which keeps only what is sealed.

    A new place is sealed if `sealed`, another one as what lies there; BadInput if it is not as it
    is wanted. Added again, all that lies there is read again.
    """
    if is_server_address(where):
        if sealed is False:
            raise BadInput(ALWAYS_SEALED)
        place, sealed = prepare_server(work, where, key), True
    else:
        place = make_place(where, work.settings.home)
    own = begin_log(work.store, name)
    added = seal_place(work, own, place, sealed=sealed)
    if place.kind == SERVER and not added.is_sealed:
        raise BadInput(OPEN_FOR_SERVER)
    keep_place(work.store, own, place, is_sealed=added.is_sealed)
    return added


def begin_log(store: Store, name: str) -> OwnLog:
    """The own log of a home, which begins now if there is none."""
    with store.transaction():
        own = load_own(store)
        if own is None:
            store.advance(CURSOR, store.last_event())
            own = OwnLog(new_device(), name)
            save_own(store, own)
    return own


def keep_place(store: Store, own: OwnLog, place: LogPlace, *, is_sealed: bool) -> None:
    """Have all told at a place from now on, and all read that lies there."""
    with store.transaction():
        own = load_own(store) or own
        rest = [one for one in own.places if (one.kind, one.where) != (place.kind, place.where)]
        # With another place, what others told goes there too.
        save_own(
            store,
            own._replace(
                places=(*rest, place),
                full_after="",
                tells_again=own.tells_again or bool(rest),
                is_sealed=is_sealed,
                talk_after=0,
            ),
        )
        save_peers(store, ())


def seal_place(
    work: WorkContext,
    own: OwnLog,
    place: LogPlace,
    *,
    sealed: bool | None,
) -> AddedPlace:
    """Make the keys that a place needs, or ask for them."""
    home, keys = work.settings.home, load_keys(work.settings.home)
    is_lost = own.is_sealed and keys is None
    if is_lost:
        load_age()
    lies = look_at(place, own, home, must_reach=is_lost or (bool(sealed) and keys is None))
    others = [one for one in own.places if (one.kind, one.where) != (place.kind, place.where)]
    added = AddedPlace(place.kind, place.shown().where, is_sealed=own.is_sealed)
    if own.is_sealed and (sealed is False or lies.is_open):
        raise BadInput(SEALED_HERE if sealed is False else OPEN_THERE)
    if keys is not None:
        is_alone = keys.ring is not None and len(keys.ring.devices) == 1 and not others
        # A machine there that only asks, or that was removed, has nothing to give in their stead.
        can_accept = any(is_able_to_accept(keys, own, *shown) for shown in lies.key_files.items())
        if is_alone and can_accept:
            return added._replace(code=start_waiting(work, renew_log(work, own)))
        return added._replace(code=keys.code)
    if lies.key_files:
        if sealed is False or (others and not is_lost):
            raise BadInput(SEALED_THERE if sealed is False else OPEN_HERE)
        return added._replace(is_sealed=True, code=start_waiting(work, seal_log(work)))
    if is_lost and others:
        listed = ", ".join(one.shown().where for one in others)
        raise BadInput(KEYS_LOST.format(where=added.where, others=listed))
    if not is_lost and (not sealed or lies.is_open or others):
        return added
    return added._replace(is_sealed=True, recovery=start_ring(work, seal_log(work)))


def seal_log(work: WorkContext) -> OwnLog:
    """Write nothing in the open from now on, and have what was written so taken away once the
    sealed log tells it. Comes before the keys are made: until then nothing is written at all.
    """
    load_age()
    with work.store.transaction():
        own = load_own(work.store)
        if own is None:
            raise BadInput("First name the folder or repository: reverie sync add PLACE")
        before = OpenLog(own.device, own.number, own.digest)
        open_logs = own.open_logs if own.is_sealed or not own.number else (*own.open_logs, before)
        sealed = own._replace(is_sealed=True, open_logs=open_logs)
        save_own(work.store, sealed)
        # With other keys a device has another number: the others know one key for each.
        return renew_log(work, sealed) if own.number or own.is_sealed else sealed


class FoundThere(NamedTuple):
    """What other devices have put at a place."""

    key_files: Mapping[str, bytes] = {}  # by device
    is_open: bool = False  # logs that nobody sealed


def look_at(place: LogPlace, own: OwnLog, home: Path, *, must_reach: bool) -> FoundThere:
    """What other devices have put at a place; nothing if it cannot be reached and need not be."""
    try:
        with visit_place(place, own, home) as there:
            found = there.sizes()
            mine = [OpenLog(own.device, own.number, own.digest), *own.open_logs]
            written = {log.device for log in mine if is_written_here(log, there, found)}
            names = [name for name in found if owner_of(name) not in written]
            key_files = {
                device: there.read(name) for name in names if (device := key_file_owner(name))
            }
    except PlaceAway:
        if must_reach:
            raise
        return FoundThere()
    return FoundThere(key_files, bool(names) and not key_files)


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


def remove_place(store: Store, home: Path, where: str) -> LogPlace:
    """Be in step through a place no longer; NotFound if it is none. What lies there stays, and so
    does what is here; the key to a server is forgotten.
    """
    with store.transaction():
        own = load_own(store)
        places = own.places if own else ()
        wanted = {where, str(Path(where).expanduser().absolute())}
        wanted |= {f"{one}/{LOG_FOLDER}" for one in wanted}
        if is_server_address(where):
            wanted.add(parse_server_url(where).url)
        found = next((one for one in places if {one.where, one.shown().where} & wanted), None)
        if own is None or found is None:
            listed = ", ".join(one.shown().where for one in places) or "none"
            raise NotFound(
                f"{hide_login(where)} is no place of your devices' logs. There are: {listed}. See: "
                "reverie sync status"
            )
        if found.kind == SERVER and account_url(store) == found.where:
            raise BadInput(LOGGED_IN_TOO.format(url=found.where))
        left = tuple(one for one in places if one != found)
        save_own(store, own._replace(places=left))
        for log in own.departing:
            if (log.kind, log.where) == (found.kind, found.where):
                end_departure(store, log)
    if found.kind == SERVER:
        save_place_key(home, found.where, "")
    return found.shown()


def account_url(store: Store) -> str:
    """The server that the home is logged in to; "" for none."""
    from reverie.sync.sync_state import load_account

    account = load_account(store)
    return account.url if account else ""


def describe_devices(store: Store, home: Path) -> DevicesStatus | None:
    """How this home stands with the other devices; None if it is in step with none."""
    own = load_own(store)
    if own is None:
        return None
    pairing = describe_pairing(store, home)
    others = (
        OtherDevice(
            peer.device,
            peer.name,
            peer.seen_at,
            peer.wrote_at,
            peer.upto + len(peer.beyond),
            count_missing(peer),
            tuple(why for why in peer.troubles.values() if LIES_OPEN not in why),
            sum(LIES_OPEN in why for why in peer.troubles.values()),
        )
        for peer in load_peers(store).values()
    )
    return DevicesStatus(
        own.device,
        own.name,
        tuple(place.shown() for place in own.places),
        tuple(sorted(others)),
        count_waiting(store),
        list_open_conflicts(store),
        tuple(find_namesakes(store)),
        pairing,
        bool(own.open_logs and pairing and pairing.code),
        own.talk,
        tuple(one.shown() for one in own.departing),
    )


def include_talk(work: WorkContext, space: str, what: Sequence[str]) -> tuple[str, ...]:
    """Tell the talk of a space and those below it too, or no longer if `what` is empty; the spaces
    whose talk is told. BadInput for what cannot be told.
    """
    if "code" in what:
        raise BadInput(CODE_IS_LOCAL)
    if unknown := [one for one in what if one != TALK]:
        raise BadInput(f"{unknown[0]!r} cannot be included. There is: {TALK}")
    if space.partition("/")[0] != ME:
        raise BadInput(f"{space} is none of yours. Name me, or one such as me/demo")
    with work.store.transaction():
        own = load_own(work.store)
        if own is None:
            raise BadInput("This memory is in step with no other machine: reverie sync add FOLDER")
        talk = {one for one in own.talk if one != space} | ({space} if what else set())
        # What was told and is to be told no longer leaves the log with the next snapshot.
        ends = space in own.talk and not what
        save_own(
            work.store,
            own._replace(
                talk=tuple(sorted(talk)),
                talk_after=0 if what else own.talk_after,
                must_compact=own.must_compact or ends,
            ),
        )
    return tuple(sorted(talk))


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
