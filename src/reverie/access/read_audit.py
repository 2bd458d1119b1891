"""Lines of the audit about reads, written together a second later at most.

A line about a change stands in the transaction of the change: one is never there without the other.
A read changes nothing, and a transaction of its own for its line was most of what a recall cost. So
lines about reads wait here, and are written once a second, when the audit is asked for in this
process, and when the server stops. What that gives up: a process that is killed, or whose machine
is, leaves no line about reads of its last second, though they were answered. Who cannot have that
says `wait=0`, and every read waits for its line.

Where the database is away the lines wait on; beyond MAX_WAITING a read that could leave no line is
refused with the database's trouble: none goes unnoticed because there were too many.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.core.errors import ReverieError
from reverie.core.time_limit import without_limit

if TYPE_CHECKING:
    from reverie.storage.access_records import AuditEntry
    from reverie.storage.postgres.access_tables import AccessTables

WAIT_SECONDS = 1.0
MAX_WAITING = 10_000  # lines


class ReadAudit:
    """The lines about reads that wait to be written. May be used from many threads."""

    def __init__(self, tables: AccessTables, wait: float = WAIT_SECONDS) -> None:
        self._tables, self._wait = tables, wait
        self._lines: dict[str, list[AuditEntry]] = {}  # by tenant
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._timer: threading.Timer | None = None

    @property
    def waiting(self) -> int:
        """How many lines wait."""
        with self._lock:
            return sum(map(len, self._lines.values()))

    def add(self, tenant: str, entries: Sequence[AuditEntry]) -> None:
        """Have lines written soon."""
        if not entries:
            return
        self._keep(tenant, entries)
        if self._wait <= 0 or self.waiting > MAX_WAITING:
            self.flush()
            return
        self._start_timer()

    def flush(self) -> None:
        """Write what waits, in one transaction a tenant; what could not be written waits on."""
        with self._flushing, without_limit():
            with self._lock:
                taken, self._lines = self._lines, {}
            try:
                while taken:
                    tenant, entries = next(iter(taken.items()))
                    with self._tables.transaction(tenant) as rows:
                        rows.audit(*entries)
                    del taken[tenant]
            finally:
                for tenant, entries in taken.items():
                    self._keep(tenant, entries)

    def _keep(self, tenant: str, entries: Sequence[AuditEntry]) -> None:
        with self._lock:
            self._lines.setdefault(tenant, []).extend(entries)

    def _flush_later(self) -> None:
        with self._lock:
            self._timer = None
        try:
            self.flush()
        except ReverieError:
            self._start_timer()

    def _start_timer(self) -> None:
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(self._wait, self._flush_later)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Write what waits, and start nothing more by itself."""
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        self.flush()
