"""The table of what members and administrators do over HTTP: one row a verb of `member_verbs`.

A route is `POST /v1/<name>`; the body has the function's arguments by name, the answer stands under
`result`. `whoami` may be asked by GET as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reverie.access import Caller, KeyScope, Right
from reverie.core.errors import AccessDenied
from reverie.interfaces.json_values import to_json_values
from reverie.interfaces.server import member_verbs
from reverie.interfaces.server.json_schemas import check_object
from reverie.interfaces.server.member_verbs import MemberRequest
from reverie.interfaces.server.request_gate import read_json
from reverie.interfaces.server.sign_in import bearer_token, sign_in
from reverie.interfaces.server.space_names import with_caller_spaces
from reverie.interfaces.server.verb_arguments import FunctionRoute
from reverie.interfaces.server.verb_requests import PREFIX, with_server_spaces
from reverie.storage.postgres.connection import EVERYTHING

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment


@dataclass(frozen=True)
class MemberRoute(FunctionRoute):
    """A verb of `member_verbs` as a route."""

    right: Right = Right.ADMINISTER  # that the key has at least; what only tells needs READ
    is_for_whole_keys: bool = False  # it reaches beyond the spaces that a key is narrowed to


READ = Right.READ

MEMBER_ROUTES: tuple[MemberRoute, ...] = (
    MemberRoute("whoami", member_verbs.whoami, READ),
    MemberRoute("spaces", member_verbs.list_spaces, READ),
    MemberRoute("spaces/share", member_verbs.share_space),
    MemberRoute("spaces/link", member_verbs.link_space),
    MemberRoute("spaces/unlink", member_verbs.unlink_space),
    MemberRoute("spaces/trust", member_verbs.trust_space),
    MemberRoute("spaces/grant", member_verbs.grant_space),
    MemberRoute("spaces/revoke", member_verbs.revoke_space),
    MemberRoute("spaces/grants", member_verbs.list_grants, READ),
    MemberRoute("members", member_verbs.list_members, READ),
    MemberRoute("members/add", member_verbs.add_member),
    MemberRoute("members/disable", member_verbs.disable_member),
    MemberRoute("members/enable", member_verbs.enable_member),
    MemberRoute("members/invite", member_verbs.invite_member),
    MemberRoute("members/invitations", member_verbs.list_invitations, READ),
    MemberRoute("members/withdraw", member_verbs.withdraw_invitation),
    MemberRoute("teams", member_verbs.list_teams, READ),
    MemberRoute("teams/add", member_verbs.add_team),
    MemberRoute("teams/remove", member_verbs.remove_team),
    MemberRoute("teams/join", member_verbs.join_team),
    MemberRoute("teams/leave", member_verbs.leave_team),
    MemberRoute("keys", member_verbs.list_keys, READ),
    MemberRoute("keys/issue", member_verbs.issue_key),
    MemberRoute("keys/revoke", member_verbs.revoke_key, is_for_whole_keys=True),
    MemberRoute("devices/show", member_verbs.show_device, READ),
    MemberRoute("devices/approve", member_verbs.approve_device),
    MemberRoute("devices/deny", member_verbs.deny_device, is_for_whole_keys=True),
    MemberRoute("audit", member_verbs.read_audit, READ),
    MemberRoute("retention", member_verbs.list_retention, READ),
    MemberRoute("retention/set", member_verbs.set_retention),
    MemberRoute("holds", member_verbs.list_holds, READ),
    MemberRoute("holds/place", member_verbs.place_hold),
    MemberRoute("holds/lift", member_verbs.lift_hold),
    MemberRoute("erase", member_verbs.erase_memories),
)


def build_member_routes(deployment: Deployment) -> list[Route]:
    """A route for every row of the table."""
    return [build_member_route(deployment, row) for row in MEMBER_ROUTES]


def build_member_route(deployment: Deployment, row: MemberRoute) -> Route:
    """The route of one verb."""

    async def serve(request: Request) -> Response:
        arguments = await read_json(request, deployment.limits.body_bytes)
        token = bearer_token(request.headers)
        answer = await deployment.pool.run(lambda: answer_member(deployment, row, token, arguments))
        return JSONResponse({"result": answer})

    methods = ["GET", "POST"] if row.verb is member_verbs.whoami else ["POST"]
    return Route(f"{PREFIX}/{row.name}", serve, methods=methods, name=row.name)


def check_member_key(caller: Caller, row: MemberRoute) -> None:
    """AccessDenied for a key that is narrowed further than a verb allows, whoever's it is."""
    is_whole = caller.scope == KeyScope()
    if caller.scope.right < row.right or (row.is_for_whole_keys and not is_whole):
        needed = "is not narrowed" if row.is_for_whole_keys else f"may {row.right.word}"
        raise AccessDenied(
            f"{row.name} needs a key that {needed}. Use another key, or ask an administrator."
        )


def answer_member(
    deployment: Deployment, row: MemberRoute, token: str, arguments: dict[str, Any]
) -> Any:
    """What the verb answers this caller, as JSON values."""
    caller = sign_in(deployment, token, row.name)
    check_member_key(caller, row)
    check_object(arguments, row.arguments, "")
    # Cheap to make, and used by erasing alone, which has to reach every space.
    whole = deployment.database.store(caller.tenant, readable=EVERYTHING, writable=EVERYTHING)
    asked = MemberRequest(deployment.access, caller, deployment.now(), whole)
    answer = row.verb(asked, **with_server_spaces(arguments, caller))
    return with_caller_spaces(to_json_values(answer), caller.private_root)
