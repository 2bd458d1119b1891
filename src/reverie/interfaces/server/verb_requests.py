"""One request to a verb: from a token and arguments to an answer in JSON.

`answer_verb` runs in a thread of the pool, from the first statement about the token to the last of
the answer, so that the event loop waits for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reverie.access import Caller
from reverie.core.errors import AccessDenied
from reverie.core.memory_spans import describe_answer, memory_span
from reverie.core.model import Hit, Memory, Retrieved
from reverie.interfaces.json_values import to_json_values
from reverie.interfaces.server.caller_mind import open_caller_mind
from reverie.interfaces.server.caller_store import CallerStore, Oversight
from reverie.interfaces.server.repeated_requests import (
    IDEMPOTENCY_HEADER,
    answer_in_steps,
    answer_once,
    name_request,
)
from reverie.interfaces.server.request_gate import read_json
from reverie.interfaces.server.sign_in import bearer_token, describe_origin, sign_in
from reverie.interfaces.server.space_names import to_server_space, with_caller_spaces
from reverie.interfaces.server.verb_routes import VERB_ROUTES, VerbRoute
from reverie.runtime.mind import Mind

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

PREFIX = "/v1"
SERVER_ATTRIBUTES = {"db.system.name": "postgresql", "reverie.surface": "server"}


@dataclass(frozen=True)
class VerbRequest:
    """What a client sent."""

    row: VerbRoute
    arguments: dict[str, Any]
    token: str
    origin: str = ""
    key: str = ""  # the Idempotency-Key


def build_verb_routes(deployment: Deployment) -> list[Route]:
    """A route for every row of the table."""
    return [build_verb_route(deployment, row) for row in VERB_ROUTES]


def build_verb_route(deployment: Deployment, row: VerbRoute) -> Route:
    """The route of one verb."""

    async def serve(request: Request) -> Response:
        arguments = await read_json(request, deployment.limits.body_bytes)
        asked = VerbRequest(
            row,
            arguments,
            bearer_token(request.headers),
            describe_origin(request.headers),
            request.headers.get(IDEMPOTENCY_HEADER, ""),
        )
        answer = await deployment.pool.run(lambda: answer_verb(deployment, asked))
        return JSONResponse({"result": answer})

    return Route(f"{PREFIX}/{row.name}", serve, methods=["POST"], name=row.name)


def answer_verb(deployment: Deployment, asked: VerbRequest) -> Any:
    """What the verb answers this caller, as JSON values."""
    row = asked.row
    caller = sign_in(deployment, asked.token, row.name)
    check_key_right(caller, row)
    # What tenants ask and keep is never in a span, whatever the operator sets.
    about = {"gen_ai.memory.store.id": caller.tenant, **SERVER_ATTRIBUTES}
    with memory_span(row.name, about) as span:
        mind = open_caller_mind(deployment, caller, row.name, asked.origin)
        answer = run_verb(mind, asked, caller)
        mind.close()
        describe_answer(span, row.name, answer)
        record_reads(deployment, mind, caller, row.name, answer)
    return with_caller_spaces(to_json_values(answer), caller.private_root)


def check_key_right(caller: Caller, row: VerbRoute) -> None:
    """AccessDenied for a key that may never do what a verb does, instead of doing nothing."""
    if caller.scope.right < row.right:
        raise AccessDenied(
            f"This key may only {caller.scope.right.word}, and {row.name} needs the right to"
            f" {row.right.word}. Use another key, or ask an administrator for one."
        )


def run_verb(mind: Mind, asked: VerbRequest, caller: Caller) -> Any:
    """What the verb answers; what it has answered, if this request was done before."""
    row, arguments = asked.row, with_server_spaces(asked.arguments, caller)
    key = asked.key if row.can_be_repeated else ""
    named = name_request(caller.user, key, row.name, asked.arguments)
    if named is None:
        return row.call(mind, arguments)
    answer = answer_in_steps if row.takes_steps else answer_once
    return answer(mind.store, named, lambda: row.call(mind, arguments))


def record_reads(
    deployment: Deployment, mind: Mind, caller: Caller, verb: str, answer: Any
) -> None:
    """Note who read how many memories where; what a verb changed stands in the audit already."""
    store: object = mind.store
    if isinstance(store, CallerStore) and store.changed:
        return
    Oversight(deployment.access, deployment.now(), verb).record_reads(caller, count_spaces(answer))


def count_spaces(answer: Any) -> Counter[str]:
    """How many memories of each space an answer holds."""
    match answer:
        case Memory():
            return Counter([answer.space])
        case Retrieved():
            return count_spaces(answer.memories)
        case list():
            held = [one.memory if isinstance(one, Hit) else one for one in answer]
            return Counter(one.space for one in held if isinstance(one, Memory))
    return Counter()


def with_server_spaces(arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """The arguments with spaces as the server names them, also in each of several items."""
    named = dict(arguments)
    if isinstance(named.get("space"), str):
        named["space"] = to_server_space(named["space"], caller.private_root)
    if isinstance(named.get("spaces"), list):
        named["spaces"] = [
            to_server_space(one, caller.private_root) if isinstance(one, str) else one
            for one in named["spaces"]
        ]
    if isinstance(named.get("items"), list):
        named["items"] = [
            with_server_spaces(item, caller) if isinstance(item, Mapping) else item
            for item in named["items"]
        ]
    return named
