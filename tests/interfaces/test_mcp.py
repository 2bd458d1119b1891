"""The MCP server as the SDK's own client sees it: five tool sets, resources, prompts, both
transports.
"""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="the extra reverie[mcp] is not installed")

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from reverie.core import config
from reverie.core.installation import advise_install
from reverie.interfaces.mcp import files
from reverie.interfaces.mcp.server import PROFILES, build_server
from reverie.interfaces.mcp.tool_context import ToolContext
from reverie.testing import SPACE, AbsentEmbedder, BlockedEmbedder, CountingEmbedder
from tests.support.helpers import open_mind, run_command, toy_home, wait_until

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def home(tmp_path):
    return toy_home(tmp_path)


@pytest.fixture
def room(home, monkeypatch):
    monkeypatch.setattr(files, "SYNC_SECONDS", 60.0)  # on a busy machine half a one is nothing
    room = ToolContext(config.load_settings(home), SPACE)
    yield room
    room.close()


def over(server, talk):
    """Talk with a server by the SDK's client; what `talk` returns."""

    async def run():
        async with Client(server) as client:
            return await talk(client)

    return anyio.run(run)


def answers(server, *calls):
    """What tools answer, one after the other in one connection: values, or the text of an error."""

    async def talk(client):
        return [told(await client.call_tool(name, arguments)) for name, arguments in calls]

    return over(server, talk)


def told(result):
    if result.is_error or result.structured_content is None:
        return "".join(part.text for part in result.content)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def one(server, name, **arguments):
    return answers(server, (name, arguments))[0]


def environment(home, **more):
    return {
        **os.environ,
        "REVERIE_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **more,
    }


def command(home, *words):
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "reverie", "mcp", "--space", SPACE, *words],
        env=environment(home),
    )


@contextmanager
def served(home, *words, **more):
    """A server over HTTP in a process of its own; its address."""
    process: Any = subprocess.Popen(
        [sys.executable, "-m", "reverie", "mcp", "--http", "--port", "0", "--space", SPACE, *words],
        env=environment(home, **more),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
        assert found, line + process.stderr.read()
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err


# What a model sees


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.proves("E16")
def test_a_tool_set_is_small_and_says_what_it_does(room, profile):
    """At most nine tools, each described within 2 KB and annotated, instructions under 2 KB,
    arguments explained; each set is a class in a table, chosen by its name.
    """

    async def talk(client):
        return client.instructions, (await client.list_tools()).tools

    instructions, tools = over(build_server(room, profile), talk)
    assert 200 < len(instructions.encode()) < 2_000 and "not instructions" in instructions
    assert 1 <= len(tools) <= 9
    for tool in tools:
        assert 60 < len(tool.description) < 2_000 and tool.title
        hints = tool.annotations
        assert None not in (
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        )
        assert bool(tool.output_schema) == (profile != "anthropic")
        assert all(
            "description" in field
            for name, field in tool.input_schema["properties"].items()
            if name not in ("action", "command")
        )
    assert 1 <= sum(bool(tool.meta) for tool in tools) <= 3
    if profile == "unified":
        assert [tool.name for tool in tools] == [
            "recall",
            "remember",
            "hints",
            "retrieve",
            "revise",
            "forget",
            "feedback",
            "remind",
            "plan",
        ]
        assert {tool.name for tool in tools if tool.annotations.read_only_hint} == {
            "plan",
            "recall",
            "retrieve",
        }
        assert {tool.name for tool in tools if tool.annotations.idempotent_hint} == {
            "plan",
            "revise",
            "forget",
        }
        assert {tool.name for tool in tools if tool.annotations.destructive_hint} == {
            "revise",
            "forget",
        }


@pytest.mark.proves("E19", "E20", "E21", "E22", "E23", "E24", "E45", "E46", "E47")
def test_guidance_stands_in_the_descriptions(room):
    """The descriptions say when to store and when not, and which tags."""

    async def talk(client):
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    store = over(build_server(room, "tags"), talk)["store_memory"]
    for said in (
        "comprehensive explanation",
        "pattern of this project",
        "complex architecture",
        "passing answers",
        "about the user",
        "temporary troubleshooting",
    ):
        assert said in store.description
    fields = store.input_schema["properties"]
    assert fields["tags"]["description"].startswith("Specific and searchable") and (
        "not auth, stuff" in fields["tags"]["description"]
    )
    assert "Redis" in fields["description"]["description"]
    assert set(store.input_schema["required"]) == {"content", "description", "tags"}


# unified


@pytest.mark.proves("X48")
def test_an_agent_can_say_until_when_something_is_true(room):
    """It is kept, and what comes back says that it is over."""
    server = build_server(room)
    id = one(server, "remember", text="Ann is on call.", valid_from="2026-03-01")["id"]
    one(server, "revise", id=id, valid_to="2026-03-08")
    (found,) = one(server, "recall", query="who is on call?")["memories"]
    assert "no longer true since 2026-03-08" in str(found["why"])


def test_remember_recall_revise_forget(room):
    """A memory is kept, found with a reason, revised, rated and forgotten by tools."""
    server = build_server(room)
    kept = one(
        server,
        "remember",
        text=f"Staging is called heron. The token is {TOKEN}",
        kind="entity",
        tags=["staging"],
        title="Staging",
    )
    id = kept["id"]
    assert kept == {"id": id, "scope": "project", "redacted": kept["redacted"]} and kept["redacted"]
    (found,) = one(server, "recall", query="which host is staging?")["memories"]
    assert (
        found["id"] == id
        and TOKEN not in found["text"]
        and found["why"]
        and found["kind"] == "entity"
    )
    revised = one(server, "revise", id=id, text="Staging is called crane.", tags=["hosts"])
    assert (revised["text"], revised["tags"], revised["title"]) == (
        "Staging is called crane.",
        ["hosts"],
        "Staging",
    )
    assert one(server, "feedback", id=id, helpful=True)["confidence"] > found["confidence"]
    assert one(server, "forget", ids=[id], why="outdated")["forgotten"] == 1
    assert one(server, "recall", query="staging")["memories"] == []
    (gone,) = one(server, "retrieve", ids=[id])["memories"]
    assert gone["state"] == "outdated"


@pytest.mark.proves("E11", "E12", "CC-80", "CC-83")
def test_hints_then_retrieve(room):
    """Phase one names, once in a conversation; phase two reads."""
    server = build_server(room)
    with open_mind(room.settings.home) as mind:  # another conversation kept it
        id = mind.remember(
            "Staging is called heron, a secret recipe.",
            tags=["staging"],
            title="Hosts",
            space=SPACE,
        ).id
    (hint,) = one(server, "hints", prompt="what about staging?")["hints"]
    assert hint == {"id": id, "title": "Hosts", "kind": "fact", "tags": ["staging"]}
    again = one(server, "hints", prompt="what about staging?")
    assert again["hints"] == [] and again["text"].startswith("Nothing new")
    read = one(server, "retrieve", ids=[id, "mem_none"])
    assert read["memories"][0]["text"].endswith("recipe.") and read["unknown"] == ["mem_none"]
    read = one(server, "retrieve", tags=["Staging"], limit=1)
    assert (read["matched"], read["truncated"], read["memories"][0]["id"]) == (1, False, id)


@pytest.mark.proves("X42")
def test_what_was_known_already_is_told(room):
    """Storing a known text again is reported as known."""
    server = build_server(room)
    text = "The deploy fails when the token of the registry has expired."
    first, again = (
        one(server, "remember", text=text),
        one(server, "remember", text=f"Again: {text}"),
    )
    assert "like" not in first and again["like"]["id"] == first["id"] and again["likeness"] > 0.8


def test_a_reminder_says_when_it_is_due(room):
    server = build_server(room)
    told = one(
        server, "remind", text="Renew the certificate", when="tomorrow at 9", context=["nginx"]
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", told["due"]) and told["watches"]
    assert "Remind of it when?" in one(server, "remind", text="Renew it")


@pytest.mark.proves("CC-11", "E56")
def test_no_tool_reaches_another_project(room):
    """By id neither: what lies elsewhere is not there; the user's own space is seen from all."""
    server = build_server(room)
    with open_mind(room.settings.home) as mind:
        theirs = mind.remember(
            "Their staging is called crow.", tags=["staging"], space="me/other"
        ).id
    for name, arguments in (
        ("revise", {"id": theirs, "text": "x"}),
        ("forget", {"ids": [theirs]}),
        ("feedback", {"id": theirs, "helpful": False}),
    ):
        assert one(server, name, **arguments) == f"There is no memory with the id {theirs}"
    assert (
        one(server, "retrieve", ids=[theirs])["memories"]
        == []
        == one(server, "recall", query="crow")["memories"]
    )
    mine = one(server, "remember", text="I prefer short answers.", kind="preference", scope="user")
    with open_mind(room.settings.home) as mind:
        assert mind.get(mine["id"])[0].space == "me" and mind.get(theirs)[0].text.endswith("crow.")


@pytest.mark.proves("A70")
def test_the_kind_is_found_where_a_model_does_not_say_it(room):
    """A prohibition gets its triggers, and the answer says what it became."""
    server = build_server(room)
    kept = one(server, "remember", text="Never force-push to main.")
    assert kept["kept_as"] == "negative"
    assert "kept_as" not in one(server, "remember", text="The staging server is called heron.")
    said = one(server, "remember", text="Never use println!", kind="fact")
    with open_mind(room.settings.home) as mind:
        [never, fact] = mind.get([kept["id"], said["id"]])
    assert never.triggers and (fact.kind, fact.triggers) == ("fact", ())


@pytest.mark.proves("A114", "CC-84")
def test_errors_reach_the_model_as_text(room):
    """Bad input and memory that is off come back as an error that says what to do, not as a crash."""
    server = build_server(room)
    assert "no scope" in one(server, "remember", text="x", scope="everybody")
    everywhere = one(server, "remember", text="In every project of mine the tests come first.")
    assert everywhere["scope"] == "user"
    assert "nothing to remember" in one(server, "remember", text="  ")
    assert "two letters" in one(server, "retrieve")
    assert "limit" in one(server, "recall", query="x", limit=0)
    off = build_server(ToolContext(room.settings._replace(enabled=False), SPACE))
    assert "switched off" in one(off, "remember", text="Something")
    assert "switched off" in one(off, "forget", ids=["mem_x"])
    assert one(off, "recall", query="x")["memories"] == [] == one(off, "hints", prompt="x")["hints"]


def test_texts_that_are_long_are_cut_in_lists(room):
    server = build_server(room)
    id = one(server, "remember", text="word " * 1_000)["id"]
    (found,) = one(server, "recall", query="word")["memories"]
    assert (
        len(found["text"]) < 1_700 and f"retrieve {id} with offset 1500 reads on" in found["text"]
    )
    assert len(one(server, "retrieve", ids=[id])["memories"][0]["text"]) == 5_000
    room.mind.remember_many([{"text": f"{n} word " * 500} for n in range(60)], space=SPACE)
    many = one(server, "recall", query="word", limit=50)["memories"]
    assert len(many) == 50 and sum(len(found["text"]) for found in many) < 36_000


@pytest.mark.proves("E57", "E58")
def test_memories_have_kinds_and_an_end(room):
    """Recall by kind, and what has expired is recalled no longer."""
    server = build_server(room)
    decision = one(server, "remember", text="We chose SQLite over Postgres.", kind="decision")["id"]
    one(server, "remember", text="The store speaks SQLite.", kind="fact")
    gone = one(server, "remember", text="SQLite is frozen until Friday.", expires="2026-01-01")[
        "id"
    ]
    assert [
        m["id"] for m in one(server, "recall", query="SQLite", kinds=["decision"])["memories"]
    ] == [decision]
    assert gone not in [m["id"] for m in one(server, "recall", query="SQLite")["memories"]]


@pytest.mark.model
@pytest.mark.proves("B98", "E53")
def test_search_goes_by_meaning(tmp_path, model_cache):
    """What is found has no word in common with what was asked."""
    said = (
        "My automobile broke down on the motorway.",
        "The pasta needs nine minutes.",
        "He carved a spoon.",
    )
    room = ToolContext(config.Settings(home=tmp_path, models=str(model_cache), idle=0.0), SPACE)
    room.mind.remember_many([{"text": text} for text in said], space=SPACE)
    room.mind.settle()
    found = one(
        build_server(room, "jcode"), "memory", action="search", query="car trouble on the highway"
    )["memories"]
    assert found[0]["text"] == said[0]
    assert room.mind.recall("car trouble on the highway", space=SPACE, mode="words") == []
    room.close()


# The sets of the documents


@pytest.mark.proves("A57", "A58", "A59", "A60", "A61", "B96", "B97", "B99", "B100", "B101", "B102")
def test_jcode(room):
    """The jcode profile offers remember, recall, search, list, forget, link and tag."""
    server = build_server(room, "jcode")

    def memory(action, **given):
        return one(server, "memory", action=action, **given)

    one_id = memory(
        "remember", content="We deploy with make ship.", category="fact", tags=["deploy"]
    )["id"]
    other = memory("remember", content="I like tabs.", category="preference", scope="global")["id"]
    assert {m["id"]: m["scope"] for m in memory("list")["memories"]} == {
        one_id: "project",
        other: "global",
    }
    assert [m["id"] for m in memory("list", tag="deploy")["memories"]] == [one_id]
    assert [m["id"] for m in memory("search", query="deploy with make")["memories"]][:1] == [one_id]
    assert {m["id"] for m in memory("recall")["memories"]} == {one_id, other}
    with room.mind.companion(space=SPACE, session="s") as companion:
        companion.turn([{"role": "user", "content": "how do we deploy, with make?"}])
        assert companion.wait(120)
    assert memory("recall", limit=1)["memories"][0]["id"] == one_id  # what fits what was said last
    assert "relates_to" in memory("link", **{"from": one_id, "to": other})["message"]
    assert memory("tag", id=one_id, tags=["ship"])["message"] == "Tags: deploy, ship"
    memory("forget", id=one_id)
    assert one_id not in [m["id"] for m in memory("search", query="deploy with make")["memories"]]
    assert not room.mind.get(one_id)[0].active and room.mind.restore(one_id).active
    for action, given, needed in (
        ("search", {}, "query"),
        ("forget", {}, "id"),
        ("link", {"from": other}, "to"),
        ("tag", {"id": other}, "tags"),
    ):
        assert needed in memory(action, **given)
    assert "no scope" in memory("remember", content="x", scope="team")


@pytest.mark.proves(
    "E18",
    "E25",
    "E26",
    "E27",
    "E28",
    "E29",
    "E30",
    "CC-82",
    "CC-83",
    "CC-84",
    "CC-85",
    "CC-86",
    "CC-87",
    "X36",
    "X37",
)
def test_tags(room):
    """`store_memory`, `retrieve_memories` and `list_memory_tags` have the fields that clients
    expect, and say who wrote a memory.
    """
    server = build_server(room, "tags")
    stored = one(
        server,
        "store_memory",
        content="The runtime is shared.",
        description="Runtime and session",
        tags=["Architecture", "runtime"],
        confidence=7,
    )
    id = stored["memory_id"]
    assert stored == {
        "status": "success",
        "memory_id": id,
        "message": "Stored: Runtime and session",
        "scope": "project",
        "tags": ["architecture", "runtime"],
        "maturity": "raw",
        "confidence": 0.8,
    }
    kept = room.mind.get(
        one(
            server,
            "store_memory",
            content="It is slow on Mondays.",
            description="Mondays",
            tags=["speed"],
            evidence="three profiles",
        )["memory_id"]
    )[0]
    assert (kept.details["evidence"], kept.session, kept.space) == (
        "three profiles",
        room.session,
        SPACE,
    )
    room.mind.data.purge(kept.id)
    found = one(server, "retrieve_memories", tags=["RUNTIME"])
    (memory,) = found.pop("memories")
    assert found == {
        "status": "success",
        "count": 1,
        "matched": 1,
        "truncated": False,
        "message": "1 of 1 memories",
    }
    assert set(memory) == {
        "id",
        "description",
        "content",
        "tags",
        "stored",
        "usage_count",
        "maturity",
        "confidence",
        "scope",
        "generated_by",
    }
    assert memory["generated_by"] == {"kind": "ai", "agent_id": "mcp", "session_id": room.session}
    assert (memory["content"], memory["usage_count"]) == ("The runtime is shared.", 1)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", memory["stored"])
    assert one(server, "retrieve_memories", ids=[id])["memories"][0]["usage_count"] == 2
    nothing = one(server, "retrieve_memories", ids=["mem_none"])
    assert nothing == {
        "status": "no_results",
        "count": 0,
        "matched": 0,
        "truncated": False,
        "message": "No memories match",
        "memories": [],
    }
    assert one(server, "retrieve_memories", tags=["x"])["status"] == "error"
    room.mind.forget(id)
    gone = one(server, "retrieve_memories", ids=[id])
    assert gone == nothing | {"message": f"No memories match; no longer counts: {id} (forgotten)"}
    room.mind.restore(id)
    refusals: list[dict[str, Any]] = [
        {"tags": ["x", " "]},
        {"tags": []},
        {"tags": ["oauth2"], "description": " "},
    ]
    for refused in refusals:
        said = one(server, "store_memory", **{"content": "x", "description": "y", **refused})
        assert said["status"] == "error" and ("needed" in said["error"])
    rejected = one(server, "store_memory", content="x", description="y", tags=[], scope="galaxy")
    assert (rejected["status"], rejected["allowed_scopes"]) == (
        "rejected",
        ["project", "universal"],
    )
    assert (
        one(server, "store_memory", content=" ", description="y", tags=["zz"])["status"] == "error"
    )
    text = "The deploy of run {} failed since the token of the registry had expired"
    answers(
        server,
        *[
            ("store_memory", {"content": text.format(n), "description": "d", "tags": ["deploy"]})
            for n in range(2)
        ],
    )
    again = one(server, "store_memory", content=text.format(3), description="d", tags=["deploy"])
    assert (
        again["duplicate_similarity"] > 0.8
        and again["duplicate_of"]
        and again["duplicate_source"] == "raw"
    )
    room.mind.remember("Perhaps it leaks.", provenance="inferred", space=SPACE)
    listed = one(server, "list_memory_tags")
    assert listed == {
        "status": "success",
        "tags": ["architecture", "deploy", "runtime"],
        "count": 3,
        "memory_count": 5,
        "pending_curation": 5,
        "message": "3 tags",
    }
    room.mind.review.curate(id, "validated")
    assert one(server, "list_memory_tags")["pending_curation"] == 4


@pytest.mark.proves("E1", "E2", "E3", "E4", "E6")
def test_a_stored_explanation_is_hinted_at_in_another_project_session(room):
    """One session stores an explanation; in another project-mate session the prompt's words lead to
    it.
    """
    content = (
        "The architecture separates shared resources (Runtime) from per-agent state (Session): subagents reuse "
        "the parent's provider config, so they spawn quickly."
    )
    id = one(
        build_server(room, "tags"),
        "store_memory",
        content=content,
        description="Runtime/Session architecture and efficient subagent spawning",
        tags=["architecture", "runtime", "session", "subagents"],
    )["memory_id"]
    later = ToolContext(room.settings, SPACE)
    (hint,) = one(build_server(later), "hints", prompt="How do I create a subagent efficiently?")[
        "hints"
    ]
    assert hint["id"] == id and "subagents" in hint["tags"] and content not in str(hint)
    (read,) = one(build_server(later, "tags"), "retrieve_memories", tags=["subagents", "runtime"])[
        "memories"
    ]
    assert read["content"] == content
    elsewhere = ToolContext(room.settings, "me/other")
    assert (
        one(build_server(elsewhere), "hints", prompt="How do I create a subagent efficiently?")[
            "hints"
        ]
        == []
    )
    later.close()
    elsewhere.close()


@pytest.mark.proves("C91", "C92", "C93", "C94", "C95", "C96", "C97")
def test_files(room):
    """Passages with path and lines, lines of a file, today's log and MEMORY.md, both remembered."""
    server = build_server(room, "files")
    saved = one(server, "memory_save", content="We chose SQLite for the store.")
    assert re.search(r"memory/\d{4}-\d\d-\d\d\.md$", saved["path"])
    updated = one(server, "memory_update", content="- The staging server is called heron.\n")
    assert updated["path"].endswith("MEMORY.md")
    with open_mind(room.settings.home) as mind:
        assert [m.kind for m in mind.get([saved["id"], updated["id"]])] == ["event", "fact"]
    found = one(server, "memory_search", query="staging server heron")["results"]
    assert found[0]["path"] == updated["path"] and "heron" in found[0]["snippet"]
    lines = one(
        server, "memory_get", path="MEMORY.md", **{"from": found[0]["start_line"], "lines": 1}
    )
    assert (
        lines["start_line"] == lines["end_line"] == found[0]["start_line"]
        and lines["total_lines"] > 1
    )
    replaced = one(server, "memory_update", content="# Anew\n", mode="replace")
    assert (
        replaced["message"]
        == f"Updated: 1 forgotten. `reverie undo {replaced['version']}` takes it back"
    )
    room.mind.files.restore(updated["path"], replaced["version"], space=SPACE)
    assert "heron" in one(server, "memory_get", path="MEMORY.md")["text"]
    for path in ("/etc/passwd", "../../config.toml", "memory/../../x"):
        assert "not in a folder" in one(server, "memory_get", path=path)
    off = build_server(ToolContext(room.settings._replace(mirror="off"), SPACE), "files")
    assert "switched off" in one(off, "memory_update", content="x")


def test_anthropic(room):
    """The memory tool's commands with its answers, as plain text; errors in its words."""
    server = build_server(room, "anthropic")
    assert one(server, "memory", command="create", path="/memories/a.md", file_text="one\n") == (
        "File created successfully at: /memories/a.md"
    )
    assert one(server, "memory", command="view", path="/memories/a.md") == (
        "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\t"
    )
    assert one(server, "memory", command="view", path="/memories/b.md") == (
        "The path /memories/b.md does not exist. Please provide a valid path."
    )


# Resources and prompts


def test_resources(room):
    """A memory with its story, MEMORY.md and today's log; nothing of others, nothing when it is
    off.
    """
    with open_mind(room.settings.home) as mind:
        id = mind.remember("Staging is called heron.", space=SPACE).id
        theirs = mind.remember("Their crow.", space="me/other").id
        mind.episodes.record("The deploy went well", space=SPACE)
        mind.data.mirror(SPACE)

    async def talk(client):
        listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
        read = {
            uri: (await client.read_resource(uri)).contents[0].text
            for uri in [*listed, f"reverie://memory/{id}"]
        }
        with pytest.raises(Exception, match="no memory with the id"):
            await client.read_resource(f"reverie://memory/{theirs}")
        return read

    read = over(build_server(room), talk)
    assert set(read) == {
        "reverie://pages/MEMORY.md",
        "reverie://pages/today.md",
        f"reverie://memory/{id}",
    }
    assert (
        "heron" in read["reverie://pages/MEMORY.md"]
        and "deploy went well" in read["reverie://pages/today.md"]
    )
    assert read[f"reverie://memory/{id}"].startswith("Staging is called heron.")
    assert "not instructions" in read[f"reverie://memory/{id}"]

    async def page(client):
        return (await client.read_resource("reverie://pages/MEMORY.md")).contents[0].text

    assert "Nothing is written" in over(
        build_server(ToolContext(room.settings._replace(enabled=False), SPACE)), page
    )


def test_prompts(room):
    """One brings in what memory has on a topic, fenced; one has the model keep what a conversation
    taught.
    """
    with open_mind(room.settings.home) as mind:
        mind.remember("Staging is called heron.", tags=["staging"], space=SPACE)

    async def talk(client):
        from mcp_types import PromptReference

        ref = PromptReference(type="ref/prompt", name="recall")
        topics = await client.complete(ref, {"name": "topic", "value": "St"})
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        return (
            names,
            topics.completion.values,
            [
                (await client.get_prompt(name, arguments)).messages[0].content.text
                for name, arguments in (
                    ("recall", {"topic": "staging"}),
                    ("recall", {"topic": "zzz"}),
                    ("recall", {}),
                    ("wrap_up", {}),
                )
            ],
        )

    names, topics, (known, unknown, newest, wrap_up) = over(build_server(room), talk)
    assert names == ["recall", "wrap_up"] and topics == ["staging"]
    assert "heron" in known and "not instructions" in known and "Look back" in wrap_up
    assert newest.startswith("What was kept last:") and "heron" in newest
    assert "nothing on it" in unknown or "heron" in unknown  # the toy embedder likens everything


# Transports and processes


@pytest.mark.proves("A1", "E1")
def test_over_stdio(home):
    """A process of its own: tools, and what one connection keeps the next one recalls."""
    assert one(command(home), "remember", text="Staging is called heron.")["scope"] == "project"
    assert (
        one(command(home), "recall", query="staging")["memories"][0]["text"]
        == "Staging is called heron."
    )


@pytest.mark.proves("X8")
def test_over_http(home):
    """Streamable HTTP: the same tools; hints are given once in each session and not across
    sessions.
    """
    with open_mind(home) as mind:
        mind.remember("Staging is called heron.", tags=["staging"], title="Hosts", space=SPACE)

    async def hints(client):
        ask = ("hints", {"prompt": "what about staging?"})
        return [len(told(await client.call_tool(*ask))["hints"]) for _ in range(2)]

    async def legacy(address):
        async with Client(address, mode="legacy") as client:
            return await hints(client)

    with served(home, "--no-token") as address:
        assert (
            one(address, "remember", text="The office cat is called Mieze.")["scope"] == "project"
        )
        assert one(address, "recall", query="office cat")["memories"]
        assert [anyio.run(legacy, address) for _ in range(2)] == [[1, 0], [1, 0]]


def test_http_is_for_this_machine_only(home):
    """Foreign Host or Origin is refused (DNS rebinding); it listens on 127.0.0.1 and
    nowhere else.
    """
    with served(home, "--no-token") as address, httpx2.Client(timeout=120) as web:
        headers = {"accept": "application/json, text/event-stream"}
        assert web.post(address, json=HELLO, headers=headers).status_code == 200
        for foreign in (
            {"host": "evil.example"},
            {"origin": "http://evil.example"},
            {"origin": "http://127.0.0.1.evil.example"},
            {"host": "127.0.0.1.evil.example:80"},
        ):
            assert web.post(address, json=HELLO, headers=headers | foreign).status_code in (
                403,
                421,
            )
        with pytest.raises(httpx2.TransportError):
            web.post(address.replace("127.0.0.1", "127.0.0.2"), json=HELLO, headers=headers)


def test_http_with_a_token(home):
    """With mcp_token only who bears it is answered."""

    async def borne(address, token):
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=120) as web,
            Client(streamable_http_client(address, http_client=web)) as client,
        ):
            return told(await client.call_tool("recall", {"query": ""}))

    with (
        served(home, REVERIE_MCP_TOKEN="open sesame") as address,
        httpx2.Client(timeout=120) as web,
    ):
        headers = {"accept": "application/json, text/event-stream"}
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "open sesame"}):
            refused = web.post(address, json=HELLO, headers=headers | given)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert anyio.run(borne, address, "open sesame")["memories"] == []


def test_http_asks_for_a_token_by_default(home):
    """It is made at the first start, stays the same, and only the owner of the home may read it."""
    headers = {"accept": "application/json, text/event-stream"}
    tokens = []
    for _ in range(2):
        with served(home) as address, httpx2.Client(timeout=120) as web:
            place = home / "mcp-token"
            tokens.append(place.read_text().strip())
            assert place.stat().st_mode & 0o777 == 0o600
            assert web.post(address, json=HELLO, headers=headers).status_code == 401
            known = headers | {"authorization": f"Bearer {tokens[0]}"}
            assert web.post(address, json=HELLO, headers=known).status_code == 200
    assert tokens[0] == tokens[1] and len(tokens[0]) >= 32


def test_a_line_that_is_no_message_is_answered(home):
    """With JSON-RPC's own errors; the messages after it are answered as ever."""
    process = raw(home)
    process.stdin.write(b'nonsense\n{"half": \n[1, 2]\n' + json.dumps(HELLO).encode() + b"\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(4)]
    process.communicate(timeout=120)
    errors, hello = [one for one in answers if "error" in one], answers[-1]
    assert [one["error"]["code"] for one in errors] == [-32700, -32700, -32600]
    assert all(one["jsonrpc"] == "2.0" and one["id"] is None for one in errors)
    assert hello["id"] == 1 and "result" in hello


def raw(home, *words, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", "mcp", "--space", SPACE, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home, **more),
    )


def test_nothing_but_protocol_on_stdout(home):
    """Every line is a message, whatever nonsense comes in; it ends with its client's stdin."""
    process = raw(home)
    asked = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "none", "arguments": {}},
        },
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": {"name": "remember", "arguments": {"text": "Staging is called heron."}},
        },
    ]
    process.stdin.write(
        b"nonsense\n\xff\xfe\n" + b"".join(json.dumps(one).encode() + b"\n" for one in asked)
    )
    process.stdin.flush()
    messages: list[Any] = []
    while not messages or messages[-1].get("id") != 3:
        messages.append(json.loads(process.stdout.readline()))
    rest, _ = process.communicate(timeout=120)
    assert all(message["jsonrpc"] == "2.0" for message in messages) and (
        rest,
        process.returncode,
    ) == (b"", 0)
    assert messages[-1]["result"]["structuredContent"]["scope"] == "project"


def test_ctrl_c_ends_the_server(home):
    """Ctrl-C ends the server, also while it waits for a line."""
    process = raw(home)
    process.stdin.write(json.dumps(HELLO).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == -signal.SIGINT
    process.communicate()


def test_the_server_ends_when_its_parent_is_gone(home, tmp_path):
    """A parent that was killed leaves no server behind, even if somebody else holds
    the pipe open.
    """
    note, said = tmp_path / "pid", tmp_path / "said"
    start = (
        "import os, subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-m', 'reverie', 'mcp', '--space', 'me/demo'], stdin=sys.stdin,\n"
        f"                     stdout=open({str(said)!r}, 'wb'), stderr=subprocess.DEVNULL)\n"
        f"open({str(note)!r}, 'w').write(str(p.pid))\n"
        "p.wait()\n"
    )
    parent: Any = subprocess.Popen(
        [sys.executable, "-c", start], stdin=subprocess.PIPE, env=environment(home)
    )
    wait_until(lambda: note.exists() and note.read_text())
    pid = int(note.read_text())
    parent.stdin.write(json.dumps(HELLO).encode() + b"\n")
    parent.stdin.flush()
    wait_until(lambda: said.exists() and said.stat().st_size)  # it serves, and so it watches
    parent.kill()
    parent.wait()
    wait_until(lambda: b"reverie" not in cmdline(pid))
    parent.stdin.close()


def cmdline(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.proves("CC-12")
def test_many_copies_at_once(home):
    """Four servers over one home keep 40 memories, none is lost, none fails."""
    processes = [raw(home) for _ in range(4)]
    for number, process in enumerate(processes):
        calls = [
            {
                "jsonrpc": "2.0",
                "id": 10 + n,
                "method": "tools/call",
                "params": {
                    "name": "remember",
                    "arguments": {"text": f"Fact {n} of copy {number}, unlike all others"},
                },
            }
            for n in range(10)
        ]
        lines = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *calls]
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in lines))
        process.stdin.flush()
    for process in processes:
        got = [json.loads(process.stdout.readline()) for _ in range(11)]
        assert not [one for one in got if "error" in one or one["result"].get("isError")]
        process.communicate(timeout=120)
        assert process.returncode == 0
    with open_mind(home) as mind:
        assert len(mind.browse(space=SPACE)) == 40 and [] == mind.data.verify()


@pytest.mark.proves("A3")
def test_no_tool_waits_for_a_model(room, monkeypatch):
    """While the model is being loaded or fetched, and where it cannot be had, words answer."""
    blocked, missing = BlockedEmbedder(), AbsentEmbedder()
    server = build_server(room)
    one(server, "remember", text="Staging is called heron.")
    room.mind.context.embedder = blocked
    assert (
        one(server, "recall", query="staging heron")["memories"] and room.search_mode() == "words"
    )
    assert (
        one(server, "hints", prompt="is staging heron?")["hints"] == []
    )  # this conversation kept it itself
    blocked.release()
    wait_until(lambda: room.search_mode() == "auto")
    with closing(ToolContext(room.settings, SPACE)) as other:
        other.mind.context.embedder = missing
        found = one(build_server(other), "recall", query="staging heron")
        assert found["memories"] and other.search_mode() == "words"
        other.mind.context.embedder = CountingEmbedder()
        assert other.search_mode() == "words"
        monkeypatch.setattr("reverie.interfaces.mcp.tool_context.MODEL_RETRY_SECONDS", 0.0)
        wait_until(lambda: other.search_mode() == "auto")  # it is tried for again, some time later


@pytest.mark.proves("A114")
def test_what_is_switched_off_is_off_in_a_server_that_runs(room):
    """`reverie off` in another process holds at once, and so does `reverie on`."""
    server = build_server(room)
    one(server, "remember", text="Staging is called heron.")
    home = ("--home", str(room.settings.home), "--space", SPACE)
    run_command("off", *home)
    assert "switched off" in one(server, "remember", text="Something else.")
    assert one(server, "recall", query="staging")["memories"] == []
    run_command("on", *home)
    assert one(server, "recall", query="staging")["memories"]


def test_the_extra_is_named_when_it_is_missing(home, monkeypatch):
    """Without the package mcp the command says what to install."""
    for name in list(sys.modules):
        if name.startswith("reverie.interfaces.mcp"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert advise_install("mcp") in run_command("mcp", code=11).stderr


def test_a_profile_that_is_none(room):
    from reverie.core.errors import BadInput

    with pytest.raises(BadInput, match="unified, jcode, files, tags, anthropic"):
        build_server(room, "other")
