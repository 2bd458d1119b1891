# mypy: no-check-untyped-defs
"""Real Claude Code and real Codex against a scripted model: what one session is told reaches the
next, when needed.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.core import config
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker_start import is_worker_alive
from tests.support.agent_clients import (
    PATIENCE,
    conversation_text,
    find_client_program,
    has_tool_result,
    scripted_model_handler,
)
from tests.support.helpers import (
    end_work,
    list_hook_troubles,
    open_mind,
    serve_http,
    toy_home,
    wait_until,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TOLD = "Remember this: the staging server of this project is called heron."
ASKED = "Which host is the staging server?"
PORT = "The staging server of this project listens on port 7443."
QUIET = "Write a haiku about autumn leaves."
FENCE = "reverie-memory"
ROOT = Path(__file__).parents[2]


class Agent:
    """A host in a home of its own, and the model that it talks to."""

    def __init__(self, name, folder, url, asked):
        self.name, self.url, self.asked = name, url, asked
        self.user, self.project = folder / "user", folder / "user" / "project"
        (self.project / ".git").mkdir(parents=True)
        self.home = toy_home(folder, idle=1.5).rename(self.user / ".reverie")
        self.program = find_client_program({"claude-code": "claude"}.get(name, name))
        if name == "codex":
            (self.user / ".codex").mkdir()
            (self.user / ".codex" / "config.toml").write_text(
                'model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\n'
                f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
            )

    @property
    def env(self):
        """Nothing of whoever runs this test; no request leaves the machine."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(self.user),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "dummy-not-a-key",
            "OPENAI_API_KEY": "dummy",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def reverie(self, *words):
        return subprocess.run(
            [sys.executable, "-m", "reverie", *words],
            cwd=self.project,
            env=self.env,
            text=True,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        ).stdout

    def say(self, prompt, *options):
        """One session with one prompt; the requests that it led to, as text."""
        before = len(self.asked)
        words = (
            ["-p", prompt, "--allowedTools", "Bash", *options]
            if self.name == "claude-code"
            else [
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-hook-trust",
                "--dangerously-bypass-approvals-and-sandbox",
                prompt,
                *options,
            ]
        )
        done = subprocess.run(
            [str(self.program), *words],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done
        return [
            conversation_text(one)
            for one in self.asked[before:]
            if prompt in conversation_text(one)
        ]

    def seen_lines(self):
        """What Claude Code showed of its hooks to the person, by its transcripts."""
        lines = (
            json.loads(line).get("attachment") or {}
            for path in (self.user / ".claude" / "projects").glob("*/*.jsonl")
            for line in path.read_text("utf-8").splitlines()
        )
        return [one["content"] for one in lines if one.get("type") == "hook_system_message"]

    def learned(self):
        with open_mind(self.home) as mind:
            return any("heron" in memory.text for memory in mind.store.browse(mind_filter()))


def mind_filter():
    from reverie.core.model import Filter

    return Filter()


@pytest.fixture(params=["claude-code", "codex"])
def agent(request, tmp_path):
    asked, commands = [], {"push it": "git push --force"}

    def answer(sent):
        command = next(
            (
                one
                for prompt, one in commands.items()
                if prompt in conversation_text(sent) and not has_tool_result(sent)
            ),
            "",
        )
        if not command:
            return "Understood."
        return (
            ("Bash", {"command": command, "description": "do it"})
            if request.param == "claude-code"
            else ("exec_command", {"cmd": command})
        )

    with serve_http(scripted_model_handler(answer, asked)) as url:
        host = Agent(request.param, tmp_path, url, asked)
        host.commands = commands
        yield host
        end_work(HookFiles(str(host.home)))
        assert [] == list_hook_troubles(host.home)


@pytest.mark.proves("A62", "CC-40", "CC-44")
def test_a_fact_reaches_the_next_session_when_it_is_needed(agent):
    """Said in one session, learned at its end, in the model's request of the next one at the turn
    that needs it, and not at quiet turns; not after uninstall.
    """
    agent.reverie("install", agent.name, "--no-mcp", "--yes")
    assert FENCE not in agent.say(TOLD)[-1]
    wait_until(agent.learned)
    needed = agent.say(ASKED)[-1]
    assert FENCE in needed and "heron" in needed
    if agent.name == "claude-code":
        assert any(line.startswith("Reverie: gave ") for line in agent.seen_lines())
        assert "Reverie: gave" not in needed
    assert FENCE not in agent.say(QUIET)[-1]
    agent.reverie("uninstall", agent.name, "--yes")
    assert FENCE not in agent.say(ASKED)[-1]


def test_a_warning_reaches_the_model_with_the_tools_answer(agent):
    """Where somebody wants to be told only, what must never be done is in the request that brings
    the tool's answer; the run is recorded.
    """
    agent.reverie("install", agent.name, "--no-mcp", "--yes")
    agent.reverie(
        "remember",
        "Never force-push to main.",
        "--kind",
        "negative",
        "--trigger",
        "tool:Bash(git push*--force*)",
    )
    agent.reverie("guards", "default", "tell")  # the tool is to run
    agent.say(QUIET)  # a worker has laid the guards ready
    wait_until(
        lambda: any(
            "Never" in path.read_text() for path in (agent.home / "hooks" / "guards").glob("*.json")
        )
    )
    sent = agent.say("push it")
    assert FENCE not in sent[0] and "Never force-push to main." in sent[-1]
    with open_mind(agent.home) as mind:
        wait_until(lambda: mind.store.events(verbs=("tool",)))
        assert ["git push --force"] == [
            one.payload["command"] for one in mind.store.events(verbs=("tool",))
        ]


@pytest.mark.proves("X51")
@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_forbidden_command_is_stopped_before_it_runs(name, tmp_path):
    """What the user forbade does not run, twice in a row; what only looks like it does."""
    ran, script = tmp_path / "ran", tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\ncase "$*" in *push*) echo "$*" >> "{ran}";; esac\n')
    script.chmod(0o755)
    # By its path: Codex runs a login shell, which sets PATH anew.
    asked, wanted = [], [f"{script} push --force", f"cd . && {script} push -f", f"{script} push -n"]

    def answer(sent):
        text = conversation_text(sent)
        done = text.count('"tool_result"') + text.count('"function_call_output"')
        if "push it" not in text or done >= len(wanted):
            return "Understood."
        if name == "claude-code":
            return "Bash", {"command": wanted[done], "description": "do it"}
        return "exec_command", {"cmd": wanted[done]}

    with serve_http(scripted_model_handler(answer, asked)) as url:
        agent = Agent(name, tmp_path, url, asked)
        agent.reverie("install", name, "--no-mcp", "--yes")
        agent.reverie("remember", "Never force-push.", "--kind", "negative")
        agent.say(QUIET)  # a worker has laid the guards ready
        guards = agent.home / "hooks" / "guards"
        wait_until(lambda: any("Never" in path.read_text() for path in guards.glob("*.json")))
        sent = agent.say("push it")
        assert ran.read_text().splitlines() == ["push -n"]
        assert sent[-1].count("Never force-push.") >= 2
        wait_until(lambda: not is_worker_alive(HookFiles(str(agent.home)).lock))
        with open_mind(agent.home) as mind:
            turns = mind.store.events(verbs=("turn",))
        why = json.dumps([turn.payload for turn in turns])
        assert why.count("ask: trigger") == 2
    assert [] == list_hook_troubles(agent.home)


@pytest.mark.proves("CC-40", "A62")
def test_what_meaning_finds_comes_while_the_agent_works(agent):
    """Prepared while the first tool of a turn runs, it is in the request that brings the tool's
    answer.
    """
    agent.reverie("install", agent.name, "--no-mcp", "--yes")
    config.save_settings(
        config.load_settings(agent.home), idle=0.0
    )  # the tool is the only one who prepares anything
    run = f"{sys.executable} -m reverie"
    agent.commands["Which port"] = f"{run} remember '{PORT}' && {run} worker --home '{agent.home}'"
    sent = agent.say("Which port does the staging server listen on?")
    assert FENCE not in sent[0]
    assert 1 == sent[-1].count(f"<{FENCE}>") and sent[-1].rindex(PORT) > sent[-1].index(
        f"<{FENCE}>"
    )


def test_the_plugin_works_as_the_settings_do(tmp_path):
    """Claude Code takes the plugin: valid, its hooks fire by the name of the command."""
    asked = []
    with serve_http(scripted_model_handler(lambda _: "Understood.", asked)) as url:
        agent = Agent("claude-code", tmp_path, url, asked)
        for folder in (ROOT, ROOT / "plugins" / "claude-code"):
            done = subprocess.run(
                [str(agent.program), "plugin", "validate", str(folder)],
                env=agent.env,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            assert done.returncode == 0 and "passed" in done.stdout, done
        script = tmp_path / "bin" / "reverie-hook"
        script.parent.mkdir()
        script.write_text(
            f"#!{sys.executable}\nfrom reverie.interfaces.hooks.hook_main import script\nscript()\n"
        )
        script.chmod(0o755)
        plugin = shutil.copytree(ROOT / "plugins" / "claude-code", tmp_path / "plugin")
        (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": {}}))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
            agent.say(TOLD, "--plugin-dir", str(plugin))
            wait_until(agent.learned)
            assert "heron" in agent.say(ASKED, "--plugin-dir", str(plugin))[-1]
        wait_until(lambda: not is_worker_alive(HookFiles(str(agent.home)).lock))
