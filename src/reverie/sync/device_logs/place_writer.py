"""Bringing what lies of a home at a place in step with the home: its keys, and its own log.

What a place is shown is whole in the home before, so whatever is interrupted here is done at the
next visit. In a place that is full room is made, in this order: what a snapshot stands for goes;
the log is written anew where that makes it smaller; and, where the user said so just now, the
files of a machine that is gone give way to the log that tells what they told. Where it does not
fit even so, they are put there again.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.pipeline.event_reader import WorkContext
from reverie.sync.device_logs.batch_file import LogName, owner_of
from reverie.sync.device_logs.home_keys import list_wanted
from reverie.sync.device_logs.key_exchange import show_keys
from reverie.sync.device_logs.log_folder import Place, PlaceFull
from reverie.sync.device_logs.log_reading import PeerLog, group_by_device
from reverie.sync.device_logs.log_state import (
    FOLDER,
    DepartingLog,
    LogPlace,
    OwnLog,
    end_departure,
    load_own,
    load_peers,
    save_own,
)
from reverie.sync.device_logs.own_log import OwnLogWriter, has_slack, own_sizes

STILL_FULL = (
    "{where} is full, and would be without the files of {names} too, which therefore stay: make "
    "room there, and they are taken away"
)


class PlaceWriter:
    """Writes for one home at one place, which was opened. `more`: a further step does more there,
    at once.
    """

    def __init__(
        self, work: WorkContext, writer: OwnLogWriter, place: LogPlace, there: Place
    ) -> None:
        self.work, self.store = work, work.store
        self.writer, self.files = writer, writer.files
        self.place, self.there = place, there
        self.more = False

    def show(self, own: OwnLog, sizes: dict[str, int], *, is_asked: bool) -> None:
        """Show the place this home's keys and log, of which `sizes` lie there; CannotShow if it
        takes them not, though it was made as empty as this machine can.

        `is_asked`: by the user, just now. Then files of the right size in a folder are looked into,
        which may be damaged, and those of a machine that is gone make room.
        """
        reads = is_asked and self.place.kind == FOLDER
        try:
            return self._write(own, sizes, reads=reads)
        except PlaceFull as err:
            full = err
        if self._remove_superseded(own, sizes):
            # The snapshot that stands for them is whole in the home, and comes in their place.
            self.there.finish()
            sizes = self.there.sizes()
            try:
                return self._write(own, sizes)
            except PlaceFull as err:
                full = err
        if self._is_compacting():
            self.more = True
        elif is_asked and (leaving := self._list_leaving(sizes := self.there.sizes())):
            self._write_instead(own, sizes, leaving)
        else:
            raise full
        return None

    def erase_departed(self) -> None:
        """Take away what is to go from the place, if the own log lies there whole and tells all."""
        own = load_own(self.store)
        if own is None or not own.departing:
            return
        sizes, mine = self.there.sizes(), own_sizes(self.files, own)
        if all(sizes.get(LogName(own.device, n).text) == size for n, size in mine.items()):
            self._erase(self._list_leaving(sizes))

    def _write(self, own: OwnLog, sizes: dict[str, int], *, reads: bool = False) -> None:
        """Show the keys, then what of the own log lies there otherwise or not at all, and take away
        what it no longer has; `reads`: files of the right size are looked into.
        """
        show_keys(self.work.settings.home, own, self.there, sizes)
        written = False
        for number, size in sorted(own_sizes(self.files, own).items()):
            name = LogName(own.device, number).text
            is_other = sizes.get(name) != size
            if is_other or (reads and self.there.read(name) != self.files.read(name)):
                self.there.write(name, self.files.read(name))
                written = True
        if self._remove_superseded(own, sizes) or written:
            self.there.finish()

    def _remove_superseded(self, own: OwnLog, sizes: dict[str, int]) -> bool:
        """Take away the files of the own log in whose stead a snapshot lies in the home; whether
        there were any.
        """
        numbers = group_by_device(sizes).get(own.device, ())
        needless = [LogName(own.device, number).text for number in numbers if number < own.since]
        for name in needless:
            self.there.remove(name)
        return bool(needless)

    def _is_compacting(self) -> bool:
        """True if the own log is being written anew, or is to be from now on since it would take
        less room then.
        """
        with self.store.transaction():
            own = load_own(self.store)
            if own is None:
                return False
            if not own.has_all_memories:
                # What tells all once more is followed by a snapshot where that is smaller.
                return own.tells_again
            if own.is_whole:
                if not has_slack(self.files, own):
                    return False
                save_own(self.store, own._replace(must_compact=True))
        return True

    def _list_leaving(self, sizes: dict[str, int]) -> list[DepartingLog]:
        """What may go from the place by now: the own log in the home tells all, and nothing lies
        there that was not read, but for what the user knows of.
        """
        own = load_own(self.store)
        if own is None or not own.departing or not self.writer.has_told_all():
            return []
        peers, numbers = load_peers(self.store), group_by_device(sizes)
        found = []
        for log in own.departing:
            peer = peers.get(log.device) or PeerLog(log.device)
            unread = list_wanted(self.work.settings.home, peer, numbers.get(log.device, ()))
            is_here = (log.kind, log.where) == (self.place.kind, self.place.where)
            if is_here and set(unread) <= set(log.left):
                found.append(log)
        return found

    def _erase(self, leaving: Sequence[DepartingLog]) -> None:
        """Take away the files of machines, which is then done."""
        for log in leaving:
            self.there.erase_log(log.device)
            end_departure(self.store, log)

    def _write_instead(
        self, own: OwnLog, sizes: dict[str, int], leaving: Sequence[DepartingLog]
    ) -> None:
        """Show keys and log in the room of files that are to go; PlaceFull, with those put there
        again, if they do not fit.
        """
        gone = {log.device for log in leaving}
        before = {name: self.there.read(name) for name in sizes if owner_of(name) in gone}
        for device in gone:
            self.there.erase_log(device)
        try:
            self._write(own, self.there.sizes())
        except BaseException as err:
            for name in self.there.sizes().keys() - sizes.keys():
                # What another machine has put there meanwhile is none of ours.
                if owner_of(name) == own.device:
                    self.there.remove(name)
            for name, data in before.items():
                self.there.write(name, data)
            self.there.finish()
            if not isinstance(err, PlaceFull):
                raise
            names = ", ".join(log.name for log in leaving)
            raise PlaceFull(STILL_FULL.format(where=self.place.shown().where, names=names)) from err
        self._erase(leaving)
