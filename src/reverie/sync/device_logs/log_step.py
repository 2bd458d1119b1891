"""One bounded piece of bringing a home in step with the user's other devices.

What waits is written into the own log, shown at every place, and what others wrote there is taken
in. One process at a time does it, by a lease. A place that cannot be reached is noted as trouble
and tried again after a while that grows; nobody waits for it, and the other places go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from reverie.core import clock
from reverie.core.errors import CannotOpen, ReverieError, StoreBusy, StoreError
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import hold_lease
from reverie.sync.device_logs.batch_file import (
    DamagedFile,
    HalfArrived,
    LogBatch,
    LogName,
    digest_file,
    owner_of,
    read_batch,
)
from reverie.sync.device_logs.home_keys import KEYS_GONE, is_waiting, load_keys
from reverie.sync.device_logs.key_exchange import exchange_keys
from reverie.sync.device_logs.log_folder import (
    CannotShow,
    LogFolder,
    Place,
    PlaceAway,
    own_folder,
)
from reverie.sync.device_logs.log_reading import (
    PeerLog,
    group_by_device,
    is_out_of_chain,
    is_rolled_back,
    list_unread,
    note_trouble_of,
)
from reverie.sync.device_logs.log_state import (
    CURSOR,
    FOLDER,
    GIT,
    SERVER,
    LogPlace,
    OpenLog,
    OwnLog,
    load_own,
    load_peers,
    save_own,
    save_peers,
)
from reverie.sync.device_logs.own_log import OwnLogWriter, own_sizes
from reverie.sync.device_logs.place_writer import PlaceWriter
from reverie.sync.device_logs.sealer import PlainSealer, Sealer
from reverie.sync.device_logs.take_in import Intake, Purge
from reverie.sync.device_logs.talk import drop_erasing, load_erasing
from reverie.sync.sync_step import pause_after

LEASE, LEASE_SECONDS = "devices", 120.0  # renewed at each file
BUSY = "Another process brings this memory in step just now"
FILES_PER_STEP = 50
# Seconds after which a folder is gone through though nothing in it has changed.
FOLDER_SECONDS = 60.0
MAX_FORMER = 20  # numbers that a home had before
KEYS = "keys"  # where trouble with a device's keys is noted
ROLLED_BACK = "its log ends before what was read of it: an older copy was put there"
Tell = Callable[[str, int, int | None], None]  # stage, done, total


class DeviceReport(NamedTuple):
    """What a step did."""

    written: int = 0  # entries
    new: int = 0
    revised: int = 0
    purged: int = 0
    conflicts: tuple[tuple[str, str], ...] = ()
    troubles: tuple[str, ...] = ()
    more: bool = False  # something is left to do at once

    def plus(self, step: DeviceReport) -> DeviceReport:
        """The sum with a further step; whether there is more, it says."""
        return DeviceReport(
            self.written + step.written,
            self.new + step.new,
            self.revised + step.revised,
            self.purged + step.purged,
            tuple(dict.fromkeys((*self.conflicts, *step.conflicts))),
            tuple(dict.fromkeys((*self.troubles, *step.troubles))),
            step.more,
        )

    def __bool__(self) -> bool:
        """True if anything was done."""
        return bool(self.written or self.new or self.revised or self.purged)


class DeviceWork(NamedTuple):
    """What keeping devices in step works with."""

    work: Callable[[], WorkContext]
    purge: Purge
    sealer: Sealer = PlainSealer()
    # erases for good what was only said
    purge_said: Purge = tuple
    # every place is gone to, and what was only used is written at once
    everywhere: bool = False
    patience: float = 0.0  # seconds to wait for another process that is at it


def open_place(place: LogPlace, own: OwnLog, home: Path) -> Place:
    """A place by its row."""
    if place.kind == GIT:
        from reverie.sync.device_logs.git_place import GitPlace

        return GitPlace(place.where, own.device, home)
    if place.kind == SERVER:
        from reverie.sync.device_logs.server_place import ServerPlace

        return ServerPlace(place.where, home)
    return LogFolder(Path(place.where))


@contextmanager
def visit_place(place: LogPlace, own: OwnLog, home: Path) -> Iterator[Place]:
    """A place, opened; PlaceAway if it cannot be reached. It is let go of at the end."""
    there = open_place(place, own, home)
    try:
        there.open()
        yield there
    finally:
        there.close()


class PlaceWatch:
    """Says when it is time to be in step, without writing anything."""

    def __init__(self) -> None:
        self._looks: dict[str, dict[str, int]] = {}

    def is_due(self, work: WorkContext) -> bool:
        """True if a folder is not as it was, something was changed here, or a place was not looked
        at for its time.
        """
        own = load_own(work.store)
        if own is None or not own.places:
            return False
        near = [one for one in own.places if one.kind == FOLDER and not one.fails]
        has_changed = [self._has_changed(place) for place in near]
        if any(has_changed) or any(is_place_due(work, own, place) for place in own.places):
            return True
        return bool(near) and has_news(work)

    def _has_changed(self, place: LogPlace) -> bool:
        try:
            look = LogFolder(Path(place.where)).sizes()
        except PlaceAway:
            return False
        before, self._looks[place.where] = self._looks.get(place.where), look
        return look != before


def is_place_due(work: WorkContext, own: OwnLog, place: LogPlace) -> bool:
    """True if a place was not looked at for its time."""
    is_remote = place.kind in (GIT, SERVER) and "://" in place.where
    if work.settings.offline and is_remote:
        return False
    waited = abs(work.now - place.tried_at)
    if place.fails:
        return waited >= pause_after(place.fails, own.device)
    return waited >= (FOLDER_SECONDS if place.kind == FOLDER else work.settings.sync_every)


def has_news(work: WorkContext) -> bool:
    """True if something waits to be written into the own log, or was changed here."""
    if is_waiting(work.settings.home):
        return False
    if work.store.changes_after(work.store.cursor(CURSOR)):
        return True
    return OwnLogWriter(work, own_folder(work.settings.home), PlainSealer()).has_news()


def sync_devices(
    job: DeviceWork,
    *,
    rounds: int = 1_000_000,
    within: float = float("inf"),
    tell: Tell | None = None,
) -> DeviceReport:
    """Write, show and take in until all is in step as far as can be, or so many rounds or seconds
    are over.
    """
    done, end = DeviceReport(), clock.ticks() + within
    for _ in range(rounds):
        step = run_device_step(job)
        done = done.plus(step)
        if tell is not None:
            tell("syncing", done.written + done.new + done.revised, None)
        if not step.more or clock.ticks() > end:
            break
    return done


def run_device_step(job: DeviceWork) -> DeviceReport:
    """Write what waits, then look at each place once."""
    work = job.work()
    own = load_own(work.store)
    if own is None:
        return DeviceReport()
    if own.is_sealed and load_keys(work.settings.home) is None:
        return DeviceReport(troubles=(KEYS_GONE,))
    try:
        with hold_lease(
            work.store,
            LEASE,
            lambda: job.work().now,
            BUSY,
            seconds=LEASE_SECONDS,
            patience=job.patience,
        ) as renew:
            return DeviceStep(job, work, renew).run()
    except StoreBusy as err:
        return DeviceReport(troubles=(str(err),))


class DeviceStep:
    """One step, while nobody else is at it."""

    def __init__(self, job: DeviceWork, work: WorkContext, renew: Callable[[], bool]) -> None:
        self.job, self.work, self.store = job, work, work.store
        self.renew = renew
        self.files = own_folder(work.settings.home)
        self.writer = OwnLogWriter(work, self.files, job.sealer)
        self.done = DeviceReport()

    def run(self) -> DeviceReport:
        """Write, show, take in."""
        # A purge removes what lies in the home of logs and of places: not while one is open.
        self._finish_erasing()
        self.files.create()
        # Who has no keys yet can neither write nor read: it asks for them.
        is_written = not is_waiting(self.work.settings.home) and self._write()
        own = load_own(self.store)
        if own is None:
            return self.done
        for place in own.places:
            if self.job.everywhere or place.kind == FOLDER or is_place_due(self.work, own, place):
                self._visit(place, takes_in=is_written)
        self._finish_erasing()
        has_news = not is_waiting(self.work.settings.home) and self.writer.has_news()
        return self.done._replace(more=self.done.more or has_news)

    def _write(self) -> bool:
        """Write what waits; False if all memories have not been gone through yet."""
        for _ in range(FILES_PER_STEP):
            if not self.renew():
                break
            had_all = self._has_all_memories()
            written = self.writer.write_next(with_used=self.job.everywhere)
            self.done = self.done._replace(written=self.done.written + written)
            # A home without memories is gone through at once, and may have something else to say.
            if not written and had_all:
                break
        return self._has_all_memories()

    def _has_all_memories(self) -> bool:
        own = load_own(self.store)
        return own is not None and own.has_all_memories

    def _visit(self, place: LogPlace, *, takes_in: bool) -> None:
        """Show a place what is new, and take in what others wrote there."""
        own = load_own(self.store)
        if own is None:
            return
        trouble = ""
        try:
            with visit_place(place, own, self.work.settings.home) as there:
                writer = PlaceWriter(self.work, self.writer, place, there)
                if not self._exchange(own, writer, takes_in=takes_in):
                    return
                writer.erase_departed()
        except StoreError:
            raise
        except (ReverieError, OSError) as err:
            trouble = str(err)
            self._report(trouble)
        self._note_visit(place, trouble)

    def _exchange(
        self,
        own: OwnLog,
        writer: PlaceWriter,
        *,
        takes_in: bool,
    ) -> bool:
        """Show a place that was opened what is new, and take in what lies there; False if this
        home is another device from now on.
        """
        there = writer.there
        sizes = there.sizes()
        self._take_keys(own, there, sizes)
        if self._is_copied(own, there, sizes):
            # What the old log says is taken in as another's.
            renew_log(self.work, own)
            self.done = self.done._replace(more=True)
            return False
        refusal: CannotShow | None = None
        former = self._find_open_files(own, there, sizes)
        try:
            writer.show(own, sizes, is_asked=self.job.everywhere)
            if is_told_sealed(self.work, own):
                for device in sorted(set(former.values())):
                    there.erase_log(device)
        except CannotShow as err:
            refusal = err
        self.done = self.done._replace(more=self.done.more or writer.more)
        if takes_in:
            if own.departing:
                sizes = there.sizes()  # some of it may have made room
            others = {name: size for name, size in sizes.items() if name not in former}
            self._take_all(own, there, others)
        if refusal is not None:
            raise refusal
        return True

    def _take_keys(self, own: OwnLog, there: Place, sizes: dict[str, int]) -> None:
        """Take in what the others' key files say."""
        home = self.work.settings.home
        had_none = is_waiting(home)
        for device, trouble in exchange_keys(self.work, own, there, sizes).items():
            if trouble or device in load_peers(self.store):
                self._note(device, KEYS, trouble)
        if had_none and not is_waiting(home):
            self.done = self.done._replace(more=True)

    def _note_visit(self, place: LogPlace, trouble: str) -> None:
        """Keep when a place could be reached."""
        now = self.work.now
        with self.store.transaction():
            own = load_own(self.store)
            if own is None:
                return
            fails = place.fails + 1 if trouble else 0
            seen_at = place.seen_at if trouble else now
            looked = place._replace(seen_at=seen_at, tried_at=now, fails=fails, trouble=trouble)
            key = (place.kind, place.where)
            places = tuple(looked if (p.kind, p.where) == key else p for p in own.places)
            save_own(self.store, own._replace(places=places))

    def _is_copied(self, own: OwnLog, there: Place, sizes: dict[str, int]) -> bool:
        """True if another home writes this device's log too: one of them is a copy, or a backup
        was brought back.
        """
        numbers = group_by_device(sizes).get(own.device, [])
        ahead = [number for number in numbers if number > own.number]
        mine = own_sizes(self.files, own)
        others = [n for n in numbers if n in mine and mine[n] != sizes[LogName(own.device, n).text]]
        # After the two parted all files differ, though some by chance not in size.
        last = max((n for n in numbers if n in mine), default=0)
        name = LogName(own.device, last).text
        if last and not others and there.read(name) != self.files.read(name):
            others = [last]
        for number in (*ahead, *others):
            wanted = LogName(own.device, number)
            try:
                batch = read_batch(there.read(wanted.text), wanted, self.job.sealer)
            except (HalfArrived, DamagedFile, CannotOpen):
                continue
            if batch.head.device == own.device:
                return True
        return False

    def _find_open_files(self, own: OwnLog, there: Place, sizes: dict[str, int]) -> dict[str, str]:
        """The files that this home wrote at a place before it was sealed, with the number of its
        device then: they go once the sealed log tells it, and are not read here. What somebody else
        wrote under that number, as a copy of the home may have, is none of it.
        """
        is_told = is_told_sealed(self.work, own)
        found: dict[str, str] = {}
        for log in own.open_logs:
            names = [name for name in sizes if owner_of(name) == log.device]
            if names and (not is_told or is_written_here(log, there, names)):
                found |= dict.fromkeys(names, log.device)
        return found

    def _take_all(self, own: OwnLog, there: Place, sizes: dict[str, int]) -> None:
        """Take in what others wrote, as many files as a step may. Those that cannot be read do not
        count, however many there are: they hold up no other, and a step has an end.
        """
        peers = load_peers(self.store)
        left = FILES_PER_STEP
        for device, numbers in sorted(group_by_device(sizes).items()):
            if device == own.device:
                continue
            peer = peers.get(device) or PeerLog(device)
            self._note(device, "", ROLLED_BACK if is_rolled_back(peer, numbers) else "")
            for number in list_unread(peer, numbers):
                if left == 0:
                    self.done = self.done._replace(more=True)
                    return
                if not self.renew():
                    return
                left -= self._take_file(own, there, LogName(device, number))
                if not self.files.path.exists():
                    # A purge has removed what lies in the home of logs and of places.
                    self.done = self.done._replace(more=True)
                    return

    def _take_file(self, own: OwnLog, there: Place, name: LogName) -> bool:
        """Take in one file; False if that cannot be, and what is wrong with it is noted."""
        number = str(name.number)
        try:
            batch = read_batch(there.read(name.text), name, self.job.sealer)
        except HalfArrived:
            self._note(name.device, number, "")
            return False
        except (DamagedFile, CannotOpen, PlaceAway) as err:
            self._note(name.device, number, str(err))
            self._report(str(err))
            return False
        try:
            self._take(own, name, batch)
        except StoreError:
            raise
        except ReverieError as err:
            # One file that this Reverie cannot apply holds up no other.
            self._note(name.device, number, str(err))
            self._report(str(err))
            return False
        return True

    def _take(self, own: OwnLog, name: LogName, batch: LogBatch) -> None:
        peer = load_peers(self.store).get(name.device) or PeerLog(name.device)
        broken = is_out_of_chain(peer, batch)
        intake = Intake(self.work, self.job.purge, relays=own.relays)
        taken = intake.take(name.device, batch)
        if broken:
            self._note(
                name.device,
                str(name.number),
                f"{name.text} does not follow what was read before it: the log was written anew",
            )
        self.done = self.done.plus(
            DeviceReport(
                0,
                taken.new,
                taken.revised,
                taken.purged,
                taken.conflicts,
                taken.troubles,
                self.done.more,
            )
        )

    def _report(self, trouble: str) -> None:
        """Have the report of this step name what could not be done."""
        self.done = self.done.plus(DeviceReport(troubles=(trouble,), more=self.done.more))

    def _finish_erasing(self) -> None:
        """Purge the words that messages of other devices no longer hold."""
        texts = load_erasing(self.store)
        if texts:
            self.job.purge_said(texts)
            with self.store.transaction():
                drop_erasing(self.store, texts)

    def _note(self, device: str, where: str, why: str) -> None:
        """Keep what is wrong with a device's log."""
        peers = load_peers(self.store)
        peer = peers.get(device) or PeerLog(device)
        noted = note_trouble_of(peer, where, why)
        if noted != peer or device not in peers:
            peers[device] = noted
            save_peers(self.store, peers.values())


def is_told_sealed(work: WorkContext, own: OwnLog) -> bool:
    """True if all that a home told in the open before it was sealed stands in its sealed log."""
    if not own.open_logs or not own.is_sealed or is_waiting(work.settings.home):
        return False
    return own.is_whole


def is_written_here(log: OpenLog, there: Place, names: Iterable[str]) -> bool:
    """True if a log at a place ends as this home wrote it, or before."""
    ends = max(group_by_device(names).get(log.device, []), default=0)
    if not ends or ends < log.number:
        return True
    last = LogName(log.device, log.number).text
    return ends == log.number and digest_file(there.read(last)) == log.digest


def renew_log(work: WorkContext, own: OwnLog) -> OwnLog:
    """Begin the own log anew under another number, with a snapshot of all that it told."""
    with work.store.transaction():
        # What is in no log yet is still to be told, and spaces are called what they were.
        fresh = own._replace(
            device=new_device(),
            number=0,
            digest="",
            since=1,
            snapshot=0,
            snapshot_after="",
            snapshot_end=0,
            must_compact=True,
            former=(*own.former, own.device)[-MAX_FORMER:],
        )
        save_own(work.store, fresh)
    files = own_folder(work.settings.home)
    files.create()
    for name in files.sizes():
        if owner_of(name) == own.device:
            files.remove(name)
    return fresh


def new_device() -> str:
    """The number of a device that has written nothing yet."""
    return clock.new_key().hex()[:12]
