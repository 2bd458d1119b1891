"""The how-to of a team, followed: a server, two users, one shares, the other's session is given it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sync.conftest import key_of

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "team.md"
ROOT = Path(__file__).parents[2] / "src" / "reverie"


def commands_of(page):
    """The lines that a page tells to type, without their comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.partition("  #")[0].strip() for line in lines]


class Machine:
    """A user's machine: a home, and the programs that run on it."""

    def __init__(self, folder):
        self.home = folder / ".reverie"
        self.project = folder / "demo"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        (self.home / "config.toml").write_text('embedder = "toy"\nidle = 0.0\n')
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "REVERIE_HOME": str(self.home),
        }

    def run(self, line, text=""):
        """What a command line prints."""
        words = [sys.executable, "-m", *line.split()]
        done = subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            env=self.env,
            cwd=self.project,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def prompt(self, text, space):
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
    said = commands_of(PAGE)
    ann, bob = Machine(tmp_path / "ann"), Machine(tmp_path / "bob")
    admin = team.client(team.founded.key.token)
    code = admin("members/invite")["code"]
    join, log_in = (next(one for one in said if part in one) for part in ("--join", "--key"))
    join = join.replace("https://memory.acme.org", team.url).replace("CODE", code)
    log_in = log_in.replace("https://memory.acme.org", team.url)
    bob.run(join)
    ann.run(log_in, key_of(team, "ann"))
    for machine in (ann, bob):
        assert (machine.home / "server-key").stat().st_mode & 0o777 == 0o600
    space = json.loads(bob.run("reverie --json status"))["space"]
    note = "Deploys of the API run from the branch release."
    ann.run(f"reverie remember --kind decision --space me/demo {note}")
    share, join_space = (one for one in said if one.startswith("reverie share"))
    ann.run(share)
    bob.run(join_space.replace("me/demo", space) + " --as demo")
    assert "release" in bob.run(f"reverie recall --space {space} which branch do deploys run from")
    given = bob.prompt("From which branch do deploys of the API run?", space)
    assert "release" in given
    assert "others" in bob.run("reverie sync --status")
    bob.run("reverie trust".replace("me/demo", space))
    assert "trusted" in bob.run("reverie spaces")
    assert "demo" in bob.run("reverie spaces")
    ann.run("reverie unshare me/demo")
    bob.run("reverie sync")
    assert "release" not in bob.run(f"reverie recall --space {space} which branch of deploys")
