# mypy: no-check-untyped-defs
"""MCP over HTTP with the real client of the SDK, as an OAuth resource server without sessions."""

import anyio
import httpx
import pytest


def use_tools(url, token, work):
    """What `work(session)` gives, in a session of the SDK's client that bears a token."""
    import httpx2
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def run():
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "test-agent/1.0"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as client,
            streamable_http_client(url, http_client=client) as (reads, writes, *_),
            ClientSession(reads, writes) as session,
        ):
            await session.initialize()
            return await work(session)

    return anyio.run(run)


def test_a_tool_remembers_and_another_request_recalls(team):
    """Each request brings its key: what one user's agent kept is found by it, and by nobody
    else's.
    """
    team.control.people.create_user(team.admin, "ann", now=1.0)
    ann = team.issue("ann")
    url = f"{team.url}/mcp?space=me/demo"

    async def remember(session):
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert {"recall", "remember", "hints"} <= names and "plan" not in names
        return await session.call_tool("remember", {"text": "The staging server is heron."})

    kept = use_tools(url, ann, remember)
    assert not kept.is_error, kept.content

    async def recall(session):
        return await session.call_tool("recall", {"query": "which server is staging?"})

    found = use_tools(url, ann, recall).structured_content["memories"]
    assert [one["text"] for one in found] == ["The staging server is heron."]
    assert [] == use_tools(url, team.founded.key.token, recall).structured_content["memories"]
    (stored,) = team.client(ann)("browse", space="me/demo")
    assert stored["details"]["author"]["agent"] == "test-agent/1.0"
    assert stored["details"]["writer"]["user"] == "ann"


@pytest.mark.parametrize("profile", ["unified", "jcode", "files", "tags", "anthropic"])
def test_every_tool_set_is_served(team, profile):
    """`?profile=` chooses the tool set, as `reverie mcp --profile` does."""

    async def names(session):
        return [tool.name for tool in (await session.list_tools()).tools]

    assert use_tools(f"{team.url}/mcp?profile={profile}", team.founded.key.token, names)


def test_without_a_token_a_client_learns_where_to_get_one(team):
    """401 with the address of the metadata, which names the resource (RFC 9728)."""
    refused = httpx.post(
        f"{team.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, timeout=120
    )
    assert refused.status_code == 401
    address = refused.headers["www-authenticate"].partition('resource_metadata="')[2].strip('"')
    assert address == f"{team.url}/.well-known/oauth-protected-resource/mcp"
    assert httpx.get(address, timeout=120).json()["resource"] == f"{team.url}/mcp"
