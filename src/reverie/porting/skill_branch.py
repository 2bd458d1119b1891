"""Skills on a branch of a repository: written there for review, and what became of them read back.

Only objects of git are made and one branch is moved: no file of the working tree, no index, and no
branch that somebody has checked out is touched. No hook of the repository runs.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reverie.activity.git_history import GIT_COMMAND
from reverie.core import config
from reverie.core.errors import BadInput, ExtraMissing
from reverie.core.model import Memory
from reverie.memory.procedure import read_practice_record
from reverie.porting.skill_pages import (
    PAGE,
    describe_record,
    digest_page,
    is_said_by,
    name_skill,
    parse_skill,
    read_skill_detail,
    render_skill,
)

MAX_RENAMES = 20  # one after the other, that are followed
BRANCH, FOLDER = "reverie/skills", ".claude/skills"
# who is named where the repository's user has no name
NOBODY = ("-c", "user.name=Reverie", "-c", "user.email=reverie@localhost")
MAX_PAGE_BYTES = 1 << 20


class SkillDraft(NamedTuple):
    """A page that is to be written."""

    memory: Memory
    path: str
    text: str


class SkillChange(NamedTuple):
    """What became of a page in review."""

    memory: Memory
    path: str
    what: str  # "edited", "removed", "renamed", "both", "unreadable"
    text: str = ""
    why: str = ""


class SkillRepository:
    """A repository of git, by its plumbing."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self._git("rev-parse", "--git-dir", why=f"{tree} is no git repository")

    def tip(self, branch: str) -> str:
        """The commit of a branch, a tag or any name; empty if there is none."""
        if branch.startswith("-"):
            return ""
        return self._git("rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}", may_fail=True)

    def read_page(self, commit: str, path: str) -> str | None:
        """A page as it is in a commit; None if it is not there."""
        found = self._git("rev-parse", "--verify", "--quiet", f"{commit}:{path}", may_fail=True)
        if not found:
            return None
        if int(self._git("cat-file", "-s", found)) > MAX_PAGE_BYTES:
            raise BadInput(f"{path} is larger than {MAX_PAGE_BYTES >> 20} MB")
        return self._git("cat-file", "blob", found, strip=False)

    def has_removed(self, commit: str, path: str) -> bool:
        """True if a page was there before a commit, and somebody took it away."""
        return bool(self._git("log", "-1", "--diff-filter=D", "--format=%H", commit, "--", path))

    def find_renamed(self, commit: str, path: str, memory_id: str) -> str:
        """Where a page lies that was there before a commit and was given another name; empty if it
        is nowhere. It names its memory in its head, or git knows it by what it says.
        """
        listed = self._git("ls-tree", "-r", "-z", "--name-only", commit, strip=False).split("\0")
        for other in listed:
            if other.rpartition("/")[2] == PAGE and memory_id in (
                self.read_page(commit, other) or ""
            ):
                return other
        for _ in range(MAX_RENAMES):
            path = self._follow_rename(commit, path)
            if not path or path in listed:
                return path
        return ""

    def _follow_rename(self, commit: str, path: str) -> str:
        """What a page was called by the commit that took its name away; empty if it went."""
        removal = self._git("log", "-1", "--diff-filter=D", "--format=%H", commit, "--", path)
        words = ("diff-tree", "-r", "-M", "-z", "--diff-filter=R", "--name-status", "--root")
        told = self._git(*words, "--no-commit-id", removal, strip=False) if removal else ""
        parts = told.split("\0")
        renames = dict(zip(parts[1::3], parts[2::3], strict=False))
        return renames.get(path, "")

    def list_skill_names(self, commit: str, folder: str) -> set[str]:
        """The skills that lie in a folder of a commit."""
        listed = self._git("ls-tree", "--name-only", commit, f"{folder}/") if commit else ""
        return {Path(line).name for line in listed.split("\n") if line}

    def commit_pages(self, branch: str, pages: Mapping[str, str], message: str) -> str:
        """Commit pages, by path, on a branch, which is made from HEAD if there is none; the commit.

        BadInput if somebody has the branch checked out, or if it was moved meanwhile.
        """
        self._git("check-ref-format", f"refs/heads/{branch}", why=f"{branch!r} names no branch")
        if f"branch refs/heads/{branch}" in self._git("worktree", "list", "--porcelain").split(
            "\n"
        ):
            raise BadInput(
                f"{branch} is checked out, and your working tree is left alone: switch to another "
                "branch first, or name one with --branch"
            )
        old = self.tip(f"refs/heads/{branch}")
        base = old or self.tip("HEAD")
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._git("read-tree", *([base] if base else ["--empty"]), env=index)
            for path, text in pages.items():
                blob = self._git("hash-object", "-w", "--stdin", given=text)
                entry = f"100644,{blob},{path}"
                self._git("update-index", "--add", "--cacheinfo", entry, env=index)
            tree = self._git("write-tree", env=index)
        if base and tree == self._git("rev-parse", f"{base}^{{tree}}"):
            return base
        identity = () if self._git("config", "user.email", may_fail=True) else NOBODY
        parent = ("-p", base) if base else ()
        made = self._git("commit-tree", tree, *parent, given=message, options=identity)
        self._git(
            *("update-ref", f"refs/heads/{branch}", made, old or "0" * len(made)),
            why=f"{branch} was moved by somebody else meanwhile: do it again",
        )
        return made

    def _git(
        self,
        *words: str,
        given: str = "",
        env: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        why: str = "",
        may_fail: bool = False,
        strip: bool = True,
    ) -> str:
        """What a command of git says; BadInput, or "" if it may fail, where it does."""
        command = [*GIT_COMMAND, *options, "-C", str(self.tree), *words]
        try:
            done = subprocess.run(
                command,
                input=given.encode(),
                env={**config.environment_without_git(), **(env or {})},
                capture_output=True,
                check=False,
            )
        except FileNotFoundError as err:
            raise ExtraMissing("git is not installed, and skills are written by it") from err
        if done.returncode:
            if may_fail:
                return ""
            said = done.stderr.decode("utf-8", "replace").strip()
            raise BadInput(why or f"git {words[0]}: {said.splitlines()[-1] if said else 'failed'}")
        text = done.stdout.decode("utf-8", "replace")
        return text.strip() if strip else text


def draft_pages(
    repository: SkillRepository,
    branch: str,
    folder: str,
    memories: Sequence[Memory],
    *,
    force: bool = False,
) -> tuple[list[SkillDraft], list[SkillChange]]:
    """The pages to write for procedures, and those that were altered on the branch: they are left,
    unless `force`.
    """
    tip = repository.tip(f"refs/heads/{branch}") or repository.tip("HEAD")
    taken = repository.list_skill_names(tip, folder)
    drafts, altered = list[SkillDraft](), list[SkillChange]()
    for memory in memories:
        path, digest = read_skill_detail(memory)
        path = path or choose_page_path(repository, tip, folder, memory, taken)
        taken.add(Path(path).parent.name)
        text = render_skill(memory, Path(path).parent.name)
        present = repository.read_page(tip, path) if tip else None
        is_new = present is None or digest_page(present) != digest_page(text)
        if force and is_new:
            drafts.append(SkillDraft(memory, path, text))
        elif present is None and digest and tip and repository.has_removed(tip, path):
            altered.append(find_moved_page(repository, tip, memory, path, digest))
        elif present is not None and digest_page(present) != digest and is_new:
            altered.append(SkillChange(memory, path, "edited", present))
        elif not digest or (is_new and not is_adopted(memory, present)):
            drafts.append(SkillDraft(memory, path, text))
    return drafts, altered


def choose_page_path(
    repository: SkillRepository,
    tip: str,
    folder: str,
    memory: Memory,
    taken: set[str],
) -> str:
    """Where the page of a procedure is to lie: where one that was made from it lies already."""
    path = f"{folder}/{name_skill(memory.title)}/{PAGE}"
    present = repository.read_page(tip, path) if tip else None
    if present is not None and memory.id in present:
        return path
    return f"{folder}/{name_skill(memory.title, taken)}/{PAGE}"


def is_adopted(memory: Memory, present: str | None) -> bool:
    """True if a procedure is what its page says, however people laid that out."""
    if present is None:
        return False
    try:
        return is_said_by(memory, parse_skill(present))
    except BadInput:
        return False


def describe_drafts(drafts: Sequence[SkillDraft]) -> str:
    """The message of the commit: which skills, and how often each has worked."""
    first = "A procedure that has proved itself, as a skill for review"
    if len(drafts) > 1:
        first = f"{len(drafts)} procedures that have proved themselves, as skills for review"
    lines = [
        f"- {one.memory.title}: {describe_record(read_practice_record(one.memory))}"
        for one in drafts
    ]
    return "\n".join((first, "", *lines, ""))


def find_changes(
    repository: SkillRepository,
    ref: str,
    memories: Sequence[Memory],
) -> list[SkillChange]:
    """What became of the pages of procedures, as a branch or commit has them.

    "both" is a page that was edited while the procedure changed here.
    """
    commit = repository.tip(ref)
    if not commit:
        raise BadInput(
            f"There is no branch or commit {ref} here. reverie procedure publish makes "
            f"{BRANCH}; another one is named by --ref"
        )
    changes: list[SkillChange] = []
    for memory in memories:
        path, digest = read_skill_detail(memory)
        if not path:
            continue
        present = repository.read_page(commit, path)
        if present is None:
            if repository.has_removed(commit, path):
                changes.append(find_moved_page(repository, commit, memory, path, digest))
        elif digest_page(present) != digest:
            changes.append(compare_page(memory, path, digest, present))
    return [one for one in changes if one.what]


def find_moved_page(
    repository: SkillRepository,
    commit: str,
    memory: Memory,
    path: str,
    digest: str,
) -> SkillChange:
    """What became of a page that is no longer where it was: it has another name, or none."""
    other = repository.find_renamed(commit, path, memory.id)
    present = repository.read_page(commit, other) if other else None
    if present is None:
        return SkillChange(memory, path, "removed")
    found = compare_page(memory, path, digest, present)
    return found._replace(path=other, what=found.what or "renamed", text=present)


def compare_page(memory: Memory, path: str, digest: str, present: str) -> SkillChange:
    """What an altered page comes to; `what` is empty where it says what the procedure says."""
    try:
        page = parse_skill(present)
    except BadInput as err:
        return SkillChange(memory, path, "unreadable", why=str(err))
    if page.memory_id not in ("", memory.id):
        return SkillChange(memory, path, "unreadable", why="it names another memory in its head")
    if is_said_by(memory, page):
        return SkillChange(memory, path, "")
    here = digest_page(render_skill(memory, Path(path).parent.name))
    return SkillChange(memory, path, "edited" if here == digest else "both", present)
