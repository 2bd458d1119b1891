"""What the tools of MCP answer to what is odd: wrong names and types, secrets, long texts, clients
that leave.
"""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="the extra reverie[mcp] is not installed")

from reverie.interfaces.mcp.server import PROFILES, build_server
from reverie.testing import SPACE
from tests.interfaces.test_mcp import HELLO, TOKEN, environment, home, one, over, room  # noqa: F401 - fixtures
from tests.support.helpers import wait_until

READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_name_that_a_tool_does_not_take_is_refused(room, profile):  # noqa: F811
    """A question under a wrong name is not answered as if nothing had been asked; the schema says
    so too.
    """
    server = build_server(room, profile)

    async def talk(client):
        return (await client.list_tools()).tools

    for tool in over(server, talk):
        assert tool.input_schema["additionalProperties"] is False
        said = one(server, tool.name, nonsense="heron")
        assert f"{tool.name} takes no 'nonsense'" in said
        assert all(name in said for name in tool.input_schema["properties"])


@pytest.mark.parametrize(
    "profile, tool, given, said",
    [
        ("unified", "recall", {"limit": 0}, "limit must be at least 1, not 0"),
        ("unified", "recall", {"limit": "many"}, "limit must be a whole number, not 'many'"),
        ("unified", "recall", {"tags": "oauth2"}, "tags must be a list"),
        ("unified", "recall", {"query": 7}, "query must be a text, not 7"),
        ("unified", "recall", {"query": "x" * 24_000}, "query may have 20,000 characters at most"),
        ("unified", "recall", {"kinds": ["nokind"]}, "nothing of the kind nokind. There are "),
        ("unified", "remember", {}, "text is needed"),
        ("jcode", "memory", {"action": "dance"}, "action must be one of 'remember'"),
        ("files", "memory_get", {"path": "MEMORY.md", "from": 0}, "from must be at least 1"),
        ("files", "memory_get", {"path": "memory/2001-01-01.md"}, "There is no file"),
    ],
)
def test_a_wrong_argument_is_told_in_words(room, profile, tool, given, said):  # noqa: F811
    """What must be given instead, and no address of a library's manual."""
    answer = one(build_server(room, profile), tool, **given)
    assert said in answer and "pydantic" not in answer and len(answer) < 500


@pytest.mark.parametrize(
    "profile, tool, given",
    [
        ("unified", "remember", {"text": f"The key is {TOKEN}"}),
        ("unified", "remember", {"text": "The key is elsewhere", "tags": [TOKEN]}),
        ("unified", "remind", {"text": f"Renew {TOKEN}", "when": "tomorrow at 9"}),
        ("jcode", "memory", {"action": "remember", "content": f"The key is {TOKEN}"}),
        ("files", "memory_save", {"content": f"The key is {TOKEN}"}),
        ("files", "memory_update", {"content": f"- The key is {TOKEN}"}),
        (
            "tags",
            "store_memory",
            {"content": f"The key is {TOKEN}", "description": "Key", "tags": ["keys"]},
        ),
    ],
)
def test_redacted_secrets_are_reported(room, profile, tool, given):  # noqa: F811
    """Every tool that writes names the kinds of secrets that it took out, and never
    what they were.
    """
    answer = one(build_server(room, profile), tool, **given)
    assert answer["redacted"] == ["github-token"] and TOKEN not in str(answer)


def test_redaction_in_changes_is_reported(room):  # noqa: F811
    """A revision and a file of the memory tool report the kinds of secrets taken out, too."""
    id = room.mind.remember("The key is in the vault", space=SPACE).id
    revised = one(build_server(room), "revise", id=id, text=f"The key is {TOKEN}")
    assert revised["redacted"] == ["github-token"]
    assert "redacted" not in one(build_server(room), "revise", id=id, title="Keys")
    said = one(
        build_server(room, "anthropic"),
        "memory",
        command="create",
        path="/memories/a.md",
        file_text=f"k: {TOKEN}\n",
    )
    assert said.endswith("\nSecrets were taken out of it: github-token")


def test_a_very_long_memory_is_read_in_parts(room):  # noqa: F811
    """One answer never holds megabytes; each says how to read on, to the end."""
    text = "".join(f"{number:06d} " for number in range(10_000))
    id = room.mind.remember(text, space=SPACE, tags=["long"]).id
    server, read = build_server(room), ""
    while len(read) < len(text):
        (part,) = one(server, "retrieve", ids=[id], offset=len(read))["memories"]
        assert len(part["text"]) < 31_000
        read += part["text"].partition("…")[0]
    assert read == text
    (record,) = one(build_server(room, "tags"), "retrieve_memories", tags=["long"])["memories"]
    assert len(record["content"]) < 31_000 and "offset 30000" in record["content"]


def test_a_page_that_is_too_long_says_so(room):  # noqa: F811
    """The resource is an answer and no error of the protocol."""
    room.mind.remember("heron " * 400_000, space=SPACE)
    room.mind.data.mirror(SPACE)

    async def talk(client):
        return (await client.read_resource("reverie://pages/MEMORY.md")).contents[0].text

    assert "cannot be shown" in over(build_server(room), talk)


@pytest.mark.proves("E10")
def test_an_empty_hint_says_why(room):  # noqa: F811
    """Nothing known, or nothing new; an untitled memory is named by the words that the prompt has."""
    room.mind.remember("The staging server is called heron.", space=SPACE, tags=["staging"])
    server = build_server(room)
    assert "Nothing is known" in one(server, "hints", prompt="what of the moon?")["text"]
    (hint,) = one(server, "hints", prompt="which staging server?")["hints"]
    assert hint["title"] == "fact on staging, server" and "heron" not in str(hint)
    assert "Nothing new" in one(server, "hints", prompt="which staging server?")["text"]


def test_forgetting_twice_says_so(room):  # noqa: F811
    """Forgetting a memory that is retired already says so."""
    id = room.mind.remember("Staging is heron", space=SPACE).id
    server, jcode = build_server(room), build_server(room, "jcode")
    assert one(server, "forget", ids=[id]) == {"forgotten": 1, "back": "reverie memory restore ID"}
    assert one(server, "forget", ids=[id])["before"] == [id]
    assert "forgotten before" in one(jcode, "memory", action="forget", id=id)["message"]


def test_requests_under_way_are_answered_before_it_leaves(home):  # noqa: F811
    """A client that writes, closes our stdin and reads gets every answer."""
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {
                "name": "remember",
                "arguments": {"text": f"Host {number} is bird {number}"},
            },
        }
        for number in range(2, 12)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in (HELLO, READY, *calls))
    done = subprocess.run(
        [sys.executable, "-m", "reverie", "mcp", "--space", SPACE],
        input=lines,
        text=True,
        capture_output=True,
        env=environment(home),
        timeout=120,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers if "result" in answer} == set(range(1, 12)), (
        done.stderr
    )
    assert done.returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_the_server_ends_if_its_client_died_at_start(home, tmp_path):  # noqa: F811
    """The one that started it is gone at once, and somebody else holds its stdin open: it does not
    stay behind.
    """
    pipe, pid = tmp_path / "pipe", tmp_path / "pid"
    os.mkfifo(pipe)
    with closing(os.fdopen(os.open(pipe, os.O_RDWR), "rb", buffering=0)):
        start = f'"{sys.executable}" -m reverie mcp --space {SPACE} < "{pipe}" & echo $! > "{pid}"'
        subprocess.run(
            ["sh", "-c", start],
            env=environment(home),
            check=True,
            timeout=120,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        number = int(pid.read_text())
        wait_until(lambda: gone(number), 60)


def gone(pid):
    """Whether a process has ended; one that nobody waits for has, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return True
        return False


def test_a_port_in_use_is_told(home):  # noqa: F811
    """One line that says what to do, and a code of its own; and a token is taken whatever the case
    of its scheme.
    """
    import httpx2

    from tests.interfaces.test_mcp import served

    with served(home, REVERIE_MCP_TOKEN="swordfish") as address:
        port = address.split(":")[2].split("/")[0]
        done = subprocess.run(
            [sys.executable, "-m", "reverie", "mcp", "--http", "--port", port, "--space", SPACE],
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (
            done.returncode == 13 and f"Port {port}" in done.stderr and "Errno" not in done.stderr
        )
        for scheme, code in (("bearer", 200), ("Bearer", 200), ("Basic", 401)):
            headers = {
                "Authorization": f"{scheme} swordfish",
                "Accept": "application/json, text/event-stream",
            }
            assert (
                httpx2.post(address, json=HELLO, headers=headers, timeout=120).status_code == code
            )


TALK = [
    {"role": "user", "content": "Where shall the invoices of the shop be kept?"},
    {"role": "assistant", "content": "In a bucket; Frankfurt keeps them within the union."},
    {"role": "user", "content": "ok then the invoices go to the bucket in eu-central"},
    {"role": "assistant", "content": "Fine, I have put the region into settings.toml."},
]


def test_a_quoted_passage_leads_to_the_conversation_around_it(room):  # noqa: F811
    """What recall quotes can be read with what was said before and after, by its id; what nobody
    asked for stays away, and what lies elsewhere is unknown.
    """
    room.mind.learn(TALK, space=SPACE, session="monday")
    room.mind.learn(TALK, space="me/elsewhere", session="tuesday")
    room.mind.settle()
    server = build_server(room)
    found = one(server, "recall", query="in which bucket are the invoices?", kinds=["said"])
    quoted = next(one for one in found["memories"] if "eu-central" in one["text"])
    assert quoted["id"].startswith("said_") and quoted["source"] == "said user"
    (plain,) = one(server, "retrieve", ids=[quoted["id"]])["memories"]
    assert "around" not in plain and "eu-central" in plain["text"]
    (read,) = one(server, "retrieve", ids=[quoted["id"]], around=1)["memories"]
    assert [(line["role"], line["text"][:12]) for line in read["around"]] == [
        ("assistant", "In a bucket;"),
        ("user", "ok then the "),
        ("assistant", "Fine, I have"),
    ]
    (theirs, *_) = room.mind.recall("invoices bucket", space="me/elsewhere", kinds=["said"])
    assert one(server, "retrieve", ids=[theirs.memory.id], around=1)["unknown"]


@pytest.mark.parametrize(
    ("profile", "tool", "given"),
    [
        ("unified", "recall", {"query": "which host is staging?"}),
        ("jcode", "memory", {"action": "search", "query": "which host is staging?"}),
    ],
)
@pytest.mark.proves("A33", "B50")
def test_what_a_recall_answers_first_counts_as_used(room, profile, tool, given):  # noqa: F811
    """Only the first three; looking at the newest is no use."""
    for host in ("heron", "crane", "stork", "ibis", "egret"):
        room.mind.remember(f"The staging host of team {host} is called {host}.", space=SPACE)
    server = build_server(room, profile)
    one(server, tool, **given)

    def uses():
        return sorted(memory.access_count for memory in room.mind.browse(space=SPACE))

    assert uses() == [0, 0, 1, 1, 1]
    if tool == "recall":
        one(server, tool)
        assert uses() == [0, 0, 1, 1, 1]
