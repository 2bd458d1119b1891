# mypy: no-check-untyped-defs
"""`reverie install`, `uninstall` and `doctor`, on real files of a home that is nobody's."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from reverie.core import config
from reverie.core.errors import ModelUnavailable
from reverie.core.installation import advise_install
from reverie.erasure.unfinished import finish_erasure
from reverie.interfaces.cli.app import app
from reverie.interfaces.cli.commands import install_commands as wire
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hosts import HOST_MODULES
from reverie.interfaces.install import command_files, settings_entries, trial_run
from reverie.interfaces.install.hook_line import SILENT, own_program
from reverie.interfaces.install.settings_targets import WiringPlace, build_mcp_server
from reverie.interfaces.install.settings_writer import text_digest
from reverie.storage.erased_texts import REWRITE_PENDING
from tests.support.helpers import open_mind, run_command, toy_home

HOSTS = tuple(HOST_MODULES)
COMMAND_FILES = [f".claude/commands/reverie/{name}.md" for name in ("off", "on")]


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
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("host", HOSTS)
def test_uninstall_restores_exactly(user, host, scope):
    """Files that were there come back byte by byte, odd formatting too; those that were not are
    gone.
    """
    odd = b'{"a":1,\r\n "hooks":{ "Stop" : [ {"hooks":[{"type":"command","command":"say hi"}]} ] }}'
    for folder in (user / ".claude", user / "project" / ".claude"):
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_bytes(odd)
        (folder / "settings.local.json").write_bytes(odd)
    for folder in (user / ".codex", user / "project" / ".codex"):
        folder.mkdir()
        (folder / "config.toml").write_bytes(b'# mine\nmodel = "x"   # best\n\n\n')
    before = every_file(user)
    run_command("install", host, scope, "--yes")
    wired = every_file(user)
    assert wired != before
    run_command("install", host, scope, "--yes")
    assert every_file(user) == wired
    run_command("uninstall", host, scope, "--yes")
    assert every_file(user) == before
    assert "is not wired" in run_command("uninstall", host, scope, "--yes").stdout


def test_later_edits_survive_uninstall(user):
    """Uninstalling from a file that was edited since removes only our entries."""
    settings = user / ".claude" / "settings.json"
    run_command("install", "claude-code", "--yes")
    data = json.loads(settings.read_text())
    data["model"] = "opus"
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say hi"}]})
    settings.write_text(json.dumps(data))
    run_command("uninstall", "claude-code", "--yes")
    assert json.loads(settings.read_text()) == {
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say hi"}]}]},
    }


def test_wired_anew_it_still_comes_back_as_it_was(user):
    """Wired, edited, wired again, unwired: the edit stays, nothing of ours does."""
    settings = user / ".claude" / "settings.json"
    run_command("install", "claude-code", "--yes")
    data = json.loads(settings.read_text())
    settings.write_text(
        json.dumps({**data, "model": "opus", "hooks": {"Stop": data["hooks"]["Stop"]}}, indent=3)
    )
    run_command("install", "claude-code", "--yes")
    run_command("uninstall", "claude-code", "--yes")
    assert json.loads(settings.read_text()) == {"model": "opus"}


def test_it_shows_what_it_would_write_and_asks(user):
    """A line for each hook on stderr, or with --diff all of it; where there is nobody to ask, the
    reason alone.
    """
    result = run_command("install", "claude-code", code=2)
    assert (
        result.stderr
        == "reverie: Nothing was written: there is no terminal to ask on. Confirm with --yes\n"
    )
    assert {} == every_file(user)
    assert ["settings.json", ".claude.json", "off.md", "on.md"] == [
        Path(path).name
        for path in json.loads(run_command("install", "claude-code", "--yes", "--json").stdout)[
            "written"
        ]
    ]
    shown = run_command("uninstall", "claude-code", "--yes").stderr
    assert (
        "(the file is deleted)" in shown and "  - Stop: " in shown and "MCP server reverie" in shown
    )
    shown = run_command("install", "claude-code", "--yes").stderr
    assert "run.py claude-code" in shown and len(shown.splitlines()) == 18
    assert "off.md (a new file)\n  + command /reverie:off\n" in shown
    assert shown.splitlines()[-1].startswith("Secrets are masked; ")
    assert len(run_command("uninstall", "claude-code", "--yes", "--diff").stderr.splitlines()) > 50


def test_entries_can_be_had_for_wiring_by_hand(user):
    """What the files would hold; nothing is written."""
    there = json.loads(run_command("install", "cursor", "--print", "--json").stdout)
    assert [str(user / ".cursor" / name) for name in ("hooks.json", "mcp.json")] == list(there)
    assert "run.py cursor" in there[str(user / ".cursor" / "hooks.json")]
    assert "[mcp_servers.reverie]" in run_command("install", "codex", "--print").stdout
    assert {} == every_file(user)


def test_without_mcp_there_are_hooks_only(user):
    """--no-mcp leaves the servers alone."""
    run_command("install", "claude-code", "--no-mcp", "--yes")
    assert [*COMMAND_FILES, ".claude/settings.json"] == sorted(every_file(user))


def test_commands_are_there_without_the_plugin(user):
    """A person types /reverie:off after a plain install. A file of theirs stays, before and after;
    one that another installation, or an earlier version, wrote is written anew.
    """
    off, on = (user / path for path in COMMAND_FILES)
    off.parent.mkdir(parents=True)
    off.write_text("mine")
    run_command("install", "claude-code", "--yes")
    assert off.read_text() == "mine" and f"{sys.executable} -P -m reverie" in on.read_text()
    assert f"--home {os.environ['REVERIE_HOME']} on" in on.read_text()
    on.write_text(command_files.compose_command("on", ["/old/python", "-P", "-m", "reverie"]))
    run_command("install", "claude-code", "--yes")
    assert sys.executable in on.read_text()
    # As an earlier version wrote it: nobody has touched it since, by the ledger.
    ledger = Path(os.environ["REVERIE_HOME"]) / "installed" / "claude-code.json"
    rows = json.loads(ledger.read_text())
    on.write_text("earlier")
    rows[str(on)] |= {"after": text_digest("earlier"), "undo": [[0, len("earlier"), ""]]}
    ledger.write_text(json.dumps(rows))
    run_command("install", "claude-code", "--yes")
    assert sys.executable in on.read_text()
    run_command("uninstall", "claude-code", "--yes")
    assert every_file(user) == {COMMAND_FILES[0]: b"mine"}
    off.unlink()
    off.parent.rmdir()
    run_command("install", "claude-code", "--yes")
    off.write_text(off.read_text() + "And say it in German.\n")
    shutil.rmtree(ledger.parent)
    run_command("uninstall", "claude-code", "--yes")
    # Without the ledger what is ours to the letter goes, and what somebody wrote into stays.
    assert COMMAND_FILES[0] in every_file(user) and not on.exists()


def test_no_folder_of_a_command_stays(user):
    """Folders that were made for them are gone with them."""
    run_command("install", "claude-code", "--yes")
    run_command("uninstall", "claude-code", "--yes")
    assert [path.name for path in user.iterdir()] == ["project"]


def test_doctor_knows_the_commands(user):
    """One that is not there, one of somebody's own, one whose program is gone."""
    run_command("install", "claude-code", "--yes")
    assert "/reverie:o" not in told()
    off, on = (user / path for path in COMMAND_FILES)
    on.unlink()
    off.write_text("mine")
    assert "has no command /reverie:on of ours" in told() and "somebody's own" in told()
    on.write_text(command_files.compose_command("on", ["/old/python", "-P", "-m", "reverie"]))
    assert "its command /reverie:on does not work: /old/python is not there" in told(code=1)
    off.write_bytes(b"\xff")
    assert f"{off} cannot be read" in told(code=1)


THEIRS = ["~/bin/count-reverie-hook-calls.sh", "nice -n 19 reverie-hook claude-code >> ~/my.log"]


@pytest.mark.parametrize("line", THEIRS)
def test_a_users_own_handler_is_never_taken_out(user, line):
    """What mentions our hook and is not ours stays, and comes back byte by byte with
    all the rest.
    """
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}})
    )
    before = settings.read_bytes()
    run_command("install", "claude-code", "--yes")
    assert line in settings.read_text()
    settings.write_text(settings.read_text() + "\n")
    run_command("install", "claude-code", "--yes")
    run_command("uninstall", "claude-code", "--yes")
    assert settings.read_bytes() == before + b"\n"


@pytest.mark.proves("CC-89")
def test_secrets_of_the_host_stay_where_they_are(user):
    """Neither the ledger, which nobody else may read, nor what is shown holds what others keep in
    the file.
    """
    settings, servers = user / ".claude" / "settings.json", user / ".claude.json"
    settings.parent.mkdir()
    secret, key = "tok-Zx81kQpL09vRt", "sk-ant-api03-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z"
    settings.write_text(json.dumps({"env": {"ANTHROPIC_AUTH_TOKEN": secret}}, indent=2))
    servers.write_text(
        json.dumps({"oauthAccount": {"refresh": "r-Zx81kQpL09vRt"}, "primaryApiKey": key})
    )
    before = every_file(user)
    shown = run_command("install", "claude-code", "--yes", "--diff").stderr
    ledger = Path(config.default_home()) / "installed" / "claude-code.json"
    kept = ledger.read_text()
    assert ledger.stat().st_mode & 0o777 == 0o600
    for word in (secret, key, "r-Zx81kQpL09vRt"):
        assert word not in kept and word not in shown
    assert secret not in run_command("uninstall", "claude-code", "--yes", "--diff").stderr
    assert every_file(user) == before


def test_a_byte_order_mark_is_read_and_kept(user):
    """Editors of Windows write one; Claude Code reads it, and so do we."""
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = b'\xef\xbb\xbf{\r\n  "model": "opus"\r\n}\r\n'
    settings.write_bytes(before)
    run_command("install", "claude-code", "--no-mcp", "--yes")
    wired = settings.read_bytes()
    assert wired.startswith(b"\xef\xbb\xbf{") and b"\n" not in wired.replace(b"\r\n", b"")
    assert "Claude Code is wired" in told()
    run_command("uninstall", "claude-code", "--yes")
    assert settings.read_bytes() == before


def test_the_host_wrote_its_file_anew(user):
    """Formatted in the host's way, with something of its own: only ours goes; what we had made goes
    with it.
    """
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks":{"Stop":[]},"n":1e5}')
    run_command("install", "claude-code", "--yes")
    for path in (settings, user / ".claude.json"):
        path.write_text(json.dumps(json.loads(path.read_text()), indent=7))
    run_command("uninstall", "claude-code", "--yes")
    assert json.loads(settings.read_text()) == {"hooks": {"Stop": []}, "n": 1e5}
    assert not (user / ".claude.json").exists(), "it was ours alone"


def test_nothing_is_left_behind(user):
    """Folders that we made go, with the ledger's; those that somebody has put
    something into stay.
    """
    for host in HOSTS:
        for scope in ("--user", "--project"):
            run_command("install", host, scope, "--yes")
    (user / ".cursor" / "theirs.txt").write_text("x")
    for host in HOSTS:
        for scope in ("--user", "--project"):
            run_command("uninstall", host, scope, "--yes")
    assert [".cursor", ".cursor/theirs.txt", "project", "project/.git"] == sorted(
        str(path.relative_to(user)) for path in user.rglob("*")
    )
    assert not (Path(config.default_home()) / "installed").exists()


@pytest.mark.parametrize(
    "ledger",
    [
        "[]",
        "{",
        '{"PATH": 7}',
        '{"PATH": {"after": 1}}',
        '{"PATH": {"before": "x", "after": "y"}}',
        '{"PATH": {"after": "", "new": false, "made": [], "folders": [], "undo": [[0, "a", 1]]}}',
    ],
)
def test_a_damaged_ledger_does_no_harm(user, ledger):
    """Then our entries are taken out, and no more."""
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}')
    run_command("install", "claude-code", "--no-mcp", "--yes")
    (Path(config.default_home()) / "installed" / "claude-code.json").write_text(
        ledger.replace("PATH", str(settings))
    )
    run_command("install", "claude-code", "--no-mcp", "--yes")
    run_command("uninstall", "claude-code", "--yes")
    assert settings.read_text() == '{"model": "opus"}'


def test_a_file_that_came_after_ours_is_not_ours_to_remove(user):
    """Ours was deleted, another written; that one comes back as it was."""
    settings = user / ".claude" / "settings.json"
    run_command("install", "claude-code", "--no-mcp", "--yes")
    settings.write_text("{}")
    run_command("install", "claude-code", "--no-mcp", "--yes")
    run_command("uninstall", "claude-code", "--yes")
    assert settings.read_text() == "{}"


def test_what_is_write_protected_stays(user):
    """Said with the file's name; nothing is written, no half of a file is left."""
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    settings.chmod(0o444)
    assert "write-protected" in run_command("install", "claude-code", "--yes", code=2).stderr
    assert [".claude/settings.json"] == sorted(every_file(user))


def test_a_half_pair_in_a_file_is_no_bug(user):
    """Half a pair of UTF-16 among others' entries stays; a home whose name is no UTF-8
    is told of.
    """
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say \\ud83d"}]}]}}'
    )
    before = settings.read_bytes()
    run_command("install", "claude-code", "--yes")
    run_command("uninstall", "claude-code", "--yes", "--diff")
    assert settings.read_bytes() == before
    home = os.fsdecode(os.fsencode(user / "h") + b"\xff")
    assert "is not" in run_command("--home", home, "install", "claude-code", "--yes", code=2).stderr
    assert settings.read_bytes() == before


def test_links_and_modes_are_kept(user):
    """Settings that are a link into somebody's dotfiles stay one, and stay private."""
    real = user / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o600)
    (user / ".claude").mkdir()
    (user / ".claude" / "settings.json").symlink_to(real)
    run_command("install", "claude-code", "--no-mcp", "--yes")
    assert (user / ".claude" / "settings.json").is_symlink() and "run.py" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_merged_is_left(user):
    """Comments in JSON, or broken: said with the file's name, nothing is written anywhere."""
    (user / ".claude").mkdir()
    (user / ".claude" / "settings.json").write_text("{ // mine\n}")
    assert "settings.json" in run_command("install", "claude-code", "--yes", code=2).stderr
    assert [".claude/settings.json"] == sorted(every_file(user))
    assert "claude-code, codex, cursor" in run_command("install", "emacs", code=2).stderr


def test_a_projects_shared_files_name_no_place(user):
    """What is committed with a project works on other machines."""
    run_command("install", "claude-code", "--project", "--yes")
    assert json.loads((user / "project" / ".mcp.json").read_text()) == {
        "mcpServers": {"reverie": {"command": "reverie", "args": ["mcp"]}}
    }
    there = every_file(user / "project")
    assert [*COMMAND_FILES, ".claude/settings.local.json", ".mcp.json"] == sorted(there)
    assert all(b"!`reverie o" in there[path] for path in COMMAND_FILES)


def findings(code=0):
    return json.loads(run_command("doctor", "--json", code=code).stdout)["findings"]


def told(code=0):
    return "\n".join(f"{one['text']} {one['mend']}" for one in findings(code))


def test_doctor_says_what_is_wired_and_how_to_mend_it(user):
    """Nothing wired; wired; half wired; a hook that does not work: in plain words,
    with what to do.
    """
    assert "No agent is wired" in told(code=1)
    run_command("install", "claude-code", "--no-mcp", "--yes")
    assert "Claude Code is wired" in told() and "a hook after a tool takes" in told()
    settings = user / ".claude" / "settings.json"
    wired = settings.read_text()
    data = json.loads(wired)
    del data["hooks"]["Stop"]
    settings.write_text(json.dumps(data))
    assert "no hook for Stop. Wire it anew: reverie install claude-code" in told(code=1)
    settings.write_text(wired.replace(sys.executable, "/nowhere/python"))
    assert "its hook does not work" in told(code=1)


def test_doctor_tries_hooks_that_an_earlier_version_wired(user):
    """The launcher of an earlier version is this installation's too: it is tried, and renewed."""
    run_command("install", "claude-code", "--no-mcp", "--yes")
    file = user / ".claude" / "settings.json"
    file.write_text(file.read_text().replace("interfaces/hooks", "surfaces/hooks"))
    assert "wired by an earlier version of this installation" in told()
    assert "another installation" not in told() and "a hook after a tool takes" in told()


def test_doctor_says_when_memory_last_surfaced_and_what_failed(user):
    """The last turn that was given something; events that could not be learned from; trouble of
    hooks; off.
    """
    run_command("install", "claude-code", "--no-mcp", "--yes")
    home = Path(config.default_home())
    assert "No turn of an agent has reached Reverie yet" in told()
    from reverie.core.model import Event

    with open_mind(home) as mind:
        mind.store.append(
            [Event("turn", "me/x", time.time() - 7_200, "s", {"messages": [], "given": ["mem_1"]})]
        )
    assert "Memory last surfaced 2h ago, in me/x" in told()
    with open_mind(home) as mind:
        mind.store.append([Event("failed", "me/x", time.time(), "s", {"error": "ValueError: odd"})])
    assert "ValueError: odd" in told(code=1)
    HookFiles(str(home)).log_trouble("claude-code: OSError: disk full")
    assert "disk full" in told(code=1)
    run_command("off", "--space", "me")
    assert "Memory is off in me. Switch it on: reverie on --space me" in told(code=1)
    run_command("off", "--everywhere")
    assert "Memory is off everywhere" in told(code=1)


def test_doctor_times_the_search_of_a_prompt_in_the_users_own_memory(user):
    """By looking something up that is there; nothing is written, and no reminder is claimed."""
    home = Path(config.default_home())
    assert "A prompt's search" not in told(code=1)
    with open_mind(home) as mind:
        mind.remember("The deploy key lives in the vault.", space="me")
        mind.remember("Ask for the report.", space="me", kind="intention", details={"when": 1.0})

    def written():
        with open_mind(home) as mind:
            return list(mind.data.export())[1:], every_file(home / "hooks")

    before = written()
    assert "A prompt's search opens and reads this memory in " in told(code=1)
    assert written() == before


@pytest.mark.parametrize(
    "path", [".claude/settings.local.json", ".codex/hooks.json", ".cursor/hooks.json"]
)
def test_doctor_runs_nothing_that_a_file_says(user, path):
    """A repository brings its own settings: what stands in them is compared with ours, and never
    run.
    """
    (user / "reverie" / "interfaces" / "hooks").mkdir(parents=True)
    (user / "reverie" / "interfaces" / "hooks" / "run.py").write_text("")
    ran, host = (
        user / "PWNED",
        {".claude": "claude-code", ".codex": "codex", ".cursor": "cursor"}[path.split("/")[0]],
    )
    for line in (
        f"touch {ran}; echo {{}} # reverie-hook",
        f"{ran}.sh -I -S {user}/reverie/interfaces/hooks/run.py {host}{SILENT}",
        f"PYTHONPATH=. reverie-hook {host} 2>/dev/null || touch {ran}",
    ):
        for root in (user, user / "project"):
            run_command(
                "install", host, "--no-mcp", "--project" if root != user else "--user", "--yes"
            )
            file = root / path if root != user else user / path.replace(".local", "")
            ours = next(
                iter(settings_entries.group_our_handlers(json.loads(file.read_text())).values())
            )[0][1]["command"]
            file.write_text(file.read_text().replace(ours, line))
        Path(f"{ran}.sh").write_text(f"#!/bin/sh\ntouch {ran}\necho {{}}\n")
        Path(f"{ran}.sh").chmod(0o755)
        CliRunner().invoke(app, ["doctor", "--json"])
        assert not ran.exists()
        for root in (user, user / "project"):
            (root / path if root != user else user / path.replace(".local", "")).unlink()


def unwell():
    return {one["text"]: one["mend"] for one in findings(1) if not one["well"]}


def alone(text):
    """The one trouble there is; what to do about it."""
    ((found, mend),) = unwell().items()
    assert text in found, found
    return mend


def wired_to(user, host="claude-code", *more):
    """Its files, after a wiring that has no trouble."""
    run_command("install", host, "--yes", *(more or ("--no-mcp",)))
    assert all(one["well"] for one in findings())
    return user


def test_doctor_names_files_that_cannot_be_read(user):
    """Broken JSON, or a folder in a file's place: said with the name, and the rest is looked at all
    the same.
    """
    wired_to(user, "cursor")
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": {,}}')
    assert f"{settings} cannot be read" in next(iter(unwell())) and "Cursor is wired" in told(1)
    settings.unlink()
    settings.mkdir()
    assert alone(f"{settings} cannot be read: Is a directory")


def test_doctor_knows_where_hosts_run_no_hooks(user):
    """disableAllHooks of Claude Code, [features] of Codex."""
    wired_to(user)
    (user / "project" / ".claude").mkdir()
    shared = user / "project" / ".claude" / "settings.json"
    shared.write_text('{"disableAllHooks": true}')
    assert alone(f"disableAllHooks in {shared}")
    shared.unlink()
    wired_to(user, "codex")
    (user / ".codex" / "config.toml").write_text("[features]\nhooks = false\n")
    assert alone("[features] hooks = false")


def test_doctor_tries_our_mcp_server_and_looks_up_others(user, monkeypatch):
    """Ours is started, greeted and left; of any other only whether its program is there is said, by
    any way in.
    """
    wired_to(user, "claude-code", "--user")
    servers = user / ".claude.json"
    servers.write_text(servers.read_text().replace(sys.executable, "/nowhere/python"))
    assert "reverie install claude-code" in alone(
        "its MCP server cannot start: /nowhere/python is not there"
    )
    run_command("uninstall", "claude-code", "--yes")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "not on your path" in run_command("install", "cursor", "--project", "--yes").stderr
    assert "PATH" in alone("its MCP server cannot start: reverie is not there")


def test_the_mcp_server_is_ours_wherever_it_is_started(user):
    """Hosts start it in the project's folder: a package `reverie` in a cloned repository is not
    what is run.
    """
    fake = user / "project" / "reverie"
    fake.mkdir()
    (fake / "__init__.py").touch()
    (fake / "__main__.py").write_text("print('theirs')")
    server = build_mcp_server(WiringPlace(user))
    done = subprocess.run(
        [server["command"], *server["args"], "--help"], capture_output=True, text=True, check=True
    )
    assert "theirs" not in done.stdout and "Model Context Protocol" in done.stdout


def test_doctor_says_when_our_mcp_server_does_not_work(user, monkeypatch):
    """What it says when it is started is told."""
    run_command("install", "cursor", "--yes")
    monkeypatch.setattr(trial_run, "HELLO", {"jsonrpc": "2.0", "method": "exit"})
    alone("its MCP server does not work: it answers ''")


def test_install_says_that_the_mcp_extra_is_missing(user, monkeypatch):
    """When it is wired, and not only when a session looks for its tools; the hooks need it not."""
    monkeypatch.setattr(wire, "find_spec", lambda _: None)
    assert advise_install("mcp") in run_command("install", "cursor", "--yes").stderr
    assert "pip install" not in run_command("install", "codex", "--yes", "--no-mcp").stderr


def test_the_model_is_fetched_by_who_is_asked_to(user, monkeypatch):
    """Hooks and their worker fetch nothing. `install` and `doctor` say what does, and it does so
    though no text waits; where nobody wants a model nobody misses it.
    """
    config.save_settings(config.load_settings(), embedder="minilm")
    assert "reverie data settle" in run_command("install", "codex", "--no-mcp", "--yes").stderr
    alone("The embedding model is not on this machine")
    monkeypatch.setattr("reverie.embedding.model_weights.ensure_model_files", none_to_be_had)
    assert "No index has it" in run_command("data", "settle").stderr
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "onnxruntime", None)
        without.setattr("reverie.embedding.model_weights.ensure_model_files", lambda *_, **__: user)
        assert "not installed: onnxruntime" in run_command("data", "settle").stderr
    config.save_settings(config.load_settings(), embedder="none")
    assert (
        "No index" not in run_command("data", "settle").stderr
        and "reverie data settle" not in run_command("doctor").stdout
    )
    assert "reverie data settle" not in run_command("install", "cursor", "--no-mcp", "--yes").stderr


def none_to_be_had(*_, **__):
    raise ModelUnavailable("No index has it")


def test_doctor_knows_what_a_plugin_needs(user, monkeypatch):
    """Programs that are not on the path; wired in its settings too, the way out is Claude Code's
    own command.
    """
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"enabledPlugins": {"reverie@reverie": true}}')
    monkeypatch.setenv("PATH", "/nowhere")
    assert any("runs reverie-hook, which is not on the path" in one for one in unwell())
    folder = user / "bin"
    folder.mkdir()
    for name in ("reverie-hook", "reverie"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    assert all(one["well"] for one in findings())
    run_command("install", "claude-code", "--no-mcp", "--yes")
    assert "claude plugin uninstall reverie@reverie" in alone("wired more than once")


def test_doctor_knows_whose_memory_a_hook_opens(user, monkeypatch):
    """Another home than this one is told, with both; a quote in a home's name is no trouble."""
    wired_to(user)
    there = str(config.default_home())
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(user / 'it\'s "odd"')))
    assert f"reverie --home {there} doctor" in alone(f"its hooks open the memory in {there}")
    run_command("install", "claude-code", "--no-mcp", "--yes")
    assert all(one["well"] for one in findings())


def test_doctor_looks_at_the_rest_when_settings_are_broken(user, monkeypatch):
    """One typo silences every hook: that is said first. REVERIE_OFF is no switch that `reverie on`
    could turn.
    """
    wired_to(user)
    path = Path(config.default_home()) / "config.toml"
    right = path.read_text()
    for wrong in ("limt = 3\n", "limit = \n"):
        path.write_text(wrong)
        assert "hooks say and learn nothing" in next(iter(unwell()))
        assert "Claude Code is wired" in told(1) and "memories" in told(1)
    path.write_text(right)
    monkeypatch.setenv("REVERIE_OFF", "1")
    assert alone("off by REVERIE_OFF") == "Unset it; `reverie on` cannot help."


def test_doctor_says_of_each_trouble_with_the_store_what_helps(user):
    """A newer store wants an upgrade and no repair; files where folders belong are told."""
    wired_to(user)
    home = Path(config.default_home())
    with closing(sqlite3.connect(home / "reverie.db")) as db:
        db.execute("pragma user_version = 999")
    assert "" == alone("Upgrade with: pip install --upgrade reverie")
    (home / "reverie.db").write_bytes(b"no database" * 1_000)
    assert "verify --repair" in alone("cannot be opened")
    (home / "reverie.db").unlink()
    shutil.rmtree(home / "hooks", ignore_errors=True)
    (home / "hooks").write_text("")
    alone("hooks is a file")
    shutil.rmtree(home)
    home.write_text("")
    assert f"{home} is a file" in next(iter(unwell())) and "Claude Code is wired" in told(1)


def test_doctor_says_when_each_host_was_last_here(user):
    """When its last hook came, and when one last brought something: of each host for itself."""
    wired_to(user)
    wired_to(user, "cursor")
    assert "No hook of Claude Code has come yet" in told()
    room = HookFiles(str(config.default_home()))
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "cwd": str(user),
        "tool_name": "Bash",
    }
    subprocess.run(
        [*own_program(), "claude-code"],
        input=json.dumps(event),
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    os.utime(f"{room.home}/hooks/hosts/claude-code", (time.time() - 7_200,) * 2)
    room.mark_seen("cursor")
    room.mark_seen("cursor_gave")
    here = told(1)  # the event waits, and no worker is to come
    assert "The last hook of Claude Code came 2h ago; none has brought anything yet." in here
    assert "The last hook of Cursor came just now; one last brought something just now." in here


def test_doctor_shows_shared_files_in_conflict(user):
    """What git left in a file that is shared is told with its name."""
    wired_to(user)
    file = user / "team.jsonl"
    with open_mind(config.default_home()) as mind:
        mind.remember("The staging server is called heron.", space="me/x")
        mind.data.share(file, space="me/x")
    assert all(one["well"] for one in findings())
    file.write_text(f"<<<<<<< HEAD\n{file.read_text()}=======\n>>>>>>> theirs\n")
    alone(f"A shared file is not in step: {file}")


def test_doctor_says_that_an_index_is_of_an_earlier_version(user):
    """After an upgrade nobody reads it; indexing again takes its place, and doctor is content."""
    wired_to(user)
    home = config.default_home()
    with open_mind(home) as mind:
        mind.remember("The staging server is called heron.", space="me/x")
        (user / "code").mkdir()
        (user / "code" / "a.py").write_text("def f(): pass\n")
        left = home / "cache" / "reverie-code-1.db"
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(b"old")
        assert (
            alone("The index of code is of an earlier version")
            == "Index each repository again: reverie code index"
        )
        mind.code.index(user / "code")
    assert all(one["well"] for one in findings())


@pytest.mark.proves("CC-4")
def test_doctor_says_that_a_purge_was_stopped(user):
    """Files may still hold what was erased, until somebody opens the home."""
    wired_to(user)
    home = config.default_home()
    with open_mind(home) as mind:
        mind.remember("The staging server is called heron.", space="me/x")
        mind.store.set_meta(REWRITE_PENDING, "yes")
    assert alone("A purge or scrub was stopped") == "Finish it: reverie data verify --repair"
    with open_mind(home) as mind:
        assert finish_erasure(mind.work)
    assert all(one["well"] for one in findings())


def test_doctor_sees_a_full_disk(user, monkeypatch):
    """Hooks can write neither what happens nor a line in their log: doctor says so."""
    assert "is full" not in told(code=1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    assert "is full: 1 MB are left. Make room." in told(code=1)


def test_doctor_sees_what_runs_twice(user, tmp_path, monkeypatch):
    """Codex runs the hooks of all files; Claude Code equal ones once, but a plugin's besides."""
    # A project's commands start what is on the path.
    program = tmp_path / "bin" / "reverie"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for host in ("claude-code", "codex"):
        for scope in ("--user", "--project"):
            run_command("install", host, "--no-mcp", scope, "--yes")
    assert ["Codex is wired more than once: every hook runs twice."] == [
        one["text"] for one in findings(code=1) if not one["well"]
    ]
    settings = user / "project" / ".claude" / "settings.json"
    settings.write_text('{"enabledPlugins": {"reverie@reverie": true}}')
    assert "Claude Code is wired more than once" in told(code=1) and "has our plugin" in told(
        code=1
    )
