# mypy: no-check-untyped-defs
"""Who may read a home: its owner alone, whatever the umask, and by whatever way it is used."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from reverie.core import config
from reverie.core.config import Settings
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.install.doctor import examine_installation
from reverie.interfaces.worker_start import is_worker_alive
from tests.support.helpers import hook_command, open_mind, run_command, toy_home, wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
SPACE = "me/demo"


@contextmanager
def open_umask():
    """A umask that takes nothing away."""
    before = os.umask(0o000)
    try:
        yield
    finally:
        os.umask(before)


def loose_paths(home):
    """The files and folders of a home, itself too, of which others may do anything, with modes."""
    places = [home, *home.rglob("*")]
    return {
        str(place.relative_to(home)): f"{place.lstat().st_mode & 0o777:o}"
        for place in places
        if not place.is_symlink() and place.lstat().st_mode & 0o077
    }


def start(home, *words, stdin=b"", program=("-m", "reverie")):
    """A process of ours in a home, to its end; what it printed."""
    done = subprocess.run(
        [sys.executable, *program, *words],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        cwd=home.parent,
        env={
            **os.environ,
            "REVERIE_HOME": str(home),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )
    assert done.returncode == 0, done
    return done.stdout.decode()


def hook(home, event, **fields):
    """A hook of Claude Code."""
    given = {"session_id": "s1", "cwd": str(home.parent), "hook_event_name": event, **fields}
    *program, host = hook_command()[1:]
    start(home, host, stdin=json.dumps(given).encode(), program=program)


@pytest.mark.slow
@pytest.mark.proves("P27")
def test_every_file_of_a_used_home_is_its_owners_alone(tmp_path):
    """Commands, hooks, a worker and an MCP server leave nothing that others may read."""
    with open_umask():
        home = tmp_path / "made" / "home"
        config.save_settings(Settings(home=home), embedder="toy", idle=1.0)
        project = home.parent
        (project / ".git").mkdir()
        (project / "notes").mkdir()
        (project / "notes" / "a.md").write_text("# Deploys\n\nThe staging server is heron.\n")
        (project / "a.py").write_text("def deploy_site():\n    return 1\n")
        start(home, "remember", "Never force-push to main.", "--space", SPACE)
        start(home, "remember", "--kind", "warning", "Deploys go out on Fridays.")
        start(home, "recall", "deploys")
        start(home, "files", "add", str(project / "notes"))
        start(home, "files", "update", str(project / "notes" / "a.md"), "More of it.")
        start(home, "code", "index", str(project))
        start(home, "data", "mirror")
        start(home, "data", "export", str(home / "out.jsonl"))
        start(home, "data", "backup", str(home / "copies" / "one.db"))
        start(home, "data", "settle")
        start(home, "install", "claude-code", "--project", "--yes")
        hook(home, "SessionStart", source="startup")
        hook(home, "UserPromptSubmit", prompt="How do we deploy to staging?")
        command = {"tool_name": "Bash", "tool_input": {"command": "git push --force"}}
        hook(home, "PreToolUse", **command)
        hook(home, "PostToolUse", **command, tool_response={"stdout": "done"})
        hook(home, "Stop", last_assistant_message="By make deploy.")
        HookFiles(str(home)).log_trouble("a line of trouble")
        hello = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        }
        start(home, "mcp", stdin=json.dumps(hello).encode() + b"\n")
        wait_until(lambda: not is_worker_alive(HookFiles(str(home)).lock))
        with open_mind(home) as mind:  # the journal and its index are there while it is open
            mind.remember("Staging is called heron.", space=SPACE)
            assert {} == loose_paths(home)
    assert {"reverie.db", "backups", "cache", "hooks", "spaces"} <= {
        place.name for place in home.iterdir()
    }


def loosen(home):
    """Make a home as earlier versions did: readable where the umask let it be."""
    for place in [*home.rglob("*"), home]:
        place.chmod(0o755 if place.is_dir() else 0o644)


def test_an_existing_home_is_tightened_once_with_a_note(tmp_path):
    """The first to open it tightens every file, the user is told once, the log knows; what the
    owner opens up afterwards stays, and `doctor` names it.
    """
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        mind.remember("The staging server is called heron.", space=SPACE)
    (home / "backups").mkdir(exist_ok=True)
    (home / "backups" / "reverie-20200101.db").write_bytes(b"old")
    outside = tmp_path / "shared.txt"
    outside.write_text("not ours")
    outside.chmod(0o644)
    (home / "linked").symlink_to(outside)
    loosen(home)
    outside.chmod(0o644)
    first = run_command("recall", "staging", "--home", str(home))
    assert "could be read by others" in first.stderr
    assert {} == loose_paths(home)
    assert outside.stat().st_mode & 0o777 == 0o644
    second = run_command("recall", "staging", "--home", str(home))
    assert "could be read by others" not in second.stderr
    with open_mind(home) as mind:
        (event,) = mind.store.events(verbs=("tighten",))
    assert event.payload["files"] >= 3
    home.chmod(0o755)
    run_command("recall", "staging", "--home", str(home))
    assert home.stat().st_mode & 0o777 == 0o755


def findings(home, project):
    """What doctor finds, as one text."""
    found = examine_installation(config.load_settings(home), SPACE, project)
    return [(not one.well, one.text, one.mend) for one in found if "Others on" in one.text]


def test_doctor_names_a_home_that_others_can_read(tmp_path):
    """With the command that mends it; nothing is said of one that is closed."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        mind.remember("The staging server is called heron.", space=SPACE)
    assert [] == findings(home, tmp_path)
    home.chmod(0o755)
    ((fault, what, remedy),) = findings(home, tmp_path)
    assert fault and str(home) in what and "chmod -R go-rwx" in remedy


def test_a_shared_file_keeps_the_modes_of_its_project(tmp_path, monkeypatch):
    """What a team shares is for the team: a file keeps its mode, and its folder follows the
    umask.
    """
    home = toy_home(tmp_path)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    with open_mind(home) as mind:
        mind.remember("The staging server is called heron.")
        mind.data.share()
        (shared,) = map(Path, mind.data.shares())
        assert shared.stat().st_mode & 0o777 == 0o644
        shared.chmod(0o664)
        mind.remember("The office cat is called Mieze.")
        mind.data.share()
    assert shared.stat().st_mode & 0o777 == 0o664
