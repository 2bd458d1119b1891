# mypy: no-check-untyped-defs
"""One line in the terminal of the host: what memory gave, learned, held back or could not save."""

import json
import os
import subprocess
import sys

import pytest

from reverie.core import clock, config
from reverie.interfaces.hooks import hook_main
from reverie.interfaces.hooks.hook_consumer import HookConsumer
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hooks.status_line import compose_status
from tests.support.helpers import hook_command, open_mind, toy_home

HERON = "The staging server of this project is called heron."


class Terminal:
    """A host's terminal: what its hooks answer, and what of that a person sees."""

    def __init__(self, folder, **settings):
        self.home, self.project = toy_home(folder, **settings), folder / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.space = config.project_space_of(self.project)
        self.files = HookFiles(str(self.home))

    def tell(self, event, session="s", host="claude-code", **fields):
        payload = {
            "session_id": session,
            "conversation_id": session,
            "cwd": str(self.project),
            "workspace_roots": [str(self.project)],
            "hook_event_name": event,
            **fields,
        }
        return hook_main.answer_event(host, json.dumps(payload).encode(), self.files, clock.now())

    def sees(self, event, **fields):
        return self.tell(event, **fields).get("systemMessage", "")

    def keep(self, text, **fields):
        with open_mind(self.home) as mind:
            return mind.remember(text, space=self.space, provenance="user_stated", **fields)

    def work(self):
        """What a worker does: takes in what waits, and learns from it."""
        with open_mind(self.home) as mind:
            consumer = HookConsumer(mind)
            for _ in range(3):
                consumer.consume_events()
                mind.settle()
            consumer.close()


@pytest.fixture
def terminal(tmp_path):
    shown = Terminal(tmp_path)
    shown.files.mark_seen("claude-code")
    return shown


@pytest.mark.proves("X52")
def test_what_was_given_is_shown_and_nothing_else_is(terminal):
    """A line at the turn that was given something; none at a quiet one."""
    terminal.keep(HERON)
    assert terminal.sees("SessionStart", source="startup") == ""
    line = terminal.sees("UserPromptSubmit", prompt="Which host is the staging server?")
    assert line == f"Reverie: gave 1: “{HERON}”"
    assert terminal.sees("UserPromptSubmit", prompt="Thanks!") == ""
    assert terminal.tell("Stop", last_assistant_message="It is heron.") == {}


def test_the_agent_does_not_see_the_line(terminal):
    """It stands beside what the agent is told."""
    terminal.keep(HERON)
    said = terminal.tell("UserPromptSubmit", prompt="Which host is the staging server?")
    assert "gave 1" not in json.dumps(said["hookSpecificOutput"])


def test_what_was_learned_is_shown_once(terminal):
    """After a session has ended and was learned from, the next one says so."""
    terminal.tell("SessionStart", source="startup")
    terminal.tell("UserPromptSubmit", prompt="Remember this: the staging server is called heron.")
    terminal.tell("Stop", last_assistant_message="Noted.")
    terminal.tell("SessionEnd", reason="other")
    terminal.work()
    line = terminal.sees("SessionStart", session="t", source="startup")
    assert line.startswith("Reverie: learned 1: “") and "heron" in line
    assert terminal.sees("SessionStart", session="u", source="startup") == ""


def test_what_was_held_back_is_shown(tmp_path):
    """A session that is held out says how much it was not told."""
    terminal = Terminal(tmp_path, holdout=0.5)
    terminal.files.mark_seen("claude-code")
    terminal.keep(HERON)
    settings = config.load_settings(terminal.home)
    silent = next(name for name in map(str, range(99)) if settings.is_held_out(name))
    prompt = "Which host is the staging server?"
    line = terminal.sees("UserPromptSubmit", session=silent, prompt=prompt)
    assert line.startswith("Reverie: held back 1")


def test_the_first_session_says_what_happens(tmp_path):
    """Once, with how to look and how to switch it off."""
    terminal = Terminal(tmp_path)
    line = terminal.sees("SessionStart", source="startup")
    assert (
        line.startswith("Reverie: memory is on")
        and "reverie status" in line
        and "reverie off" in line
    )
    assert terminal.sees("UserPromptSubmit", prompt="hello") == ""
    assert terminal.sees("SessionStart", session="t", source="startup") == ""


def test_a_session_that_was_cut_off_is_told_of_once(terminal):
    """Its end never came: the next start says so; one that has just spoken may be open."""
    terminal.tell("UserPromptSubmit", session="lost", prompt="We use heron for staging.")
    assert terminal.sees("SessionStart", session="a", source="startup") == ""
    for path in (terminal.files.session_file("lost", "json"), *terminal.files.list_events()):
        os.utime(path, (clock.now() - 1_000,) * 2)
    assert "not taken in yet" in terminal.sees("SessionStart", session="b", source="startup")
    terminal.work()
    assert "did not tell its end" in terminal.sees("SessionStart", session="c", source="startup")
    assert terminal.sees("SessionStart", session="d", source="startup") == ""


def test_it_can_be_switched_off(tmp_path):
    """`notices = false`: no line, whatever happens."""
    terminal = Terminal(tmp_path, notices=False)
    terminal.keep(HERON)
    assert terminal.sees("SessionStart", source="startup") == ""
    assert terminal.sees("UserPromptSubmit", prompt="Which host is the staging server?") == ""


def test_hosts_that_show_nothing_get_nothing(terminal):
    """Cursor has no field for it."""
    terminal.keep(HERON)
    said = terminal.tell("beforeSubmitPrompt", host="cursor", prompt="Which is the staging server?")
    assert "systemMessage" not in said


def test_the_status_line_tells_of_the_conversation(terminal):
    """Given, off, silent; nothing where nothing is known."""
    terminal.keep(HERON)
    assert compose_status("s", terminal.files) == "reverie"
    terminal.tell("UserPromptSubmit", prompt="Which host is the staging server?")
    assert compose_status("s", terminal.files) == "reverie: 1 given"
    config.save_settings(config.load_settings(terminal.home), off=(terminal.space,))
    terminal.tell("UserPromptSubmit", prompt="And now?")
    assert compose_status("s", terminal.files) == "reverie: off here"


@pytest.mark.parametrize("given", [b"", b"{", b"[]", b'{"session_id": 7}', b'{"session_id": "s"}'])
def test_the_status_line_is_a_line_whatever_comes(terminal, given):
    """A host waits for it: exit 0 and one line, and none of the command line is loaded."""
    code = (
        "import sys; sys.argv = ['reverie', 'statusline']; from reverie.__main__ import main; "
        "main(); assert not {'typer', 'sqlite3', 'numpy'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=given,
        capture_output=True,
        env={**os.environ, "REVERIE_HOME": str(terminal.home)},
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.count(b"\n") == 1


def test_settings_that_cannot_be_used_are_told_once_in_a_session(terminal):
    """Memory is silent from the first typing error in config.toml on; it was so without a word."""

    def see(session, event="UserPromptSubmit"):
        payload = {
            "session_id": session,
            "cwd": str(terminal.project),
            "hook_event_name": event,
            "prompt": "Where do we deploy?",
        }
        done = subprocess.run(
            hook_command(),
            input=json.dumps(payload).encode(),
            capture_output=True,
            check=True,
            env={**os.environ, "REVERIE_HOME": str(terminal.home)},
        )
        return json.loads(done.stdout).get("systemMessage", "")

    right = (terminal.home / "config.toml").read_text()
    (terminal.home / "config.toml").write_text("embeder = 'toy'\n")
    told = see("s1")
    assert "nothing is kept" in told and "Did you mean embedder?" in told
    assert (see("s1"), see("s2", "PreToolUse"), bool(see("s2", "SessionStart"))) == ("", "", True)
    assert "embeder" in (terminal.home / "hooks" / "trouble.log").read_text()
    (terminal.home / "config.toml").write_text("llm = 'x\n" + "# " + "y" * 1_000)
    assert 20 < len(see("s3")) < 400
    (terminal.home / "hooks" / "sessions" / "s5.locked").touch()
    assert "nothing is kept" in see("s5")
    (terminal.home / "config.toml").write_text(right)
    assert "until this is mended" not in see("s4")
