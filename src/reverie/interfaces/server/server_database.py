"""The database as the server sees it: stores of tenants, whether it is ready, how far workers are.

A thin layer over `storage.postgres`, so that what the server needs beside stores has one place and
a test can put another database in its stead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reverie.storage import Store
    from reverie.storage.postgres import PostgresDatabase

# Tenants whose oldest waiting event is looked at, for the lag: each is one short statement.
MAX_LAG_TENANTS = 20


class ServerDatabase:
    """A PostgreSQL database of many tenants."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database

    def store(self, tenant: str, *, readable: str, writable: str) -> Store:
        """A tenant's store, cut to the spaces that match; cheap, and never closed."""
        return self.database.store(tenant, readable=readable, writable=writable)

    def describe_schema_trouble(self) -> str:
        """Why this version cannot work with the database's schema; "" if it can."""
        return self.database.describe_schema_trouble()

    def count_waiting(self) -> int:
        """How many events of all tenants no worker has dealt with."""
        return sum(tenant.waiting for tenant in self.database.list_waiting())

    def worker_lag(self, now: float) -> float:
        """The age of the oldest event that no worker has dealt with, in seconds; 0 without any."""
        oldest = now
        for waiting in self.database.list_waiting()[:MAX_LAG_TENANTS]:
            store = self.database.store(waiting.tenant)
            first = store.events(after=waiting.done, limit=1)
            oldest = min([oldest, *(event.at for event in first)])
        return max(0.0, now - oldest)

    def count_connections(self) -> Mapping[str, int]:
        """What the pool of connections counts, by the names that `psycopg_pool` gives it."""
        return self.database.pool.count_connections()
