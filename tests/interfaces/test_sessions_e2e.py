# mypy: no-check-untyped-defs
"""Real Claude Code in sessions of several prompts: what comes with a later turn, with a failed
tool, before a file.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from reverie.core import config
from reverie.core.config import Settings
from reverie.embedding.minilm import PRECISIONS
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker_start import is_worker_alive
from tests.interfaces.test_hosts_e2e import ASKED, FENCE, PORT, QUIET, ROOT, Agent
from tests.support.agent_clients import PATIENCE, conversation_text, scripted_model_handler
from tests.support.helpers import end_work, list_hook_troubles, open_mind, serve_http, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
HOOK_SCRIPT = "reverie.interfaces.hooks.hook_main:script"
HERON = "The staging server of this project is called heron."


class Scripted:
    """A model that calls the tool which a prompt names, and then is done."""

    def __init__(self):
        self.tools = {}

    def __call__(self, request):
        for part in reversed(
            [part for one in request["messages"] if one["role"] == "user" for part in parts(one)]
        ):
            if part.get("type") == "tool_result":
                return "Done."
            for prompt, tool in self.tools.items():
                if prompt in part.get("text", ""):
                    return tool
        return "Understood."


def parts(message):
    """What a message consists of: a prompt and the answer of a tool may be one message."""
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


@pytest.fixture
def agent(tmp_path):
    """Claude Code with our hooks; `agent.model.tools` says what it does."""
    asked, scripted = [], Scripted()
    with serve_http(scripted_model_handler(scripted, asked)) as url:
        host = Agent("claude-code", tmp_path, url, asked)
        host.model = scripted
        host.reverie("install", "claude-code", "--no-mcp", "--yes")
        yield host
        end_work(HookFiles(str(host.home)))
        assert [] == list_hook_troubles(host.home)


@contextmanager
def session(agent, *options):
    """One session; what it yields says a prompt and tells what the model was sent last."""
    running = subprocess.Popen(
        [
            str(agent.program),
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--allowedTools",
            "Bash",
            "Read",
            *options,
        ],
        cwd=agent.project,
        env=agent.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    too_long = threading.Timer(PATIENCE, running.kill)
    too_long.start()

    def say(prompt):
        running.stdin.write(
            json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}) + "\n"
        )
        running.stdin.flush()
        assert any('"type":"result"' in line for line in iter(running.stdout.readline, ""))
        return next(
            (
                conversation_text(one)
                for one in reversed(agent.asked)
                if prompt in conversation_text(one)
            ),
            "",
        )

    try:
        yield say
        running.stdin.close()
        running.wait(PATIENCE)
    finally:
        too_long.cancel()
        running.kill()
        running.stdout.close()


def blocks(sent):
    """How many times the model was given memory so far."""
    return sent.count(f"<{FENCE}>")


@pytest.mark.proves("A62")
def test_memory_comes_at_the_turn_that_needs_it(agent):
    """Not one later, and not at quiet turns, however many turns there are."""
    agent.reverie("remember", HERON)
    with session(agent) as say:
        assert blocks(say("Good morning!")) == 0
        needed = say(ASKED)
        assert blocks(needed) == 1 and "heron" in needed
        assert blocks(say("thanks")) == blocks(say(QUIET)) == blocks(say("Please go on.")) == 1


@pytest.mark.proves("CC-40")
def test_what_a_turn_prepared_comes_with_one_that_goes_on(agent):
    """Prepared after the turn was answered, it waits through a quiet turn."""
    # nobody prepares before there is something to prepare
    config.save_settings(config.load_settings(agent.home), idle=0.0)
    with session(agent) as say:
        say("Which port does the staging server listen on?")
        agent.reverie("remember", PORT)
        agent.reverie("data", "worker", "--home", str(agent.home))
        assert blocks(say(QUIET)) == 0
        given = say("Please go on.")
        assert blocks(given) == 1 and "7443" in given


@pytest.mark.proves("CC-79", "X40")
def test_a_failed_tool_brings_the_known_fix(agent):
    """What once made it go away is in the request that brings the same error again."""
    (agent.project / "run.sh").write_text(
        "[ -f ready ] || { echo \"ModuleNotFoundError: No module named 'yaml'\" >&2; exit 1; }\n"
    )
    (agent.project / "install.sh").write_text("touch ready\n")
    agent.model.tools = {
        "run the thing": ("Bash", {"command": "sh run.sh", "description": "run"}),
        "mend the thing": ("Bash", {"command": "sh install.sh", "description": "mend"}),
    }
    with session(agent) as say:
        for prompt in ("run the thing", "mend the thing", "now run the thing"):
            say(prompt)
    guards = agent.home / "hooks" / "guards"
    wait_until(lambda: any('"fixes": 1' in path.read_text() for path in guards.glob("*.json")))
    (agent.project / "ready").unlink()
    with session(agent) as say:
        again = say("run the thing")
        assert "Known fixes" in again and "sh install.sh" in again
        assert say("once more run the thing").count("Known fixes") == 1


def test_what_is_known_of_a_file_comes_before_it_is_read(agent):
    """With the answer of the tool that reads it, once in a session."""
    (agent.project / "src").mkdir()
    (agent.project / "src" / "billing.py").write_text("def total(x):\n    return x\n")
    agent.reverie(
        "remember",
        "Totals are rounded half up; the tax office demands it.",
        "--file",
        "src/billing.py",
    )
    agent.model.tools = {
        "look at the file": ("Read", {"file_path": str(agent.project / "src" / "billing.py")})
    }
    agent.say(QUIET)  # a worker has laid the guards ready
    wait_until(
        lambda: any(
            "tax office" in one.read_text()
            for one in (agent.home / "hooks" / "guards").glob("*.json")
        )
    )
    with session(agent) as say:
        assert "tax office" in say("look at the file")
        assert say("look at the file again").count("tax office") == 1


def test_a_subagent_begins_with_its_share(agent):
    """What the user has forbidden, and what its session was given for this prompt, stand in the
    first request of a subagent, once; with its own prompt, which no hook is told.
    """
    task = {"description": "count", "prompt": "Count the files.", "subagent_type": "Explore"}
    agent.reverie("remember", HERON)
    agent.reverie("remember", "Never force-push.", "--kind", "negative")
    agent.model.tools = {ASKED: ("Agent", {**task, "run_in_background": False})}
    with session(agent) as say:
        say(ASKED)
    asked = [conversation_text(one) for one in agent.asked]
    (begun,) = (one for one in asked if task["prompt"] in one and ASKED not in one)
    assert "Never force-push." in begun and "heron" in begun and blocks(begun) == 1


ASIDE = "hm ok then let's keep the invoices in S3 under eu-central, gdpr"
OFFERED = "Either on the file server, or in a bucket on S3; in Frankfurt that would be eu-central."
REMEMBERED = "Said in past conversations"
# As long as the worker takes to load the model and to prepare.
WAIT = {"command": "sleep 5", "description": "wait"}


def is_embedded(home):
    """Whether what was said is known with its meaning."""
    with open_mind(home) as mind:
        index = mind.store.transcripts
        if not mind.store.search_events(("turn",), containing=["gdpr"], limit=1):
            return False
        return any(
            index.count(None, model).passages and not index.unembedded_texts(1, model)
            for model in PRECISIONS.values()
        )


@pytest.mark.model
@pytest.mark.proves("A62")
def test_a_decision_in_passing_comes_back_in_the_next_session(tmp_path, model_cache):
    """By the default settings, in other words, dated and quoted; and nothing of it at what is about
    something else, at small talk, or at the start of a session.
    """
    asked, scripted = [], Scripted()
    scripted.tools = {"should we store the PDF": OFFERED, "billing": ("Bash", WAIT)}
    with serve_http(scripted_model_handler(scripted, asked)) as url:
        agent = Agent("claude-code", tmp_path, url, asked)
        (agent.home / "config.toml").unlink()
        config.save_settings(Settings(home=agent.home), idle=1.5, deadline=10.0)
        (agent.home / "cache").mkdir(exist_ok=True)
        (agent.home / "cache" / "models").symlink_to(model_cache / "models")
        agent.reverie("install", "claude-code", "--no-mcp", "--yes")
        with session(agent) as say:
            say("Where should we store the PDF invoices of the shop?")
            say(ASIDE)
            say("Now rename the button on the login page to Sign in, please.")
        wait_until(lambda: is_embedded(agent.home))
        with session(agent) as say:
            assert blocks(say("Good morning!")) == blocks(say(QUIET)) == 0
            assert blocks(say("Explain what a binary search does.")) == 0
            given = say("In which region do we keep the invoices?")
            assert blocks(given) == 1 and REMEMBERED in given and "eu-central, gdpr" in given
            assert blocks(say("thanks")) == 1
        with session(agent) as say:
            # No word of it was said before: what meaning finds comes with the first tool.
            given = say("Which cloud storage did we pick for billing documents?")
            assert blocks(given) == 1 and "eu-central, gdpr" in given
        wait_until(lambda: not is_worker_alive(HookFiles(str(agent.home)).lock))
        assert [] == list_hook_troubles(agent.home)


def test_nothing_of_a_compaction_is_lost(agent):
    """Claude Code shortens a conversation: what it was given is said again afterwards."""
    agent.reverie("remember", HERON)
    with session(agent) as say:
        for prompt in (ASKED, "and a joke", "and a limerick"):
            say(prompt)
        say("/compact")
        after = say("Please go on.")
    assert "limerick" not in after and "heron" in after  # it was shortened
    with open_mind(agent.home) as mind:
        wait_until(lambda: mind.store.events(verbs=("compact",)))


SAID = ("Good morning!", "run the thing", ASKED, "and a limerick", "thanks, go on")


def requests_of(agent, prompts):
    """What the model was asked in one session with these prompts, each request as it came."""
    before = len(agent.asked)
    with session(agent) as say:
        for prompt in prompts:
            say(prompt)
    return [one for one in agent.asked[before:] if one.get("tools") and prompts[0] in str(one)]


def prefix_of(request):
    """What a provider's cache goes by, in its order: tools, system, each message; without the
    marks of how far it may be kept, which a client moves on with every turn.
    """

    def unmarked(value):
        if isinstance(value, dict):
            return {name: unmarked(part) for name, part in value.items() if name != "cache_control"}
        return [unmarked(part) for part in value] if isinstance(value, list) else value

    messages = [{**one, "content": parts(one)} for one in request["messages"]]
    whole = [*request["tools"], *request["system"], *messages]
    lines = [json.dumps(unmarked(part), ensure_ascii=False) for part in whole]
    # The scripted model counts its calls through all sessions.
    return [re.sub(r"toolu_\d+", "toolu", line) for line in lines]


def test_prompt_caches_stay_warm(agent):
    """What the model was sent once is sent again byte for byte, whatever memory says later; and
    up to the first block it is what the model would be sent without memory.
    """
    (agent.project / "run.sh").write_text("echo fine\n")
    agent.model.tools = {"run the thing": ("Bash", {"command": "sh run.sh", "description": "run"})}
    agent.reverie("remember", HERON)
    agent.reverie("remember", "Never force-push.", "--kind", "negative")
    given = [prefix_of(one) for one in requests_of(agent, SAID)]
    agent.reverie("uninstall", "claude-code", "--yes")
    plain = [prefix_of(one) for one in requests_of(agent, SAID)]
    for sent in (given, plain):
        assert len(sent) > len(SAID)
        for earlier, later in itertools.pairwise(sent):
            assert later[: len(earlier)] == earlier
    blocks_given = [one for one in given[-1] if FENCE in one]
    assert len(blocks_given) == 1 and not any(FENCE in one for one in plain[-1])
    # Beside the block nothing is said otherwise, and nothing stands before it that it moved.
    assert [one for one in given[-1] if FENCE not in one] == plain[-1]
    first = given[-1].index(blocks_given[0])
    assert given[-1][:first] == plain[-1][:first]
    assert json.loads(given[-1][first - 1])["content"][0]["text"] == ASKED


def test_the_plugins_commands_do_what_they_say(agent, tmp_path, monkeypatch):
    """Whoever types /reverie:off has memory silent in this session, and with /reverie:on it speaks
    again; the model is told what the command answered.
    """
    agent.reverie("uninstall", "claude-code", "--yes")
    agent.reverie("remember", HERON)
    starts = {"reverie": "reverie.__main__:main", "reverie-hook": HOOK_SCRIPT}
    (tmp_path / "bin").mkdir()
    for name, start in starts.items():
        module, _, function = start.partition(":")
        program = tmp_path / "bin" / name
        program.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    plugin = shutil.copytree(ROOT / "plugins" / "claude-code", tmp_path / "plugin")
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": {}}))
    assert_commands_work(agent, "--plugin-dir", str(plugin))


def test_the_commands_are_there_without_the_plugin(agent):
    """After a plain install, though no `reverie` is on the path; the model is not told of them."""
    agent.reverie("remember", HERON)
    assert_commands_work(agent)
    assert "Switch Reverie's memory" not in json.dumps(agent.asked)


def assert_commands_work(agent, *options):
    """Memory is silent after /reverie:off, and speaks after /reverie:on."""
    with session(agent, *options) as say:
        say("/reverie:off")
        assert "Memory is off in the session" in conversation_text(agent.asked[-1])
        assert "heron" not in say(ASKED)
        say("/reverie:on")
        assert "Memory is on in the session" in conversation_text(agent.asked[-1])
        assert "heron" in say("And which is the staging server now?")
