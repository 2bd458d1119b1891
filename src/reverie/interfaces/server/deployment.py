"""What one server process is made of, put together once and shared by all its requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reverie.core import clock
from reverie.core.config import Settings
from reverie.embedding import Embedder
from reverie.interfaces.server.request_gate import RequestPool
from reverie.interfaces.server.server_metrics import ServerMetrics

if TYPE_CHECKING:
    from reverie.access import AccessControl, Caller
    from reverie.access.oidc_login import OidcLogin
    from reverie.storage import Store

MIB = 1 << 20


class ServerLimits(NamedTuple):
    """What one process takes on."""

    body_bytes: int = 8 * MIB  # of one request: the largest memory has 4 million characters
    threads: int = 16  # requests that are worked at; each may hold one connection
    waiting: int = 64  # requests that may wait for a thread
    seconds: float = 30.0  # until a request is answered that it took too long


class StoreProvider(Protocol):
    """A database of many tenants, as the server needs it."""

    def store(self, tenant: str, *, readable: str, writable: str) -> Store:
        """A tenant's store, cut to the spaces that match; cheap, and never closed."""

    def describe_schema_trouble(self) -> str:
        """Why this version cannot work with the database's schema; "" if it can."""

    def count_waiting(self) -> int:
        """How many events no worker has dealt with."""

    def worker_lag(self, now: float) -> float:
        """The age of the oldest of them, in seconds."""

    def count_connections(self) -> Mapping[str, int]:
        """What the pool of connections counts, by the names that `psycopg_pool` gives it."""


class AccessTokens(Protocol):
    """Access tokens of a provider that were issued for this server."""

    def find_caller(self, token: str, now: float) -> Caller:
        """Who a token stands for; Unauthenticated if it may not be used here."""


@dataclass
class Deployment:
    """A database, who may what, a model, and what this process may use of the machine."""

    database: StoreProvider
    access: AccessControl
    embedder: Embedder | None
    settings: Settings
    public_url: str  # how clients name this server: https://memory.example.com
    limits: ServerLimits = field(default_factory=ServerLimits)
    oidc: OidcLogin | None = None  # the organisation's provider, where people sign in
    access_tokens: AccessTokens | None = None  # of that provider, for MCP clients
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    now: Callable[[], float] = clock.now
    # What ends requests that would go on for ever, before the server waits for all to be answered.
    when_stopping: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.public_url = self.public_url.rstrip("/")
        self.pool = RequestPool(self.limits.threads, self.limits.waiting, self.limits.seconds)

    @property
    def issuer(self) -> str:
        """The provider whose access tokens are accepted; "" where there is none."""
        return self.oidc.provider.issuer if self.oidc and self.access_tokens else ""

    @property
    def mcp_url(self) -> str:
        """The resource that access tokens for MCP are meant for (RFC 8707)."""
        return f"{self.public_url}/mcp"
