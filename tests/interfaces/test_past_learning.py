# mypy: no-check-untyped-defs
"""Past sessions on the disk, taken in by `reverie install` and `reverie learn --past`: real files of
a home that is nobody's, real processes.
"""

import json
import os
import pty
import subprocess
import sys
import time

import pytest

from reverie.core import config
from reverie.core.model import Event
from reverie.interfaces.cli import past_learning
from tests.porting.test_past_formats import AIDER, SPECSTORY, lines, rollout, write_cursor
from tests.support.helpers import interrupt, open_mind, run_command, toy_home, wait_until


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user's home; the working directory is a project in it."""
    home = tmp_path / "user"
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(tmp_path)))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    return home


def claude_lines(session, folder, *texts, at="2026-03-01T10:00:{:02d}Z", **more):
    return [
        {
            "type": "assistant" if number % 2 else "user",
            "sessionId": session,
            "cwd": str(folder),
            "timestamp": at.format(number),
            "message": {"role": "assistant" if number % 2 else "user", "content": text},
            **more,
        }
        for number, text in enumerate(texts)
    ]


def write_claude(user, session, *entries, folder="-x"):
    path = user / ".claude" / "projects" / folder / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*entries) + b"\n")
    return path


def write_talk(user, session, *texts, folder=None, **more):
    return write_claude(
        user, session, *claude_lines(session, folder or user / "project", *texts, **more)
    )


def write_many(user, count, messages=60):
    """Sessions enough for a run that can be stopped."""
    for n in range(count):
        texts = (
            f"Point {m} of talk {n}: the cache of the shop is kept warm." for m in range(messages)
        )
        write_talk(user, f"talk-{n:03}", *texts)


def past(*words, code=0):
    return json.loads(run_command("learn", "--past", *words, "--json", code=code).stdout)


def heard(home, space=None):
    """The messages in the log, by session."""
    found = {}
    with open_mind(home) as mind:
        for event in mind.store.events(verbs=("heard",), limit=10_000):
            if space is None or event.space == space:
                texts = [(one["role"], one["text"]) for one in event.payload["messages"]]
                found.setdefault(event.session, []).extend(texts)
    return found


def home_of(user):
    return user.parent / "home"


def test_each_session_goes_to_its_project(user):
    """By the folder that its transcript names, with its own times; found by words at once."""
    other = user / "other"
    other.mkdir()
    write_talk(user, "one", "Deploys of the web shop go out on Tuesdays only.", "Noted.")
    write_talk(user, "two", "The printer of the office is called Kiwi.", "Fine.", folder=other)
    taken = past()["taken"]
    assert (taken["sessions"], taken["messages"], taken["skipped"]) == (2, 4, [])
    with open_mind(home_of(user)) as mind:
        here, there = config.project_space_of(user / "project"), config.project_space_of(other)
        assert {one.session for one in mind.sessions.browse(space=here)} == {"one"}
        (talk,) = mind.sessions.browse(space=there)
        assert talk.session == "two" and talk.began == 1772359200.0
        hits = mind.recall("when do deploys of the web shop go out", space=here)
        assert any("Tuesdays" in hit.memory.text for hit in hits)
        assert not mind.recall("the printer of the office", space=here)


def test_what_is_known_is_not_read_again(user, monkeypatch):
    """By the stamp of its file; a session that has grown adds what is new."""
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.")
    write_talk(user, "two", "Use tabs in all files of Go.", "Yes.")
    assert past()["taken"]["sessions"] == 2
    read = []
    original = past_learning.read_past_session
    monkeypatch.setattr(
        past_learning, "read_past_session", lambda one: read.append(one) or original(one)
    )
    assert past() == {"found": 2, "waiting": 0} and not read
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.", "And never at night.")
    taken = past()["taken"]
    assert (taken["sessions"], taken["known"]) == (1, 1)
    assert {one.path.stem for one in read} == {"one"}
    assert [text for _, text in heard(home_of(user))["one"]][2:] == ["And never at night."]
    assert len(heard(home_of(user))["one"]) == 3


ERASED = "Always deploy the Mirabelle service from the release branch."


@pytest.mark.parametrize("grown", [(), ("And never at night.",)])
def test_what_was_erased_stays_erased(user, grown):
    """Also when the file is touched or grows: the session goes on under its name."""
    said = (ERASED, "Deploys of Mirabelle go from release.", "The key is Zitrone77.", "Fine.")
    path = write_talk(user, "one", *said)
    past()
    with open_mind(home_of(user)) as mind:
        here = config.project_space_of(user / "project")
        (kept,) = [one for one in mind.browse(space=here) if "Mirabelle" in one.text]
        mind.data.purge(kept.id)
        assert ERASED not in str(heard(home_of(user)))
    write_talk(user, "one", *said, *grown)
    os.utime(path, (1, 1))
    past()
    logged = heard(home_of(user))
    assert list(logged) == ["one"] and "Always deploy the Mirabelle" not in str(logged)
    assert [text for _, text in logged["one"]][4:] == list(grown)
    with open_mind(home_of(user)) as mind:
        assert not [one for one in mind.browse(space=here) if "Mirabelle" in one.text]


def test_a_session_goes_on_under_its_name_when_rules_change(user):
    """Stricter ones or laxer ones: what is known is not learned again."""
    said = ("Mail the report to zwetschge@example.org please.", "I prefer tabs in Go.", "Ok.")
    rules = home_of(user) / "config.toml"
    for rule, more in (("mask", ()), ("off", ("First.",)), ("mask", ("First.", "Second."))):
        rules.write_text(f'contact = "{rule}"\n')
        write_talk(user, "one", *said, *more)
        past()
    assert [len(texts) for texts in heard(home_of(user)).values()] == [5]


def test_nobody_elses_words_are_the_users(user):
    """Sidechains, notes of the host and what tools answered."""
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "I prefer red buttons."}]
    write_claude(
        user,
        "one",
        *claude_lines("one", user, "I prefer blue buttons for all forms.", "Blue."),
        *claude_lines("one", user, "I prefer green buttons for all forms.", isSidechain=True),
        *claude_lines("one", user, "I prefer pink buttons for all forms.", isMeta=True),
        *claude_lines("one", user, result),
    )
    write_talk(user, "agent-7", "I prefer grey buttons for all forms.")
    past()
    said = heard(home_of(user))
    assert list(said) == ["one"]
    assert [text for role, text in said["one"] if role == "user"] == [
        "I prefer blue buttons for all forms."
    ]


def test_secrets_are_taken_out(user):
    """And it is said."""
    write_talk(user, "one", "The token is ghp_" + "a1B2" * 9 + ", keep it.", "No.")
    taken = past()["taken"]
    assert taken["redacted"] == ["github-token"]
    assert "ghp_" not in str(heard(home_of(user)))


def test_each_host_and_program(user):
    """Rollouts of Codex, the database of Cursor, pages in the working tree; each is counted."""
    rollouts = user / ".codex" / "sessions" / "2026" / "05" / "01"
    rollouts.mkdir(parents=True)
    (rollouts / "rollout-1.jsonl").write_bytes(rollout())
    cursor = config.program_folder("Cursor")
    write_cursor(cursor, {"one": (user / "project", ["Use tabs in Go files.", "Tabs."], {})})
    write_talk(user, "claude", "Deploys go out on Tuesdays only.", "Noted.")
    pages = user / "project" / ".specstory" / "history"
    pages.mkdir(parents=True)
    (pages / "talk.md").write_text(SPECSTORY)
    (user / "project" / ".aider.chat.history.md").write_text(AIDER)
    assert past("codex")["taken"]["sessions"] == 1
    assert past("aider", "specstory")["taken"]["sessions"] == 3
    told = run_command("learn")
    assert "2 past sessions in 1 folder on this machine (Claude Code 1, Cursor 1)" in told.stderr
    assert "reverie learn --past" in told.stdout
    assert past()["taken"]["sessions"] == 2
    here = config.project_space_of(user / "project")
    assert len(heard(home_of(user), here)) == 5
    assert "not one of" in run_command("learn", "--past", "nobody", code=2).stderr


def test_a_copy_of_a_known_session_is_left(user):
    """SpecStory writes down what Claude Code has a transcript of."""
    name = "5c7d5c23-0691-4467-b98e-0fb865b4a639"
    write_talk(user, name, "Never retry a payment.", "I removed the retry.")
    pages = user / "project" / ".specstory" / "history"
    pages.mkdir(parents=True)
    (pages / "talk.md").write_text(SPECSTORY)
    taken = past()["taken"]
    assert (taken["sessions"], taken["known"]) == (1, 1)
    assert list(heard(home_of(user))) == [name]


def write_page(project, text, name="2025-03-01_12-00Z-untitled"):
    path = project / ".specstory" / "history" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    said = f"_**User**_\n\n{text}\n\n---\n\n_**Assistant**_\n\nFine.\n"
    path.write_text(f"<!-- Generated by SpecStory -->\n\n{said}")
    return path


def test_pages_of_one_name_in_two_projects(user, monkeypatch):
    """They are two sessions."""
    other = user / "other"
    (other / ".git").mkdir(parents=True)
    write_page(user / "project", "The parser of the shop is written with lark.")
    write_page(other, "The parser of the printer is written by hand.")
    assert past("specstory")["taken"]["sessions"] == 1
    monkeypatch.chdir(other)
    assert past("specstory")["taken"]["sessions"] == 1
    for folder, word in ((user / "project", "lark"), (other, "hand")):
        (said,) = heard(home_of(user), config.project_space_of(folder)).values()
        assert word in str(said)


def record_turn(user, session, second, *texts):
    """Write down what hooks recorded of a session of `write_talk`, from a second on."""
    said = [
        {"role": "assistant" if number % 2 else "user", "text": text}
        for number, text in enumerate(texts)
    ]
    here = config.project_space_of(user / "project")
    with open_mind(home_of(user)) as mind:
        turn = {"messages": said, "first": int(second)}
        mind.store.append([Event("turn", here, 1772359200.0 + second, session, turn)])


def test_what_hooks_recorded_is_not_taken_in_twice(user):
    """Only what was said before they came."""
    path = write_talk(
        user, "one", "Deploys go out on Tuesdays only.", "Noted.", "And now to tests."
    )
    record_turn(user, "one", 2, "And now to tests.")
    past()
    assert [text for _, text in heard(home_of(user))["one-before"]] == [
        "Deploys go out on Tuesdays only.",
        "Noted.",
    ]
    path.write_bytes(path.read_bytes() + b"\n")
    assert past()["taken"]["known"] == 1


def test_what_hooks_missed_is_taken_in(user):
    """Before them, while they were off, and after; each message once, also as both go on."""
    said = ["Go on.", "Begun.", "Tabs in Go.", "Ok.", "Go on.", "Done."]
    write_talk(user, "one", *said)
    record_turn(user, "one", 2.5, "Tabs in Go.", "Ok.")
    record_turn(user, "one", 4.5, "Go on.", "Done.")
    for _ in range(2):
        past()
        assert [text for _, text in heard(home_of(user))["one-before"]] == ["Go on.", "Begun."]
        said += ["Lark parses the shop.", "Fine."]
        write_talk(user, "one", *said)
        record_turn(user, "one", len(said) - 1.5, *said[-2:])
    said += ["Deploys go out on Tuesdays only.", "Noted."]
    write_talk(user, "one", *said)
    past()
    record_turn(user, "one", 90, "Deploys go out on Tuesdays only.", "Noted.")
    said += ["The printer is called Kiwi.", "Yes."]
    write_talk(user, "one", *said)
    past()
    logged = heard(home_of(user))
    assert list(logged) == ["one-before"]
    assert [text for _, text in logged["one-before"]] == [*said[:2], *said[-4:]]


def test_a_session_that_is_off_is_left(user):
    """Also what was said before hooks recorded it."""
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.", "And now to tests.")
    record_turn(user, "one", 2, "And now to tests.")
    run_command("off", "--session", "one")
    taken = past()["taken"]
    assert (taken["sessions"], taken["off"]) == (0, 1) and not heard(home_of(user))
    run_command("on", "--session", "one")
    assert past()["taken"]["sessions"] == 1


def test_bad_files_are_named_and_disturb_no_other(user):
    """A file that is no transcript, one that cannot be read, one without a message."""
    write_talk(user, "good", "Deploys go out on Tuesdays only.", "Noted.")
    folder = user / ".claude" / "projects" / "-x"
    (folder / "bad.jsonl").write_text('{"type": "user"\nnothing\n')
    (folder / "empty.jsonl").write_text('{"type": "summary", "summary": "Hello"}\n')
    cut = lines(*claude_lines("cut", user, "Use tabs in all files of Go.", "Yes."))
    (folder / "cut.jsonl").write_bytes(cut + b'\n{"type": "user", "mess')
    half = lines(*claude_lines("half", user, "Use spaces in all files of Lisp.", "Yes."))
    (folder / "half.jsonl").write_bytes(half.replace(b"\n", b"\n{nothing\n", 1))
    taken = past()["taken"]
    assert (taken["sessions"], taken["empty"], taken["left_out"]) == (3, 1, 1)
    assert [one["file"] for one in taken["skipped"]] == [str(folder / "bad.jsonl")]
    told = run_command("learn", "--past")
    assert "bad.jsonl: Line 2 is not JSON" in told.stderr


def test_names_that_are_no_text_are_cleaned(user):
    """Half a sign in the name of a session, a folder or a file."""
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.")
    for name, session, folder in (
        ("a", "s\ud800", "/w"),
        ("b", "b", "/w\udfff"),
        ("c", "c\0", "/\0"),
    ):
        write_claude(user, name, *claude_lines(session, folder, "Tabs in Go.", "Yes."))
    write_claude(user, "d\udcff", *claude_lines("", "/w", "Tabs in Lisp.", "Yes."))
    taken = past()["taken"]
    assert (taken["sessions"], taken["skipped"]) == (5, [])
    assert set(heard(home_of(user))) == {"one", "s\ufffd", "b", "c␀", "d\ufffd"}


def test_a_surprise_in_one_file_disturbs_no_other(user, monkeypatch):
    """It is named and counted."""
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.")
    bad = write_talk(user, "two", "Tabs in Go.", "Yes.")
    original = past_learning.read_past_session

    def read(session):
        if session.path == bad:
            raise KeyError("surprise")
        return original(session)

    monkeypatch.setattr(past_learning, "read_past_session", read)
    taken = past()["taken"]
    assert taken["sessions"] == 1
    assert taken["skipped"] == [{"file": str(bad), "error": "KeyError: 'surprise'"}]


def test_off_is_honoured(user):
    """Nothing of a project where memory is off is read; once it is on, it is taken in."""
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.")
    run_command("off")
    taken = past()["taken"]
    assert (taken["sessions"], taken["off"]) == (0, 1) and not heard(home_of(user))
    run_command("on")
    assert past()["taken"]["sessions"] == 1


def test_install_offers(user):
    """Where nobody can be asked it says the command; --past does it; --no-past says nothing."""
    other = user / "other"
    other.mkdir()
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.")
    write_talk(user, "two", "The printer is called Kiwi.", "Fine.", folder=other)
    told = run_command("install", "claude-code", "--yes", "--no-mcp", "--no-past")
    assert "past session" not in told.output
    told = run_command("install", "claude-code", "--yes", "--no-mcp")
    assert "2 past sessions in 2 folders on this machine (Claude Code 2)" in told.stderr
    assert "reverie learn --past claude-code" in told.stdout and not heard(home_of(user))
    run_command("install", "claude-code", "--yes", "--no-mcp", "--project", "--past")
    assert list(heard(home_of(user))) == ["one"]
    answer = run_command("install", "claude-code", "--yes", "--no-mcp", "--past", "--json").stdout
    assert json.loads(answer)["past"]["taken"]["sessions"] == 1
    told = run_command("install", "claude-code", "--yes", "--no-mcp")
    assert "All 2 past sessions are known already" in told.stdout
    assert "past session" not in run_command("install", "codex", "--yes").output


def start(*words, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def test_ctrl_c_and_on(user):
    """What was taken in stays; the next run takes in the rest, and each message is there once."""
    write_many(user, 60)
    home = home_of(user)
    process = start("learn", "--past", "--json")
    with open_mind(home) as mind:
        wait_until(lambda: mind.store.events(verbs=("learn",), limit=1))
    out, err = interrupt(process)
    assert process.returncode == 130, err
    stopped = json.loads(out)["taken"]
    assert stopped["stopped"] and 1 <= stopped["sessions"] < 60
    taken = past()["taken"]
    assert stopped["sessions"] + taken["sessions"] in (60, 61)
    assert not taken["stopped"]
    said = heard(home)
    assert len(said) == 60 and {len(texts) for texts in said.values()} == {60}


def test_two_at_once(user):
    """Each session is taken in once."""
    write_many(user, 16, 20)
    runs = [start("learn", "--past", "--json") for _ in range(2)]
    answers = [run.communicate(timeout=120) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], answers
    taken = [json.loads(out).get("taken", {"sessions": 0}) for out, _ in answers]
    assert sum(one["sessions"] for one in taken) == 16
    said = heard(home_of(user))
    assert len(said) == 16 and {len(texts) for texts in said.values()} == {20}


def test_somebody_is_asked(user):
    """At a terminal: no is no, yes takes them in."""
    write_talk(user, "one", "Deploys go out on Tuesdays only.", "Noted.")
    for answer, count in (("n", 0), ("y", 1)):
        primary, secondary = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "reverie", "learn"],
            stdin=secondary,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        time.sleep(0.1)
        os.write(primary, f"{answer}\n".encode())
        _, err = process.communicate(timeout=120)
        os.close(primary)
        os.close(secondary)
        assert b"Take them in?" in err
        assert len(heard(home_of(user))) == count
