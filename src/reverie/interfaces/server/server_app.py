"""The application: every route, behind the gate. `build_app` is all that a starter needs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from reverie.core.errors import ReverieError
from reverie.interfaces.server.health_routes import build_health_routes
from reverie.interfaces.server.login_pages import build_login_pages
from reverie.interfaces.server.login_routes import build_login_routes
from reverie.interfaces.server.mcp_mount import McpMount
from reverie.interfaces.server.member_routes import build_member_routes
from reverie.interfaces.server.openapi_document import build_openapi_document
from reverie.interfaces.server.page_mount import TeamPages
from reverie.interfaces.server.request_gate import RequestGate
from reverie.interfaces.server.sign_in import (
    METADATA_PATH,
    describe_challenge,
    protected_resource_metadata,
)
from reverie.interfaces.server.sync_file_routes import build_file_routes
from reverie.interfaces.server.sync_routes import build_sync_routes
from reverie.interfaces.server.verb_requests import build_verb_routes

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment


log = logging.getLogger("reverie.server")
# What Prometheus is told of the pool of connections, by the pool's own names.
POOL_METRICS = (
    ("pool_size", "reverie_database_connections", "Connections to the database."),
    ("pool_available", "reverie_database_connections_free", "Connections that nobody uses."),
    ("requests_waiting", "reverie_database_waiting", "Threads that wait for a connection."),
)
POOL_COUNTERS = (
    ("requests_num", "reverie_database_checkouts", "Times that a connection was asked for."),
    ("requests_queued", "reverie_database_queued", "Times that none was free at once."),
    ("requests_wait_ms", "reverie_database_wait_milliseconds", "Time waited for one."),
    ("requests_errors", "reverie_database_timeouts", "Times that none became free in time."),
    ("usage_ms", "reverie_database_use_milliseconds", "Time that connections were in use."),
    ("connections_num", "reverie_database_connects", "Connections that were tried to open."),
    ("connections_errors", "reverie_database_connect_errors", "Those that could not be opened."),
    ("connections_lost", "reverie_database_connections_lost", "Those that were found broken."),
)


def build_app(deployment: Deployment) -> ASGIApp:
    """The server as an ASGI application."""
    mcp_mount, pages = McpMount(deployment), TeamPages(deployment)
    deployment.when_stopping.append(pages.stop)

    @asynccontextmanager
    async def run_app(_app: Any) -> AsyncIterator[None]:
        watch_pool(deployment)
        async with mcp_mount.run():
            yield
        pages.stop()
        deployment.pool.close()
        close_access(deployment)

    routes = [
        *build_verb_routes(deployment),
        *build_member_routes(deployment),
        *build_login_routes(deployment),
        *build_login_pages(deployment),
        *build_sync_routes(deployment),
        *build_file_routes(deployment),
        *build_health_routes(deployment),
        *build_document_routes(deployment),
        Route("/mcp", mcp_mount),
        *pages.list_routes(),
    ]
    # A bare router: Starlette's own layers would answer errors before the gate sees them.
    router = Router(routes, lifespan=run_app)
    return RequestGate(router, deployment.metrics, partial(describe_challenge, deployment))


def close_access(deployment: Deployment) -> None:
    """Have the audit written that waits; where the database is gone, say how much is lost."""
    try:
        deployment.access.close()
    except ReverieError as err:
        lost = deployment.access.reads.waiting
        log.error("audit", extra={"facts": {"lost": lost, "error": type(err).__name__}})


def build_document_routes(deployment: Deployment) -> list[Route]:
    """What describes the server to programs: the OpenAPI document, and where to get a token."""

    async def answer_openapi(_request: Request) -> Response:
        return JSONResponse(build_openapi_document(deployment.public_url))

    def metadata_route(suffix: str, resource: str) -> Route:
        async def answer_metadata(_request: Request) -> Response:
            # Pages of other origins may read it: it says nothing that is secret.
            return JSONResponse(
                protected_resource_metadata(deployment, resource),
                headers={"Access-Control-Allow-Origin": "*"},
            )

        return Route(METADATA_PATH + suffix, answer_metadata, methods=["GET"])

    return [
        Route("/openapi.json", answer_openapi, methods=["GET"]),
        metadata_route("", deployment.public_url),
        metadata_route("/mcp", deployment.mcp_url),
    ]


def count_one(count: Callable[[], Mapping[str, int]], key: str) -> int:
    """One figure of those that are counted together; 0 where it is not there yet."""
    return count().get(key, 0)


def watch_pool(deployment: Deployment) -> None:
    """Have the metrics tell how many requests are worked at and how many wait."""
    pool, metrics = deployment.pool, deployment.metrics
    metrics.watch("reverie_requests_under_way", "Requests at work.", lambda: pool.under_way)
    metrics.watch("reverie_requests_queued", "Requests that wait.", lambda: pool.queued)
    metrics.watch("reverie_request_threads", "Threads for requests.", lambda: pool.threads)
    metrics.watch(
        "reverie_events_waiting",
        "Events that no worker has read.",
        deployment.database.count_waiting,
    )
    count = deployment.database.count_connections
    for key, name, help in POOL_METRICS:
        metrics.watch(name, help, partial(count_one, count, key))
    metrics.watch_counters(POOL_COUNTERS, count)
    metrics.watch(
        "reverie_worker_lag_seconds",
        "Age of the oldest event that no worker has read.",
        lambda: deployment.database.worker_lag(deployment.now()),
    )
