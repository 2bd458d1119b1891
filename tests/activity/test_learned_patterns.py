"""What is learned from work: remedies of errors, files that change together, workflows, git
history.
"""

import os
import subprocess

import pytest

from reverie.core.errors import BadInput
from reverie.core.kinds import is_mature
from reverie.testing import SPACE, memory
from tests.support.helpers import run_in_threads

pytestmark = pytest.mark.words_only

MISSING = (
    'Traceback (most recent call last):\n  File "/srv/{0}/app.py", line {1}, in <module>\n    import yaml\n'
    "ModuleNotFoundError: No module named 'yaml'"
)


def run(mind, clock, command, error="", session="s", **more):
    clock.tick(5)
    mind.record_tool(
        "bash", {"command": command}, error=error, session=session, space=SPACE, **more
    )


def overcome(
    mind, clock, command="python app.py", remedy="pip install pyyaml", session="s", place=("a", 3)
):
    run(mind, clock, command, MISSING.format(*place), session)
    run(mind, clock, "ls", session=session)
    run(mind, clock, remedy, session=session)
    run(mind, clock, command, session=session)
    mind.settle()


@pytest.mark.proves("D41", "D10", "D14", "CC-79")
def test_a_past_fix_is_suggested_with_its_evidence(mind, clock):
    """The same error elsewhere, with other numbers, finds what was run, how often, when."""
    overcome(mind, clock)
    overcome(mind, clock, session="t", place=("other/place", 77))
    [found] = mind.activity.suggest_fix(MISSING.format("tmp/x", 912), space=SPACE)
    assert (found.ran, found.changed, found.worked, found.failed) == (
        ("pip install pyyaml",),
        (),
        2,
        0,
    )
    assert found.chance == 0.75 and found.likeness == 1.0 and found.last_at == clock()
    assert found.why == "the same error; worked 2 of 2 times"
    assert [mind.store.event(seq).payload["command"] for seq in found.events] == [
        "python app.py"
    ] * 4


@pytest.mark.proves("CC-79")
def test_an_unrelated_error_gets_none(mind, clock):
    """Another module, another exception, no error at all: nothing is suggested."""
    overcome(mind, clock)
    for error in (
        "ModuleNotFoundError: No module named 'numpy'",
        "KeyError: 'yaml'",
        "",
        "all tests passed",
        "bash: yaml: command not found",
    ):
        assert mind.activity.suggest_fix(error, space=SPACE) == []


@pytest.mark.proves("D58")
def test_a_fix_that_holds_everywhere_is_known_in_every_project(mind, clock):
    """What names nothing of this project is known in the user's others, and counted there, not
    learned once more.
    """
    overcome(mind, clock)
    [known] = mind.browse(space="me", kinds=["learning"])
    assert "app.py" not in known.text
    overcome(mind, clock, session="later")
    for space in (SPACE, "me/other"):
        [found] = mind.activity.suggest_fix(MISSING, space=space)
        assert (found.memory.id, found.worked) == (known.id, 2)


@pytest.mark.proves("D58")
@pytest.mark.parametrize(
    "remedy", ["make deps", "pip install -r requirements.txt", "./setup.sh", "npm run codegen"]
)
def test_a_fix_of_this_project_stays_in_it(mind, clock, remedy):
    """Its own files and tasks mean nothing elsewhere; by hand it can still be moved up."""
    overcome(mind, clock, remedy=remedy)
    [found] = mind.activity.suggest_fix(MISSING, space=SPACE)
    assert mind.activity.suggest_fix(MISSING, space="me/other") == []
    mind.revise(found.memory.id, space="me")
    assert len(mind.activity.suggest_fix(MISSING, space="me/other")) == 1


@pytest.mark.proves("D10")
def test_a_remedy_that_stops_working_is_withdrawn(mind, clock):
    """Each time that the same error comes back after it, it is believed less; below one half it is
    no advice.
    """
    overcome(mind, clock)
    for n in range(2):
        run(mind, clock, "python app.py", MISSING.format("a", 1), f"again {n}")
        run(mind, clock, "pip install pyyaml", session=f"again {n}")
        run(mind, clock, "python app.py", MISSING.format("a", 1), f"again {n}")
        mind.settle()
        known = mind.browse(space=SPACE, kinds=["learning"])[0]
        assert known.details["remedy"]["failed"] == n + 1
        assert known.confidence == pytest.approx((1 + 1) / (2 + 1 + n + 1))
    assert mind.activity.suggest_fix(MISSING, space=SPACE) == []


@pytest.mark.proves("D12")
def test_the_commonest_errors_are_listed_first(mind, clock):
    """What is known of errors, by how often it was tried."""
    overcome(mind, clock, "python other.py", "touch data.csv", "x")
    for session in "ab":
        overcome(mind, clock, session=session)
    assert [(one.ran, one.worked) for one in mind.activity.known_fixes(space=SPACE)] == [
        (("pip install pyyaml",), 2),
        (("touch data.csv",), 1),
    ]
    assert len(mind.activity.known_fixes(space=SPACE, limit=1)) == 1


@pytest.mark.proves("D10")
def test_what_was_edited_is_the_remedy(mind, clock):
    """Edits count, looking does not; a failed edit and an edit of another conversation are none."""
    run(mind, clock, "make", "parse.c:3:5: error: 'lenght' undeclared (first use in this function)")
    mind.activity.record_file("parse.h", "read", session="s", space=SPACE)
    mind.activity.record_file("broken.c", "edit", ok=False, session="s", space=SPACE)
    mind.activity.record_file("other.c", "edit", session="elsewhere", space=SPACE)
    mind.record_tool("Edit", {"file_path": "parse.c"}, session="s", space=SPACE)
    run(mind, clock, "make")
    mind.settle()
    [found] = mind.activity.suggest_fix(
        "src/lib/parse.c:40:11: error: 'lenght' undeclared (first use in this function)",
        space=SPACE,
    )
    assert (found.ran, found.changed) == ((), ("parse.c",))


TAKEN = (
    'docker: Error response from daemon: Conflict. The container name "/{}" is already in use by '
    'container "4f1c9d0e77aa".'
)


def says(mind, text, session="s"):
    """The agent says something in its turn."""
    message = {"role": "assistant", "text": text}
    mind.context.flush()
    mind.record("turn", {"messages": [message], "first": 0}, space=SPACE, session=session)


@pytest.mark.proves("D10", "D41")
def test_a_remedy_says_what_was_wrong_and_what_destroys_is_no_advice(mind, clock):
    """The agent's explanation is told; `docker rm -f db` is told without the name, and another
    container is another matter.
    """
    run(mind, clock, "docker run --name db pg", TAKEN.format("db"))
    says(mind, "Let me look. An old container was left over from the last run.")
    run(mind, clock, "docker ps -a")
    run(mind, clock, "docker rm -f db")
    run(mind, clock, "docker run --name db pg")
    mind.settle()
    [found] = mind.activity.suggest_fix(TAKEN.format("db"), space=SPACE)
    assert "What was wrong: An old container was left over from the last run." in found.memory.text
    assert (found.ran, found.told) == ((), ("docker rm -f <name>",))
    assert "it went away after `docker rm -f <name>` had been run" in found.memory.text
    assert mind.activity.suggest_fix(TAKEN.format("web-prod"), space=SPACE) == []


@pytest.mark.proves("D10")
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "docker rm -f web-prod && docker volume rm pgdata",
            "docker rm -f <name> && docker volume rm <name>",
        ),
        ("git branch -D feature/pay", "git branch -D <name>"),
        ("git reset --hard origin/main", "git reset --hard origin/main"),
        ("git checkout -- src/pay.py", "git checkout -- <path>"),
        ("git stash drop stash@{0}", "git stash drop stash@{0}"),
        ("rm -rf node_modules invoices", "rm -rf node_modules <name>"),
        (
            "kubectl delete deployment billing --namespace=prod",
            "kubectl delete deployment <name> --namespace=<name>",
        ),
        ("psql -d shop -c 'drop table invoices'", "psql -d <name> -c 'drop table <name>'"),
        ("ssh sam@web1 'kill -9 99'", "ssh <name> 'kill -9 <process id>'"),
        ("aws s3 rb s3://acme-logs --force", "aws s3 rb s3://<name> --force"),
        ("redis-cli FLUSHALL", "redis-cli FLUSHALL"),
        ("flask db downgrade 3fa9", "flask db downgrade <name>"),
        ("git worktree remove --force ../wt-pay", "git worktree remove --force <path>"),
    ],
)
def test_what_was_destroyed_is_told_without_its_name(mind, clock, command, told):
    """A container, a branch, a table: the next one has another name. What was done stays."""
    run(mind, clock, "docker run --name db pg", TAKEN.format("db"))
    run(mind, clock, command)
    run(mind, clock, "docker run --name db pg")
    mind.settle()
    [found] = mind.activity.suggest_fix(TAKEN.format("db"), space=SPACE)
    assert (found.ran, found.told) == ((), (told,))


@pytest.mark.parametrize(
    "command",
    [
        "alembic downgrade base",
        "find /var/tmp -mtime +1 -delete",
        "truncate -s 0 /var/log/app.log",
        "rsync -a --delete empty/ cache/",
        "terraform force-unlock -force 6638e2d4",
        "gcloud sql instances delete shop",
        "git config --global http.sslVerify false",
    ],
)
def test_what_does_away_with_something_is_no_advice(mind, clock, command):
    """Nor does it only look, though `find` does as a rule."""
    run(mind, clock, "docker run --name db pg", TAKEN.format("db"))
    run(mind, clock, command)
    run(mind, clock, "docker run --name db pg")
    mind.settle()
    [found] = mind.activity.suggest_fix(TAKEN.format("db"), space=SPACE)
    assert found.ran == () and "look first" in found.memory.text


@pytest.mark.proves("D10")
@pytest.mark.parametrize(
    "said",
    [
        "Done. The problem was that the old server still held the port.",
        "Die Ursache war, dass der alte Server den Port noch belegte.",
        "El problema era que el servidor anterior seguía ocupando el puerto.",
        "原因是旧的服务器还占着端口。",
    ],
)
def test_what_was_wrong_may_be_said_when_the_turn_is_over(mind, clock, said):
    """As hosts tell hooks what the agent said: at its end. The night's log undoes it like all."""
    run(mind, clock, "python serve.py", "OSError: [Errno 98] Address already in use: 8080")
    run(mind, clock, "ss -ltnp")
    run(mind, clock, "kill -9 14531")
    run(mind, clock, "python serve.py")
    says(mind, said)
    mind.settle()
    [found] = mind.activity.suggest_fix(
        "OSError: [Errno 98] Address already in use: 3000", space=SPACE
    )
    assert found.memory.text.endswith(f"What was wrong: {said.removeprefix('Done. ')}")
    assert "14531" not in found.memory.text and "ss -ltnp" not in found.memory.text


@pytest.mark.proves("D10")
@pytest.mark.parametrize(
    "looks",
    ["ss -ltnp", "git remote -v", "systemctl status nginx", "lsof -i :80", "docker ps -a", "id -u",
     "kubectl describe pod x", "sudo journalctl -u api | tail", "aws s3api list-buckets", "npm ls"],
)  # fmt: skip
def test_looking_is_no_mending(mind, clock, looks):
    """Nothing was done, so nothing is learned."""
    overcome(mind, clock, remedy=looks)
    assert mind.activity.known_fixes(space=SPACE) == []


@pytest.mark.proves("D10")
def test_other_options_make_no_other_command(mind, clock):
    """It is the same command that is run again; an option that was added may be the remedy."""
    run(mind, clock, "git fetch origin", "git@github.com: Permission denied (publickey).")
    run(mind, clock, "ssh-add ~/.ssh/id_ed25519")
    run(mind, clock, "git fetch origin --prune")
    run(mind, clock, "npm install", "npm error ERESOLVE unable to resolve dependency tree", "t")
    run(mind, clock, "npm install --legacy-peer-deps", session="t")
    run(mind, clock, "tool x", "error: unknown setting y", "u")
    run(mind, clock, "tool x --help", session="u")
    mind.settle()
    assert {one.ran for one in mind.activity.known_fixes(space=SPACE)} == {
        ("ssh-add ~/.ssh/id_ed25519",),
        ("npm install --legacy-peer-deps",),
    }


@pytest.mark.proves("D41")
@pytest.mark.parametrize(
    ("met", "again", "other"),
    [
        ("/usr/bin/ld: cannot find -lz", "/opt/gcc/bin/ld: cannot find -lz", "ld: cannot find -lm"),
        (
            "error: failed to push some refs to 'github.com:a/b.git'",
            "error: failed to push some refs to 'origin'",
            "error: failed to lock some refs of 'origin'",
        ),
        (
            "git@github.com: Permission denied (publickey).",
            "ann@heron: Permission denied (publickey).",
            "cp: cannot open 'x': Permission denied",
        ),
        (
            "fatal: Unable to create '/home/a/x/.git/index.lock': File exists.",
            "fatal: Unable to create '/srv/y/.git/index.lock': File exists.",
            "fatal: Unable to create temporary file: No space left on device",
        ),
    ],
)
def test_another_prefix_is_the_same_error(mind, clock, met, again, other):
    """Of the program, of the remote, of the host."""
    run(mind, clock, "tool x", met)
    run(mind, clock, "tool repair")
    run(mind, clock, "tool x")
    mind.settle()
    assert [one.ran for one in mind.activity.suggest_fix(again, space=SPACE)] == [("tool repair",)]
    assert mind.activity.suggest_fix(other, space=SPACE) == []


@pytest.mark.proves("D10")
def test_an_assertion_is_no_error_with_a_remedy(mind, clock):
    """A test that fails while its code is written teaches nothing; what its fixture lacks does, by
    the line that says so.
    """
    failed = "E   assert 3 == 4\nFAILED tests/test_a.py::test_total - assert 3 == 4"
    lacks = "ERROR tests/test_o.py::test_o\nE       fixture 'db' not found"
    for error, new in ((failed, "return 4"), (lacks, "from fixtures import db")):
        run(mind, clock, "pytest -q", error)
        edit = {"file_path": "a.py", "old_string": "x = 1", "new_string": new}
        mind.record_tool("Edit", edit, session="s", space=SPACE)
        run(mind, clock, "pytest -q")
    mind.settle()
    [found] = mind.activity.known_fixes(space=SPACE)
    assert found.memory.title == "E fixture 'db' not found"
    assert "a.py (`x = 1` became `from fixtures import db`)" in found.memory.text


@pytest.mark.proves("D10")
def test_a_retry_is_no_remedy(mind, clock):
    """Nothing is learned where a failed command succeeds with nothing done in between, or days
    later.
    """
    run(mind, clock, "make", "error: no space left")
    run(mind, clock, "make")
    run(mind, clock, "make", "error: no space left")
    run(mind, clock, "rm -rf build")
    clock.tick(days=1)
    run(mind, clock, "make")
    mind.settle()
    assert mind.browse(space=SPACE, kinds=["learning"]) == []


REFUSED = "curl: (7) Failed to connect to localhost port 80: Connection refused"


@pytest.mark.proves("D10")
def test_another_folder_is_another_command(mind, clock):
    """`make` that fails in one folder and goes well in another one was not mended by what was done
    between.
    """
    wrong = "make: *** No rule to make target 'x'.  Stop."
    run(mind, clock, "cd /a && make", wrong, "one")
    run(mind, clock, "touch q", session="one")
    run(mind, clock, "cd /b && make", session="one")
    for folder, error in (("/a", wrong), ("/b", "")):
        mind.record_tool(
            "bash", {"command": "make", "cwd": folder}, error=error, session="two", space=SPACE
        )
        mind.record_tool("bash", {"command": "touch r", "cwd": folder}, session="two", space=SPACE)
    run(mind, clock, "make", wrong, "three")
    run(mind, clock, "cd /b", session="three")
    run(mind, clock, "touch q", session="three")
    run(mind, clock, "make", session="three")
    mind.settle()
    assert mind.activity.suggest_fix(wrong, space=SPACE) == []
    run(mind, clock, "cd /a && make", wrong, "four")
    run(mind, clock, "touch x", session="four")
    run(mind, clock, "make", session="four")  # the shell is still there
    mind.settle()
    assert [one.ran for one in mind.activity.suggest_fix(wrong, space=SPACE)] == [("touch x",)]


@pytest.mark.proves("D10", "CC-79")
def test_an_error_that_goes_away_by_itself_counts_against_its_remedies(mind, clock):
    """A remedy loses confidence when the same error also goes away without it."""
    run(mind, clock, "curl x", REFUSED)
    mind.activity.record_file("README.md", session="s", space=SPACE)
    run(mind, clock, "curl x")
    for times in (1, 2):
        run(mind, clock, "curl x", REFUSED)
        run(mind, clock, "ls")
        run(mind, clock, "curl x")
        mind.settle()
        [known] = mind.activity.known_fixes(space=SPACE)
        assert (known.worked, known.failed, known.alone) == (1, 0, times)
        assert known.chance == pytest.approx(2 / (3 + times))
        assert [one.why for one in mind.activity.suggest_fix(REFUSED, space=SPACE)] == [
            "the same error; worked 1 of 1 times; went away 1 times without it"
        ][: 2 - times]


@pytest.mark.proves("D10")
def test_a_different_error_does_not_count_against_a_remedy(mind, clock):
    """A remedy has not failed if the same command then fails with another error."""
    overcome(mind, clock)
    run(mind, clock, "python app.py", MISSING.format("a", 1), "t")
    run(mind, clock, "pip install pyyaml", session="t")
    run(mind, clock, "python app.py", "KeyError: 'port'", "t")
    mind.settle()
    [known] = mind.activity.known_fixes(space=SPACE)
    assert (known.worked, known.failed) == (1, 0)


@pytest.mark.parametrize(
    "idle",
    [
        "git commit -am wip",
        "pytest tests/test_one.py",
        "npm run lint",
        "cargo check",
        "python -m mypy src",
        "git push",
    ],
)
@pytest.mark.proves("D10")
def test_checks_and_commits_are_no_remedies(mind, clock, idle):
    """Commands that only test or commit are not learned as remedies."""
    overcome(mind, clock, remedy=idle)
    assert mind.activity.known_fixes(space=SPACE) == []


@pytest.mark.proves("D10")
def test_a_commit_is_the_remedy_where_an_error_asks_for_one(mind, clock):
    """A commit or a linter is the remedy of an error about uncommitted changes or style."""
    run(mind, clock, "npm version patch", "npm error Git working directory not clean.")
    run(mind, clock, "git commit -am wip")
    run(mind, clock, "npm version patch")
    run(mind, clock, "pre-commit run", "error: trailing whitespace found")
    run(mind, clock, "ruff check --fix src")
    run(mind, clock, "pre-commit run")
    mind.settle()
    assert {one.ran for one in mind.activity.known_fixes(space=SPACE)} == {
        ("git commit -am wip",),
        ("ruff check --fix src",),
    }


@pytest.mark.proves("CC-79")
def test_a_forgotten_remedy_is_not_suggested_or_learned_again(mind, clock):
    """A remedy is a memory: once forgotten it is neither suggested nor learned again."""
    overcome(mind, clock)
    mind.forget(mind.activity.suggest_fix(MISSING, space=SPACE)[0].memory.id)
    overcome(mind, clock)
    assert mind.activity.suggest_fix(MISSING, space=SPACE) == []


@pytest.mark.proves("D10", "D9")
def test_remedies_survive_an_export(mind, clock):
    """Export and import bring remedies and co-edits along."""
    overcome(mind, clock)
    for n in range(3):
        clock.tick(minutes=20)
        for path in ("a.py", "b.py"):
            mind.activity.record_file(path, task=f"t{n}", space=SPACE)
    mind.context.flush()
    with memory(now=clock, embedder="none") as other:
        other.data.import_(list(mind.data.export()))
        assert other.activity.suggest_fix(MISSING, space=SPACE)[0].ran == ("pip install pyyaml",)
        assert [one.path for one in other.activity.coedited("a.py", space=SPACE)] == ["b.py"]


@pytest.mark.proves("CC-79", "A67")
def test_conversations_teach_remedies_too(mind):
    """What extraction learned of an error and its fix is asked as well."""
    mind.remember(
        "`npm test` failed with “Error: Cannot find module 'left-pad'”; fixed by running `npm ci`.",
        kind="learning",
        space=SPACE,
    )
    [found] = mind.activity.suggest_fix(
        "node:internal:1\n  throw;\n\nError: Cannot find module 'left-pad'\n    at x (y.js:3)",
        space=SPACE,
    )
    assert found.ran == ("npm ci",)


@pytest.mark.proves("C36", "C38")
def test_workflows_wait_for_approval(mind, clock):
    """Commands that recur in three tasks are listed, wait in `pending`, and may surface once
    approved: a procedure, in their order, without what was run only once.
    """
    for n, once in enumerate(("uptime", "df -h", "free -m")):
        run(mind, clock, once, task=f"release {n}")
        for command in (
            f'git commit -m "step {n}"',
            "make lint",
            f"scp build/app-{n}.tar.gz host:/srv/",
        ):
            run(mind, clock, command, task=f"release {n}")
        run(mind, clock, f"python script{n}.py --own", task=f"release {n}")
        mind.activity.record_task(f"release {n}", "success", space=SPACE)
        mind.settle()
    [flow] = mind.activity.workflows(space=SPACE)
    assert flow.occasions == 3 and flow.steps[:2] == ('git commit -m "step 2"', "make lint")
    assert not {"uptime", "df -h", "free -m"} & set(flow.steps)
    [waiting] = [one for one in mind.review.pending(space=SPACE) if one.kind == "procedure"]
    assert waiting.details["steps"] == list(flow.steps)
    assert not is_mature(waiting)
    assert is_mature(mind.review.curate(waiting.id, "validated"))
    assert [one for one in mind.review.pending(space=SPACE) if one.kind == "procedure"] == []


# A repository's history


def git(folder, *words, at=1_750_000_000):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.c",
        "GIT_AUTHOR_DATE": f"{at} +0000",
        "GIT_COMMITTER_DATE": f"{at} +0000",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return subprocess.run(
        ["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout


def commit(repository, message, at=1_750_000_000, **files):
    for name, text in files.items():
        path = repository / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", message, at=at)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for n in range(3):
        commit(
            folder,
            f"Step {n}",
            1_750_000_000 + 9_000 * n,
            a__py=f"a{n}\n" * 9,
            b__py=f"{n}",
            **{f"c{n}__py": "x"},
        )
    return folder


@pytest.mark.proves("D9", "D14", "CC-76")
def test_history_is_taken_in_once(mind, repository):
    """Each commit once, the next time only what is new, and files that changed together."""
    assert mind.activity.learn_git(repository, space=SPACE).commits == 3
    commit(repository, "Fix the crash; token=ghp_0123456789abcdefghijklmnopqrstuvwxyz", a__py="z")
    done = mind.activity.learn_git(repository, space=SPACE)
    assert (done.commits, done.known, done.fixes) == (1, 3, 1)
    assert mind.activity.learn_git(repository, space=SPACE).commits == 0
    assert [
        (one.path, one.occasions, one.of) for one in mind.activity.coedited("a.py", space=SPACE)
    ] == [("b.py", 3, 4)]
    [fix] = mind.activity.events(["crash"], verbs=["commit"], space=SPACE)
    assert fix.payload["fix"] and "ghp_" not in fix.payload["message"]
    assert fix.payload["files"] == [["a.py", 1, 9]]


@pytest.mark.proves("D9")
def test_renames_are_followed(mind, repository):
    """What was known of the old name holds for the new one, also of a partner."""
    git(repository, "mv", "a.py", "new.py")
    commit(repository, "Rename", 1_750_800_000)
    git(repository, "mv", "b.py", "d.py")
    commit(repository, "Rename the other", 1_750_900_000)
    mind.activity.learn_git(repository, space=SPACE)
    assert [(one.path, one.occasions) for one in mind.activity.coedited("new.py", space=SPACE)] == [
        ("d.py", 3)
    ]


@pytest.mark.proves("D9")
def test_rewritten_history_adds_only_what_is_new(mind, repository):
    """After a commit was amended, the old ones are known and the new one is taken in."""
    mind.activity.learn_git(repository, space=SPACE)
    git(repository, "commit", "-q", "--amend", "-m", "Said better")
    done = mind.activity.learn_git(repository, space=SPACE)
    assert (done.commits, done.known) == (1, 3)


@pytest.mark.proves("D9")
def test_two_at_once_take_each_commit_in_once(tmp_path, clock, repository):
    """Two processes that learn one history at the same time write each commit once."""
    with memory(tmp_path / "home", now=clock) as one, memory(tmp_path / "home", now=clock) as other:
        run_in_threads(
            lambda: one.activity.learn_git(repository, space=SPACE),
            lambda: other.activity.learn_git(repository, space=SPACE),
        )
        assert len(one.activity.events(verbs=["commit"], space=SPACE)) == 3


def test_a_history_that_was_cut_off_says_only_what_it_knows(mind, repository, tmp_path):
    """The first commit of a shallow clone seems to make all files at once: it is left out until the
    rest is there.
    """
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{repository}", "cut")
    assert [mind.activity.learn_git(tmp_path / "cut", space=SPACE).commits for _ in range(2)] == [
        1,
        0,
    ]
    git(tmp_path / "cut", "fetch", "-q", "--unshallow")
    assert [mind.activity.learn_git(tmp_path / "cut", space=SPACE).commits for _ in range(2)] == [
        2,
        0,
    ]
    assert len(mind.activity.events(verbs=["commit"], space=SPACE)) == 3


@pytest.mark.proves("D9", "CC-76")
def test_a_rebase_makes_no_new_occasions(mind, repository):
    """Commits that were written anew are the same work."""
    mind.activity.learn_git(repository, space=SPACE)
    git(repository, "checkout", "-q", "--orphan", "other")
    git(repository, "rm", "-rqf", ".")
    commit(repository, "Before", at=1_740_000_000, d__py="d")
    git(repository, "cherry-pick", "main~2", "main~1", "main", at=1_760_000_000)
    git(repository, "branch", "-Mf", "main")
    assert mind.activity.learn_git(repository, space=SPACE).commits == 1
    assert [one.occasions for one in mind.activity.coedited("a.py", space=SPACE)] == [3]


def test_the_named_repository_is_read_within_a_git_hook(mind, repository, tmp_path, monkeypatch):
    """Git's hooks name their repository in the environment; another one that is asked for is read
    all the same.
    """
    (tmp_path / "hooked").mkdir()
    git(tmp_path / "hooked", "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "hooked/.git"))
    assert mind.activity.learn_git(repository, space=SPACE).commits == 3


@pytest.mark.proves("D9")
def test_huge_commits_and_merges_are_ignored(mind, repository):
    """Commits of 51 files and merge commits count for no pair of files."""
    for n in range(3):
        commit(repository, f"Reformat {n}", **{f"f{i}__py": f"{n}" for i in range(51)})
    git(repository, "checkout", "-qb", "side", "HEAD~1")
    commit(repository, "Beside", e__py="e")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    done = mind.activity.learn_git(repository, space=SPACE)
    assert (done.commits, done.left_out) == (7, 3)
    assert mind.activity.coedited("f1.py", space=SPACE) == []
    assert mind.activity.events(["Merge"], space=SPACE) == []


@pytest.mark.proves("D9")
def test_no_program_configured_by_a_repository_is_run(mind, repository, tmp_path):
    """Drivers, text converters, pagers, monitors and signature programs that it configures are not
    called.
    """
    trap, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py diff=trap filter=trap\n")
    commit(repository, "Attributes", a__py="new")
    for name in (
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "core.pager",
        "core.fsmonitor",
        "gpg.program",
        "filter.trap.smudge",
        "filter.trap.clean",
        "core.sshCommand",
    ):
        git(repository, "config", name, str(trap))
    git(repository, "config", "log.showSignature", "true")
    assert mind.activity.learn_git(repository, space=SPACE).commits == 4
    assert not sprung.exists()


@pytest.mark.proves("D9")
def test_a_hook_of_another_repository_does_not_lead_astray(mind, repository, tmp_path, monkeypatch):
    """Within a hook, git says by variables where it is at work; the folder that was asked about
    counts.
    """
    (other := tmp_path / "other").mkdir()
    git(other, "init", "-q", "-b", "main")
    commit(other, "Elsewhere", z__py="z")
    for name, value in (
        ("GIT_DIR", other / ".git"),
        ("GIT_INDEX_FILE", other / ".git" / "index"),
        ("GIT_WORK_TREE", other),
        ("GIT_PREFIX", "x/"),
        ("GIT_OBJECT_DIRECTORY", other / "none"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.bare"),
        ("GIT_CONFIG_VALUE_0", "nonsense"),
        ("GIT_NAMESPACE", "away"),
    ):
        monkeypatch.setenv(name, str(value))
    assert mind.activity.learn_git(repository, space=SPACE).commits == 3
    assert mind.activity.events(["Elsewhere"], space=SPACE) == []


@pytest.mark.proves("D9")
def test_a_missing_history_is_a_clear_error(mind, tmp_path):
    """No repository, no commit, no folder: a clear error, and nothing is written."""
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    for folder in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(BadInput, match="histor"):
            mind.activity.learn_git(folder, space=SPACE)
    assert mind.store.events() == []
