"""The detached worker: settles what commands and hooks leave behind, then exits.

A command that kept something starts it with `spawn_worker` and does not wait. At most one is at
work: the lease `settle` decides. `spawn_worker` takes the lease in the worker's name before the
worker exists, so that a hundred commands in a row start one process, not a hundred; if it never
comes up, the lease runs out by itself.

The worker that holds the lock file (`file_lock.take_lock`) also serves hooks, in a thread of its
own (`hooks.hook_consumer`): whoever settles, and however long that takes, what hooks wrote is taken
in at once.

It sends the spans of OpenTelemetry: of what hooks, commands and tools did, and of its own work
(`span_spool`, `span_sender`), where the settings or the environment say where to.

Before it exits it sleeps if that is due (`consolidation.scheduled_sleep`); if only quiet is missing
for that, it waits with the model unloaded. It exits after `settings.idle` seconds without work (0:
no worker is ever started), on SIGTERM or SIGINT, when its lease was taken, when its home is gone,
when config.toml changed (the next worker reads it), when the embedding model came that it had to do
without, when its home was locked, and when a newer Reverie has migrated the database. What was left
to it while it went, by one who saw that it was there, it hands to another. Nothing depends on it:
texts wait, and words find them meanwhile.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.consolidation.scheduled_sleep import sleep_if_due
from reverie.consolidation.sleep_schedule import assess_outlook, is_sleep_coming
from reverie.core import clock, config
from reverie.core.encryption_file import renew_copy
from reverie.core.environment import is_encrypted
from reverie.core.errors import ReverieError
from reverie.core.file_lock import name_holder, read_holder, take_lock
from reverie.interfaces.key_watch import has_home_key
from reverie.interfaces.worker_spans import WorkerSpans
from reverie.interfaces.worker_start import (
    is_worker_alive,
    note_worker_exit,
    start_worker_process,
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
from reverie.storage.private_home import remove_leftovers
from reverie.storage.side_files import seal_plain_files

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.core.config import Settings
    from reverie.interfaces.hooks.hook_consumer import HookConsumer
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.runtime.sync_thread import SyncThread
    from reverie.storage import Store

POLL_SECONDS = 0.5  # between looks for work while idle: one indexed read each
HOOK_POLL_SECONDS = 0.1  # between looks for hooks: the next prompt may follow at once
RENEW_SECONDS = 10.0  # between renewals of the lease while idle
STOP_SECONDS = 5.0  # that a worker has to end after it was told to
SYNC_STOP_SECONDS = 2.0  # that a last push to the team's server may take
STEP_TEXTS = 16  # embedded in one step: SIGTERM waits for one step at most


def spawn_worker(settings: Settings, store: Store) -> bool:
    """Start a worker for this home unless somebody settles already; True if one was started.

    Never waits.
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
    """True if vectors can be made without a download, for which nobody has asked."""
    name, _, model = settings.embedder.partition(":")
    if name == "minilm":
        return any((settings.cache / "models").glob("*/model.safetensors"))
    if name == "onnx":
        from reverie.embedding.sentence_files import is_on_this_machine

        return is_on_this_machine(model, settings.cache)
    return name == "toy" or (name in ("openai", "gemini") and not settings.offline)


def is_model_missing(settings: Settings) -> bool:
    """True if the configured model is not on this machine; no worker and no hook fetches it."""
    is_of_files = settings.embedder.partition(":")[0] in ("minilm", "onnx")
    return is_of_files and not is_embedder_ready(settings)


def run_worker(
    mind: Mind,
    idle: float,
    holder: str = "",
    lock: int | None = None,
    lacks_model_of: Settings | None = None,
) -> SettleReport:
    """Settle until no work has come for `idle` seconds, or until told to stop; returns what was
    done.

    `lock` is the open lock file that whoever started this worker has locked for it;
    `lacks_model_of` the settings whose embedding model is not on this machine, where it works
    without one.
    """
    from reverie.interfaces.hooks.spool import HookFiles

    files = HookFiles(str(mind.settings.home))
    worker = Worker(mind, holder or clock.new_id("settler"), files.log_trouble, lacks_model_of)
    held = take_lock(files.lock) if lock is None and worker.renew_lease() else lock
    if held is not None:
        name_holder(held)
        worker.hooks = open_hook_consumer(mind)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop)
    with suppress(OSError, AttributeError):
        os.nice(5)
    try:
        remove_leftovers(mind.settings.home, clock.now())
        seal_plain_files(mind.settings.home)
        renew_copy(mind.settings.home)
        refresh_locked_guards(mind)
        done = worker.work(idle)
        # Without a hook nobody else tells of what was forbidden meanwhile.
        refresh_locked_guards(mind)
    finally:
        if held is not None:
            note_worker_exit(files.lock, worker.failed)
            os.close(held)
        # Not while the lock is held: another worker need not wait for a collector.
        worker.spans.close()
    with suppress(ReverieError, OSError):
        start_successor(worker, files, was_with_hooks=held is not None)
    return done


def start_successor(worker: Worker, files: HookFiles, *, was_with_hooks: bool) -> None:
    """Start another worker for what came after the last look of one that has gone.

    Whoever left it saw that one at its lock or its lease, and started none.
    """
    mind = worker.mind
    if not worker.can_work():
        return
    # One that was only idle has looked again after it gave back its lease (`Worker.work`).
    if not (
        (was_with_hooks and (files.list_events() or worker.spans.are_waiting()))
        or (worker.is_outdated() and has_texts_or_events(mind))
    ):
        return
    settings = config.load_settings(mind.settings.home)
    if was_with_hooks and settings.idle > 0:
        wake_worker(files.home, files.lock)
    elif not was_with_hooks:
        spawn_worker(settings, mind.store)


def has_texts_or_events(mind: Mind) -> bool:
    """True if something waits to be embedded or learned."""
    return has_work_left(mind.work) or has_waiting_chunks(mind.work)


def refresh_locked_guards(mind: Mind) -> None:
    """Write what hooks are to know of guards while an encrypted home is locked."""
    from reverie.interfaces.hooks.warning_table import write_locked_guards

    # A home that is gone, a full disk: what stands there holds.
    with suppress(ReverieError, OSError):
        if is_encrypted(mind.settings.home):
            write_locked_guards(mind.store, mind.settings, clock.now())


def stop_worker(lock: str) -> bool:
    """End the worker that holds a lock: asked first, then without asking; True if none is there
    any more.
    """
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        process, end = read_holder(lock), clock.ticks() + STOP_SECONDS
        if not is_worker_alive(lock):
            return True
        if process:
            with suppress(OSError):
                os.kill(process, number)
        while is_worker_alive(lock) and clock.ticks() < end:
            clock.sleep(STOP_SECONDS / 50)
    return not is_worker_alive(lock)


def open_hook_consumer(mind: Mind) -> HookConsumer:
    """What serves the hooks of this memory."""
    from reverie.interfaces.hooks.hook_consumer import HookConsumer

    return HookConsumer(mind)


class Worker:
    """One worker: its lease, what it has done, and why it leaves."""

    def __init__(
        self,
        mind: Mind,
        holder: str,
        log: Callable[[str], None] = lambda _: None,
        lacks_model_of: Settings | None = None,
    ) -> None:
        self.mind, self.holder = mind, holder
        self._lacks_model_of = lacks_model_of
        # Serves hooks, in the one worker that holds the lock file.
        self.hooks: HookConsumer | None = None
        self.spans = WorkerSpans(mind, log)
        self.done = SettleReport()
        self._stop = threading.Event()
        self._home = folder_identity(mind.settings.home)
        self._config = config.config_modified_at(mind.settings)
        self._renewed, self._holds = 0.0, False
        self._sync: SyncThread | None = None
        self._hook_at = 0.0  # clock ticks when a hook was served last
        self._hooks_end = threading.Event()
        self.failed = False  # exited because of trouble

    def stop(self, *_: object) -> None:
        """Exit after the present step."""
        self._stop.set()

    def work(self, idle: float) -> SettleReport:
        """Settle, wait for more, exit; returns what was done.

        After the lease is released, work is looked for once more: whoever left some just before saw
        the lease taken and started no other worker.
        """
        serving = threading.Thread(
            target=self.serve_hooks,
            name="hooks",
            daemon=True,
        )
        serving.start()
        try:
            while self.may_continue() and (self.renew_lease() or self.hooks):
                self.settle_all()
                self.make_backup()
                if not self.wait_for_work(idle) and not self.sleep_if_due():
                    self.mind.store.release(SETTLE_LEASE, self.holder)
                    if not self.has_work():
                        break
        except ReverieError as err:
            # A full disk, a home that went away: the next worker tries again.
            self.fail(str(err))
        self._hooks_end.set()
        serving.join()
        if self._sync is not None:
            self._sync.stop(SYNC_STOP_SECONDS)
        with suppress(ReverieError):
            self.mind.store.release(SETTLE_LEASE, self.holder)
        return self.done

    def keep_in_step(self) -> None:
        """Have a thread of its own keep in step with the team's server and the user's other
        machines: settling never waits for a network.
        """
        from reverie.sync.device_logs.log_state import load_own
        from reverie.sync.sync_state import load_account

        store = self.mind.store
        if self._sync is None and (load_account(store) or load_own(store)):
            from reverie.runtime.sync_thread import SyncThread

            self._sync = SyncThread(lambda: self.mind.work, self.mind.data.purge)
            self._sync.start()

    def serve_hooks(self) -> None:
        """Take in what hooks wrote and prepare what they will ask for, until the worker exits."""
        try:
            while self.hooks and not self._hooks_end.wait(HOOK_POLL_SECONDS):
                while self.hooks.has_work() and self.hooks.consume_events():
                    self._hook_at = clock.ticks()
            if self.hooks:
                self.hooks.close()
        # Whatever it is, it is told, and the next worker goes on.
        except Exception as err:
            self.fail(f"{type(err).__name__}: {err}")
            self.stop()

    def fail(self, trouble: str) -> None:
        """Record trouble that staying would not mend."""
        self.failed = True
        self.tell_trouble(trouble)

    def may_continue(self) -> bool:
        """True while it may work and no other worker would do better."""
        return self.can_work() and not self.is_outdated()

    def can_work(self) -> bool:
        """True until told to stop or in trouble, while the home is the one it started with, its key
        at hand, and its database of a known schema.
        """
        return (
            not self._stop.is_set()
            and not self.failed
            and folder_identity(self.mind.settings.home) == self._home
            and has_home_key(self.mind.settings.home)
            and self.mind.store.has_current_schema()
        )

    def is_outdated(self) -> bool:
        """True if the settings were changed, or the model came that it lacks."""
        return config.config_modified_at(self.mind.settings) != self._config or bool(
            # It would hold the lease, and `reverie data settle` wait a minute for it in vain.
            self._lacks_model_of and is_embedder_ready(self._lacks_model_of)
        )

    def renew_lease(self) -> bool:
        """Take or renew the lease; False if another process has it."""
        self._renewed = clock.ticks()
        self._holds = self.mind.store.acquire(
            SETTLE_LEASE, self.holder, SETTLE_LEASE_SECONDS, clock.now()
        )
        return self._holds

    def settle_all(self) -> None:
        """Settle in steps until nothing more can be done now."""
        with self.spans.settling() as run:
            while self.may_continue() and self.renew_lease():
                step = run_settle_step(run.with_spans(self.mind.work), STEP_TEXTS, self.holder)
                self.done = self.done.plus(step)
                run.add(step)
                if not step:
                    self.tell_trouble(step.trouble)
                    if step.trouble and not self.hooks:
                        # There is no model, and waiting would not bring it.
                        self.stop()
                    return

    def sleep_if_due(self) -> bool:
        """Sleep if that is due, or wait for the quiet that it still needs; True if work may have
        come.
        """
        look = assess_outlook(self.mind.store, clock.now())
        if (
            not is_sleep_coming(self.mind.settings, look)
            or not self.may_continue()
            or not self._holds
        ):
            return False
        if self.mind.embedder is not None:
            # It is loaded again when a text comes.
            self.mind.embedder.close()
        if self.wait_for_work(self.mind.settings.sleep_idle * 60 - look.quiet_seconds):
            return True
        if not self.may_continue():
            return False
        begun = clock.now()
        report = sleep_if_due(
            self.mind.work, self.holder, clock.now, self.may_continue, build_event_queue()
        )
        if report is not None:
            self.spans.tell_sleep(report, begun)
        return report is not None

    def wait_for_work(self, idle: float) -> bool:
        """True as soon as work comes, False after so many seconds without any."""
        begun = clock.ticks()
        while self.may_continue():
            self.keep_in_step()
            self.spans.send_waiting()
            # What a prompt is about takes long to find where the repository is new.
            if clock.ticks() >= begun + idle and not (self.hooks and self.hooks.planner.is_busy()):
                return False
            if self._hook_at > begun or self.has_work():
                return True
            if (
                clock.ticks() - self._renewed > RENEW_SECONDS
                and not self.renew_lease()
                and not self.hooks
            ):
                return False
            self._stop.wait(POLL_SECONDS)
        return False

    def has_work(self) -> bool:
        """True if something waits that this worker may do."""
        if self._stop.is_set() or not self.may_continue():
            return False
        if self.hooks and self.hooks.has_work():
            return True
        return self._holds and has_texts_or_events(self.mind)

    def make_backup(self) -> None:
        """Make today's backup.

        Before it, finish what a purge or a scrub could not erase while somebody was reading.
        """
        from reverie.erasure import unfinished
        from reverie.storage import backups

        if self.may_continue():
            if unfinished.has_unfinished_erasure(self.mind.work):
                unfinished.finish_erasure(self.mind.work)
            backups.make_daily_backup(self.mind.store, self.mind.settings, clock.now())

    def tell_trouble(self, trouble: str) -> None:
        """Record trouble for `reverie status`; an empty text clears the last one."""
        record_trouble(self.mind.store, trouble)


def folder_identity(home: Path) -> tuple[int, int] | None:
    """(device, inode) of a folder, by which another one of the same name is told; None if gone."""
    try:
        found = home.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)
