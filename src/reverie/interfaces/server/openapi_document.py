"""The OpenAPI document of the HTTP API, from the same tables as the routes themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reverie import __version__
from reverie.interfaces.server.json_schemas import Schema
from reverie.interfaces.server.login_routes import LOGIN_ROUTES
from reverie.interfaces.server.member_routes import MEMBER_ROUTES
from reverie.interfaces.server.problems import MEDIA_TYPE
from reverie.interfaces.server.repeated_requests import IDEMPOTENCY_HEADER, MAX_KEY_CHARS
from reverie.interfaces.server.sync_file_routes import FILE_ROUTES, describe_file_operation
from reverie.interfaces.server.verb_requests import PREFIX
from reverie.interfaces.server.verb_routes import VERB_ROUTES

PROBLEM: Schema = {
    "type": "object",
    "description": "What went wrong (RFC 9457), and what to do about it.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "field": {"type": "string", "description": "The argument that was wrong."},
    },
    "required": ["type", "title", "status", "detail", "instance"],
}
REPEAT_PARAMETER = {
    "name": IDEMPOTENCY_HEADER,
    "in": "header",
    "required": False,
    "description": "A name of this request: repeated with it, it is done once and answered alike.",
    "schema": {"type": "string", "maxLength": MAX_KEY_CHARS},
}
REFUSED: dict[str, Any] = {
    "description": "Why it was not done.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
PUBLIC: list[dict[str, Any]] = [{}]


def build_openapi_document(public_url: str) -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    components: dict[str, Schema] = {"Problem": PROBLEM}
    for row in VERB_ROUTES:
        components |= row.components
    paths: dict[str, dict[str, Any]] = {}
    for path, method, operation in list_operations():
        paths.setdefault(path, {})[method] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Reverie",
            "version": __version__,
            "description": "Long-term memory of a team's AI agents: the verbs of Python, by HTTP.",
        },
        "servers": [{"url": public_url}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def list_operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(path, method, operation) of every route of the API."""
    for row in VERB_ROUTES:
        operation = describe_operation(row.name, row.summary, row.arguments, row.answer)
        if row.can_be_repeated:
            operation["parameters"] = [REPEAT_PARAMETER]
        yield f"{PREFIX}/{row.name}", "post", operation
    for member_row in MEMBER_ROUTES:
        operation = describe_operation(
            member_row.name.replace("/", "_"), member_row.summary, member_row.arguments, {}
        )
        yield f"{PREFIX}/{member_row.name}", "post", operation
    for login_row in LOGIN_ROUTES:
        operation = describe_operation(
            login_row.name.replace("/", "_"), login_row.summary, login_row.arguments, {}
        )
        yield f"{PREFIX}/{login_row.name}", "post", {**operation, "security": PUBLIC}
    for file_row in FILE_ROUTES:
        operation = describe_file_operation(file_row)
        operation["responses"]["default"] = REFUSED
        yield file_row.path, file_row.method, operation


def describe_operation(
    name: str, summary: str, arguments: Schema, answer: Schema
) -> dict[str, Any]:
    """One operation: its body is an object of arguments, its answer stands under `result`."""
    result = {"type": "object", "properties": {"result": answer}, "required": ["result"]}
    return {
        "operationId": name.replace("/", "_"),
        "summary": summary.partition(". ")[0],
        "description": summary,
        "requestBody": {
            "required": bool(arguments.get("required")),
            "content": {"application/json": {"schema": arguments}},
        },
        "responses": {
            "200": {
                "description": "What the verb answers.",
                "content": {"application/json": {"schema": result}},
            },
            "default": REFUSED,
        },
    }
