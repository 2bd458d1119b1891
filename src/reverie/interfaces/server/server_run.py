"""Starting and stopping: the database, the application, workers beside it, and one signal for all.

`serve` runs until SIGTERM or Ctrl-C: then no new connection is taken, requests that are under way
are answered, workers end after their present step. The schema is looked at and never altered:
`reverie server init` and `migrate` do that.
"""

from __future__ import annotations

import ipaddress
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from reverie.core.config import Settings
from reverie.core.errors import BadInput, PortTaken, StoreError
from reverie.interfaces.server.deployment import Deployment, ServerLimits
from reverie.interfaces.server.request_gate import JsonLines
from reverie.interfaces.server.server_app import build_app
from reverie.interfaces.server.server_database import ServerDatabase
from reverie.interfaces.server.server_metrics import ServerMetrics
from reverie.interfaces.server.server_worker import ServerWorker

if TYPE_CHECKING:
    from reverie.access import AccessControl
    from reverie.access.oidc_login import OidcLogin
    from reverie.embedding import Embedder
    from reverie.storage.embedded_postgres import EmbeddedPostgres
    from reverie.storage.postgres import PostgresDatabase

HOST, PORT = "127.0.0.1", 8378
# Seconds that requests under way have to be answered once the server is told to stop.
DRAIN_SECONDS = 20
# Connections beside those of the requests: workers, readiness, metrics.
MORE_CONNECTIONS = 4
EMBEDDED_FOLDER = "server"  # in the home: a database to try it out with


@dataclass(frozen=True)
class ListenOptions:
    """Where and how a server listens."""

    host: str = HOST
    port: int = PORT
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    forwarded_allow_ips: str = "127.0.0.1"  # proxies whose word about the client is taken
    workers_inside: int = 1
    tenant_metrics: bool = False
    limits: ServerLimits = field(default_factory=ServerLimits)


def check_listening(options: ListenOptions) -> None:
    """BadInput for an address that others reach, with neither certificates nor a proxy before it:
    keys and memories would cross the network for everybody to read.
    """
    if (options.tls_cert is None) != (options.tls_key is None):
        raise BadInput("Give both --tls-cert and --tls-key, or neither")
    if is_loopback(options.host) or options.behind_proxy or options.tls_cert:
        return
    raise BadInput(
        f"{options.host} can be reached from other machines, and keys would cross the network in "
        "the clear. Give --tls-cert and --tls-key, or --behind-proxy if a proxy before it ends TLS"
    )


def is_loopback(host: str) -> bool:
    """True of an address that only this machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def open_database(settings: Settings, connections: int = 8) -> Iterator[PostgresDatabase]:
    """The server's database, for the length of a block."""
    from reverie.storage.postgres import PostgresDatabase

    if not settings.server_database:
        raise BadInput(
            "Which database? Name it as REVERIE_SERVER_DATABASE, such as "
            "postgresql://user@host/reverie, or server_database in config.toml. To try it out: "
            "reverie server start --embedded"
        )
    database = PostgresDatabase(
        settings.server_database,
        max_connections=connections,
        column_bytes=settings.server_columns * 2**20,
    )
    try:
        yield database
    finally:
        database.close()


@contextmanager
def embedded_database(settings: Settings) -> Iterator[Settings]:
    """The settings with a private PostgreSQL in the home, which runs for the length of a block."""
    server = open_embedded(settings)
    url = server.start()
    try:
        yield settings._replace(server_database=url)
    finally:
        server.stop()


@contextmanager
def known_database(settings: Settings) -> Iterator[Settings]:
    """The settings with the database that they name; without one, with the private PostgreSQL that
    this home has from trying it out, if it has one.
    """
    embedded = open_embedded(settings)
    if settings.server_database or not (embedded.data / "PG_VERSION").exists():
        yield settings
        return
    with embedded_database(settings) as found:
        yield found


def open_embedded(settings: Settings) -> EmbeddedPostgres:
    """The private PostgreSQL of a home, not started."""
    from reverie.storage.embedded_postgres import EmbeddedPostgres

    return EmbeddedPostgres(settings.home / EMBEDDED_FOLDER)


def open_access(database: PostgresDatabase) -> AccessControl:
    """Who may what, in a database."""
    from reverie.access import AccessControl
    from reverie.storage.postgres.access_tables import AccessTables

    return AccessControl(AccessTables(database.pool))


def server_settings(settings: Settings) -> Settings:
    """The settings for a server: nothing is kept in files beside the database."""
    return settings._replace(mirror="off", idle=0.0, backups=0, store="")


def open_server_embedder(settings: Settings) -> Embedder | None:
    """The embedder that all requests and workers of a process share."""
    from reverie import open_lazily

    return None if settings.embedder == "none" else open_lazily(settings)


def open_oidc(settings: Settings) -> OidcLogin | None:
    """The organisation's provider, if one is configured."""
    if not settings.oidc_issuer:
        return None
    from reverie.access.oidc_login import OidcLogin, OidcProvider

    return OidcLogin(
        OidcProvider(
            issuer=settings.oidc_issuer,
            client_id=settings.oidc_client_id,
            client_secret=settings.oidc_client_secret,
            may_join=settings.oidc_join,
            email_domains=settings.oidc_domains,
        )
    )


def accept_access_tokens(deployment: Deployment) -> None:
    """Let in who brings an access token of the provider that was issued for this server."""
    if deployment.oidc is None:
        return
    from reverie.interfaces.server.access_tokens import ProviderTokens

    deployment.access_tokens = ProviderTokens(
        deployment.oidc,
        deployment.access,
        deployment.settings.oidc_tenant,
        (deployment.mcp_url, deployment.public_url),
    )


def check_schema(database: PostgresDatabase) -> None:
    """StoreError unless this version can work with the database as it is."""
    if trouble := ServerDatabase(database).describe_schema_trouble():
        raise StoreError(f"The database is not ready: {trouble}")


def serve(settings: Settings, options: ListenOptions, started: Callable[[str], None]) -> None:
    """Serve until told to stop; `started` is called with the address. PortTaken for one in use."""
    check_listening(options)
    settings = server_settings(settings)
    connections = options.limits.threads + options.workers_inside + MORE_CONNECTIONS
    with open_database(settings, connections) as database:
        check_schema(database)
        scheme = "https" if options.tls_cert else "http"
        access, embedder = open_access(database), open_server_embedder(settings)
        deployment = Deployment(
            ServerDatabase(database),
            access,
            embedder,
            settings,
            settings.server_url or f"{scheme}://{options.host}:{options.port}",
            limits=options.limits,
            oidc=open_oidc(settings),
            metrics=ServerMetrics(by_tenant=options.tenant_metrics),
        )
        accept_access_tokens(deployment)
        workers = [
            ServerWorker(database, access, embedder, settings)
            for _ in range(options.workers_inside)
        ]

        def announce(address: str) -> None:
            # Only now is it known which port 0 has become.
            if not settings.server_url:
                deployment.public_url = address
            started(address)

        with running_workers(workers):
            run_web_server(build_app(deployment), options, announce, deployment.when_stopping)


@contextmanager
def running_workers(workers: Sequence[ServerWorker]) -> Iterator[None]:
    """Workers in threads, for the length of a block."""
    threads = [
        threading.Thread(target=worker.run, name=worker.name, daemon=True) for worker in workers
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join(DRAIN_SECONDS)


def run_web_server(
    app: Any,
    options: ListenOptions,
    started: Callable[[str], None],
    stopping: Sequence[Callable[[], None]] = (),
) -> None:
    """Listen, and answer until a signal comes; then call what is `stopping`, and finish."""
    server = SignalledServer(
        uvicorn.Config(
            app,
            host=options.host,
            port=options.port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=options.behind_proxy,
            forwarded_allow_ips=options.forwarded_allow_ips,
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        ),
        started,
        stopping,
    )
    # Uvicorn sends a signal that it was stopped by once more when it is done: what is still to be
    # closed then would not be.
    signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        server.run()
    # Uvicorn exits when it cannot listen.
    except SystemExit as err:
        raise PortTaken(
            f"Port {options.port} of {options.host} cannot be listened on: somebody else does. "
            "Choose another one with --port"
        ) from err
    except KeyboardInterrupt:
        return


class SignalledServer(uvicorn.Server):
    """A web server that tells its address once it listens, and ends its streams when it stops."""

    def __init__(
        self,
        config: uvicorn.Config,
        started: Callable[[str], None],
        stopping: Sequence[Callable[[], None]] = (),
    ) -> None:
        super().__init__(config)
        self._announce, self._stopping = started, stopping

    async def shutdown(self, sockets: Any = None) -> None:
        """Take no more, end what would go on for ever, and wait for the rest."""
        for stop in self._stopping:
            stop()
        await super().shutdown(sockets)

    async def startup(self, sockets: Any = None) -> None:
        """Listen, then call `started` with the address."""
        await super().startup(sockets)
        scheme = "https" if self.config.ssl_certfile else "http"
        # Only now is it known which port 0 has become.
        for listening in self.servers[:1]:
            host, port = listening.sockets[0].getsockname()[:2]
            host = f"[{host}]" if ":" in host else host
            self._announce(f"{scheme}://{host}:{port}")


def run_workers(settings: Settings, count: int) -> None:
    """Workers alone, until SIGTERM or Ctrl-C."""
    settings = server_settings(settings)
    with open_database(settings, count + MORE_CONNECTIONS) as database:
        check_schema(database)
        access, embedder = open_access(database), open_server_embedder(settings)
        workers = [ServerWorker(database, access, embedder, settings) for _ in range(count)]
        done = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: done.set())
        with running_workers(workers):
            done.wait()


def log_as_json() -> None:
    """Write what the server logs to stderr, a line of JSON each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("reverie", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "reverie" else logging.WARNING)
