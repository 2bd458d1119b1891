# mypy: no-check-untyped-defs
"""The how-to of a team, followed: a server, two users, one shares, the other's session is given it."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker_start import is_worker_alive
from tests.interfaces.test_hosts_e2e import FENCE, QUIET, Agent
from tests.support.agent_clients import scripted_model_handler
from tests.support.helpers import list_hook_troubles, serve_http, wait_until
from tests.sync.conftest import key_of

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "team.md"
ROOT = Path(__file__).parents[2] / "src" / "reverie"
ADDRESS = "https://memory.acme.org"
NOTE = "Deploys of the API run from the branch release."
ASKED = "From which branch do deploys of the API run?"


def commands_of(page):
    """The lines that a page tells to type, without their comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.partition("  #")[0].strip() for line in lines]


def line_with(part):
    """The first line of the page that has these words."""
    return next(one for one in commands_of(PAGE) if part in one)


def run_line(line, text="", **where):
    """What a command line of the page prints."""
    done = subprocess.run(
        [sys.executable, "-m", *line.split()],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        **where,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


class Machine:
    """A user's machine: a home, and the programs that run on it."""

    def __init__(self, folder):
        self.home = folder / ".reverie"
        self.project = folder / "demo"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        (self.home / "config.toml").write_text('embedder = "toy"\nidle = 0.0\ndeadline = 10.0\n')
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "REVERIE_HOME": str(self.home),
        }

    def run(self, line, text=""):
        """What a command line prints."""
        return run_line(line, text, env=self.env, cwd=self.project)

    def prompt(self, text):
        """What a hook of Claude Code answers to a prompt in the project."""
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s1",
            "cwd": str(self.project),
            "prompt": text,
        }
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(ROOT / "interfaces/hooks/run.py"), "claude-code"],
            input=json.dumps(event),
            capture_output=True,
            text=True,
            check=True,
            env=self.env,
        )
        return done.stdout


@pytest.mark.slow
def test_the_page_is_followed(team, tmp_path):
    """Each command of the page is run as it stands there, but for address, names and keys."""
    ann, bob = Machine(tmp_path / "ann"), Machine(tmp_path / "bob")
    admin = team.client(team.founded.key.token)
    code = admin("members/invite")["code"]
    bob.run(line_with("--join").replace(ADDRESS, team.url).replace("CODE", code))
    ann.run(line_with("--key").replace(ADDRESS, team.url), key_of(team, "ann"))
    for machine in (ann, bob):
        assert (machine.home / "server-key").stat().st_mode & 0o777 == 0o600
    spaces = [json.loads(one.run("reverie --json status"))["space"] for one in (ann, bob)]
    assert spaces[0] != spaces[1]
    ann.run(f"reverie remember --kind decision {NOTE}")
    share, join_space = (one for one in commands_of(PAGE) if one.startswith("reverie share"))
    ann.run(share)
    bob.run(join_space)
    assert "release" in bob.run("reverie recall which branch do deploys run from")
    assert "release" in bob.prompt(ASKED)
    assert "others" in bob.run("reverie sync --status")
    bob.run(line_with("reverie trust"))
    assert "trusted" in bob.run(line_with("reverie spaces"))
    ann.run(line_with("reverie unshare"))
    bob.run("reverie sync")
    assert "release" not in bob.run("reverie recall which branch of deploys")


@contextmanager
def tried_out(folder):
    """A server as the page says to try it out; its address, the administrator's key, and a way to
    run what is to be typed beside it.
    """
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "REVERIE_EMBEDDER": "toy"}
    running = subprocess.Popen(
        [sys.executable, "-m", *line_with("--embedded").split(), "--port", "0"],
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = ""
    try:
        while "Serving at" not in said:
            line = running.stderr.readline()
            assert line, said
            said += line
        (key,), (url,) = re.findall(r"rv_default_\w+", said), re.findall(r"Serving at (\S+);", said)
        yield url, key, lambda line: run_line(line, env=env, cwd=folder)
    finally:
        running.terminate()
        running.communicate(timeout=120)
        assert running.returncode == 0


@pytest.mark.proves("X64")
@pytest.mark.e2e
@pytest.mark.slow
def test_a_colleagues_claude_code_is_given_what_was_shared(postgres_folder, tmp_path):
    """In ten minutes from nothing: a server with its own PostgreSQL, Ann shares what she kept, and
    Bob's real Claude Code has it in the request to its model, as another's words; not after Ann
    took it back. Each command is the page's.
    """
    asked = []
    postgres_folder.parent.chmod(0o711)
    with (
        serve_http(scripted_model_handler(lambda _: "Understood.", asked)) as model,
        tried_out(postgres_folder.parent) as (url, key, operate),
    ):
        ann = Agent("claude-code", tmp_path / "ann", model, asked)
        bob = Agent("claude-code", tmp_path / "bob", model, asked)
        places = [{"env": one.env, "cwd": one.project} for one in (ann, bob)]
        (code,) = re.findall(r"rvi_\w+", operate(line_with("server invite new")))
        run_line(line_with("--key").replace(ADDRESS, url), key, **places[0])
        run_line(line_with("--join").replace(ADDRESS, url).replace("CODE", code), **places[1])
        bob.reverie("install", "claude-code", "--no-mcp", "--yes")
        ann.reverie("remember", "--kind", "decision", NOTE)
        share, join_space = (one for one in commands_of(PAGE) if one.startswith("reverie share"))
        assert FENCE not in bob.say(ASKED)[-1]
        run_line(share, **places[0])
        run_line(join_space, **places[1])
        # What came is searched by its words at once, by its meaning once it is embedded: by a worker
        # that is just leaving only after the next prompt.
        bob.reverie("data", "settle")
        given = bob.say(ASKED)[-1]
        told = given[given.index(f"<{FENCE}>") :]
        assert NOTE in told and "(admin, written by others" in told
        assert FENCE not in bob.say(QUIET)[-1]
        run_line(line_with("reverie unshare"), **places[0])
        bob.reverie("sync")  # what else his worker does, half a minute later, if it still runs
        wait_until(lambda: NOTE not in bob.reverie("list"))
        assert NOTE not in bob.say(ASKED)[-1]
        wait_until(lambda: not is_worker_alive(HookFiles(str(bob.home)).lock))
        assert [] == list_hook_troubles(bob.home)
