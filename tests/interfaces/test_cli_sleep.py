"""The command line's side of sleep: the plan as a diff, the run, the way back, the state to
compare.
"""

import json

import pytest
from typer.testing import CliRunner

from reverie.interfaces.cli.app import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("REVERIE_EMBEDDER", "toy")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text("idle = 0.0\n")

    def run(*words, code=0):
        done = CliRunner().invoke(app, [*words, "--home", str(home)])
        assert done.exit_code == code, done.output
        return done.stdout

    run("remember", "one", "--tag", "bugs", "--space", "me/demo")
    for text in ("two", "three"):
        run("remember", text, "--tag", "bug", "--space", "me/demo")
    run("data", "settle")
    return run


@pytest.mark.proves("CC-14", "B133", "B134")
def test_dry_run_is_a_diff_and_changes_nothing(run):
    """What would go, come and change, pass by pass."""
    before = run("data", "export", "--state")
    told = run("sleep", "--dry-run")
    assert "tags: 1 to do" in told
    assert "~ mem_" in told
    assert "tags: bug" in told
    plan = json.loads(run("sleep", "--dry-run", "--json"))
    assert (0, ["tags"]) == (plan["run"], [one["pass"] for one in plan["plan"]])
    assert before == run("data", "export", "--state")


@pytest.mark.proves("B133", "B135")
def test_sleep_runs_and_is_undone(run):
    """By hand, one pass or all; undo --sleep takes the last run back to the byte."""
    before = run("data", "export", "--state")
    assert 0 == json.loads(run("sleep", "--pass", "merge", "--json"))["passes"][0]["steps"]
    slept = json.loads(run("sleep", "--json"))
    assert before != run("data", "export", "--state")
    assert f"run {slept['run']}" in run("undo", "--sleep")
    assert before == run("data", "export", "--state")
    run("undo", "--sleep", code=1)
    run("sleep", "--pass", "dream", code=2)


def test_the_hint_says_what_helps(run, tmp_path, monkeypatch):
    """Where no model may be fetched, the hint does not advise `settle`, which would give no
    vectors.
    """
    monkeypatch.setenv("REVERIE_EMBEDDER", "minilm")
    monkeypatch.setenv("REVERIE_OFFLINE", "1")
    run("remember", "four", "--space", "me/demo")
    run("data", "settle")
    told = CliRunner().invoke(app, ["sleep", "--home", str(tmp_path / "home")]).stderr
    assert "Once with a connection: reverie data settle" in told and "First:" not in told
