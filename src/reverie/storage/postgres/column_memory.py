"""What searches of a process keep in memory of the spaces that they read: columns, no texts.

Kept by tenant, embedding model and space, up to so many bytes of all tenants together; what was
used longest ago goes first. A space takes the place of another only if nobody has searched that one
for BUSY_SECONDS: where more is searched at once than there is room for, loading again and again
would take longer than having the server search, so what comes too late is left to the server.

What is here is no permission. Who may read which space, and whether what is kept still holds, each
search asks the server, in the transaction that it answers from (`column_search`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.clock import ticks

if TYPE_CHECKING:
    from reverie.storage.column_cache import Shard

# Of one process. A memory takes 1.9 kB with a vector of 384 numbers, 1.2 kB in a space of more than
# MAX_WHOLE_ROWS, up to a quarter more while it grows; a large space another 1.5 MB for its sample.
MAX_COLUMN_BYTES = 256 * 2**20
# Memories of a space that is read at once, in half a second, and whose vectors are all compared.
# Above, they are read in steps and kept as halves, as the server has them.
MAX_WHOLE_ROWS = 20_000
# Memories of a space that is kept: while it grows it takes most of MAX_COLUMN_BYTES.
MAX_COLUMN_ROWS = 150_000
# Seconds for which a space that was searched keeps its place.
BUSY_SECONDS = 60.0
# Seconds after which what nobody searches is forgotten: it may have been purged by another process.
IDLE_SECONDS = 600.0
# Seconds to wait for another search that is reading the same tenant's rows.
LOCK_SECONDS = 0.05


class ColumnKey(NamedTuple):
    """Whose columns: spaces of one key share their codes."""

    tenant: str
    model: str
    dims: int


@dataclass(slots=True)
class KeptSpace:
    """The columns of a space, and the last event whose changes they show."""

    shard: Shard
    event: int
    used: float = 0.0  # ticks


@dataclass(slots=True)
class TenantColumns:
    """The spaces of one key. Whoever reads or alters them holds `lock`."""

    generation: str = ""
    spaces: dict[str, KeptSpace] = field(default_factory=dict)
    # Of sessions, speakers and kinds: a number for each, and back.
    codes: dict[str, int] = field(default_factory=lambda: {"": 0})
    names: list[str] = field(default_factory=lambda: [""])
    asked: int = 0  # the memory whose vector was asked for last, where many are awaited
    lock: threading.Lock = field(default_factory=threading.Lock)

    def code(self, name: str) -> int:
        """The number of a session, a speaker or a kind."""
        number = self.codes.get(name)
        if number is None:
            number = self.codes[name] = len(self.names)
            self.names.append(name)
        return number


class ColumnMemory:
    """The columns that this process keeps, of all tenants of a database."""

    def __init__(self, most: int = MAX_COLUMN_BYTES) -> None:
        self.most = most  # bytes; 0 keeps nothing
        self._lock = threading.Lock()
        self._kept: dict[ColumnKey, TenantColumns] = {}
        # The bytes of every space that is kept, what was used longest ago first.
        self._sizes: OrderedDict[tuple[ColumnKey, str], int] = OrderedDict()
        self._total = 0

    def count_bytes(self) -> int:
        """How much is kept."""
        return self._total

    def tenants(self) -> set[str]:
        """The tenants of which anything is kept."""
        with self._lock:
            return {key.tenant for key in self._kept}

    def has_any(self, key: ColumnKey, names: Sequence[str]) -> bool:
        """True if one of these spaces is kept."""
        with self._lock:
            self._make_room(0, ticks() - IDLE_SECONDS, idle=True)
            columns = self._kept.get(key)
            return columns is not None and any(name in columns.spaces for name in names)

    def has_room(self, size: int) -> bool:
        """True if so many bytes can be kept without sending away what is in use."""
        with self._lock:
            return self._make_room(size, ticks() - BUSY_SECONDS)

    @contextmanager
    def using(self, key: ColumnKey) -> Iterator[TenantColumns | None]:
        """The columns of a key, for this thread alone; None if another has them for long."""
        with self._lock:
            columns = self._kept.setdefault(key, TenantColumns())
        if not columns.lock.acquire(timeout=LOCK_SECONDS):
            yield None
            return
        try:
            yield columns
        finally:
            columns.lock.release()
            with self._lock:
                if not columns.spaces and self._kept.get(key) is columns:
                    del self._kept[key]

    def keep(self, key: ColumnKey, columns: TenantColumns, name: str, space: KeptSpace) -> None:
        """Keep a space as it is now, the last to be sent away; unless all of its tenant was
        forgotten meanwhile.
        """
        with self._lock:
            if self._kept.get(key) is not columns:
                return
            size = space.shard.count_bytes()
            self._total += size - self._sizes.pop((key, name), 0)
            self._sizes[key, name] = size
            space.used = ticks()
            columns.spaces[name] = space
            self._make_room(0, float("inf"))

    def drop(self, key: ColumnKey, columns: TenantColumns) -> None:
        """Forget every space of a key; its codes, too."""
        with self._lock:
            for name in list(columns.spaces):
                columns.spaces.pop(name)
                self._total -= self._sizes.pop((key, name), 0)
            columns.codes, columns.names = {"": 0}, [""]

    def forget(self, tenant: str) -> None:
        """Keep nothing of a tenant any more, nor what a search is about to keep that has begun."""
        with self._lock:
            for key in [key for key in self._kept if key.tenant == tenant]:
                for name in list(self._kept.pop(key).spaces):
                    self._total -= self._sizes.pop((key, name), 0)

    def _make_room(self, size: int, before: float, *, idle: bool = False) -> bool:
        """Forget spaces that were last used before that moment: all of them if `idle`, else until
        there is room for `size` bytes more. False if there is none.
        """
        while self._sizes and (idle or self._total + size > self.most):
            key, name = next(iter(self._sizes))
            columns = self._kept[key]
            if columns.spaces[name].used >= before:
                break
            self._total -= self._sizes.pop((key, name))
            del columns.spaces[name]
            if not columns.spaces:
                del self._kept[key]
        return self._total + size <= self.most
