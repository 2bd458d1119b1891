# mypy: no-check-untyped-defs
"""Guards while an encrypted home is locked: by default they sleep and that is asked about; they stop
where their triggers may be read.
"""

import json
from pathlib import Path

import pytest

from reverie.core import clock, config
from reverie.core.private_files import SEALED_HEADER, read_private_bytes
from reverie.interfaces.hooks import hook_main
from reverie.interfaces.hooks.spool import HookFiles
from tests.support.encrypted_homes import files_holding
from tests.support.helpers import run_command, toy_home

WORD = "quixzarf"
FORCE = f"Never force-push to the {WORD} branch."


class LockedDesk:
    """A home, a project in which something is forbidden, and an agent that runs tools there."""

    def __init__(self, folder):
        self.home = toy_home(folder, mirror="off")
        self.project = folder / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.space = config.project_space_of(self.project)
        self.files = HookFiles(str(self.home))
        self.key = folder / "key"

    def command(self, *words, **more):
        return run_command("--home", str(self.home), *words, **more)

    def forbid(self, text, trigger="run:git push --force", space=""):
        given = ("--kind", "negative", "--trigger", trigger, "--space", space or self.space)
        run_command("--home", str(self.home), "remember", text, *given)

    def encrypt(self, *words):
        return self.command("data", "encrypt", "--key-file", str(self.key), *words)

    def lock(self):
        self.key.rename(self.key.with_name("elsewhere"))

    def unlock(self):
        self.key.with_name("elsewhere").rename(self.key)

    def tell(self, event, session="s", host="claude-code", folder=None, **given):
        payload = {
            "session_id": session,
            "cwd": str(folder or self.project),
            "hook_event_name": event,
            **given,
        }
        return hook_main.answer_event(host, json.dumps(payload).encode(), self.files, clock.now())

    def run(self, command, tool="Bash", **more):
        given = {"file_path": command} if tool in ("Read", "Write") else {"command": command}
        answer = self.tell("PreToolUse", tool_name=tool, tool_input=given, **more)
        said = answer.get("hookSpecificOutput", {})
        return said.get("permissionDecision", ""), said.get("permissionDecisionReason", "")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return LockedDesk(tmp_path)


def test_sleeping_guards_are_asked_about_once_in_a_session(desk):
    """The person is told how many sleep and how to wake them; the first command or change waits for
    their word, the next does not; nothing of what was forbidden lies in the clear.
    """
    desk.forbid(FORCE)
    desk.encrypt()
    assert files_holding(desk.home, WORD, "push") == []
    desk.lock()
    notice = desk.tell("SessionStart", source="startup")["systemMessage"]
    assert (
        "nothing stops what you forbade here (1 guard)" in notice
        and "reverie data unlock" in notice
    )
    assert desk.run("README.md", tool="Read") == ("", "")
    decision, reason = desk.run("ls")
    assert decision == "ask"
    assert "1 guard" in reason and "reverie data unlock" in reason and WORD not in reason
    assert desk.run("git push -f") == ("", "")
    assert desk.run("x.py", tool="Write", session="other")[0] == "ask"
    desk.unlock()
    assert FORCE in desk.run("git push -f")[1]


def test_where_nothing_is_forbidden_nothing_is_asked(desk, tmp_path):
    """Another project, and a guard that only tells, are no reason to hold anybody up."""
    desk.forbid(FORCE)
    desk.command("guards", "default", "tell")
    desk.encrypt()
    desk.lock()
    assert desk.run("ls") == ("", "")
    desk.unlock()
    desk.command("guards", "default", "deny")
    desk.command("data", "worker")
    desk.lock()
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert desk.run("ls", session="b", folder=other) == ("", "")
    assert desk.run("ls", session="c")[0] == "ask"


def test_a_host_that_cannot_ask_is_held_up_once(desk):
    """Codex runs what it should ask about, so it is denied once, and says what comes next."""
    desk.forbid(FORCE)
    desk.encrypt()
    desk.lock()
    decision, reason = desk.run("ls", host="codex")
    assert decision == "deny" and "repeated, it runs" in reason and "guards allow" not in reason
    assert desk.run("ls", host="codex") == ("", "")


def test_open_guards_stop_while_it_is_locked(desk, tmp_path):
    """Each time, also in a project where no hook ever was; what was said stays sealed, and that
    something was stopped is taken in later.
    """
    desk.forbid(FORCE, space="me")
    desk.encrypt("--guards", "open")
    desk.lock()
    assert files_holding(desk.home, WORD) == []
    assert "nothing stops" not in desk.tell("SessionStart", source="startup")["systemMessage"]
    other = tmp_path / "fresh"
    (other / ".git").mkdir(parents=True)
    for session in ("s", "s", "t"):
        decision, reason = desk.run("cd x && git push -f", session=session, folder=other)
        assert decision == "ask"
        assert "run:git push --force" in reason and "reverie data unlock" in reason
    assert desk.run("git push") == ("", "")
    stops = desk.files.list_events()[-3:]
    assert all(Path(path).read_bytes().startswith(SEALED_HEADER) for path in stops)
    desk.unlock()
    assert b"ask: trigger" in read_private_bytes(desk.home, stops[0])


def test_the_choice_is_changed_afterwards(desk):
    """Triggers go at once, also while it is locked; they come only with the key."""
    desk.forbid(FORCE)
    desk.encrypt("--guards", "open")
    assert files_holding(desk.home, "git push")
    desk.lock()
    desk.command("guards", "locked", "sealed")
    assert files_holding(desk.home, "git push") == []
    assert desk.run("ls")[0] == "ask"
    refused = desk.command("guards", "locked", "open", code=14).stderr
    assert "data unlock" in refused and "once it is unlocked" in refused
    desk.unlock()
    desk.command("data", "unlock")
    assert files_holding(desk.home, "git push")
    assert "sealed, open" in desk.command("guards", "locked", "ajar", code=2).stderr
    desk.command("data", "decrypt")
    assert not (desk.home / "hooks" / "locked-guards.json").exists()


@pytest.mark.parametrize("words", [("data", "worker"), ("data", "lock")])
def test_what_was_forbidden_last_counts_too(desk, words):
    """The worker writes it down for the locked time, and so does `data lock`."""
    desk.encrypt()
    desk.forbid(FORCE)
    desk.command(*words)
    desk.lock()
    assert desk.run("ls")[0] == "ask"


def test_a_wrong_choice_encrypts_nothing(desk):
    """It is refused before anything is asked or made."""
    refused = desk.command(
        "data", "encrypt", "--key-file", str(desk.key), "--guards", "ajar", code=2
    )
    assert "sealed, open" in refused.stderr and not desk.key.exists()
