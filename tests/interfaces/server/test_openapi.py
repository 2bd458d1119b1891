# mypy: no-check-untyped-defs
"""The OpenAPI document says what the routes do, because both follow from the same tables."""

import inspect

from starlette.routing import Route

from reverie import Mind
from reverie.interfaces.server.health_routes import build_health_routes
from reverie.interfaces.server.login_routes import LOGIN_ROUTES
from reverie.interfaces.server.member_routes import MEMBER_ROUTES
from reverie.interfaces.server.openapi_document import build_openapi_document
from reverie.interfaces.server.sync_file_routes import FILE_ROUTES
from reverie.interfaces.server.verb_routes import VERB_ROUTES

# Verbs of every day that need the caller's own machine, or make no sense for one request.
LOCAL_VERBS = {
    "around", "companion", "conversation", "learn", "plan", "recording", "record_tool", "settle",
    "sleep", "close",
}  # fmt: skip


def test_every_verb_has_a_path_and_every_path_a_verb():
    """A row of a table is a path, and nothing else is."""
    rows = [*VERB_ROUTES, *MEMBER_ROUTES, *LOGIN_ROUTES]
    document = build_openapi_document("https://memory.example.com")
    served = {f"/v1/{row.name}" for row in rows} | {row.path for row in FILE_ROUTES}
    assert served == document["paths"].keys()
    operations = [one for path in document["paths"].values() for one in path.values()]
    ids = [one["operationId"] for one in operations]
    assert len(ids) == len(set(ids))


def test_every_verb_of_every_day_is_offered():
    """A verb that is added to `Mind` is missed here until it has its row, or a reason."""
    verbs = {name for name, verb in inspect.getmembers(Mind, inspect.isfunction) if name[0] != "_"}
    assert set() == verbs - LOCAL_VERBS - {row.path for row in VERB_ROUTES}


def test_every_reference_leads_to_a_schema():
    """A document that refers to nothing can be read by any generator of clients."""
    document = build_openapi_document("https://memory.example.com")
    known = document["components"]["schemas"]

    def references(value):
        if isinstance(value, dict):
            yield from [value["$ref"]] if "$ref" in value else []
            for one in value.values():
                yield from references(one)
        elif isinstance(value, list):
            for one in value:
                yield from references(one)

    names = {ref.removeprefix("#/components/schemas/") for ref in references(document)}
    assert names == known.keys()
    assert known["Memory"]["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}


def test_the_served_document_lists_what_is_served(team):
    """Every path of the document answers, and is not the address of nothing."""
    client = team.client(team.founded.key.token)
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method in methods:
            answer = client.request(method, path, content=b'{"no such argument": 1}')
            assert answer.status_code != 404 and answer.status_code < 500, path


def test_health_has_no_secrets():
    """What anybody may ask is served by three routes."""
    names = [route.path for route in build_health_routes(None) if isinstance(route, Route)]
    assert names == ["/healthz", "/readyz", "/metrics"]
