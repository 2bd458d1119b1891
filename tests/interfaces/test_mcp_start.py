"""What a client waits for when it starts the MCP server: its first questions are answered before
the SDK is loaded, as the server would answer them.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="the extra reverie[mcp] is not installed")

from reverie.interfaces.mcp.early_answers import EarlyServer, read_options
from reverie.testing import SPACE
from tests.support.helpers import toy_home
from tools.mcp_answers import FILE, QUESTIONS, collect_answers

HEAVY = {"typer", "pydantic", "mcp", "mcp_types", "anyio", "uvicorn", "numpy", "sqlite3", "rich"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def greeting(version="2025-06-18", **more):
    client = {"name": "test", "version": "1"}
    return ask(0, "initialize", protocolVersion=version, capabilities={}, clientInfo=client, **more)


def ask(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def serve(home, *messages, options=(), python=()):
    """What the server answers to these lines, by id in the order of its answers, and its stderr."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in messages]
    done = subprocess.run(
        [sys.executable, *python, "-m", "reverie", "mcp", *(options or ("--space", SPACE))],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "REVERIE_HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer.get("id"): answer for answer in answers}, len(answers), done


def test_first_questions_load_nothing_heavy(tmp_path):
    """A greeting and what there is: neither the SDK nor the command line nor the store."""
    asked = [ask(id, method) for id, method in enumerate(QUESTIONS, 1)]
    messages = (greeting(), INITIALIZED, *asked)
    answers, count, done = serve(toy_home(tmp_path), *messages, python=("-X", "importtime"))
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "reverie.interfaces.mcp.early_answers" in loaded
    assert set() == {name.partition(".")[0] for name in loaded} & HEAVY
    assert done.returncode == 0 and count == len(answers) == 1 + len(QUESTIONS)
    assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
    assert "recall" in [tool["name"] for tool in answers[2]["result"]["tools"]]


@pytest.mark.slow
def test_first_answers_are_those_of_the_server():
    """Every profile, to the letter."""
    assert FILE.read_text("utf-8") == collect_answers(), "run python -m tools.mcp_answers"


@pytest.mark.slow
def test_the_server_goes_on_where_the_first_answers_end(tmp_path):
    """The greeting is answered once, tools work, and a line that is no message gets its error."""
    kept = ask(2, "tools/call", name="remember", arguments={"text": "Staging is called heron."})
    messages = (greeting(), INITIALIZED, ask(1, "tools/list"), kept, "{nonsense", ask(3, "ping"))
    answers, count, done = serve(toy_home(tmp_path), *messages)
    assert done.returncode == 0 and count == len(answers) == 5
    assert not answers[2]["result"]["isError"] and answers[3]["result"] == {}
    assert answers[None]["error"]["code"] == -32700
    recall = ask("r", "tools/call", name="recall", arguments={"query": "staging"})
    answers, count, _ = serve(tmp_path / "home", greeting(), INITIALIZED, recall)
    assert count == 2 and "heron" in json.dumps(answers["r"])


@pytest.mark.slow
def test_what_is_not_plainly_asked_is_left_to_the_server(tmp_path):
    """Another version, an unknown option, broken settings: answered as without first answers."""
    home = toy_home(tmp_path)
    answers, count, _ = serve(home, greeting("2099-01-01"), INITIALIZED, ask(1, "tools/list"))
    assert count == 2 and answers[0]["result"]["protocolVersion"] != "2099-01-01"
    for options in (("--nonsense",), ("--profile", "none"), ("--space", "//")):
        answers, _, done = serve(home, greeting(), options=options)
        assert not answers and done.returncode == 2 and done.stderr, options
    (home / "config.toml").write_text("nonsense = 1\n")
    answers, _, done = serve(home, greeting())
    assert not answers and done.returncode == 2 and "nonsense" in done.stderr


def test_only_questions_that_are_known_are_answered():
    """A page of a list, a field that is not known, a second greeting, something before it."""
    known = json.loads(FILE.read_text("utf-8"))

    def answers(*messages):
        server = EarlyServer(known["versions"], known["profiles"]["unified"], lambda: None)
        return [server.answer(json.dumps(one).encode()) for one in messages]

    assert answers(ask(1, "tools/list")) == [None]
    assert answers(greeting(), greeting())[1] is None
    assert answers(greeting(), ask(1, "tools/list", cursor="2"))[1] is None
    assert answers(greeting(), {**ask(1, "ping"), "more": 1})[1] is None
    assert answers(greeting(), ask(1, "tools/call", name="recall"))[1] is None
    assert answers(greeting(), ask(True, "ping"), [ask(1, "ping")])[1:] == [None, None]
    assert answers({**greeting(), "params": {"protocolVersion": "2025-06-18"}}) == [None]
    assert answers(greeting(), INITIALIZED, ask("a", "ping", _meta={}))[1:] == [
        b"",
        b'{"jsonrpc":"2.0","id":"a","result":{}}\n',
    ]


def test_options_are_read_or_left_to_the_command_line():
    assert read_options(["-p", "tags", "--space=me/x"]) == {"--profile": "tags", "--space": "me/x"}
    assert read_options([]) == {}
    for words in (["--http"], ["--profile"], ["-p", "--http"], ["--help"], ["more"], ["-ptags"]):
        assert read_options(words) is None
