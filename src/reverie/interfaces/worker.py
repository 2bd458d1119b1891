"""The detached worker: settles what others leave behind, and goes home when there is nothing left
to do.

A command that kept something starts it with `spawn` and does not wait. There is never more than one
at work: the lease `settle` decides. `spawn` takes the lease in the worker's name before the worker
exists, so that a hundred commands in a row start one process, not a hundred; should it never come
up, the lease runs out by itself.

For hooks it sits at the desk (`hooks.desk`), in a thread of its own, if it holds the lock that says
that a worker lives (`detached`): whoever settles, and however long that takes, what hooks wrote is
taken in by this one at once.

Before it leaves it sleeps, if it is time (`settle.bedtime`); if only quiet is wanting for that, it
waits for it with the model unloaded. It leaves when it was idle for `settings.idle` seconds (0: no
worker is ever started), on SIGTERM or SIGINT, when its lease was taken, when its home is gone, when
config.toml was altered (the next one goes by it), and when a newer Reverie has altered the
database. Nothing depends on it: texts wait, words find them meanwhile.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.consolidation.sleep_schedule import assess_outlook, is_sleep_coming, sleep_if_due
from reverie.core import clock, config
from reverie.core.errors import ReverieError
from reverie.interfaces.worker_start import (
    note_worker_exit,
    start_worker_process,
    take_lock,
    wake_worker,
)
from reverie.notes.note_vectors import has_waiting_chunks
from reverie.pipeline.leases import SETTLE_LEASE, SETTLE_LEASE_SECONDS
from reverie.runtime.settle import (
    SettleReport,
    build_event_queue,
    has_work_left,
    record_trouble,
    run_settle_step,
)

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.core.config import Settings
    from reverie.interfaces.hooks.hook_consumer import HookConsumer
    from reverie.storage import Store

POLL_SECONDS = 0.5  # seconds between looks while idle: one indexed read each
HOOK_POLL_SECONDS = 0.1  # … while there are hooks: the next prompt may follow at once
RENEW_SECONDS = 10.0  # seconds between renewals of the lease while idle
SMALL_STEP = 16  # texts a step: SIGTERM waits for one step at most


def spawn_worker(settings: Settings, store: Store) -> bool:
    """Start a worker for this home unless somebody settles already; whether one was started. Never
    waits.
    """
    if (
        settings.idle <= 0
        or not is_embedder_ready(settings)
        or store.holder(SETTLE_LEASE, clock.now()) is not None
    ):
        return False
    holder = clock.new_id("settler")
    if not store.acquire(SETTLE_LEASE, holder, SETTLE_LEASE_SECONDS, clock.now()):
        return False
    try:
        start_worker_process(str(settings.home), holder)
    except OSError:
        store.release(SETTLE_LEASE, holder)
        raise
    return True


def is_embedder_ready(settings: Settings) -> bool:
    """Whether vectors can be made without fetching anything: nobody asked for a download."""
    name = settings.embedder.partition(":")[0]
    if name == "minilm":
        return any((settings.cache / "models").glob("*/model.safetensors"))
    return name == "toy" or (name == "openai" and not settings.offline)


def is_model_missing(settings: Settings) -> bool:
    """Whether vectors are wanted of a model that is not on this machine: no worker and no hook
    fetches it.
    """
    return settings.embedder.partition(":")[0] == "minilm" and not is_embedder_ready(settings)


def run_worker(mind: Mind, idle: float, holder: str = "", lock: int | None = None) -> SettleReport:
    """Settle until nothing has come for `idle` seconds, or until told to stop. Returns what was
    done.

    `lock` is the open file of the lock that whoever started this worker holds for it.
    """
    from reverie.interfaces.hooks.spool import HookFiles

    worker, room = (
        Worker(mind, holder or clock.new_id("settler")),
        HookFiles(str(mind.settings.home)),
    )
    held = take_lock(room.lock) if lock is None and worker.renew_lease() else lock
    worker.desk = None if held is None else open_hook_desk(mind)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop)
    with suppress(OSError, AttributeError):
        os.nice(5)
    try:
        done = worker.work(idle)
    finally:
        if held is not None:
            note_worker_exit(room.lock, worker.failed)
            os.close(held)
    if held is not None and worker.idled and room.waiting():
        # a hook wrote while we held the lock and had looked for the last time
        wake_worker(room.home, room.lock)
    return done


def open_hook_desk(mind: Mind) -> HookConsumer:
    """The desk for hooks of this memory."""
    from reverie.interfaces.hooks.hook_consumer import HookConsumer

    return HookConsumer(mind)


class Worker:
    """One worker's state."""

    def __init__(self, mind: Mind, holder: str) -> None:
        self.mind, self.holder = mind, holder
        self.desk: HookConsumer | None = (
            None  # for hooks, while this is the worker that holds the lock
        )
        self.done = SettleReport()
        self._stop = threading.Event()
        self._home = folder_identity(mind.settings.home)
        self._config = config.config_modified_at(mind.settings)
        self._renewed, self._holds = 0.0, False
        # when hooks were heard last; the desk is to be left
        self._heard, self._rise = (
            0.0,
            threading.Event(),
        )
        # left because there was nothing to do, or because it cannot be done
        self.idled = self.failed = False

    def stop(self, *_: object) -> None:
        """Leave after the step at hand."""
        self._stop.set()

    def work(self, idle: float) -> SettleReport:
        """Settle, wait for more, leave. Work that came while we were leaving is looked for once
        more.
        """
        desk = threading.Thread(target=self.serve_hooks, name="desk", daemon=True)
        desk.start()
        try:
            while self.may_continue() and (self.renew_lease() or self.desk):
                self.settle_all()
                self.make_backup()
                if not self.wait_for_work(idle) and not self.sleep_if_due():
                    self.mind.store.release(SETTLE_LEASE, self.holder)
                    if not self.has_work():
                        self.idled = self.may_continue()
                        break
        except ReverieError as err:
            self.fail(str(err))  # a full disk, a home that went away: the next one tries again
        self._rise.set()
        desk.join()
        with suppress(ReverieError):
            self.mind.store.release(SETTLE_LEASE, self.holder)
        return self.done

    def serve_hooks(self) -> None:
        """Take in what hooks wrote, and lay ready what they will ask for, until it is
        time to rise.
        """
        try:
            while self.desk and not self._rise.wait(HOOK_POLL_SECONDS):
                while self.desk.waits() and self.desk.attend():
                    self._heard = clock.ticks()
            if self.desk:
                self.desk.close()
        except Exception as err:  # whatever it is: said, and left to the next worker
            self.fail(f"{type(err).__name__}: {err}")
            self.stop()

    def fail(self, trouble: str) -> None:
        """Something went wrong that staying would not mend."""
        self.failed = True
        self.leave_word(trouble)

    def may_continue(self) -> bool:
        """Whether nobody said stop, home and settings are still those we came with, and the
        database one we know.
        """
        return (
            not self._stop.is_set()
            and folder_identity(self.mind.settings.home) == self._home
            and config.config_modified_at(self.mind.settings) == self._config
            and self.mind.store.has_current_schema()
        )

    def renew_lease(self) -> bool:
        """Take or renew the lease."""
        self._renewed = clock.ticks()
        self._holds = self.mind.store.acquire(
            SETTLE_LEASE, self.holder, SETTLE_LEASE_SECONDS, clock.now()
        )
        return self._holds

    def settle_all(self) -> None:
        """Steps until nothing more can be done now."""
        while self.may_continue() and self.renew_lease():
            step = run_settle_step(self.mind.work, SMALL_STEP, self.holder)
            self.done = self.done.plus(step)
            if not step:
                self.leave_word(step.trouble)
                if step.trouble and not self.desk:
                    self.stop()  # no model: staying would not bring it
                return

    def sleep_if_due(self) -> bool:
        """Sleep, if it is time or only quiet is wanting; whether to look for work again."""
        look = assess_outlook(self.mind.store, clock.now())
        if (
            not is_sleep_coming(self.mind.settings, look)
            or not self.may_continue()
            or not self._holds
        ):
            return False
        if self.mind.embedder is not None:
            self.mind.embedder.close()  # it is loaded again when a text comes
        if self.wait_for_work(self.mind.settings.sleep_idle * 60 - look.quiet_seconds):
            return True
        return (
            self.may_continue()
            and sleep_if_due(
                self.mind.work, self.holder, clock.now, self.may_continue, build_event_queue()
            )
            is not None
        )

    def wait_for_work(self, idle: float) -> bool:
        """Whether work comes within so many seconds."""
        begun = clock.ticks()
        while clock.ticks() < begun + idle and self.may_continue():
            if self._heard > begun or self.has_work():
                return True
            if (
                clock.ticks() - self._renewed > RENEW_SECONDS
                and not self.renew_lease()
                and not self.desk
            ):
                return False
            self._stop.wait(POLL_SECONDS)
        return False

    def has_work(self) -> bool:
        """Whether there is something to do, and we are the one to do it."""
        if self._stop.is_set() or not self.may_continue():
            return False
        if self.desk and self.desk.waits():
            return True
        return self._holds and (has_work_left(self.mind.work) or has_waiting_chunks(self.mind.work))

    def make_backup(self) -> None:
        """Today's copy; before it, what a purge or a scrub had to leave in the files because
        somebody was reading.
        """
        from reverie.erasure import unfinished
        from reverie.storage import backups

        if self.may_continue():
            if unfinished.has_unfinished_erasure(self.mind.work):
                unfinished.finish_erasure(self.mind.work)
            backups.make_daily_backup(self.mind.store, self.mind.settings, clock.now())

    def leave_word(self, trouble: str) -> None:
        """Leave word for `reverie status`; an empty trouble wipes the last one."""
        record_trouble(self.mind.store, trouble)


def folder_identity(home: Path) -> tuple[int, int] | None:
    """Which folder this is; another folder of the same name is another home."""
    try:
        found = home.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)
