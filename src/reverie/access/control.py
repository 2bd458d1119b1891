"""`AccessControl`: who asks, whether they may, and the verbs by which that is changed.

    control = AccessControl(AccessTables(database.pool))
    caller = control.authenticate(token, now)
    control.check_request(caller, "recall", now)
    spaces = caller.spaces_read_from("~ann/demo")
    store = database.store(caller.tenant, readable=caller.rights.readable_regex, writable=…)

One of it serves a whole server process; it may be used from many threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reverie.access.actions import audit_entry
from reverie.access.api_keys import is_secret_of, parse_token, refusal
from reverie.access.callers import Caller, caller_of
from reverie.access.device_files import DeviceFiles
from reverie.access.governance import Governance
from reverie.access.key_admin import KeyAdmin
from reverie.access.logins import Logins
from reverie.access.people import People
from reverie.access.rate_limits import RateLimiter, check_quotas
from reverie.access.read_audit import WAIT_SECONDS, ReadAudit
from reverie.access.rights import is_private
from reverie.access.space_sharing import SpaceSharing
from reverie.access.tenant_admin import TenantAdmin
from reverie.core.errors import Unauthenticated
from reverie.core.time_limit import without_limit
from reverie.storage.access_records import StoredAmounts

if TYPE_CHECKING:
    from reverie.storage.postgres import PostgresStore
    from reverie.storage.postgres.access_tables import AccessTables

USED_EVERY = 3_600.0  # a key's last use is written once an hour, not with each request
AMOUNTS_FOR = 60.0  # seconds that a count of what a tenant keeps is believed
MAX_AMOUNTS = 10_000


class AccessControl:
    """Everything about who may what, over the tables."""

    def __init__(self, tables: AccessTables, reads_wait: float = WAIT_SECONDS) -> None:
        self.tables = tables
        self.reads = ReadAudit(tables, reads_wait)
        self.tenants = TenantAdmin(tables)
        self.people = People(tables)
        self.spaces = SpaceSharing(tables)
        self.keys = KeyAdmin(tables)
        self.logins = Logins(tables)
        self.governance = Governance(tables, self.reads.flush)
        self.files = DeviceFiles(tables)
        self.rates = RateLimiter()
        self._amounts: OrderedDict[str, tuple[float, StoredAmounts]] = OrderedDict()
        self._lock = threading.Lock()

    def authenticate(self, token: str, now: float) -> Caller:
        """Who a key stands for; Unauthenticated if it may not be used.

        What is wrong with a key is told to nobody who lacks its secret: an unknown tenant, an
        unknown key and a wrong secret take the same work and give the same answer.
        """
        given = parse_token(token)
        found = self.tables.lookup_key(given.tenant, given.prefix, given.hash, now)
        if not is_secret_of(given, found.hash if found else None) or found is None:
            raise Unauthenticated
        if why := refusal(found, now):
            raise Unauthenticated(why)
        used_at = found.key.last_used_at
        if used_at is None or now - used_at >= USED_EVERY:
            self.tables.touch_key(given.tenant, given.prefix, now)
        return caller_of(found)

    def check_request(self, caller: Caller, verb: str, now: float) -> None:
        """Count a request and check its verb: RateLimited, with `retry_after`, or AccessDenied."""
        self.rates.check(caller, now)
        caller.check_verb(verb)

    def check_quota(
        self,
        caller: Caller,
        now: float,
        *,
        memories: int = 0,
        size: int = 0,
    ) -> None:
        """QuotaExceeded if the tenant may not keep so much more.

        What is kept is counted once a minute in each process, and in between what this process
        adds is reckoned on.
        """
        limits = caller.limits
        if limits.memories is None and limits.bytes is None:
            return
        with self._lock:
            counted_at, stored = self._amounts.get(caller.tenant, (None, StoredAmounts()))
        if counted_at is None or not 0 <= now - counted_at < AMOUNTS_FOR:
            counted_at, stored = now, self._count(caller.tenant)
        check_quotas(limits, stored, memories=memories, size=size)
        after = StoredAmounts(
            memories=stored.memories + memories,
            bytes=stored.bytes + size,
        )
        with self._lock:
            self._amounts[caller.tenant] = (counted_at, after)
            if len(self._amounts) > MAX_AMOUNTS:
                self._amounts.popitem(last=False)

    def recount(self, tenant: str) -> None:
        """Count anew what a tenant keeps before the next quota is checked: there is less of it."""
        with self._lock:
            self._amounts.pop(tenant, None)

    def _count(self, tenant: str) -> StoredAmounts:
        with self.tables.governing(tenant) as rows:
            return rows.stored_amounts()

    def record_change(self, caller: Caller, verb: str, space: str, count: int, now: float) -> None:
        """A line of the audit: the caller changed so many memories of a space."""
        with without_limit(), self.tables.transaction(caller.tenant) as rows:
            rows.audit(audit_entry(caller, verb, now, space=space, count=count))

    def record_changes_in(
        self, store: PostgresStore, caller: Caller, verb: str, counts: Mapping[str, int], now: float
    ) -> None:
        """Lines of the audit in the transaction of the change that they are about: the caller is
        changing so many memories of these spaces.
        """
        entries = [
            audit_entry(caller, verb, now, space=space, count=count)
            for space, count in sorted(counts.items())
        ]
        self.tables.add_to_audit(store.connections, entries)

    def record_read(self, caller: Caller, verb: str, counts: dict[str, int], now: float) -> None:
        """Lines of the audit, written soon: the caller read so many memories of these spaces.
        Reads of private spaces are their owner's alone and leave no line.
        """
        entries = [
            audit_entry(caller, verb, now, space=space, count=count)
            for space, count in sorted(counts.items())
            if count and not is_private(space)
        ]
        self.reads.add(caller.tenant, entries)

    def close(self) -> None:
        """Write what waits to be written."""
        self.reads.close()
