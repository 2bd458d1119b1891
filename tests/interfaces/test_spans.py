# mypy: no-check-untyped-defs
"""Spans of OpenTelemetry: real hooks, commands and a real worker, and a collector on loopback."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.core import config, environment
from reverie.core.errors import BadInput
from reverie.core.memory_spans import SpanRecord
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker import stop_worker
from reverie.interfaces.worker_start import is_worker_alive
from reverie.runtime.span_spool import MAX_WAITING, SpanSpool
from tests.support.encrypted_homes import encrypt, files_holding
from tests.support.helpers import hook_command, open_mind, toy_home, wait_until
from tests.support.span_collector import collecting

HERON = "The staging server is called heron."
SECRET = "sk-ant-api03-" + "aB3dE5gH7jK9mN1p" * 5 + "-AA"
ASK = "Which host is the staging server?"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """No variable of OpenTelemetry but that spans are sent at once."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def collector():
    with collecting() as found:
        yield found


class Agent:
    """A host at work in a project, with its hooks, and a person with a command line."""

    def __init__(self, tmp_path, **settings):
        self.home = toy_home(tmp_path, idle=1.5, **settings)
        self.project = tmp_path / "project"
        (self.project / ".git").mkdir(parents=True)
        self.space = config.project_space_of(self.project)
        self.files = HookFiles(str(self.home))

    def tell(self, event, session="s1", **fields):
        """What a hook answers, in an environment that a host has emptied."""
        payload = {"session_id": session, "cwd": str(self.project), "hook_event_name": event}
        done = subprocess.run(
            hook_command(),
            input=json.dumps(payload | fields).encode(),
            capture_output=True,
            check=True,
            env={
                "REVERIE_HOME": str(self.home),
                "PYTHONPATH": os.environ["PYTHONPATH"],
                "OTEL_BSP_SCHEDULE_DELAY": "100",
            },
        )
        assert done.stderr == b""
        said = json.loads(done.stdout).get("hookSpecificOutput", {})
        return said.get("additionalContext", "")

    def say(self, prompt, session="s1"):
        return self.tell("UserPromptSubmit", session, prompt=prompt)

    def command(self, *words, code=0, **env):
        done = subprocess.run(
            [sys.executable, "-m", "reverie", *words],
            capture_output=True,
            text=True,
            cwd=self.project,
            env={**os.environ, "REVERIE_HOME": str(self.home), **env},
            check=False,
        )
        assert done.returncode == code, done
        return done

    def keep(self, text, **fields):
        with open_mind(self.home) as mind:
            return mind.remember(text, space=self.space, **fields)

    def leave(self):
        wait_until(lambda: not is_worker_alive(self.files.lock))

    def log(self):
        path = Path(self.files.log)
        return path.read_text() if path.exists() else ""


@pytest.fixture
def agent(tmp_path, collector):
    """An agent whose spans go to the collector, by config.toml alone."""
    found = Agent(tmp_path, otel=collector.address)
    yield found
    wait_until(lambda: stop_worker(found.files.lock))


def test_what_a_hook_gave_is_a_span_that_the_worker_sends(agent, collector):
    """The convention's names, the ids and the hook's own times; never a word."""
    memory = agent.keep(HERON)
    assert HERON in agent.say(f"{ASK} The key is {SECRET}")
    wait_until(lambda: collector.find(surface="hook", verb="prompt"))
    (span,) = collector.find(surface="hook", verb="prompt")
    assert span.name == "search_memory" and collector.paths[0] == "/v1/traces"
    assert span.program["service.name"] == "reverie"
    told = {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "reverie",
        "gen_ai.memory.store.id": agent.space,
        "gen_ai.memory.record.id": memory.id,
        "gen_ai.memory.record.count": 1,
        "gen_ai.conversation.id": "s1",
        "db.system.name": "sqlite",
        "reverie.record.ids": [memory.id],
        "reverie.gate.verdict": "given",
        "reverie.memory.abstained": False,
    }
    assert told.items() <= span.said.items()
    with open_mind(agent.home) as mind:
        wait_until(lambda: mind.store.events(verbs=("turn",)))
        (turn,) = mind.store.events(verbs=("turn",))
    assert span.begun == pytest.approx(turn.at, abs=0.001)
    assert span.ended - span.begun == pytest.approx(turn.payload["waited"], abs=0.002)
    agent.leave()
    sent = b"".join(collector.bodies)
    assert all(word not in sent for word in (b"heron", b"staging", SECRET.encode(), b"aB3dE5"))


def test_a_prompt_that_gets_nothing_says_which_gate_held_what_back(agent, collector):
    """What fits and was not given, by its id, with the name of its gate."""
    held = agent.keep(HERON, provenance="inferred")
    assert agent.say(ASK) == ""
    wait_until(lambda: collector.find(surface="hook", verb="prompt"))
    (span,) = collector.find(surface="hook", verb="prompt")
    assert span.said["reverie.gate.verdict"] == "held back"
    assert span.said["reverie.gate.held_back.ids"] == [held.id]
    assert span.said["reverie.gate.held_back.gates"] == ["not approved"]
    assert span.said["gen_ai.memory.record.count"] == 0 and span.said["reverie.memory.abstained"]


def test_the_worker_tells_of_its_own_work(agent, collector):
    """Settling with what its readers changed below it: what was learned, by id."""
    agent.say("I prefer tabs over spaces in all my Python code.")
    agent.tell("Stop", last_assistant_message="Noted.")
    wait_until(lambda: collector.find(surface="worker", verb="settle"))
    wait_until(lambda: [span for span in collector.spans if span.parent])
    agent.leave()
    settled = {span.id: span for span in collector.find(surface="worker", verb="settle")}
    children = [span for span in collector.spans if span.parent in settled]
    assert {span.name for span in children} == {"upsert_memory"}
    with open_mind(agent.home) as mind:
        learned = {memory.id for memory in mind.browse(space=agent.space)}
    assert learned and learned & {id for one in children for id in one.said["reverie.record.ids"]}
    assert sum(span.said["gen_ai.memory.record.count"] for span in settled.values()) >= 1
    for child in children:
        assert settled[child.parent].begun <= child.begun <= child.ended


def test_contents_are_there_for_who_asks_and_hold_no_secret(tmp_path, collector):
    """By the setting `otel_content`; a secret in a prompt is taken out there too."""
    agent = Agent(tmp_path, otel=collector.address, otel_content=True)
    memory = agent.keep(HERON)
    agent.say(f"{ASK} The key is {SECRET}")
    wait_until(lambda: collector.find(surface="hook", verb="prompt"))
    agent.command("recall", ASK, f"my key {SECRET}")
    wait_until(lambda: collector.find(surface="cli", verb="recall"))
    agent.leave()
    for span in (collector.find(verb="prompt")[0], collector.find(verb="recall")[0]):
        assert ASK in span.said["gen_ai.memory.query.text"]
        # A passage of the conversation may be found beside it.
        records = json.loads(span.said["gen_ai.memory.records"])
        assert HERON == {one["id"]: one["content"] for one in records}[memory.id]
    assert b"aB3dE5" not in b"".join(collector.bodies)


def test_a_command_and_a_tool_leave_their_spans_to_the_worker(agent, collector):
    """The process that somebody waits for imports nothing of OpenTelemetry and opens no
    connection; its own times arrive. An error is told by its name, without its message.
    """
    memory = agent.keep(HERON)
    done = agent.command("recall", ASK, PYTHONPROFILEIMPORTTIME="1")
    assert HERON in done.stdout
    assert "opentelemetry.sdk" not in done.stderr and "opentelemetry.trace" not in done.stderr
    wait_until(lambda: collector.find(surface="cli", verb="recall"))
    (span,) = collector.find(surface="cli", verb="recall")
    assert span.said["reverie.record.ids"] == [memory.id] and span.ended >= span.begun
    assert span.said["gen_ai.memory.store.id"] == agent.space
    agent.command("forget", memory.id)
    wait_until(lambda: collector.find(surface="cli", verb="forget"))
    (gone,) = collector.find(surface="cli", verb="forget")
    assert (gone.name, gone.said["gen_ai.memory.record.id"]) == ("delete_memory", memory.id)
    agent.leave()
    assert SpanSpool(agent.home).list_paths() == []
    assert b"heron" not in b"".join(collector.bodies)


def test_an_mcp_tool_has_a_span(agent, collector):
    """The server of an agent does as a command does."""
    from reverie.interfaces.mcp.tool_context import ToolContext

    memory = agent.keep(HERON)
    room = ToolContext(config.load_settings(agent.home), agent.space)
    try:
        assert room.mind.recall(ASK, space=agent.space)[0].memory.id == memory.id
    finally:
        room.close()
    wait_until(lambda: collector.find(surface="mcp", verb="recall"))
    (span,) = collector.find(surface="mcp", verb="recall")
    assert span.name == "search_memory" and span.said["reverie.record.ids"] == [memory.id]


def test_a_server_of_mcp_leaves_its_spans_to_the_worker(agent, collector):
    """The process that an agent starts, asked as agents ask: its span is sent by another one."""
    memory = agent.keep(HERON)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello |= {"clientInfo": {"name": "test", "version": "1"}}
    wanted = {"name": "recall", "arguments": {"query": f"{ASK} The key is {SECRET}"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": wanted},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "reverie", "mcp"],
        input="".join(f"{json.dumps(message)}\n" for message in messages),
        capture_output=True,
        text=True,
        check=True,
        cwd=agent.project,
        env={**os.environ, "REVERIE_HOME": str(agent.home)},
    )
    assert HERON in done.stdout
    wait_until(lambda: collector.find(surface="mcp", verb="recall"))
    (span,) = collector.find(surface="mcp", verb="recall")
    assert span.name == "search_memory" and span.said["reverie.record.ids"] == [memory.id]
    assert span.said["gen_ai.memory.store.id"] == agent.space
    agent.leave()
    assert SpanSpool(agent.home).list_paths() == []
    assert b"aB3dE5" not in b"".join(collector.bodies)


def test_the_standard_variables_say_where_spans_go(tmp_path, collector):
    """Without any setting, where the worker's own environment has them, headers and name among
    them.
    """
    agent = Agent(tmp_path)
    agent.keep(HERON)
    standard = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-team=heron-watchers",
        "OTEL_SERVICE_NAME": "memory-of-ann",
    }
    agent.command("recall", ASK, **standard)
    agent.leave()
    wait_until(lambda: collector.find(surface="cli", verb="recall"))
    (span,) = collector.find(surface="cli", verb="recall")
    assert span.program["service.name"] == "memory-of-ann"
    assert collector.headers[0]["x-team"] == "heron-watchers"


@pytest.mark.parametrize("quiet", ["off", "offline", "OTEL_SDK_DISABLED", "nothing said"])
def test_nothing_is_sent_and_nothing_kept_unless_asked(tmp_path, collector, monkeypatch, quiet):
    """Also where the environment names a collector for everybody."""
    settings = {"off": {"otel": "off"}, "offline": {"offline": True}}.get(quiet, {})
    agent = Agent(tmp_path, **settings)
    if quiet != "nothing said":
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    if quiet == "OTEL_SDK_DISABLED":
        monkeypatch.setenv(quiet, "true")
    agent.keep(HERON)
    assert HERON in agent.command("recall", ASK).stdout
    agent.command("data", "worker")
    agent.leave()
    assert collector.bodies == [] and not (agent.home / "spans").exists()


def test_a_collector_that_is_down_slows_nothing_and_is_told_once(tmp_path):
    """Hooks, commands and the worker do what they do; one line in the log, and doctor's."""
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))  # nobody listens there
        address = f"http://ann:{'pass' + 'word9'}@127.0.0.1:{port.getsockname()[1]}"
        agent = Agent(tmp_path, otel=address)
        agent.keep(HERON)
        assert HERON in agent.say(ASK)
        assert HERON in agent.command("recall", ASK).stdout
        agent.leave()
        assert agent.say("Thanks", session="s2") == ""
        agent.leave()
        lines = [line for line in agent.log().splitlines() if "Spans" in line]
        assert lines and all("password9" not in line for line in lines), agent.log()
        said = agent.command("doctor", code=1).stdout
        assert "Spans are not taken by" in said and "password9" not in said
    assert not agent.files.list_events()
    with open_mind(agent.home) as mind:
        assert len(mind.store.events(verbs=("turn",))) == 2


def test_spans_that_nobody_sends_are_bounded(tmp_path):
    """And what waits and is none goes."""
    spool = SpanSpool(tmp_path)
    (tmp_path / "spans").mkdir()
    for number in range(MAX_WAITING):
        (tmp_path / "spans" / f"span_{number:04}.json").write_text("[]")
    with open_mind(tmp_path / "home") as mind:
        mind.context.spans = spool.add
        mind.remember(HERON, space="me/demo")
        assert len(spool.list_paths()) == MAX_WAITING and not spool.has_added
        assert list(spool.take()) == [] == spool.list_paths()
        mind.recall(ASK, space="me/demo")
    (record,) = spool.take()
    assert record.verb == "recall"


@pytest.mark.parametrize(
    "broken", [b"", b"{", b"[]", b"\xff", b'["recall", "x", "soon", 1, {}, []]']
)
def test_a_span_that_is_broken_does_not_wait_for_ever(tmp_path, broken):
    """A power cut may leave an empty file: it goes, and those behind it are sent. It stayed, and
    had one worker after another started for it.
    """
    spool = SpanSpool(tmp_path)
    spool.folder.mkdir()
    (spool.folder / "span_0.json").write_bytes(broken)
    spool.add(SpanRecord("recall", "search_memory", 1.0, 2.0, {}))
    assert [record.verb for record in spool.take()] == ["recall"]
    assert spool.list_paths() == []


def test_a_purge_leaves_no_span_that_waits_with_its_text(tmp_path):
    """Where contents are asked for, a span holds what was kept until it is sent."""
    home = tmp_path / "home"
    spool = SpanSpool(home)
    with open_mind(home, otel_content=True) as mind:
        mind.context.spans = spool.add
        memory = mind.remember(HERON, space="me/demo")
        assert "heron" in "".join(path.read_text() for path in spool.list_paths())
        mind.data.purge(memory.id)
        assert "heron" not in "".join(path.read_text() for path in spool.list_paths())
    assert [record.verb for record in spool.take()] == ["purge"]


@pytest.mark.parametrize(
    ("setting", "variables", "where"),
    [
        ("", {}, ""),
        ("on", {}, "http://localhost:4318/v1/traces"),
        ("http://box:4318/", {}, "http://box:4318/v1/traces"),
        ("http://box/v1/traces", {}, "http://box/v1/traces"),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://box:1"}, "http://box:1/v1/traces"),
        ("", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://box:1/x"}, "http://box:1/x"),
        ("on", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://box:1"}, "http://box:1/v1/traces"),
        ("off", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://box:1"}, ""),
        ("on", {"OTEL_TRACES_EXPORTER": "none"}, ""),
        ("http://box:4318", {"OTEL_SDK_DISABLED": "true"}, ""),
    ],
)
def test_where_spans_go(monkeypatch, setting, variables, where):
    """The setting goes before the environment; who disables the SDK disables ours."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert environment.find_span_address(setting) == where


def test_an_address_that_is_none_is_refused(tmp_path):
    """With what it may be."""
    with pytest.raises(BadInput, match="must be on, off, or an address such as http://localhost"):
        toy_home(tmp_path, otel="localhost:4318")


def test_an_encrypted_home_keeps_no_span_in_the_clear(tmp_path):
    """Where contents are asked for, a span holds what was said until the worker sends it; also one
    that waited when the home was encrypted.
    """
    home = tmp_path / "home"
    spool = SpanSpool(home)

    def tell(query):
        said = {"gen_ai.memory.query.text": query}
        spool.add(SpanRecord("recall", "search_memory", 1.0, 2.0, said))

    with open_mind(home) as mind:
        mind.remember("The kiln is called Wren.", space="me/demo")
    tell("Where is the heron?")
    assert files_holding(home, "heron")
    encrypt(home)
    tell("Where does the heron fly?")
    assert files_holding(home, "heron") == []
    asked = [record.attributes["gen_ai.memory.query.text"] for record in spool.take()]
    assert sorted(asked) == ["Where does the heron fly?", "Where is the heron?"]
    assert spool.list_paths() == []
