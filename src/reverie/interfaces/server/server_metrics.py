"""What Prometheus is told: requests, their times, the pool, what waits, how far workers are behind.

Labels are names of routes, methods and statuses, and where the operator asks for it the tenant's:
never a user, a space or a text, so that their number stays small and nothing leaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

# Seconds. Recall by words takes a few milliseconds, and requests are cut at half a minute.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
# Others are one label: a client may call its method anything, and each label is kept for good.
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER_METHOD = "other"
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class CountedElsewhere(Collector):
    """Numbers that something else counts, read when Prometheus asks."""

    def __init__(
        self, rows: Sequence[tuple[str, str, str]], read: Callable[[], Mapping[str, int]]
    ) -> None:
        self._rows, self._read = rows, read

    def describe(self) -> Iterable[CounterMetricFamily]:
        """The names, without reading: the registry asks for them at once."""
        return [CounterMetricFamily(name, help) for _, name, help in self._rows]

    def collect(self) -> Iterable[CounterMetricFamily]:
        """The numbers as they are now."""
        counts = self._read()
        return [
            CounterMetricFamily(name, help, value=counts.get(key, 0))
            for key, name, help in self._rows
        ]


class ServerMetrics:
    """The metrics of one server process."""

    def __init__(self, *, by_tenant: bool = False) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "reverie_requests",
            "Requests, by route, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "reverie_request_seconds",
            "How long requests took.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.tenant_requests = (
            Counter(
                "reverie_tenant_requests",
                "Requests of each tenant.",
                ("tenant",),
                registry=self.registry,
            )
            if by_tenant
            else None
        )

    def watch(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Add a number that is read when Prometheus asks."""
        Gauge(name, help, registry=self.registry).set_function(read)

    def watch_counters(
        self, rows: Sequence[tuple[str, str, str]], read: Callable[[], Mapping[str, int]]
    ) -> None:
        """Add numbers that only grow, which are read together: (key, name, help)."""
        self.registry.register(CountedElsewhere(rows, read))

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        known = method if method in METHODS else OTHER_METHOD
        self.requests.labels(route, known, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def count_tenant(self, tenant: str) -> None:
        """Count a request of a tenant, if the operator wants that."""
        if self.tenant_requests is not None:
            self.tenant_requests.labels(tenant).inc()

    def render(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
