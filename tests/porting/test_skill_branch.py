"""Procedures as skills on a branch: written without touching the working tree, and read back."""

import json
import subprocess

import pytest
import yaml

from reverie.core.errors import BadInput
from reverie.porting import skill_pages
from reverie.porting.importers import choose_format
from tests.support.helpers import run_command

SPACE = "me/p"
PAGE = ".claude/skills/release-a-version/SKILL.md"


def git(tree, *words, given=None):
    """What a command of git says."""
    done = subprocess.run(
        ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", *words],
        cwd=tree,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path):
    """A repository in the middle of somebody's work: a staged, an altered and a new file."""
    tree = tmp_path / "shop"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    (tree / "a.txt").write_text("one\n")
    (tree / "b.txt").write_text("one\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    (tree / "a.txt").write_text("staged\n")
    git(tree, "add", "a.txt")
    (tree / "b.txt").write_text("altered\n")
    (tree / "new.txt").write_text("new\n")
    return tree


@pytest.fixture
def proven(mind):
    """A procedure that worked three times."""
    kept = mind.procedures.teach(
        "Release a version",
        ["bump the number", "tag it"],
        prerequisites=["a clean tree"],
        warnings=["never on Friday"],
        triggers=["release"],
        space=SPACE,
    )
    for _ in range(3):
        mind.procedures.outcome(kept.id, True)
    return mind.get([kept.id])[0]


def edit_page(tree, change):
    """Alter the page on the branch as a reviewer does, in a working tree of its own."""
    review = tree.parent / "review"
    git(tree, "worktree", "add", "-q", str(review), "reverie/skills")
    change(review / PAGE)
    git(review, "add", "-A")
    git(review, "commit", "-q", "-m", "reviewed")
    git(tree, "worktree", "remove", "--force", str(review))


def replace(old, new):
    """An edit: other words in the page."""
    return lambda page: page.write_text(page.read_text().replace(old, new))


def state(tree):
    """All that somebody sees of their working tree."""
    return git(tree, "status", "--porcelain"), git(tree, "rev-parse", "HEAD"), git(tree, "diff")


def test_a_page_keeps_to_the_format(proven):
    """Name and description within the limits of Agent Skills; read back it says the same."""
    text = skill_pages.render_skill(proven, skill_pages.name_skill(proven.title))
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["name"] == "release-a-version"
    assert head["description"] == "Release a version. Use it when it is about: release."
    assert head["metadata"] == {"reverie-memory": proven.id}
    assert skill_pages.is_said_by(proven, skill_pages.parse_skill(text))
    long = skill_pages.name_skill("Ä" * 5 + " very " * 40)
    assert len(long) <= 64 and not long.startswith("-") and not long.endswith("-")
    assert skill_pages.name_skill("Release a version", {"release-a-version"}) != "release-a-version"


def test_only_what_has_proved_itself_is_written(mind, repository, proven):
    """Two successes are too few, and so are three in six."""
    few = mind.procedures.teach("Few", ["a"], space=SPACE)
    mixed = mind.procedures.teach("Mixed", ["a"], space=SPACE)
    for _ in range(2):
        mind.procedures.outcome(few.id, True)
    for worked in (True, False) * 3:
        mind.procedures.outcome(mixed.id, worked)
    done = mind.procedures.publish(repository, space=SPACE)
    assert [(one.memory.id, one.path) for one in done.written] == [(proven.id, PAGE)]


def test_the_working_tree_is_not_touched(mind, repository, proven):
    """Neither files nor index nor HEAD; the branch has one commit more, with one file more."""
    before = state(repository)
    dry = mind.procedures.publish(repository, space=SPACE, dry_run=True)
    assert len(dry.written) == 1 and not dry.commit
    assert "reverie/skills" not in git(repository, "branch", "--list")
    done = mind.procedures.publish(repository, space=SPACE)
    assert before == state(repository)
    listed = git(repository, "diff", "--name-only", "main", "reverie/skills").split()
    assert listed == [PAGE]
    assert "worked 3 of 3 times" in git(repository, "log", "-1", "--format=%B", done.commit)
    again = mind.procedures.publish(repository, space=SPACE)
    assert (again.written, again.commit, again.event) == ((), "", 0)


def test_no_hook_of_the_repository_runs(mind, repository, proven):
    """Nor anything else that its configuration names."""
    hook = repository / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    mind.procedures.publish(repository, space=SPACE)
    assert not (repository / "hooked").exists()


def test_an_edited_page_revises_the_procedure(mind, repository, proven):
    """Only once it was reviewed; undo takes it back, and twice changes nothing."""
    mind.procedures.publish(repository, space=SPACE)
    edit_page(repository, replace("2. tag it", "2. tag it, signed\n3. push the tag"))
    looked = mind.procedures.adopt(repository, space=SPACE)
    assert ([one.what for one in looked.changes], looked.event) == (["edited"], 0)
    assert mind.procedures.publish(repository, space=SPACE).written == ()

    done = mind.procedures.adopt(repository, space=SPACE, reviewed=True)
    (now,) = mind.get([proven.id])
    assert now.details["steps"] == ["bump the number", "tag it, signed", "push the tag"]
    assert "push the tag" in now.text
    assert now.details["worked"] == 3
    assert mind.procedures.adopt(repository, space=SPACE, reviewed=True).changes == ()
    assert mind.procedures.publish(repository, space=SPACE).written == ()
    mind.undo(done.event)
    assert mind.get([proven.id])[0].details["steps"] == ["bump the number", "tag it"]
    assert [] == mind.data.verify()


def test_a_secret_in_a_page_is_taken_out(mind, repository, proven):
    """What a reviewer wrote is cleaned like any other text."""
    mind.procedures.publish(repository, space=SPACE)
    edit_page(repository, replace("tag it", "use ghp_abcdefghijklmnopqrstuvwxyz0123456789"))
    mind.procedures.adopt(repository, space=SPACE, reviewed=True)
    (now,) = mind.get([proven.id])
    assert "ghp_" not in now.text + str(now.details)


def test_a_removed_page_archives_the_procedure(mind, repository, proven):
    """Undo brings it back; a branch that never had the page removes nothing."""
    mind.procedures.publish(repository, space=SPACE)
    assert mind.procedures.adopt(repository, space=SPACE, ref="main", reviewed=True).changes == ()
    edit_page(repository, lambda page: page.unlink())
    done = mind.procedures.adopt(repository, space=SPACE, reviewed=True)
    assert [one.what for one in done.changes] == ["removed"]
    assert mind.get([proven.id])[0].retired_why == "removed in review"
    mind.undo(done.event)
    assert mind.get([proven.id])[0].active
    assert [one.what for one in mind.procedures.publish(repository, space=SPACE).changes] == [
        "removed"
    ]


MOVED = ".claude/skills/release/SKILL.md"


@pytest.mark.parametrize("keeps_head", [True, False])
@pytest.mark.parametrize("word", ["tag it", "tag it, signed"])
def test_a_renamed_page_is_not_taken_for_removed(mind, repository, proven, keeps_head, word):
    """It is known by the memory in its head, or as git knows it; from then on it lies there."""
    mind.procedures.publish(repository, space=SPACE)

    def rename(page):
        moved = page.parents[3] / MOVED
        moved.parent.mkdir(parents=True)
        page.rename(moved)
        text = moved.read_text().replace("2. tag it", f"2. {word}")
        moved.write_text(text if keeps_head else text.replace(proven.id, "x"))
        if not keeps_head:
            moved.write_text("\n".join(one for one in text.split("\n") if proven.id not in one))

    edit_page(repository, rename)
    what = "renamed" if word == "tag it" else "edited"
    assert mind.procedures.publish(repository, space=SPACE).written == ()
    done = mind.procedures.adopt(repository, space=SPACE, reviewed=True)
    assert [(one.what, one.path) for one in done.changes] == [(what, MOVED)]
    (now,) = mind.get([proven.id])
    assert now.active and now.details["steps"] == ["bump the number", word]
    assert mind.procedures.adopt(repository, space=SPACE, reviewed=True).changes == ()
    assert mind.procedures.publish(repository, space=SPACE).written == ()
    mind.undo(done.event)
    assert mind.get([proven.id])[0].details["steps"] == ["bump the number", "tag it"]


def test_what_changed_on_both_sides_is_told_and_left(mind, repository, proven):
    """Until somebody says whose words hold."""
    mind.procedures.publish(repository, space=SPACE)
    edit_page(repository, replace("tag it", "tag it there"))
    details = {**mind.get([proven.id])[0].details, "steps": ["bump it here", "tag it"]}
    mind.revise(proven.id, details=details)
    done = mind.procedures.adopt(repository, space=SPACE, reviewed=True)
    assert ([one.what for one in done.changes], done.event) == (["both"], 0)
    mind.procedures.adopt(repository, space=SPACE, reviewed=True, force=True)
    assert mind.get([proven.id])[0].details["steps"] == ["bump the number", "tag it there"]


def test_a_branch_that_is_checked_out_is_left_alone(mind, repository, proven):
    """So that nobody's working tree falls behind its branch."""
    git(repository, "stash", "-q")
    git(repository, "switch", "-q", "-c", "reverie/skills")
    with pytest.raises(BadInput, match="checked out"):
        mind.procedures.publish(repository, space=SPACE)
    with pytest.raises(BadInput, match="no branch"):
        mind.procedures.publish(repository, space=SPACE, branch="a..b")
    with pytest.raises(BadInput, match="no git repository"):
        mind.procedures.publish(repository.parent, space=SPACE)
    with pytest.raises(BadInput, match="no branch or commit"):
        mind.procedures.adopt(repository, space=SPACE, ref="--all")


def test_a_page_that_cannot_be_read_is_named(mind, repository, proven):
    """Nothing of it is taken over."""
    mind.procedures.publish(repository, space=SPACE)
    edit_page(repository, lambda page: page.write_text("# nothing\n"))
    done = mind.procedures.adopt(repository, space=SPACE, reviewed=True)
    assert [(one.what, done.event) for one in done.changes] == [("unreadable", 0)]


def test_agents_and_the_importer_read_the_page(mind, repository, proven, tmp_path):
    """What is written is a skill like any other."""
    mind.procedures.publish(repository, space=SPACE)
    folder = tmp_path / "out" / "release-a-version"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(git(repository, "show", f"reverie/skills:{PAGE}"))
    assert choose_format(folder).name == "skills"
    done = mind.data.import_from(folder, space="me/other", trusted=True)
    assert done.plan.kinds == {"skill": 1}


def test_the_commands(repository, tmp_path):
    """Teach, prove, publish, review, adopt: as people do it."""
    home = ("--home", str(tmp_path / "home"), "--space", SPACE)
    taught = run_command(
        "procedure", "teach", "Release a version", "--step", "tag it", *home, "--json"
    )
    id = json.loads(taught.stdout)["memory"]["id"]
    none = run_command("procedure", "publish", str(repository), *home)
    assert "Nothing to write" in none.stdout
    for _ in range(3):
        run_command("procedure", "outcome", id, "--home", str(tmp_path / "home"))
    did = run_command("procedure", "publish", str(repository), *home)
    assert PAGE in did.stdout and "written on reverie/skills" in did.stdout
    edit_page(repository, replace("1. tag it", "1. tag it, signed"))
    looked = run_command("procedure", "adopt", str(repository), *home)
    assert "edited" in looked.stdout and "--reviewed" in looked.stdout
    done = run_command("procedure", "adopt", str(repository), "--reviewed", *home)
    assert "Back: reverie undo" in done.stdout
