"""What verbs leave to be done, for all tenants: vectors, reconciliation, sleep, retention.

Any number of workers serve one database, on any number of machines. A tenant with new events is one
worker's alone (`PostgresDatabase.claim_tenant`), for as long as it renews its claim; within it each
event is read once, with its result and the cursor in one transaction. A worker that dies is
replaced when its claim runs out. Between events every tenant is visited now and then, for what
comes with time: silent sessions, a night's sleep, memories that are past their retention, logins
and invitations that nobody came back for.

Always true: `stop` ends a worker after its present step, and what it had not done is done by the
next. What a tenant's trouble is does not keep others waiting.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from reverie.access import operator_of
from reverie.consolidation.scheduled_sleep import sleep_if_due
from reverie.core import clock
from reverie.core.errors import ReverieError, StoreError
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import SETTLE_LEASE, SETTLE_LEASE_SECONDS
from reverie.runtime.settle import build_event_queue, run_settle_step
from reverie.sync.push_intake import purge_everywhere

if TYPE_CHECKING:
    from reverie.access import AccessControl
    from reverie.core.config import Settings
    from reverie.embedding import Embedder
    from reverie.storage import Store
    from reverie.storage.postgres import PostgresDatabase

log = logging.getLogger("reverie.worker")

# How long a claim of a tenant holds unless renewed, which happens after each step. A step takes
# about a second; a model that loads, a minute.
CLAIM_SECONDS = 120.0
# How long a worker listens for news at most before it looks by itself: a notice may be lost with
# its connection.
LISTEN_SECONDS = 2.0
# Between two visits of a tenant for what comes with time; one worker makes each.
VISIT_SECONDS = 600.0
TIDY_SECONDS = 3_600.0  # between two looks of a worker for logins that have expired
# After trouble with the database, before the next try.
TROUBLE_SECONDS = 2.0
STEP_TEXTS = 32  # embedded in one step: stopping waits for one step at most
VISIT_META = "server_visit"  # when a tenant was visited last
DAILY_META = "server_daily"  # when what is done once a day was done last
DAY = 86_400.0


@dataclass
class ServerWorker:
    """One worker: a thread of a server, or a process of its own."""

    database: PostgresDatabase
    access: AccessControl
    embedder: Embedder | None
    settings: Settings
    now: Callable[[], float] = clock.now
    name: str = field(default_factory=lambda: clock.new_id("worker"))
    settled: int = 0  # steps that did something
    visited_at: float = 0.0
    tidied_at: float = 0.0

    def __post_init__(self) -> None:
        self._stop = threading.Event()

    def stop(self, *_: object) -> None:
        """End after the present step."""
        self._stop.set()

    def run(self) -> None:
        """Work until told to stop. Trouble with the database is waited out."""
        while not self._stop.is_set():
            try:
                if not self.work_once():
                    self.database.wait_for_events(LISTEN_SECONDS)
            except ReverieError as err:
                # Only its kind: a message may name a server, and texts never stand in one.
                log.warning("trouble", extra={"facts": {"error": type(err).__name__}})
                self._stop.wait(TROUBLE_SECONDS)

    def work_once(self) -> bool:
        """Settle one tenant that has news, or visit those whose time has come; False if there was
        nothing to do.
        """
        tenant = self.database.claim_tenant(self.name, CLAIM_SECONDS, self.now())
        if tenant is not None:
            self.settle_tenant(tenant)
            return True
        if self.now() - self.visited_at < VISIT_SECONDS / 10:
            return False
        self.visited_at = self.now()
        self.tidy_logins()
        visited = [self.visit_or_warn(tenant) for tenant in self.database.tenants()]
        return any(visited)

    def tidy_logins(self) -> None:
        """Remove expired logins once an hour, whatever tenant's name they were begun with."""
        now = self.now()
        if not 0 <= now - self.tidied_at < TIDY_SECONDS:
            self.tidied_at = now
            self.access.logins.tidy_everywhere(now)

    def settle_tenant(self, tenant: str) -> None:
        """Do all that the tenant's new events ask for, and give the tenant back."""
        store = self.database.store(tenant)
        done = 0
        try:
            done = self.settle(store, tenant)
        except StoreError:
            raise
        except ReverieError as err:
            log.warning(
                "unsettled", extra={"facts": {"tenant": tenant, "error": type(err).__name__}}
            )
            # Told to be done with, or it would be tried again at once and for ever; the next event
            # or visit tries it again.
            done = store.last_event()
        finally:
            # Where the database is gone, the claim runs out by itself.
            with suppress(StoreError):
                self.database.finish_tenant(tenant, self.name, done)

    def settle(self, store: Store, tenant: str = "") -> int:
        """Settle in steps; the number of the last event that everything was done for, 0 if it was
        broken off.
        """
        try:
            while not self._stop.is_set() and self._holds(store, tenant):
                newest = store.last_event()
                step = run_settle_step(self.work(store), STEP_TEXTS, self.name)
                self.settled += bool(step)
                if not step:
                    return newest
        finally:
            with suppress(StoreError):
                store.release(SETTLE_LEASE, self.name)
        return 0

    def _holds(self, store: Store, tenant: str) -> bool:
        """True while the tenant is this worker's."""
        now = self.now()
        if tenant and not self.database.renew_tenant(tenant, self.name, CLAIM_SECONDS, now):
            return False
        return store.acquire(SETTLE_LEASE, self.name, SETTLE_LEASE_SECONDS, now)

    def visit_or_warn(self, tenant: str) -> bool:
        """Visit a tenant; its own trouble is logged, so that those behind it are visited too."""
        try:
            return self.visit_tenant(tenant)
        except StoreError:
            raise
        except ReverieError as err:
            log.warning(
                "unvisited", extra={"facts": {"tenant": tenant, "error": type(err).__name__}}
            )
            return True

    def visit_tenant(self, tenant: str) -> bool:
        """Do for a tenant what comes with time, if nobody has lately; False if somebody has."""
        store, now = self.database.store(tenant), self.now()
        lease = f"{VISIT_META}:lease"
        if self._stop.is_set() or now - read_time(store, VISIT_META) < VISIT_SECONDS:
            return False
        if not store.acquire(lease, self.name, CLAIM_SECONDS, now):
            return False
        try:
            store.set_meta(VISIT_META, str(now))
            self.settle(store)
            sleep_if_due(
                self.work(store), self.name, self.now, self.may_continue, build_event_queue()
            )
            self.do_daily(tenant, store)
            self.ensure_indexes(tenant)
        finally:
            with suppress(StoreError):
                store.release(lease, self.name)
        return True

    def do_daily(self, tenant: str, store: Store) -> None:
        """Purge what is past its retention, and tidy up ways in that nobody used, once a day; what
        is broken off is done again at the next visit.
        """
        now = self.now()
        if now - read_time(store, DAILY_META) < DAY:
            return
        self.access.logins.tidy(tenant, now)
        self.apply_retention(tenant, store)
        store.set_meta(DAILY_META, str(now))

    def apply_retention(self, tenant: str, store: Store) -> None:
        """Purge what is past its retention and not on hold, some thousands at a time."""
        purged = 0
        while not self._stop.is_set():
            now = self.now()
            purge = partial(purge_everywhere, now=now)
            gone = self.access.governance.apply_retention(operator_of(tenant), store, now, purge)
            purged += gone
            if not gone:
                break
        files = self.access.governance.apply_file_retention(operator_of(tenant), self.now())
        if purged or files:
            facts = {"tenant": tenant, "purged": purged, "device_files": files}
            log.info("retention", extra={"facts": facts})

    def ensure_indexes(self, tenant: str) -> None:
        """Have indexes of vectors where there are too many to compare each."""
        for model, created in self.database.ensure_indexes(tenant):
            facts = {"tenant": tenant, "model": model}
            if created:
                log.info("vector index", extra={"facts": facts})
            else:
                # It needs whoever owns the tables: `reverie data verify --repair` as that user.
                log.warning("no vector index", extra={"facts": facts})

    def may_continue(self) -> bool:
        """True until told to stop."""
        return not self._stop.is_set()

    def work(self, store: Store) -> WorkContext:
        """What settling works with, as of now."""
        return WorkContext(store, self.embedder, self.settings, self.now())


def read_time(store: Store, name: str) -> float:
    """A time that was noted in a store; 0 if none was."""
    return float(store.meta(name) or 0.0)
