"""The same memory on several machines of one person: be in step through a folder or git."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reverie.memory.memory_validation import validate_space
from reverie.runtime.mind.data_verbs import DataVerbs
from reverie.runtime.mind.mind_context import MindContext, VerbGroup

if TYPE_CHECKING:
    from reverie.sync.device_logs.departure import DeviceFiles
    from reverie.sync.device_logs.device_setup import AddedPlace, DevicesStatus
    from reverie.sync.device_logs.log_state import LogPlace
    from reverie.sync.device_logs.log_step import DeviceReport, DeviceWork
    from reverie.sync.device_logs.pairing import PairedDevice, PairingState

PATIENCE = 30.0  # seconds to wait for the background when it is at the same work
SyncProgress = Callable[[str, int, int | None], None]


class DeviceVerbs(VerbGroup):
    """`mind.devices`: this memory on your other machines, through what moves between them."""

    def __init__(self, context: MindContext, data: DataVerbs) -> None:
        super().__init__(context)
        self._data = data

    def add(
        self,
        where: str,
        *,
        name: str = "",
        sealed: bool | None = None,
        key: str = "",
    ) -> AddedPlace:
        """Be in step through a folder that is carried to your other machines, a git repository, or
        a server (`https://…`) that keeps sealed files for you and can read none of them.

        `name` is what this machine is called on the others, by default its host name. `sealed`: a
        new place is for your paired devices' eyes alone (needs `reverie[sealed]`), and `recovery`
        is told this one time; one where others are already is as they made it, and where that is
        sealed, `code` is to be typed on one of them. `key` is that to the server, by default the
        one that this home has. Added again, all that lies there is read again.
        """
        import platform

        from reverie.sync.device_logs.device_setup import add_place

        name = name or platform.node() or "a machine"
        return add_place(self._work, where, name, sealed=sealed, key=key)

    def remove(self, where: str) -> LogPlace:
        """Be in step through a place no longer. Nothing is erased, here or there."""
        from reverie.sync.device_logs.device_setup import remove_place

        return remove_place(self._store, self._settings.home, where)

    def join_spaces(self, there: str, here: str | None = None) -> int:
        """Take a space that came from another machine for one of this one, by default that of the
        working directory: a project in another folder has another name. How many memories it had.
        """
        from reverie.sync.device_logs.space_names import join_spaces

        return join_spaces(self._work, there, self._resolve_space(here))

    def include(self, space: str, what: Sequence[str]) -> tuple[str, ...]:
        """Tell your other machines also the talk of a space and those below it (`["talk"]`), or no
        longer (`[]`); the spaces whose talk is told. By default none is.
        """
        from reverie.sync.device_logs.device_setup import include_talk

        return include_talk(self._work, validate_space(space), what)

    def sync(
        self,
        *,
        within: float = float("inf"),
        progress: SyncProgress | None = None,
    ) -> DeviceReport:
        """Write what was changed here for the others, and take in what they wrote, now.

        What could not be done is in `troubles`; what waits goes later.
        """
        from reverie.sync.device_logs.log_step import sync_devices

        self._flush()
        return sync_devices(
            self.job(everywhere=True, patience=PATIENCE), within=within, tell=progress
        )

    def status(self) -> DevicesStatus | None:
        """Which other machines were seen when, what waits, what was revised on two of them; None if
        this memory is in step with no other.
        """
        from reverie.sync.device_logs.device_setup import describe_devices

        return describe_devices(self._store, self._settings.home)

    def pairing(self) -> PairingState | None:
        """Who holds the keys of the sealed logs and who asks for them; None if none are sealed."""
        from reverie.sync.device_logs.pairing import describe_pairing

        return describe_pairing(self._store, self._settings.home, looks=True)

    def accept(self, code: str) -> PairedDevice:
        """Give the keys of the sealed logs to the machine that shows this code on its screen."""
        from reverie.sync.device_logs.pairing import accept_device

        return accept_device(self._work, code)

    def remove_device(self, name: str) -> PairedDevice:
        """Take a machine, by name or number, off those that hold the keys. It reads nothing that is
        written from now on; what it had read it keeps.
        """
        from reverie.sync.device_logs.pairing import remove_device

        # What the others wrote until now is believed: it is read first.
        self.sync()
        return remove_device(self._work, name)

    def find_files(self, name: str) -> DeviceFiles:
        """What lies at the places of a machine, by name or number, that is no longer one of yours,
        and what of it this one could not read. All of it that can be read is, first.
        """
        from reverie.sync.device_logs.departure import find_device, forget_reading, look_over

        self.sync()
        device, known = find_device(self._work, name)
        forget_reading(self._work, device)
        self.sync()
        return look_over(self._work, device, known)

    def remove_files(self, files: str | DeviceFiles, *, even_unread: bool = False) -> DeviceFiles:
        """Take the files of a machine, by name or number or as `find_files` found them, away from
        all places, once what they told stands in this machine's own log: the next `sync` does it.
        BadInput if some cannot be read here, unless those are to go too. A machine that is still
        in use puts its files there again.
        """
        from reverie.sync.device_logs.departure import start_departure

        found = self.find_files(files) if isinstance(files, str) else files
        start_departure(self._work, found, even_unread=even_unread)
        return found

    def ask_again(self) -> str:
        """Give up this machine's keys and ask to be paired anew; the code."""
        from reverie.sync.device_logs.pairing import ask_again

        return ask_again(self._work)

    def recover(self, key: str) -> int:
        """Pair this machine by the recovery key; how many machines hold the keys now."""
        from reverie.sync.device_logs.pairing import recover_keys

        return recover_keys(self._work, key)

    def job(self, *, everywhere: bool = False, patience: float = 0.0) -> DeviceWork:
        """What keeping in step works with."""
        from reverie.erasure.purge import purge_said
        from reverie.sync.device_logs.home_keys import open_sealer
        from reverie.sync.device_logs.log_step import DeviceWork

        return DeviceWork(
            lambda: self._work,
            self._data.purge,
            open_sealer(self._settings.home),
            partial(purge_said, lambda: self._work),
            everywhere,
            patience,
        )
