"""Replay of recorded conversations through the real companion, and the tour."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import reverie
from reverie.core.config import Settings
from reverie.embedding.toy import ToyEmbedder
from tests.support.helpers import run_command, toy_home

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def home(tmp_path):
    return toy_home(tmp_path)


@pytest.fixture
def run(home, monkeypatch):
    monkeypatch.setenv("REVERIE_HOME", str(home))
    return run_command


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def steps(result):
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return found[:-1], found[-1]["summary"]


CORPUS = [
    {
        "id": "1",
        "text": "My parrot Kiwi learned to whistle the anthem.",
        "timestamp": "2024-01-01T10:00:00",
        "session_id": "S1",
        "speaker": "Ann",
    },
    {
        "id": "2",
        "text": "How lovely that is!",
        "timestamp": "2024-01-01T10:00:20",
        "session_id": "S1",
        "speaker": "Bob",
    },
    {
        "id": "3",
        "text": "Does your parrot Kiwi still whistle the anthem?",
        "timestamp": "2024-03-01T10:00:00",
        "session_id": "S2",
        "speaker": "Bob",
    },
    {
        "id": "4",
        "text": "Every single morning, at six.",
        "timestamp": "2024-03-01T10:00:20",
        "session_id": "S2",
        "speaker": "Ann",
    },
]
CORPUS[1:1] = [
    {
        "id": f"f{n}",
        "text": f"Number {n} of the many things that I did {word} today.",
        "session_id": "S1",
        "timestamp": "2024-01-01T10:00:10",
        "speaker": "Bob",
    }
    for n, word in enumerate(
        ["at work", "in town", "for lunch", "by train", "with her", "on foot", "at home", "again"]
    )
]


def test_a_later_session_is_reminded_of_an_earlier_one(run, tmp_path):
    """Messages of a corpus are kept as events; no echo of one session; a step says what and why."""
    turns, summary = steps(run("session", "replay", lines(tmp_path / "c.jsonl", CORPUS), "--json"))
    assert [*["S1"] * 10, "S2", "S2"] == [t["session"] for t in turns]
    assert all(t["turn_us"] > 0 and t["settled_ms"] is not None and t["behind"] >= 0 for t in turns)
    surfaced = [m for t in turns if t["session"] == "S2" for m in t["surfaced"]]
    assert any(m["session"] == "S1" and "Kiwi" in m["text"] and m["why"] for m in surfaced)
    assert all(m["session"] != t["session"] for t in turns for m in t["surfaced"])
    assert (summary["turns"], summary["sessions"]) == (12, 2)
    assert 1_700_000_000 < turns[0]["at"] < 1_710_000_000  # the clock follows the recording


def test_a_replay_leaves_the_real_memory_alone(run, home, tmp_path):
    """Nothing of a replay reaches the real memory, unless it is wished."""
    file = lines(
        tmp_path / "talk.jsonl",
        [{"role": "user", "content": "Remember that the staging host is heron."}],
    )
    run("session", "replay", file)
    assert not (home / "reverie.db").exists()
    run("session", "replay", file, "--keep", "--space", "me/demo")
    with reverie.open(settings=Settings(home=home, embedder="toy"), embedder=ToyEmbedder()) as mind:
        assert ["The staging host is heron."] == [m.text for m in mind.browse(space="me/demo")]
        assert [] == mind.data.verify()


def test_agent_messages_are_kept_only_on_request(run, tmp_path):
    """Messages of an agent's transcript are not kept; --keep-turns keeps them."""
    file = lines(
        tmp_path / "talk.jsonl",
        [
            {"role": "user", "content": "Always run the linter before a commit."},
            {"role": "assistant", "content": "I will."},
            {"role": "user", "content": "How are you?"},
        ],
    )
    turns, summary = steps(run("session", "replay", file, "--json"))
    assert (summary["turns"], summary["learned"]) == (2, 1)
    assert ["Always run the linter before a commit."] == [m["text"] for m in turns[0]["learned"]]


def test_fast_does_not_wait(run, tmp_path):
    turns, _ = steps(
        run("session", "replay", lines(tmp_path / "c.jsonl", CORPUS), "--json", "--fast")
    )
    assert all(t["settled_ms"] is None for t in turns)


def test_a_replay_for_people(run, tmp_path):
    """Turn by turn, and the figures at the end; markup in what was said stays text."""
    rows = [
        *CORPUS,
        {"id": "5", "text": "[bold]x[/bold] \x1b[2J", "session_id": "S2", "speaker": "Ann"},
    ]
    out = run("session", "replay", lines(tmp_path / "c.jsonl", rows)).stdout
    assert "session S2" in out and "turns in 2 sessions" in out and "turn() took" in out
    assert "[bold]x[/bold]" in out and "\x1b" not in out
    assert "1 turns" in run("session", "replay", str(tmp_path / "c.jsonl"), "--limit", "1").stdout
    run("session", "replay", str(tmp_path / "c.jsonl"), "-q")


@pytest.mark.parametrize(
    ("text", "says"), [("nonsense", "Line 1 is not JSON"), ("", "nothing in that file")]
)
def test_junk_is_named(run, tmp_path, text, says):
    """Exit code 2 and the number of the line."""
    (tmp_path / "junk").write_text(text)
    assert says in run("session", "replay", str(tmp_path / "junk"), code=2).stderr
    assert "There is no file" in run("session", "replay", str(tmp_path / "nothing"), code=2).stderr


def test_stdin_can_be_replayed(run):
    assert (
        steps(
            run(
                "session",
                "replay",
                "-",
                "--json",
                stdin='[{"role": "user", "content": "hello"}]',
            )
        )[1]["turns"]
        == 1
    )


def test_the_examples_teach_and_remind(run):
    """The first sample conversation teaches at least eight things, the second is reminded of some."""
    _, summary = steps(
        run("session", "replay", str(EXAMPLES / "session-1.jsonl"), "--json", "--keep")
    )
    assert summary["learned"] >= 8
    turns, _ = steps(
        run("session", "replay", str(EXAMPLES / "session-2.jsonl"), "--json", "--keep")
    )
    assert any(turn["surfaced"] for turn in turns)


def git(folder, *words):
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=Ann", "-c", "user.email=a@example.org", *words],
        check=True,
        capture_output=True,
    )


def test_the_tour_takes_in_the_history(run, tmp_path, monkeypatch):
    """The tour: commits of this repository, a sample that teaches, another that is reminded,
    answers.
    """
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init")
    for n in range(7):
        (repo / f"file{n}.py").write_text(str(n))
        git(repo, "add", ".")
        git(
            repo,
            "commit",
            "-m",
            f"Widget {n}: teach it to hum\n\nBecause it was [bold]silent[/bold].",
        )
    monkeypatch.chdir(repo)
    told = json.loads(run("tour", "--json").stdout)
    assert told["commits"] == 7 and len(told["learned"]) >= 8 and told["problems"] == []
    # Seven commits, what was learned, a summary of each of the two sessions, and the two reasons
    # that say something by themselves: a decimal comma and an image that doubled.
    assert told["memories"] == 7 + len(told["learned"]) + 2 + 2
    assert any("Widget" in text for text in told["answers"][-1]["hits"])
    out = run("tour").stdout
    assert "7 commits kept" in out and "reverie explain" in out and "\x1b" not in out


def test_the_tour_without_a_history_says_so(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no git history" in run("tour").stdout


def test_the_tour_without_its_examples_says_so(run, tmp_path, monkeypatch):
    """Installed from a wheel, the samples are not there."""
    from reverie.interfaces.cli import tour

    monkeypatch.setattr(tour, "__file__", str(tmp_path / "a/b/c/d/tour.py"))
    monkeypatch.chdir(tmp_path)
    assert "clone" in run("tour", code=2).stderr


@pytest.mark.model
def test_the_tour_with_the_real_model(tmp_path):
    """The real pipeline: something surfaces in the second session, quiet turns stay quiet."""
    pytest.importorskip("onnxruntime")
    cache = Path(__file__).parents[2] / ".cache" / "home"
    if not (cache / "cache" / "models").is_dir():
        pytest.skip("the model is not cached; make run fetches it")
    out = subprocess.run(
        [sys.executable, "-m", "reverie", "tour", "--json", "--home", str(cache)],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )
    summary = json.loads(out.stdout)["replay"]["summary"]
    assert 1 <= summary["surfaced"] <= summary["turns"] // 2
