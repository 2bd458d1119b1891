"""Ways in for whoever has no key yet: device codes and invitations; pages are `login_pages`.

Nobody is signed in here, so tries are counted by the address that they come from, and no answer
tells whether a tenant, a user or a code exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reverie.access.logins import SignedIn
from reverie.interfaces.json_values import to_json_values
from reverie.interfaces.server.json_schemas import check_object
from reverie.interfaces.server.request_gate import read_json
from reverie.interfaces.server.verb_arguments import FunctionRoute
from reverie.interfaces.server.verb_requests import PREFIX

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

# Of one address. A device asks every five seconds; an office may sit behind one address.
TRIES_PER_MINUTE = 120
# As many as wait for a quarter of an hour must stay far below what a tenant has room for: nobody
# alone keeps a team's devices out.
DEVICES_PER_MINUTE = 10
MAX_BODY_BYTES = 65_536
DEVICE_PAGE = "/device"


def start_device(deployment: Deployment, tenant: str, client_name: str = "") -> dict[str, Any]:
    """Codes for a program without a browser that wants in (RFC 8628): what it polls with, and what
    a person types.
    """
    codes = deployment.access.logins.start_device(tenant, deployment.now(), client_name=client_name)
    page = f"{deployment.public_url}{DEVICE_PAGE}"
    return {
        **to_json_values(codes),
        "verification_uri": page,
        "verification_uri_complete": f"{page}?tenant={tenant}&user_code={codes.user_code}",
    }


def poll_device(deployment: Deployment, device_code: str) -> dict[str, Any]:
    """The key for a device that was let in, once; the problem `login-pending` until then."""
    return describe_signed_in(deployment.access.logins.poll_device(device_code, deployment.now()))


def join(
    deployment: Deployment,
    code: str,
    name: str,
    display_name: str = "",
    email: str = "",
    label: str = "",
) -> dict[str, Any]:
    """Use an invitation: become a user, and get a key."""
    signed_in = deployment.access.logins.join(
        code,
        name=name,
        now=deployment.now(),
        display_name=display_name,
        email=email,
        label=label,
    )
    return describe_signed_in(signed_in)


def describe_signed_in(signed_in: SignedIn) -> dict[str, Any]:
    """A user and their key, which is shown this once."""
    return {
        "user": signed_in.user.name,
        "token": signed_in.key.token,
        "key": to_json_values(signed_in.key.key),
    }


@dataclass(frozen=True)
class LoginRoute(FunctionRoute):
    """A way in as a route."""

    tries_per_minute: int | None = None  # of one address, beside TRIES_PER_MINUTE for all ways in


LOGIN_ROUTES = (
    LoginRoute("login/device", start_device, DEVICES_PER_MINUTE),
    LoginRoute("login/device/poll", poll_device),
    LoginRoute("join", join),
)


def check_tries(deployment: Deployment, row: LoginRoute, source: str) -> None:
    """RateLimited if an address tries too often."""
    rates, now = deployment.access.rates, deployment.now()
    rates.check_source(source, TRIES_PER_MINUTE, now)
    if row.tries_per_minute is not None:
        rates.check_source(f"{row.name} {source}", row.tries_per_minute, now)


def build_login_routes(deployment: Deployment) -> list[Route]:
    """A route for every row of the table."""
    return [build_login_route(deployment, row) for row in LOGIN_ROUTES]


def build_login_route(deployment: Deployment, row: LoginRoute) -> Route:
    """The route of one way in."""

    async def serve(request: Request) -> Response:
        arguments = await read_json(request, MAX_BODY_BYTES)
        source = request.client.host if request.client else ""

        def answer() -> Any:
            check_tries(deployment, row, source)
            check_object(arguments, row.arguments, "")
            return row.verb(deployment, **arguments)

        return JSONResponse({"result": await deployment.pool.run(answer)})

    return Route(f"{PREFIX}/{row.name}", serve, methods=["POST"], name=row.name)
