# mypy: no-check-untyped-defs
"""`reverie install`, `uninstall` and `doctor`, on real files of a home that is nobody's."""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from reverie import config
from reverie.surfaces.hooks.places import Places
from tests.helpers import invoked, opened, toy_home

HOSTS = ("claude-code", "codex", "cursor")


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user's home; the working directory is a project in it."""
    home = tmp_path / "user"
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(tmp_path)))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    return home


def every_file(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("host", HOSTS)
def test_uninstall_restores_exactly(user, host, scope):
    """Files that were there come back byte by byte, odd formatting too; those that were not are gone."""
    odd = b'{"a":1,\r\n "hooks":{ "Stop" : [ {"hooks":[{"type":"command","command":"say hi"}]} ] }}'
    for folder in (user / ".claude", user / "project" / ".claude"):
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_bytes(odd)
        (folder / "settings.local.json").write_bytes(odd)
    for folder in (user / ".codex", user / "project" / ".codex"):
        folder.mkdir()
        (folder / "config.toml").write_bytes(b'# mine\nmodel = "x"   # best\n\n\n')
    before = every_file(user)
    invoked("install", host, scope, "--yes")
    wired = every_file(user)
    assert wired != before
    invoked("install", host, scope, "--yes")
    assert every_file(user) == wired
    invoked("uninstall", host, scope, "--yes")
    assert every_file(user) == before
    assert "is not wired" in invoked("uninstall", host, scope, "--yes").stdout


def test_what_was_added_since_stays(user):
    """Edited after it was wired: only ours is taken out."""
    settings = user / ".claude" / "settings.json"
    invoked("install", "claude-code", "--yes")
    data = json.loads(settings.read_text())
    data["model"] = "opus"
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say hi"}]})
    settings.write_text(json.dumps(data))
    invoked("uninstall", "claude-code", "--yes")
    assert json.loads(settings.read_text()) == {
        "model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say hi"}]}]}}


def test_wired_anew_it_still_comes_back_as_it_was(user):
    """Wired, edited, wired again, unwired: the edit stays, nothing of ours does."""
    settings = user / ".claude" / "settings.json"
    invoked("install", "claude-code", "--yes")
    data = json.loads(settings.read_text())
    settings.write_text(json.dumps({**data, "model": "opus", "hooks": {"Stop": data["hooks"]["Stop"]}}, indent=3))
    invoked("install", "claude-code", "--yes")
    invoked("uninstall", "claude-code", "--yes")
    assert json.loads(settings.read_text()) == {"model": "opus"}


def test_it_shows_what_it_would_write_and_asks(user):
    """The diff stands on stderr; without --yes and nobody to ask nothing is written."""
    result = invoked("install", "claude-code", code=2)
    assert "+" in result.stderr and "run.py claude-code" in result.stderr
    assert {} == every_file(user)
    assert ["settings.json", ".claude.json"] == [Path(path).name for path in json.loads(
        invoked("install", "claude-code", "--yes", "--json").stdout)["written"]]


def test_without_mcp_there_are_hooks_only(user):
    """--no-mcp leaves the servers alone."""
    invoked("install", "claude-code", "--no-mcp", "--yes")
    assert [".claude/settings.json"] == sorted(every_file(user))


def test_links_and_modes_are_kept(user):
    """Settings that are a link into somebody's dotfiles stay one, and stay private."""
    real = user / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o600)
    (user / ".claude").mkdir()
    (user / ".claude" / "settings.json").symlink_to(real)
    invoked("install", "claude-code", "--no-mcp", "--yes")
    assert (user / ".claude" / "settings.json").is_symlink() and "run.py" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_merged_is_left(user):
    """Comments in JSON, or broken: said with the file's name, nothing is written anywhere."""
    (user / ".claude").mkdir()
    (user / ".claude" / "settings.json").write_text("{ // mine\n}")
    assert "settings.json" in invoked("install", "claude-code", "--yes", code=2).stderr
    assert [".claude/settings.json"] == sorted(every_file(user))
    assert "claude-code, codex, cursor" in invoked("install", "emacs", code=2).stderr


def test_a_projects_shared_files_name_no_place(user):
    """What is committed with a project works on other machines."""
    invoked("install", "claude-code", "--project", "--yes")
    assert json.loads((user / "project" / ".mcp.json").read_text()) == {
        "mcpServers": {"reverie": {"command": "reverie", "args": ["mcp"]}}}
    assert [".claude/settings.local.json", ".mcp.json"] == sorted(every_file(user / "project"))


def findings(code=0):
    return json.loads(invoked("doctor", "--json", code=code).stdout)["findings"]


def told(code=0):
    return "\n".join(f"{one['text']} {one['mend']}" for one in findings(code))


def test_doctor_says_what_is_wired_and_how_to_mend_it(user):
    """Nothing wired; wired; half wired; a hook that does not work: in plain words, with what to do."""
    assert "No agent is wired" in told(code=1)
    invoked("install", "claude-code", "--no-mcp", "--yes")
    assert "Claude Code is wired" in told() and "a hook takes" in told()
    settings = user / ".claude" / "settings.json"
    wired = settings.read_text()
    data = json.loads(wired)
    del data["hooks"]["Stop"]
    settings.write_text(json.dumps(data))
    assert "no hook for Stop. Wire it anew: reverie install claude-code" in told(code=1)
    settings.write_text(wired.replace(sys.executable, "/nowhere/python"))
    assert "its hook does not work" in told(code=1)


def test_doctor_says_when_memory_last_surfaced_and_what_failed(user):
    """The last turn that was given something; events that could not be learned from; trouble of hooks; off."""
    invoked("install", "claude-code", "--no-mcp", "--yes")
    home = Path(config.default_home())
    assert "No turn of an agent has reached Reverie yet" in told()
    from reverie.model import Event
    with opened(home) as mind:
        mind.store.append([Event("turn", "me/x", time.time() - 7_200, "s", {"messages": [], "given": ["mem_1"]})])
    assert "Memory last surfaced 2h ago, in me/x" in told()
    with opened(home) as mind:
        mind.store.append([Event("failed", "me/x", time.time(), "s", {"error": "ValueError: odd"})])
    assert "ValueError: odd" in told(code=1)
    Places(str(home)).trouble("claude-code: OSError: disk full")
    assert "disk full" in told(code=1)
    invoked("off", "--everywhere")
    assert "Memory is off" in told(code=1)


def test_doctor_sees_a_full_disk(user, monkeypatch):
    """Hooks can write neither what happens nor a line in their log: doctor says so."""
    assert "is full" not in told(code=1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    assert "is full: 1 MB are left. Make room." in told(code=1)


def test_doctor_sees_what_runs_twice(user):
    """Codex runs the hooks of all files; Claude Code equal ones once, but a plugin's besides."""
    for host in ("claude-code", "codex"):
        for scope in ("--user", "--project"):
            invoked("install", host, "--no-mcp", scope, "--yes")
    assert ["Codex is wired more than once: every hook runs twice."] == [
        one["text"] for one in findings(code=1) if not one["well"]]
    settings = user / "project" / ".claude" / "settings.json"
    settings.write_text('{"enabledPlugins": {"reverie@reverie": true}}')
    assert "Claude Code is wired more than once" in told(code=1) and "has our plugin" in told(code=1)
