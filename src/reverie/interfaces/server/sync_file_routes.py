"""The routes by which a user's devices leave sealed files for each other.

    GET    /v1/sync/files          what lies in the caller's own place: name, size, digest
    GET    /v1/sync/files/{name}   what a file holds
    PUT    /v1/sync/files/{name}   put a file there, new or in place of a known one
    DELETE /v1/sync/files/{name}   take a file away

The place is that of whoever asks: no address names another's. Row security holds beneath. Only what
is sealed is taken, so that a device that is set up wrongly shows the server nothing. A file is
written once (`If-None-Match: *`); one that shows keys may be replaced by who has seen it
(`If-Match` with its digest). Put twice it comes to the same, so a transfer that was cut off is
simply done again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reverie.access.device_files import VERB
from reverie.interfaces.server.json_schemas import Schema
from reverie.interfaces.server.problems import BadArgument
from reverie.interfaces.server.request_gate import read_body
from reverie.interfaces.server.sign_in import bearer_token, sign_in
from reverie.sync.device_logs.batch_file import is_sealed_file, owner_of

if TYPE_CHECKING:
    from reverie.access import Caller
    from reverie.interfaces.server.deployment import Deployment

FILES_PATH = "/v1/sync/files"
FILE_PATH = f"{FILES_PATH}/{{name}}"
BYTES = "application/octet-stream"


class FileRoute(NamedTuple):
    """One operation of the OpenAPI document."""

    path: str
    method: str
    name: str
    summary: str


FILE_ROUTES = (
    FileRoute(FILES_PATH, "get", "list_device_files", "List the caller's own sealed files."),
    FileRoute(FILE_PATH, "get", "read_device_file", "Read one of the caller's sealed files."),
    FileRoute(
        FILE_PATH,
        "put",
        "write_device_file",
        "Keep a sealed file. With `If-None-Match: *` the first of its name, with `If-Match` in "
        "place of the one that has this digest.",
    ),
    FileRoute(FILE_PATH, "delete", "remove_device_file", "Take away one of the sealed files."),
)
LISTED: Schema = {
    "type": "object",
    "properties": {
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "size": {"type": "integer"},
                    "digest": {"type": "string", "description": "SHA-256, in hexadecimal."},
                },
                "required": ["name", "size", "digest"],
            },
        }
    },
    "required": ["files"],
}


def build_file_routes(deployment: Deployment) -> list[Route]:
    """The routes of a caller's own place."""

    async def serve_list(request: Request) -> Response:
        token = bearer_token(request.headers)
        values = await deployment.pool.run(lambda: answer_list(deployment, token))
        return JSONResponse(values, headers={"Cache-Control": "no-store"})

    async def serve_file(request: Request) -> Response:
        token, name = bearer_token(request.headers), find_name(request)
        data = await deployment.pool.run(
            lambda: deployment.access.files.read_file(sign_in(deployment, token, VERB), name)
        )
        return Response(data, media_type=BYTES, headers={"Cache-Control": "no-store"})

    async def keep_file(request: Request) -> Response:
        token, name = bearer_token(request.headers), find_name(request)
        before = find_condition(request)
        data = await read_body(request, deployment.limits.body_bytes)
        values = await deployment.pool.run(
            lambda: answer_write(deployment, token, name, data, before)
        )
        return JSONResponse(values, headers={"ETag": f'"{values["digest"]}"'})

    async def remove_file(request: Request) -> Response:
        token, name = bearer_token(request.headers), find_name(request)
        gone = await deployment.pool.run(lambda: answer_removal(deployment, token, name))
        return JSONResponse({"removed": gone})

    return [
        Route(FILES_PATH, serve_list, methods=["GET"], name="sync/files"),
        Route(FILE_PATH, serve_file, methods=["GET"], name="sync/files/read"),
        Route(FILE_PATH, keep_file, methods=["PUT"], name="sync/files/write"),
        Route(FILE_PATH, remove_file, methods=["DELETE"], name="sync/files/remove"),
    ]


def answer_list(deployment: Deployment, token: str) -> dict[str, Any]:
    """What lies in the caller's place."""
    caller = sign_in(deployment, token, VERB)
    found = deployment.access.files.list_files(caller, deployment.now())
    return {"files": [{"name": one.name, "size": one.size, "digest": one.digest} for one in found]}


def answer_write(
    deployment: Deployment, token: str, name: str, data: bytes, before: str
) -> dict[str, Any]:
    """Keep a file; the digest by which it is known."""
    caller: Caller = sign_in(deployment, token, VERB)
    if not is_sealed_file(name, data):
        raise BadArgument(
            "It is not sealed, so this server does not take it. Seal the logs of your devices: "
            "pip install 'reverie[sealed]', then reverie sync add URL --sealed",
            "body",
        )
    now, files = deployment.now(), deployment.access.files
    # What replaces a file takes only as much more: keys change in a full place, too.
    growth = len(data) - (files.size_of(caller, name) if before else 0)
    deployment.access.check_quota(caller, now, size=max(0, growth))
    return {"name": name, "digest": files.write_file(caller, name, data, now, before=before)}


def answer_removal(deployment: Deployment, token: str, name: str) -> bool:
    """Take a file away; False if there was none."""
    caller: Caller = sign_in(deployment, token, VERB)
    gone = deployment.access.files.remove_file(caller, name, deployment.now())
    if gone:
        # A device makes room before it writes.
        deployment.access.recount(caller.tenant)
    return gone


def find_name(request: Request) -> str:
    """The name in the address; BadArgument for one that no device gives a file."""
    name = str(request.path_params["name"])
    if owner_of(name) is None:
        raise BadArgument("No file of a device is called so: 3f2a91c07be4-00000001.log", "name")
    return name


def find_condition(request: Request) -> str:
    """The digest of the file that is to be replaced; "" if none is to be."""
    match = request.headers.get("if-match", "").strip().strip('"')
    if not match and request.headers.get("if-none-match", "").strip() != "*":
        raise BadArgument(
            "Say `If-None-Match: *` for a new file, or `If-Match` with the digest of the one that "
            "yours is to replace",
            "If-None-Match",
        )
    return match


def describe_file_operation(row: FileRoute) -> dict[str, Any]:
    """An operation of the OpenAPI document, without what it may be refused for."""
    parameters: list[dict[str, Any]] = []
    if row.path == FILE_PATH:
        schema = {"type": "string"}
        parameters.append({"name": "name", "in": "path", "required": True, "schema": schema})
    if row.method == "put":
        parameters += [
            {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
            for name in ("If-None-Match", "If-Match")
        ]
    body: dict[str, Any] = {BYTES: {"schema": {"type": "string", "format": "binary"}}}
    answer = body if row.name == "read_device_file" else {"application/json": {"schema": {}}}
    if row.path == FILES_PATH:
        answer = {"application/json": {"schema": LISTED}}
    return {
        "operationId": row.name,
        "summary": row.summary.partition(". ")[0],
        "description": row.summary,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"required": True, "content": body}} if row.method == "put" else {}),
        "responses": {"200": {"description": "What was done, or lies there.", "content": answer}},
    }
