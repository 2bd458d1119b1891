"""The thread that keeps a home in step with its server and the user's other machines, beside
whatever else is done.

Nobody waits for it: a server that is away costs its own thread a few seconds now and then. It ends
when it is told to, after what waits was sent if that is soon done; its owner closes it before the
store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from reverie.core.errors import ReverieError
from reverie.erasure.purge import purge_said
from reverie.pipeline.event_reader import WorkContext
from reverie.sync.device_logs.home_keys import open_sealer
from reverie.sync.device_logs.log_step import (
    DeviceWork,
    PlaceWatch,
    sync_devices,
)
from reverie.sync.inbox import Purge
from reverie.sync.server_client import ServerClient, Waits
from reverie.sync.sync_step import is_sync_due, note_trouble, sync_all
from reverie.sync.team_server import open_client

POLL_SECONDS = 1.0
# Of the background: nobody is there to be patient.
WAITS = Waits(connect=3.0, answer=20.0)
STOP_SECONDS = 5.0  # that the last push may take
ROUNDS = 20  # batches and pages in a row, then it is looked whether to stop


class SyncThread:
    """Pushes and pulls in the background until it is stopped."""

    def __init__(self, work: Callable[[], WorkContext], purge: Purge) -> None:
        self._work, self._purge = work, purge
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._watch = PlaceWatch()
        self._client: ServerClient | None = None
        self._thread = threading.Thread(target=self._run, name="reverie-sync", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Send what waits, if the server answers soon, and end."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._sync_if_due()
                self._sync_devices_if_due()
                self._wake.wait(POLL_SECONDS)
            self._sync_if_due()
            self._sync_devices_if_due()
        finally:
            if self._client is not None:
                self._client.close()

    def _sync_if_due(self) -> None:
        """Be in step, if it is time; trouble is noted and met again later."""
        # The store may be closed or its home gone while a server takes its time.
        with suppress(ReverieError, OSError):
            work = self._work()
            if not is_sync_due(work, work.settings.sync_every):
                return
            try:
                if self._client is None:
                    self._client = open_client(work.settings, work.store, WAITS)
                sync_all(self._work, self._client, self._purge, rounds=ROUNDS)
            except ReverieError as err:
                note_trouble(work, str(err))

    def _sync_devices_if_due(self) -> None:
        """Be in step with other machines, if it is time; trouble is noted by place."""
        with suppress(ReverieError, OSError):
            work = self._work()
            if self._watch.is_due(work):
                sealer = open_sealer(work.settings.home)
                said = partial(purge_said, self._work)
                sync_devices(DeviceWork(self._work, self._purge, sealer, said), rounds=ROUNDS)
