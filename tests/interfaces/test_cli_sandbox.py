# mypy: no-check-untyped-defs
"""The sandbox: things tried out see nothing of what is really remembered and alter none of it,
however they come in.
"""

import json
import os
import subprocess
import sys

import pytest

import reverie
from reverie.core import config
from reverie.core.config import Settings
from reverie.core.environment import SANDBOX_NAME
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker import stop_worker
from reverie.interfaces.worker_start import is_worker_alive
from reverie.testing import memory
from tests.support.helpers import hook_command, toy_home, wait_until

REAL, TRIED = "The staging server is called heron.", "The staging server is called plover."
ASKED = "Which host is the staging server?"


@pytest.fixture
def project(tmp_path):
    """A repository, and a work tree of it."""
    (tmp_path / "project" / ".git" / "worktrees" / "wt").mkdir(parents=True)
    (tmp_path / "wt").mkdir()
    (tmp_path / "wt" / ".git").write_text(f"gitdir: {tmp_path / 'project'}/.git/worktrees/wt\n")
    return tmp_path / "project"


@pytest.fixture
def home(tmp_path, project, monkeypatch):
    """A real memory that says `heron`, as the usual home; its sandbox has settings of its own."""
    home = toy_home(tmp_path, idle=1.0)
    chosen = {"embedder": "toy", "idle": 1.0, "backups": 0, "deadline": 10.0}
    config.save_settings(Settings(home=home / SANDBOX_NAME), **chosen)
    with memory(home) as mind:
        mind.remember(REAL, space=config.project_space_of(project))
    monkeypatch.setenv("REVERIE_HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    yield home
    for place in (home, home / SANDBOX_NAME):
        wait_until(lambda place=place: stop_worker(HookFiles(str(place)).lock))


def ran(folder, *words, given=b"", **env):
    done = subprocess.run(
        [sys.executable, *words],
        input=given,
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def texts(folder, *words, **env):
    """What a process of the command line in a folder recalls."""
    found = ran(
        folder, "-m", "reverie", *words, "--json", "recall", ASKED, "--mode", "words", **env
    )
    return {hit["memory"]["text"] for hit in found["hits"]}


def hooked(folder, **env):
    """What a hook answers the first prompt of a session in a folder."""
    said = {
        "session_id": "s1",
        "cwd": str(folder),
        "hook_event_name": "UserPromptSubmit",
        "prompt": ASKED,
    }
    found = ran(folder, *hook_command()[1:], given=json.dumps(said).encode(), **env)
    return found.get("hookSpecificOutput", {}).get("additionalContext", "")


def untouched(home):
    """What the real memory holds, read past every sandbox."""
    with memory(home) as mind:
        return [one.text for one in mind.browse(space="me", limit=99)] + [
            m.text for space in mind.data.stats().spaces for m in mind.browse(space=space)
        ]


@pytest.mark.proves("CC-15")
def test_the_command_line_in_a_sandbox(home, project):
    """By option or by variable, whatever home a command names: nothing real is seen or altered, and
    another process

    of the same project that is not in the sandbox sees what is real, from a work tree too.
    """
    assert texts(project) == texts(project.parent / "wt") == {REAL}
    ran(project, "-m", "reverie", "--sandbox", "remember", TRIED, "--json")
    for words, env in (
        (("--sandbox",), {}),
        (("--sandbox", "--home", str(home)), {}),
        ((), {"REVERIE_SANDBOX": "1"}),
        (("--home", str(home)), {"REVERIE_SANDBOX": "1"}),
    ):
        assert texts(project, *words, **env) == {TRIED}, (words, env)
    behind = ran(
        project, "-m", "reverie", "--sandbox", "recall", ASKED, "--home", str(home), "--json"
    )
    assert [hit["memory"]["text"] for hit in behind["hits"]] == [TRIED]
    assert texts(project) == texts(project, REVERIE_SANDBOX="0") == {REAL}


@pytest.mark.proves("CC-15")
def test_its_worker_works_in_it(home, project):
    """The process that settles what was kept in a sandbox settles there, and only there."""
    ran(project, "-m", "reverie", "--sandbox", "remember", TRIED, "--json")

    def vectors(place):
        with reverie.open(settings=Settings(home=place, embedder="none")) as mind:
            return mind.data.stats().vectors

    wait_until(lambda: vectors(home / SANDBOX_NAME))
    assert not vectors(home)


@pytest.mark.proves("CC-15")
def test_hooks_in_a_sandbox(home, project):
    """A hook of a host that was started in a sandbox says nothing real and writes nothing down
    there.
    """
    assert REAL in hooked(project)
    wait_until(lambda: not is_worker_alive(HookFiles(str(home)).lock))
    before = sorted(path.name for path in (home / "hooks").rglob("*"))
    assert REAL not in hooked(project, REVERIE_SANDBOX="1")
    assert sorted(path.name for path in (home / "hooks").rglob("*")) == before
    assert list((home / SANDBOX_NAME / "hooks").rglob("*.json"))


@pytest.mark.proves("CC-15")
def test_tools_of_an_agent_in_a_sandbox(home, project):
    """So do the tools that a host is served by MCP."""
    mcp = pytest.importorskip("mcp")
    from tests.interfaces.test_mcp import one

    def server(**env):
        return mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "reverie", "mcp"],
            cwd=project,
            env={**os.environ, **env},
        )

    assert [m["text"] for m in one(server(), "recall", query="staging")["memories"]] == [REAL]
    one(server(REVERIE_SANDBOX="1"), "remember", text=TRIED)
    found = one(server(REVERIE_SANDBOX="1"), "recall", query="staging")
    assert [m["text"] for m in found["memories"]] == [TRIED]
    assert untouched(home).count(REAL) == 1 and TRIED not in untouched(home)


@pytest.mark.proves("CC-15")
def test_python_in_a_sandbox(home, monkeypatch, project):
    """Whatever address a program opens, and with whatever settings, it is exchanged for one in a
    sandbox.
    """
    space, real = config.project_space_of(project), home / "reverie.db"
    monkeypatch.setenv("REVERIE_SANDBOX", "1")
    for where, settings in (
        (None, None),
        (home, None),
        (real, None),
        (f"sqlite:///{real}", None),
        (None, Settings(home=home)),
        (None, Settings(home=home, store=f"sqlite:///{real}")),
        (home / SANDBOX_NAME, None),
    ):
        with reverie.open(where, settings=settings) as mind:
            mind.remember(TRIED, space=space)
            assert {one.text for one in mind.browse(space=space)} == {TRIED}, where
            assert mind.settings.home == home / SANDBOX_NAME
    monkeypatch.delenv("REVERIE_SANDBOX")
    assert TRIED not in untouched(home)


def test_a_sandbox_fetches_no_model_again(monkeypatch, tmp_path):
    """It takes the files of the embedding model from the usual home."""
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path))
    assert (
        config.load_settings(sandbox=True).cache
        == config.load_settings().cache
        == tmp_path / "cache"
    )
