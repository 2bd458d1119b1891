# mypy: no-check-untyped-defs
"""Hooks as hosts start them: real processes, a real worker, files in between."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reverie import config
from reverie.settle import LEASE
from reverie.surfaces.detached import lives
from reverie.surfaces.hooks import once
from reverie.surfaces.hooks.places import Places
from reverie.surfaces.wiring.command import launcher
from tests.helpers import opened, toy_home, until

HERON = "The staging server is called heron."
SECRET = "sk-ant-api03-" + "aB3dE5gH7jK9mN1p" * 5 + "-AA"


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def home(tmp_path):
    return toy_home(tmp_path, idle=1.5)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def agent(home, project):
    """A host at work in a project; at the end its worker has left."""
    host = Host(home, project)
    yield host
    until(lambda: not lives(host.room.lock))


class Host:
    """Starts hooks as a host does."""

    def __init__(self, home, project, name="claude-code"):
        self.home, self.project, self.name = home, project, name
        self.room, self.space = Places(str(home)), config.space_of(project)

    def raw(self, given, *, env=None, run=None):
        done = subprocess.run([sys.executable, "-I", "-S", run or launcher(), self.name], input=given,
                              capture_output=True, check=False,
                              env={**os.environ, "REVERIE_HOME": str(self.home), **(env or {})})
        assert (done.returncode, done.stderr) == (0, b""), done
        return json.loads(done.stdout)

    def tell(self, event, session="s1", **fields):
        """What a hook answers; the text alone if it is context."""
        payload = {"session_id": session, "cwd": str(self.project), "hook_event_name": event, **fields}
        said = self.raw(json.dumps(payload).encode())
        if said:
            assert said["hookSpecificOutput"]["hookEventName"] == event
        return said["hookSpecificOutput"]["additionalContext"] if said else ""

    def say(self, prompt, session="s1"):
        return self.tell("UserPromptSubmit", session, prompt=prompt)

    def tool(self, command, session="s1"):
        return self.tell("PreToolUse", session, tool_name="Bash", tool_input={"command": command})

    def settled(self):
        """Everything is taken in, and laid ready."""
        until(lambda: not self.room.waiting())
        time.sleep(0.3)

    def ready(self, session="s1"):
        """A block waits for the session."""
        until(lambda: Path(self.room.of(session, "block")).exists())

    def guards(self):
        """What the desk has laid ready for tools."""
        path = Path(self.room.guards(self.space))
        return path.read_text() if path.exists() else ""

    def keep(self, text, **fields):
        with opened(self.home) as mind:
            return mind.remember(text, space=self.space, **fields)

    def events(self, *verbs):
        with opened(self.home) as mind:
            return mind.store.events(verbs=verbs)


def test_the_first_prompt_is_answered_by_words(agent):
    """The lexical stage on the first prompt of a session; a prompt that needs nothing gets nothing."""
    agent.keep(HERON)
    agent.tell("SessionStart", source="startup")
    assert HERON in agent.say("Which host is the staging server?")
    assert agent.say("Write a haiku about autumn.", session="s2") == ""


def test_what_a_turn_prepared_is_given_with_the_next(agent):
    """Results of turn N are there at N+1, once (CC-40), and count as given then (CC-43)."""
    agent.keep(HERON)
    agent.say("Good morning!")
    agent.tell("Stop", last_assistant_message="Good morning.")
    agent.settled()
    assert agent.say("Which host is the staging server?") == ""
    agent.ready()
    assert HERON in agent.say("Please go on.")
    agent.settled()
    assert HERON not in agent.say("And once more: which host is the staging server?")
    agent.settled()
    given = [turn.payload["given"] for turn in agent.events("turn") if turn.payload.get("given")]
    assert 1 == len(given)


def test_sessions_do_not_get_each_others_blocks(agent):
    """What was prepared for A waits for A (CC-42, X8)."""
    agent.keep(HERON)
    agent.say("Good morning!")
    agent.say("Hello there!", session="s2")
    agent.say("Which host is the staging server?")
    agent.ready()
    assert agent.say("Please go on.", session="s2") == ""
    assert HERON in agent.say("Please go on.")


def test_what_a_session_says_reaches_others_and_not_itself(agent):
    """No echo (CC-44, X10); the next session has it, with nothing but what a host does (A103)."""
    agent.say("Remember this: the staging server of this project is called heron.")
    agent.tell("Stop", last_assistant_message="Noted.")
    agent.tell("SessionEnd", reason="other")
    until(lambda: any("heron" in memory.text for memory in browse(agent)))
    assert agent.say("Which host is the staging server?") == ""
    assert "heron" in agent.say("Which host is the staging server?", session="s2")


def browse(agent):
    with opened(agent.home) as mind:
        return mind.browse(space=agent.space)


def test_a_resumed_session_is_not_told_again(agent):
    """What was given before the worker left still counts as given when the session goes on (CC-45, X11)."""
    agent.keep(HERON)
    assert HERON in agent.say("Which host is the staging server?")
    until(lambda: not agent.room.waiting() and not lives(agent.room.lock))
    agent.tell("SessionStart", source="resume")
    assert agent.say("Which host is the staging server?") == ""


def test_what_was_forgotten_meanwhile_is_not_given(agent):
    """A block that lies ready is looked at again where no worker does it: retired memories never surface (CC-19)."""
    memory = agent.keep(HERON)
    agent.say("Good morning!")
    agent.say("Which host is the staging server?")
    agent.ready()
    until(lambda: not lives(agent.room.lock))
    with opened(agent.home) as mind:
        mind.forget(memory.id)
    assert agent.say("Please go on.") == ""


def test_a_worker_takes_back_what_is_forgotten(agent):
    """While a worker lives, it sees what others alter."""
    memory = agent.keep(HERON)
    agent.say("Good morning!")
    agent.say("Which host is the staging server?")
    agent.ready()
    with opened(agent.home) as mind:
        mind.forget(memory.id)
    until(lambda: not Path(agent.room.of("s1", "block")).exists())


def test_a_warning_comes_before_the_tool_once(agent):
    """Negative memories before a tool, once in a session, again after a compaction (B61)."""
    agent.keep("Never force-push.", kind="negative", triggers=["tool:Bash(git push*--force*)"])
    agent.tell("SessionStart", source="startup")
    until(agent.guards)
    assert agent.tool("ls") == ""
    assert "Never force-push." in agent.tool("git push -f")
    assert agent.tool("git push -f") == ""
    agent.tell("PreCompact", trigger="auto")
    agent.tell("SessionStart", source="compact")
    assert "Never force-push." in agent.tool("git push -f")


def test_guards_follow_what_is_kept_meanwhile(agent):
    """What somebody keeps during a session counts within moments."""
    agent.tell("SessionStart", source="startup")
    until(agent.guards)
    agent.keep("Never force-push.", kind="negative", triggers=["tool:Bash(git push*)"])
    until(lambda: "Never" in agent.guards())
    assert "Never force-push." in agent.tool("git push")


def test_what_is_known_of_a_file_comes_once(agent):
    """File read or edit: memories about that file, once."""
    agent.keep("The parser is generated: edit grammar.txt.", files=["src/parse.py"])
    agent.tell("SessionStart", source="startup")
    until(agent.guards)
    read = {"tool_name": "Read", "tool_input": {"file_path": f"{agent.project}/src/parse.py"}}
    assert "edit grammar.txt" in agent.tell("PreToolUse", **read)
    assert agent.tell("PreToolUse", **read) == ""


def test_a_reminder_is_given_once_by_many_hooks(agent):
    """A tool calls for a reminder in eight sessions at once: one is told (CC-67)."""
    with opened(agent.home) as mind:
        mind.remind("Tell Ann about the release.", context="tool:Bash(make release*)", space=agent.space)
    agent.tell("SessionStart", source="startup")
    until(lambda: "Tell Ann" in agent.guards())
    payload = {"cwd": str(agent.project), "hook_event_name": "PreToolUse", "tool_name": "Bash",
               "tool_input": {"command": "make release"}}
    running = [subprocess.Popen([sys.executable, "-I", "-S", launcher(), "claude-code"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, env={**os.environ, "REVERIE_HOME": str(agent.home)})
               for _ in range(8)]
    said = [one.communicate(json.dumps({**payload, "session_id": f"s{n}"}).encode())[0]
            for n, one in enumerate(running)]
    assert 1 == sum(b"Tell Ann" in one for one in said)
    until(lambda: agent.events("fired"))


def test_due_reminders_come_with_the_first_prompt(agent):
    """What is due when a session begins is given with its first prompt, and fires (C112, CC-67)."""
    due = time.time() + 1.0
    with opened(agent.home) as mind:
        mind.remind("Tell Ann about the release.", when=due, space=agent.space)
    until(lambda: time.time() > due)
    agent.tell("SessionStart", source="startup")
    assert "Tell Ann" in agent.say("Good morning!")
    until(lambda: agent.events("fired"))
    assert "Tell Ann" not in agent.say("Good morning!", session="s2")


def test_a_failure_brings_the_known_fix(agent):
    """Tool failure: what made this error go away last time; an unrelated one brings nothing (CC-79)."""
    error = "Exit code 1\nModuleNotFoundError: No module named 'yaml'"
    run = {"tool_name": "Bash", "tool_input": {"command": "python app.py"}}
    agent.tell("SessionStart", source="startup")
    agent.tell("PostToolUseFailure", **run, error=error)
    agent.tell("PostToolUse", tool_name="Bash", tool_input={"command": "pip install pyyaml"},
               tool_response={"stdout": "ok", "stderr": ""})
    agent.tell("PostToolUse", **run, tool_response={"stdout": "fine", "stderr": ""})
    until(lambda: '"fixes": 1' in agent.guards())
    assert "pip install pyyaml" in agent.tell("PostToolUseFailure", "s2", **run, error=error)
    assert agent.tell("PostToolUseFailure", "s2", **run, error="Exit code 1\nConnection refused") == ""
    agent.name = "codex"
    assert "pip install pyyaml" in agent.tell("PostToolUse", "s3", **run, tool_response=error)


def test_tools_are_recorded_as_the_repository_has_them(agent):
    """Deeds with success, command and the file's path within the repository (CC-75)."""
    agent.tell("PostToolUse", tool_name="Edit", tool_input={"file_path": f"{agent.project}/src/a.py",
               "old_string": "x"}, tool_response={"originalFile": "secret contents"}, duration_ms=250)
    until(lambda: agent.events("file"))
    tool, = agent.events("tool")
    assert (tool.payload["ok"], tool.payload["duration"], tool.session) == (True, 0.25, "s1")
    assert ["src/a.py"] == [one.payload["path"] for one in agent.events("file")]
    assert "secret contents" not in str(tool)


def test_a_compaction_is_survived(agent):
    """Captured before, said again after: what was given and what the session taught; then it counts as given anew."""
    agent.keep(HERON)
    agent.say("Which host is the staging server?")
    agent.say("Remember this: we always deploy on Tuesdays.")
    agent.tell("PreCompact", trigger="auto")
    until(lambda: agent.events("compact") and any("Tuesdays" in memory.text for memory in browse(agent)))
    said = agent.tell("SessionStart", source="compact")
    assert HERON in said and "Tuesdays" in said


def test_a_context_that_fills_up_is_read_before_it_is_shortened(agent, tmp_path):
    """From 80 % on, told by the transcript alone; once, not with every turn."""
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(json.dumps({"message": {"usage": {"input_tokens": 170_000}}}) + "\n")
    agent.say("Good morning!")
    for _ in range(2):
        agent.tell("Stop", last_assistant_message="Yes.", transcript_path=str(transcript))
    agent.settled()
    assert [0.85] == [event.payload["full"] for event in agent.events("compact")]


def test_no_secret_reaches_the_disk(agent, monkeypatch):
    """Prompts, commands, answers, errors and names: the spool, the log and the store hold no secret (CC-89)."""
    monkeypatch.setattr("reverie.surfaces.detached.wake", lambda *_: False)
    fields = {"prompt": f"use {SECRET}", "last_assistant_message": f"I used {SECRET}", "tool_name": "Bash",
              "tool_input": {"command": f"curl -H 'x-api-key: {SECRET}'", "password": "hunter2hunter2"},
              "tool_response": {"stdout": f"token {SECRET}", "stderr": ""}, "error": f"bad key {SECRET}"}
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"):
        payload = {"session_id": "s1", "cwd": str(agent.project), "hook_event_name": event, **fields}
        once.answered("claude-code", json.dumps(payload).encode(), agent.room, time.time())
    assert 6 == len(agent.room.waiting())
    files = [path.read_bytes() for path in agent.home.rglob("*") if path.is_file()]
    assert not [one for one in files if b"aB3dE5gH7jK9" in one or b"hunter2" in one]
    agent.say("and on")                       # the real one starts a worker
    agent.settled()
    files = [path.read_bytes() for path in agent.home.rglob("*") if path.is_file()]
    assert not [one for one in files if b"aB3dE5gH7jK9" in one or b"hunter2" in one]


@pytest.mark.parametrize("given", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"hook_event_name": ["Stop"]}',
                                   b'{"hook_event_name": "Stop", "session_id": "s", "cwd": "\\u0000"}',
                                   b'{"hook_event_name":"UserPromptSubmit","session_id":"\\ud83d","prompt":"\\ude00"}',
                                   b"[" * 100_000])
def test_nothing_that_a_host_sends_fails_it(agent, given):
    """Any trouble: exit 0 and {} (CC-48); the log says what it was."""
    assert agent.raw(given) == {}


def test_a_host_that_says_nothing_is_answered_all_the_same(agent):
    """Stdin that stays open, a store that stays locked: in time there is a {} (1.5 s is all that an end is given)."""
    running = subprocess.Popen([sys.executable, "-I", "-S", launcher(), "claude-code"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env={**os.environ, "REVERIE_HOME": str(agent.home)})
    assert running.stdout.readline() == b"{}\n"
    assert running.wait(10) == 0
    running.stdin.close()
    running.stdout.close()
    assert "no answer within" in Path(agent.room.log).read_text()


def test_a_home_that_cannot_be_had_fails_nobody(agent, tmp_path):
    """The home is a file, or cannot be made: exit 0 and {}."""
    (tmp_path / "file").write_text("")
    given = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hi",
                        "cwd": str(agent.project)}).encode()
    for home in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        assert agent.raw(given, env={"REVERIE_HOME": str(home)}) == {}


def test_a_missing_home_is_made(agent, tmp_path):
    """Somebody removed it, or never had one: the next hook begins anew."""
    agent.home, agent.room = tmp_path / "new", Places(str(tmp_path / "new"))
    agent.home.mkdir()
    (agent.home / "config.toml").write_text('embedder = "toy"\nidle = 1.5\n')
    assert agent.say("Remember this: we always deploy on Tuesdays.") == ""
    until(lambda: any("Tuesdays" in memory.text for memory in browse(agent)))


def test_an_upgrade_in_progress_fails_nobody(agent, tmp_path):
    """The package is half there: exit 0 and {}. With --check, for doctor, it says so."""
    half = tmp_path / "half" / "reverie" / "surfaces" / "hooks"
    half.mkdir(parents=True)
    shutil.copy(launcher(), half / "run.py")
    assert agent.raw(b"{}", run=str(half / "run.py")) == {}
    done = subprocess.run([sys.executable, "-I", "-S", str(half / "run.py"), "claude-code", "--check"], input=b"{}",
                          capture_output=True, check=False)
    assert done.returncode == 1 and b"No module named" in done.stderr


def test_a_store_of_a_newer_version_fails_nobody(agent):
    """Reverie was upgraded and downgraded: exit 0 and {}."""
    agent.keep(HERON)
    import sqlite3
    with sqlite3.connect(agent.home / "reverie.db") as db:
        db.execute("pragma user_version = 9999")
    db.close()
    assert agent.say("Which host is the staging server?") == ""


def test_memory_that_is_off_stays_off(agent):
    """Off for a project, everywhere, by the environment; at once, also in a session that goes on (A114)."""
    agent.keep(HERON)
    asked = json.dumps({"session_id": "s9", "cwd": str(agent.project), "hook_event_name": "UserPromptSubmit",
                        "prompt": "Which host is the staging server?"}).encode()
    assert agent.raw(asked, env={"REVERIE_OFF": "1"}) == {}
    settings = config.load(agent.home)
    for off in ({"off": (agent.space,)}, {"off": (), "enabled": False}):
        config.save(settings, **off)
        assert agent.say("Which host is the staging server?") == ""
    assert [] == agent.room.waiting()
    config.save(settings, enabled=True, off=())
    assert HERON in agent.say("Which host is the staging server?")


def test_where_no_worker_is_wanted_none_is_started(agent):
    """idle = 0: events wait until somebody calls `reverie worker`."""
    config.save(config.load(agent.home), idle=0.0)
    agent.say("Remember this: we always deploy on Tuesdays.")
    assert not lives(agent.room.lock) and 1 == len(agent.room.waiting())
    done = subprocess.run([sys.executable, "-m", "reverie", "worker", "--home", str(agent.home)], check=False)
    assert done.returncode == 0 and [] == agent.room.waiting()
    assert any("Tuesdays" in memory.text for memory in browse(agent))


def test_a_full_spool_drops_what_comes_and_says_so(agent, monkeypatch):
    """Nobody takes events in: beyond the limit they are dropped and told; nothing blocks, nothing fails (CC-47)."""
    monkeypatch.setattr("reverie.surfaces.detached.wake", lambda *_: False)
    monkeypatch.setattr(once, "MOST_WAITING", 3)
    stop = {"session_id": "s1", "cwd": str(agent.project), "hook_event_name": "Stop", "last_assistant_message": "Yes."}
    for _ in range(5):
        assert once.answered("claude-code", json.dumps(stop).encode(), agent.room, time.time()) == {}
    assert 3 == len(agent.room.waiting())
    assert 2 == Path(agent.room.log).read_text().count("not written down")


def test_many_hooks_at_once_start_one_worker(agent):
    """200 hooks from 8 processes: none fails, all are taken in, one worker, none is left (bench.hooks does 1,000)."""
    script = (
        "import json, subprocess, sys\n"
        "for n in range(25):\n"
        "    given = json.dumps({'session_id': sys.argv[2], 'cwd': sys.argv[3], 'hook_event_name': 'PostToolUse',\n"
        "                        'tool_name': 'Bash', 'tool_input': {'command': f'echo {sys.argv[2]} {n}'},\n"
        "                        'tool_response': {'stdout': str(n), 'stderr': ''}})\n"
        "    done = subprocess.run([sys.executable, '-I', '-S', sys.argv[1], 'claude-code'], input=given.encode(),\n"
        "                          capture_output=True)\n"
        "    assert (done.returncode, done.stdout, done.stderr) == (0, b'{}\\n', b''), done\n")
    running = [subprocess.Popen([sys.executable, "-c", script, launcher(), f"p{n}", str(agent.project)],
                                env={**os.environ, "REVERIE_HOME": str(agent.home)}) for n in range(8)]
    most = 0
    while any(one.poll() is None for one in running):
        most = max(most, len(workers(agent.home)))
        time.sleep(0.02)
    assert [0] * 8 == [one.returncode for one in running]
    until(lambda: 200 == len(agent.events("tool")))
    assert most == 1
    until(lambda: not lives(agent.room.lock))
    until(lambda: not workers(agent.home))
    assert not Path(agent.room.log).exists()


def workers(home):
    """Processes that are a worker of this home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"worker" in words and str(home).encode() in words:
            found.append(folder.name)
    return found


def test_a_worker_that_is_killed_loses_nothing(agent):
    """SIGKILL in the middle: the next hook starts another, and every event is written down (at least once)."""
    for n in range(10):
        agent.tell("PostToolUse", tool_name="Bash", tool_input={"command": f"echo {n}"}, tool_response={"stdout": "x"})
        if n == 5:
            until(lambda: workers(agent.home))
            os.kill(int(workers(agent.home)[0]), signal.SIGKILL)
            until(lambda: not lives(agent.room.lock))
    agent.settled()
    assert {f"echo {n}" for n in range(10)} == {event.payload["command"] for event in agent.events("tool")}


def test_while_another_settles_hooks_are_attended_all_the_same(agent):
    """Somebody else holds the lease, for minutes perhaps: turns are taken in, and nobody waits by spinning."""
    config.save(config.load(agent.home), idle=5.0)
    with opened(agent.home) as mind:
        mind.remember(HERON, space=agent.space)
        assert mind.store.acquire(LEASE, "somebody", 300.0, time.time())
        agent.say("Good morning!")
        agent.say("Which host is the staging server?")
        agent.ready()
        until(lambda: workers(agent.home))
        worker, = workers(agent.home)
        before = cpu_seconds(worker)
        began = time.monotonic()
        until(lambda: not lives(agent.room.lock) or time.monotonic() - began > 1.0)
        assert cpu_seconds(worker) - before < 0.5
        assert HERON in agent.say("Please go on.")
        mind.store.release(LEASE, "somebody")


def cpu_seconds(process):
    """What a process has taken so far; 0 once it is gone."""
    try:
        return sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13])) / 100
    except OSError:
        return 0.0


def test_a_store_in_trouble_starts_no_worker_after_the_other(agent):
    """The database is damaged: hooks answer {}, one worker tries and rests, events wait; mended, they are taken in."""
    agent.say("Good morning!")
    until(lambda: not agent.room.waiting() and not lives(agent.room.lock))
    store = agent.home / "reverie.db"
    good = store.read_bytes()
    store.write_bytes(b"x" * len(good))
    tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "x", "stderr": ""}}
    failed = Path(f"{agent.room.lock}.failed")
    until(lambda: agent.tell("PostToolUse", **tool) == "" and failed.exists() and not lives(agent.room.lock))
    for _ in range(3):
        agent.tell("PostToolUse", **tool)
        assert not lives(agent.room.lock)
    waiting = len(agent.room.waiting())
    assert waiting >= 4
    store.write_bytes(good)
    os.utime(failed, (time.time() - 60, time.time() - 60))
    until(lambda: agent.tell("PostToolUse", **tool) == "" and len(agent.events("tool")) > waiting)


def test_purge_reaches_what_lies_ready(agent):
    """Blocks, guards and waiting events that repeat a memory are erased with it."""
    memory = agent.keep("Never force-push to heron.", kind="negative", triggers=["tool:Bash(git push*)"])
    agent.say("Good morning!")
    agent.say("May I force-push to heron?")
    until(lambda: "heron" in agent.guards())
    agent.ready()
    until(lambda: not lives(agent.room.lock))
    with opened(agent.home) as mind:
        mind.purge(memory.id)
    files = [path.read_bytes() for path in (agent.home / "hooks").rglob("*") if path.is_file()]
    assert not [one for one in files if b"Never force" in one]


def test_cursor_is_answered_in_its_own_shape(agent):
    """Context with prompts and starts, nothing before tools; runs are recorded, ends are learned from."""
    agent.keep(HERON)
    agent.name = "cursor"

    def tell(event, **fields):
        return agent.raw(json.dumps({"hook_event_name": event, "conversation_id": "c1", "generation_id": "g",
                                     "workspace_roots": [str(agent.project)], **fields}).encode())

    assert tell("sessionStart") == {}
    said = tell("beforeSubmitPrompt", prompt="Which host is the staging server?", attachments=[])
    assert said["continue"] is True and HERON in said["additional_context"]
    assert tell("preToolUse", tool_name="Shell", tool_input={"command": "ls"}) == {}
    assert tell("postToolUse", tool_name="Shell", tool_input={"command": "ls"}, tool_output="a", duration=12) == {}
    assert tell("postToolUseFailure", tool_name="Shell", tool_input={"command": "lx"}, error_message="no such") == {}
    tell("beforeSubmitPrompt", prompt="Remember this: we always deploy on Tuesdays.")
    tell("afterAgentResponse", text="Noted.")
    tell("preCompact", trigger="auto", context_usage_percent=90)
    tell("sessionEnd", reason="completed")
    until(lambda: any("Tuesdays" in memory.text for memory in browse(agent)))
    until(lambda: [True, False] == [event.payload["ok"] for event in agent.events("tool")])
    until(lambda: 1 == len(agent.events("compact")))
