"""Experience on the command line, on real repositories and recorded work."""

import json
import subprocess

import pytest

from reverie.core import clock
from reverie.core.model import Event
from tests.activity.test_learned_patterns import commit, git
from tests.support.helpers import open_mind, run_command, toy_home

HERE = ("--space", "me/demo")


@pytest.fixture
def home(tmp_path):
    home = toy_home(tmp_path)
    with open_mind(home, embedder="none") as mind:
        for command, error in (
            ("./run", "OSError: [Errno 98] Address already in use: 8000"),
            ("pkill server", ""),
            ("./run", ""),
        ):
            mind.record_tool(
                "bash",
                {"command": command},
                error=error,
                duration=0.25,
                session="s",
                space="me/demo",
            )
        mind.record_tool("Read", {"file_path": "src/a.py"}, session="s", space="me/demo")
        mind.settle()
    return home


def answer(home, *words, **more):
    return json.loads(run_command("--home", str(home), "--json", *words, *HERE, **more).stdout)


def told(home, *words, **more):
    return run_command("--home", str(home), *words, *HERE, **more)


@pytest.mark.proves("CC-79")
def test_fix_reads_an_error_from_stdin(home):
    """`reverie activity fix`, from stdin or arguments; an unknown error gets none and still exits with 0."""
    error = 'Traceback (most recent call last):\n  File "x", line 9\nOSError: [Errno 98] Address already in use: 91\n'
    page = told(home, "activity", "fix", stdin=error).stdout
    # What destroys is told, with its variable part named, and never advised.
    assert "pkill <process>" in page and "worked 1 of 1 times" in page
    assert "look first" in page and "run: pkill" not in page
    found = answer(home, "activity", "fix", "OSError: [Errno 98] Address already in use: 1")
    (one,) = found["suggestions"]
    assert (one["ran"], one["told"]) == ([], ["pkill <process>"])
    assert answer(home, "activity", "fix", "KeyError: 'x'") == {"suggestions": []}
    assert "No fix" in told(home, "activity", "fix", "KeyError: 'x'").stderr
    assert "Address already in use" in told(home, "activity", "fix", "--known").stdout


@pytest.mark.proves("X31", "D7", "D11", "D61", "D62")
def test_statistics_and_history(home):
    """`stats --tools` and `log --tool`, `--file`, `--grep`."""
    bash, _read = answer(home, "data", "stats", "--tools")["tools"]
    assert (bash["tool"], bash["runs"], bash["failed"], bash["p95"]) == ("bash", 3, 1, 0.25)
    assert "67% went well, median 0.25 s" in told(home, "data", "stats", "--tools").stdout
    assert "Week from" not in told(home, "data", "stats", "--tools").stdout
    with open_mind(home, embedder="none") as mind:
        old = Event(
            verb="file",
            space=HERE[1],
            at=clock.now() - 20 * 86_400,
            session="s",
            payload={"path": "a.py", "operation": "read"},
        )
        mind.store.append([old])
    page = told(home, "data", "stats", "--tools", "--days", "30").stdout
    assert page.count("Week from") == 2 and "read again 0 of 1, met again 0 of 0" in page
    assert [
        one["payload"].get("command")
        for one in answer(home, "activity", "log", "--tool", "bash")["events"]
    ] == ["./run", "pkill server", "./run"]
    assert {
        one["verb"] for one in answer(home, "activity", "log", "--file", "src/a.py")["events"]
    } == {
        "tool",
        "file",
    }
    assert len(answer(home, "activity", "log", "--grep", "ADDRESS")["events"]) == 1
    assert len(answer(home, "activity", "log", "--tool", "none")["events"]) == 0


@pytest.mark.proves("D9")
def test_a_history_is_learned_and_asked(home, tmp_path, monkeypatch):
    """`learn --git`, then `coedited`; where there is no repository it is said."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    now = int(subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout)
    for n in range(3):
        commit(folder, f"Fix {n}", now - 90_000 + n * 9_000, a__py=f"{n}", b__py=f"{n}")
    assert (
        "3 new commits, 6 changes of files, 3 fixes"
        in told(home, "learn", "--git", str(folder)).stdout
    )
    assert "0 new commits" in told(home, "learn", "--git", str(folder)).stdout
    assert "b.py  3 of 3 times" in told(home, "activity", "coedited", "a.py").stdout
    assert answer(home, "activity", "coedited", "b.py")["coedited"][0]["share"] == 1.0
    assert "no folder" in told(home, "learn", "--git", str(tmp_path / "nowhere"), code=2).stderr
    # Nor of past sessions is there any.
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert "--git" in told(home, "learn", code=2).stderr


@pytest.mark.proves("D11")
def test_workflows_are_listed(home):
    """`workflows` says when there are none."""
    assert answer(home, "activity", "workflows") == {"workflows": []}
    with open_mind(home, embedder="none") as mind:
        for task in "abc":
            for command in ("make build", "make deploy"):
                mind.record_tool("bash", {"command": command}, task=task, space="me/demo")
    assert "  2. make deploy" in told(home, "activity", "workflows").stdout
