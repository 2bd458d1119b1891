"""The tables of who may what: transactions of one tenant, and the rows within them.

Everything that belongs together is in one transaction, its line of the audit included:

    with tables.transaction("acme") as rows:
        rows.put_grant(grant)
        rows.audit(entry)

Each transaction says first which tenant it is for; row security lets it see and write the rows of
that tenant alone, and no memory unless it is `governing`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hmac import compare_digest

from psycopg import sql

from reverie.core.errors import NotFound
from reverie.storage.access_records import AuditEntry, KeyLookup
from reverie.storage.postgres.access_audit import AuditRows
from reverie.storage.postgres.access_dump import Remains, find_texts, tenant_tables
from reverie.storage.postgres.access_keys import KeyRows
from reverie.storage.postgres.access_logins import LoginRows
from reverie.storage.postgres.access_people import PeopleRows
from reverie.storage.postgres.access_spaces import SpaceRows
from reverie.storage.postgres.connection import (
    EVERYTHING,
    PostgresConnections,
    PostgresPool,
    TenantConnection,
)
from reverie.storage.postgres.device_files import DeviceFileRows

ALL_TENANTS = "*"
NOBODYS_HASH = bytes(32)  # what a secret is compared with where there is no such key
# Seconds that a key's rights are believed: so long another server process may still act on a key
# that was revoked here. In this process it counts from the next request on.
LOOKUPS_FOR = 5.0
MAX_LOOKUPS = 10_000


class OwnerConnections(PostgresConnections):
    """Transactions of whoever owns the tables: the application's role is not taken."""

    def settings(self, role: str) -> dict[str, str]:  # noqa: ARG002 - the one that is not taken
        """What says who is asking, until the end of a transaction."""
        return super().settings("")


class AccessTransaction(PeopleRows, SpaceRows, KeyRows, LoginRows, AuditRows, DeviceFileRows):
    """The rows of one tenant, within one transaction."""

    def __init__(self, db: TenantConnection) -> None:
        self.db = db


class AccessTables:
    """The tables of one database, for all tenants. May be used from many threads."""

    def __init__(self, pool: PostgresPool) -> None:
        self.pool = pool
        self._lookups: OrderedDict[tuple[str, str, bytes], tuple[float, KeyLookup]] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self, tenant: str) -> Iterator[AccessTransaction]:
        """The rows of a tenant, to read and write: all that is written, or nothing."""
        with self._begin(tenant) as db:
            yield AccessTransaction(db)

    @contextmanager
    def governing(self, tenant: str) -> Iterator[AccessTransaction]:
        """As `transaction`, and every memory of the tenant can be read."""
        with self._begin(tenant, readable=EVERYTHING) as db:
            yield AccessTransaction(db)

    @contextmanager
    def keeping_files(
        self, tenant: str, *, readable: str, writable: str
    ) -> Iterator[AccessTransaction]:
        """As `transaction`, and the files of devices in the spaces that match can be read and
        written: by EVERYTHING those of the whole tenant.
        """
        with self._begin(tenant, readable=readable, writable=writable) as db:
            yield AccessTransaction(db)

    @contextmanager
    def all_tenants(self) -> Iterator[AccessTransaction]:
        """The tenants themselves, to be listed, and nothing of theirs but logins that nobody came
        back for, to be removed.
        """
        with self._begin(ALL_TENANTS) as db:
            yield AccessTransaction(db)

    @staticmethod
    def add_to_audit(connections: PostgresConnections, entries: Sequence[AuditEntry]) -> None:
        """Add lines in the transaction that this thread has open in a tenant's store."""
        with connections.writing() as db:
            AccessTransaction(db).audit(*entries)

    def lookup_key(self, tenant: str, prefix: str, digest: bytes, now: float) -> KeyLookup | None:
        """Everything that a key leads to, or None without the right secret; believed for seconds.

        Only who brings the right secret is answered from memory, so that the time that an answer
        takes says nothing about a key to others.
        """
        name = (tenant, prefix, digest)
        with self._lock:
            read_at, known = self._lookups.get(name, (now, None))
        if known is not None and 0 <= now - read_at < LOOKUPS_FOR:
            return known
        with self.transaction(tenant) as rows:
            kept = rows.key_hash(prefix)
            # A wrong secret ends here, after the same statement as an unknown key or tenant.
            is_right = compare_digest(digest, kept or NOBODYS_HASH) and kept is not None
            found = rows.lookup_key(prefix) if is_right else None
        if found is not None:
            with self._lock:
                self._lookups[name] = (now, found)
                self._lookups.move_to_end(name)
                if len(self._lookups) > MAX_LOOKUPS:
                    self._lookups.popitem(last=False)
        return found

    def forget_lookups(self, tenant: str) -> None:
        """Read what keys lead to anew: something of the tenant has changed."""
        with self._lock:
            for name in [name for name in self._lookups if name[0] == tenant]:
                del self._lookups[name]

    def touch_key(self, tenant: str, prefix: str, now: float) -> None:
        """Note when a key was used last."""
        with self.transaction(tenant) as rows:
            rows.touch_key(prefix, now)
        self.forget_lookups(tenant)

    def find_texts(self, tenant: str, texts: Sequence[str]) -> list[Remains]:
        """Where any of the texts still stands in what is stored of a tenant, as a dump shows it."""
        with self._begin(tenant, readable=EVERYTHING) as db:
            return list(find_texts(db, texts))

    def erase_tenant(self, tenant: str) -> int:
        """Erase every row of a tenant, whichever table it is in. Returns how many there were.

        For the owner of the database: the application's role may not.
        """
        with self._begin(tenant, readable=EVERYTHING, writable=EVERYTHING, as_owner=True) as db:
            if not db.fetch_rows("select 1 from tenant where tenant = %(tenant)s for update"):
                raise NotFound(f"There is no tenant {tenant!r}.")
            db.execute(sql.SQL("set local reverie.erasing = {}").format(sql.Literal(tenant)))
            count = 0
            for table in tenant_tables(db):
                count += db.execute(
                    sql.SQL("delete from {} where tenant = {}").format(
                        sql.Identifier(table), sql.Literal(tenant)
                    )
                ).rowcount
        self.forget_lookups(tenant)
        return count

    @contextmanager
    def _begin(
        self, tenant: str, *, readable: str = "", writable: str = "", as_owner: bool = False
    ) -> Iterator[TenantConnection]:
        kind = OwnerConnections if as_owner else PostgresConnections
        with kind(self.pool, tenant, readable, writable).transaction_without_counter() as db:
            yield db
