"""Requests per minute, and what a tenant may keep: refusals that say when to come back.

Rates are counted by token buckets in the memory of each server process: a team behind three
processes may do up to three times as much for a moment, and no request waits for a shared counter.
They are for fairness and against loops that run wild; what costs disk is a quota, counted
in the database and the same for all processes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from reverie.access.callers import Caller
from reverie.core.errors import QuotaExceeded, RateLimited
from reverie.storage.access_records import Limits, StoredAmounts

MAX_BUCKETS = 100_000  # of keys and tenants that are counted at once: some 20 MB


class TokenBucket:
    """Holds up to a minute's worth of requests, and refills evenly."""

    __slots__ = ("level", "per_minute", "updated_at")

    def __init__(self, per_minute: int, now: float) -> None:
        self.per_minute, self.level, self.updated_at = per_minute, float(per_minute), now

    def refill(self, now: float) -> None:
        """Add what has come in since the last time; a clock that jumped back adds nothing."""
        passed = max(0.0, now - self.updated_at)
        self.level = min(self.per_minute, self.level + passed * self.per_minute / 60)
        self.updated_at = now

    def wait(self) -> float:
        """Seconds until the next request may be made; 0.0 if it may now."""
        return 0.0 if self.level >= 1 else (1 - self.level) * 60 / max(self.per_minute, 1e-9)


class RateLimiter:
    """The buckets of one server process, by key and by tenant. May be used from many threads."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[tuple[str, str], TokenBucket] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, caller: Caller, now: float) -> None:
        """Count one request; RateLimited, with `retry_after`, if there were too many. One that is
        refused is not counted.
        """
        wanted = [
            ((caller.tenant, caller.key_id), caller.limits.key_requests_per_minute),
            ((caller.tenant, ""), caller.limits.requests_per_minute),
        ]
        self._take([(name, limit) for name, limit in wanted if limit is not None], now)

    def check_source(self, source: str, per_minute: int, now: float) -> None:
        """Count one request of somebody who is not signed in yet, such as a try at a code."""
        self._take([(("", source), per_minute)], now)

    def _take(self, wanted: list[tuple[tuple[str, str], int]], now: float) -> None:
        with self._lock:
            buckets = [self._bucket(name, limit, now) for name, limit in wanted]
            wait = max((bucket.wait() for bucket in buckets), default=0.0)
            if not wait:
                for bucket in buckets:
                    bucket.level -= 1
        if wait:
            raise RateLimited(
                f"Too many requests. Go on in {max(1, round(wait))} seconds.", retry_after=wait
            )

    def _bucket(self, name: tuple[str, str], per_minute: int, now: float) -> TokenBucket:
        bucket = self._buckets.get(name)
        if bucket is None or bucket.per_minute != per_minute:
            bucket = self._buckets[name] = TokenBucket(per_minute, now)
        bucket.refill(now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return bucket


def check_quotas(
    limits: Limits,
    stored: StoredAmounts,
    *,
    memories: int = 0,
    size: int = 0,
) -> None:
    """QuotaExceeded if so much more is beyond what the tenant may keep."""
    for what, limit, after in (
        ("memories", limits.memories, stored.memories + memories if memories else 0),
        ("bytes of text", limits.bytes, stored.bytes + size if size else 0),
    ):
        if limit is not None and after > limit:
            raise QuotaExceeded(
                f"Your team keeps as many {what} as it may ({limit:,}). Forget and purge some, or"
                " ask an administrator to raise the limit."
            )
