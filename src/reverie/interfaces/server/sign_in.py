"""Who asks: a bearer token becomes a `Caller`, or the request is refused.

A token is an API key (`rv_…`) or an access token of the organisation's provider that was issued for
this server (RFC 8707). It is read from the Authorization header and from nowhere else: what stands
in an address ends in logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reverie.access import Caller
from reverie.core.errors import Unauthenticated
from reverie.interfaces.server.request_gate import note_caller
from reverie.text.text_cleaning import clean_text

if TYPE_CHECKING:
    from starlette.types import Scope

    from reverie.interfaces.server.deployment import Deployment

METADATA_PATH = "/.well-known/oauth-protected-resource"
KEY_START = "rv_"
ORIGIN_HEADERS = ("reverie-agent", "user-agent")
MAX_ORIGIN_CHARS = 100


def bearer_token(headers: Mapping[str, str]) -> str:
    """The token in the Authorization header; Unauthenticated without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated(
            "Who asks? Send a key in the header `Authorization: Bearer rv_…`; reverie login URL "
            "gets one"
        )
    return token.strip()


def sign_in(deployment: Deployment, token: str, verb: str) -> Caller:
    """The caller that a token stands for, counted against its limits, if it may use the verb.

    Who it is goes into the log line, the token never.
    """
    now = deployment.now()
    if token.startswith(KEY_START) or deployment.access_tokens is None:
        caller = deployment.access.authenticate(token, now)
    else:
        caller = deployment.access_tokens.find_caller(token, now)
    note_caller(tenant=caller.tenant, user=caller.user, key=caller.key_id)
    deployment.access.check_request(caller, verb, now)
    return caller


def describe_origin(headers: Mapping[str, str]) -> str:
    """The program that a request says it comes from; it says of itself what it likes."""
    named = next(filter(None, (headers.get(name, "") for name in ORIGIN_HEADERS)), "")
    return clean_text(named).strip()[:MAX_ORIGIN_CHARS]


def describe_challenge(deployment: Deployment, scope: Scope) -> str:
    """How to sign in, for the header WWW-Authenticate (RFC 9728, 5.1)."""
    suffix = "/mcp" if scope["path"].startswith("/mcp") else ""
    return f'Bearer resource_metadata="{deployment.public_url}{METADATA_PATH}{suffix}"'


def protected_resource_metadata(deployment: Deployment, resource: str) -> dict[str, Any]:
    """What a client needs to get a token for this server (RFC 9728)."""
    servers = {"authorization_servers": [deployment.issuer]} if deployment.issuer else {}
    return {
        "resource": resource,
        **servers,
        "bearer_methods_supported": ["header"],
        "resource_name": "Reverie: long-term memory",
    }
