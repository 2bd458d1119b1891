"""How the server is: for a load balancer, for an operator, for Prometheus.

`/healthz` says that this process answers; `/readyz` that it can do its work: the database answers,
has the schema that this version needs, and workers keep up. `/metrics` is for Prometheus. None of
them needs a key, and none says whose memory this is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reverie.core.errors import ReverieError
from reverie.interfaces.server.server_metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

# Seconds that workers may be behind before somebody should look. Not a reason to send no requests
# here: what is kept is found by its words meanwhile.
MAX_WORKER_LAG = 300.0


def build_health_routes(deployment: Deployment) -> list[Route]:
    """The three routes."""

    async def answer_health(_request: Request) -> Response:
        return JSONResponse({"status": "up"})

    async def answer_readiness(_request: Request) -> Response:
        found = await deployment.pool.run(lambda: check_readiness(deployment))
        return JSONResponse(found, 200 if found["status"] == "ready" else 503)

    async def answer_metrics(_request: Request) -> Response:
        # Some numbers are asked of the database, which may take its time.
        page = await deployment.pool.run(deployment.metrics.render)
        return Response(page, media_type=CONTENT_TYPE)

    return [
        Route("/healthz", answer_health, methods=["GET"]),
        Route("/readyz", answer_readiness, methods=["GET"]),
        Route("/metrics", answer_metrics, methods=["GET"]),
    ]


def check_readiness(deployment: Deployment) -> dict[str, Any]:
    """Whether requests can be served, and why not."""
    checks: dict[str, str] = {}
    lag = 0.0
    try:
        checks["schema"] = deployment.database.describe_schema_trouble() or "ok"
        lag = deployment.database.worker_lag(deployment.now())
        checks["database"] = "ok"
    except ReverieError as err:
        # Its message names the database server, which is nobody's business here.
        checks["database"] = type(err).__name__
    checks["workers"] = "ok" if lag <= MAX_WORKER_LAG else "behind"
    is_ready = checks["database"] == checks.get("schema") == "ok"
    return {
        "status": "ready" if is_ready else "not ready",
        "checks": checks,
        "worker_lag_seconds": round(lag, 1),
    }
