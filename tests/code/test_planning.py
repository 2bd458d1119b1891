"""Plans over real repositories with a real history."""

import json

import pytest

from reverie.core.errors import BadInput, Disabled, NotFound
from reverie.testing import SPACE, CountingEmbedder, memory
from reverie.text.token_counts import estimate_tokens
from tests.activity.test_learned_patterns import commit, git
from tests.support.helpers import run_command, toy_home

NET = "class ProxyTunnel:\n    def connect(self):\n        return open_socket()\n"
JAR = "class Jar:\n    def expire(self):\n        self.cookies.clear()\n"


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(
        folder,
        "Tunnel through a proxy",
        1_700_000_000,
        **{"net__py": NET, "helpers__py": "def a():\n    pass\n"},
    )
    for n in range(3):
        commit(
            folder,
            f"Expire stale sessions {n}",
            1_700_100_000 + 90_000 * n,
            **{"jar__py": f"{JAR}# {n}\n", "clean__py": f"def sweep():\n    return {n}\n"},
        )
    return folder


@pytest.fixture
def mind(tmp_path, clock, repo):
    with memory(tmp_path / "home", now=clock, embedder="none") as made:
        made.code.index(repo)
        made.activity.learn_git(repo, space=SPACE)
        yield made


def paths(plan):
    return [look.path for look in plan.files]


@pytest.mark.proves("D38", "D40", "D54")
def test_a_plan_names_files_symbols_and_reasons(mind, repo):
    """By words of the code, and by what was done under other words; each with why."""
    plan = mind.plan("The proxy tunnel hangs", root=repo, space=SPACE)
    assert paths(plan)[0] == "net.py"
    assert plan.files[0].parts[0].symbol.startswith("ProxyTunnel")
    assert any("proxy" in reason for reason in plan.files[0].why)
    plan = mind.plan("Stale sessions stay", root=repo, space=SPACE)
    assert set(paths(plan)[:2]) == {"jar.py", "clean.py"}
    assert any("Expire stale sessions" in reason for reason in plan.files[0].why)
    assert plan.past[0].text == "Expire stale sessions 2"
    assert "Look at, likeliest first:\n- " in plan.text


@pytest.mark.proves("D1", "D20", "D39", "D40")
def test_companions_fixes_and_memories_come_with_it(mind, repo):
    """Co-edited files, the known fix of an error, memories about the files: one question to all."""
    mind.remember(
        "The jar is cleared at midnight.", about=[f"{repo}/jar.py:Jar.expire"], space=SPACE
    )
    for ok in (False, True):
        mind.record_tool(
            "bash",
            {"command": "make"},
            ok=ok,
            space=SPACE,
            session="s",
            task="build",
            error=None if ok else "ModuleNotFoundError: No module named 'tomli'",
        )
        if not ok:
            mind.record_tool(
                "bash",
                {"command": "pip install tomli"},
                ok=True,
                space=SPACE,
                session="s",
                task="build",
            )
    mind.settle()
    plan = mind.plan(
        "Jar: ModuleNotFoundError: No module named 'tomli'", root=repo, space=SPACE, limit=1
    )
    assert paths(plan) == ["jar.py"]
    assert [other.path for other in plan.together] == ["clean.py"]
    assert "pip install tomli" in plan.fixes[0].ran
    assert [hit.memory.text for hit in plan.memories] == ["The jar is cleared at midnight."]
    for told in ("Often changed with them", "This error was met before", "Remembered ("):
        assert told in plan.text


TALK = [
    {"role": "user", "content": "Which library should the proxy tunnel use for its sockets?"},
    {"role": "assistant", "content": "Trio or asyncio; asyncio needs nothing besides Python."},
    {"role": "user", "content": "then we take asyncio for the proxy tunnel's sockets"},
]


def test_what_was_said_about_a_task_comes_with_it(mind, repo):
    """Dated and quoted, where the task needs it; it goes before memories where room is short, and
    never takes more than its share.
    """
    mind.learn(TALK, space=SPACE, session="monday")
    mind.settle()
    task = "Which sockets did we decide on for the proxy tunnel?"
    plan = mind.plan(task, root=repo, space=SPACE)
    assert "we take asyncio" in plan.said[0].memory.text
    assert not any(hit.memory.provenance == "said" for hit in plan.memories)
    assert "Said in past conversations" in plan.text
    (line,) = [line for line in plan.text.split("\n") if "we take asyncio" in line]
    assert line.startswith("- “") and line.endswith(f"[{plan.said[0].memory.id}]")
    assert "(user, 20" in line
    short = mind.plan(task, root=repo, space=SPACE, tokens=120)
    assert short.files and estimate_tokens(short.text) <= 120
    assert sum(len(hit.memory.text) for hit in short.said) < 200
    assert not mind.plan("Rename the file of the jar", root=repo, space=SPACE).said
    assert not mind.plan(task, root=repo, space="me/elsewhere").said


@pytest.mark.proves("D53")
def test_a_plan_follows_what_changes(mind, repo):
    """New code, renamed files and new commits count at once, without another opening."""
    git(repo, "mv", "jar.py", "store.py")
    commit(repo, "Call it a store", 1_701_000_000, wheel__py="def spin_the_wheel():\n    pass\n")
    assert mind.code.index(repo).gone == 1
    mind.activity.learn_git(repo, space=SPACE)
    plan = mind.plan("Stale sessions stay", root=repo, space=SPACE)
    assert "jar.py" not in paths(plan)
    assert set(paths(plan)[:2]) == {"store.py", "clean.py"}
    assert paths(mind.plan("spin the wheel", root=repo, space=SPACE))[0] == "wheel.py"


@pytest.mark.proves("D11", "D17")
def test_what_an_agent_recorded_is_a_past_task(mind, repo):
    """Without a commit: a task and the files that were edited in it."""
    mind.activity.record_file("helpers.py", "edit", task="Make the kettle boil", space=SPACE)
    mind.activity.record_task("Make the kettle boil", "success", space=SPACE)
    plan = mind.plan("the kettle boils too long", root=repo, space=SPACE)
    assert paths(plan)[0] == "helpers.py"
    assert plan.past[0].text == "Make the kettle boil"


def test_past_tasks_of_a_sibling_space_are_not_used(mind, repo):
    """Work done in a sibling space does not appear in a plan."""
    plan = mind.plan("Stale sessions stay", root=repo, space="me/elsewhere")
    assert plan.past == ()
    assert "Expire" not in plan.text


@pytest.mark.proves("D17", "D21")
def test_past_tasks_of_like_meaning_count_once_they_have_vectors(tmp_path, clock, repo):
    """Nothing is embedded while planning but the task; `settle` embeds code and past tasks."""
    model = CountingEmbedder()
    with memory(tmp_path / "meaning", now=clock, embedder=model) as mind:
        mind.code.index(repo)
        mind.activity.learn_git(repo, space=SPACE)
        mind.plan("Stale sessions stay", root=repo, space=SPACE)
        assert set(model.asked) == {"Stale sessions stay"}
        mind.settle()
        assert "Tunnel through a proxy" in model.asked
        assert paths(mind.plan("Stale sessions stay", root=repo, space=SPACE))[0] in (
            "jar.py",
            "clean.py",
        )
        assert all(
            one.path.endswith(".py")
            for one in mind.code.search_similar("tunnel through a proxy", root=repo)
        )


def test_secrets_of_a_task_go_nowhere(mind, repo):
    """A task is told without its secrets."""
    plan = mind.plan(
        "The proxy wants ghp_0123456789abcdefghijklmnopqrstuvwxyz", root=repo, space=SPACE
    )
    assert "ghp_" not in plan.task + plan.text


def test_without_an_index_it_says_what_to_do(tmp_path, clock):
    """NotFound names the command; what is no text is refused; an empty task gives an empty plan."""
    with memory(tmp_path / "home", now=clock, embedder="none") as mind:
        with pytest.raises(NotFound, match="reverie code index"):
            mind.plan("x", root=tmp_path)
        with pytest.raises(BadInput):
            mind.plan(None, root=tmp_path)  # type: ignore[arg-type]


def test_an_empty_plan_is_an_answer(mind, repo):
    """An empty task, or a request for no files, gives an empty plan."""
    assert mind.plan("  ", root=repo, space=SPACE).files == ()
    assert mind.plan("proxy", root=repo, space=SPACE, limit=0).files == ()


def test_the_command_indexes_and_tells(tmp_path, repo, monkeypatch):
    """`plan` looks at the files first; it hints at `learn --git` while no past is known; `--json`
    has it all.
    """
    home = str(toy_home(tmp_path / "cli"))
    monkeypatch.chdir(repo)
    shown = run_command("--home", home, "plan", "The proxy tunnel hangs")
    assert "- net.py" in shown.output
    assert "reverie learn --git" in shown.output + shown.stderr
    run_command("--home", home, "learn", "--git")
    told = json.loads(
        run_command("--home", home, "--json", "plan", "-", stdin="Stale sessions stay").stdout
    )
    assert told["files"][0]["path"] in ("jar.py", "clean.py")
    assert told["past"][0]["text"].startswith("Expire stale sessions")


@pytest.mark.proves("CC-54")
def test_purged_tasks_leave_plans_and_caches(mind, repo, tmp_path):
    """A purge reaches the texts of past tasks, in the cache and in a process that had read them."""
    secret = "The salary of Miller is 4711 walruses"
    commit(repo, secret, 1_702_000_000, pay__py="def pay():\n    pass\n")
    mind.activity.learn_git(repo, space=SPACE)
    mind.code.index(repo)
    assert secret in mind.plan("salary of miller", root=repo, space=SPACE).text
    mind.data.purge(mind.remember(secret, space=SPACE).id)
    assert "4711" not in mind.plan("salary of miller", root=repo, space=SPACE).text
    mind.store.code_chunks.close()
    assert not [
        path for path in (tmp_path / "home").rglob("*.db*") if b"4711 walruses" in path.read_bytes()
    ]


def test_forgetting_a_repository_forgets_the_texts_of_its_past_tasks(mind, repo):
    """Only that of the index; the log has them, and a plan over a new index knows them again."""
    mind.plan("Stale sessions stay", root=repo, space=SPACE)
    assert 2 == len(mind.store.code_chunks.roots())
    mind.code.forget(repo)
    assert [] == mind.store.code_chunks.roots()
    mind.code.index(repo)
    assert mind.plan("Stale sessions stay", root=repo, space=SPACE).past


def test_plans_do_not_mix_repositories_of_one_space(mind, repo, tmp_path):
    """Its commits and what is remembered of its files are not told, though they are called the
    same.
    """
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    commit(other, "Polish the walrus", 1_700_000_500, net__py="def walrus():\n    pass\n")
    mind.code.index(other)
    mind.activity.learn_git(other, space=SPACE)
    mind.remember("The walrus file is brittle.", about=[f"{other}/net.py"], space=SPACE)
    assert "walrus" not in mind.plan("Polish the proxy", root=repo, space=SPACE).text
    assert (
        mind.plan("Polish the walrus", root=other, space=SPACE).past[0].text == "Polish the walrus"
    )


def test_no_plan_where_memory_is_off(tmp_path, clock, repo):
    """A plan is empty where memory is off, as every other answer about the past."""
    with (
        memory(tmp_path / "home", now=clock, embedder="none", off=(SPACE,)) as mind,
        pytest.raises(Disabled),
    ):
        mind.code.index(repo)
        mind.plan("proxy", root=repo, space=SPACE)
