"""Importing the history of a repository: each commit becomes an event, once.

The log itself says how far we are: the newest commit of that repository in it. What is new since
then is asked of git and appended in one transaction; where history was rewritten, what is known
already is left out. Merges are passed over: what they brought stands in the commits that they
joined.

What `git log --numstat -z` prints is read as it comes. A commit of more than 50 files keeps only
how many they were: it was a move, an import or a new formatter, and says nothing about any two
files.

Always true: nothing of the repository is run and nothing is fetched: no hook, pager, filter,
external diff, signature check or remote, whatever its configuration says.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from reverie.activity import COMMIT
from reverie.activity.co_change import MAX_FILES_PER_CHANGE
from reverie.core import config
from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import to_clean_json
from reverie.pipeline.event_reader import WorkContext
from reverie.privacy.redacted_text import redact_short_text

GIT_LOG_FORMAT = "%x01%H%x1f%ct%x1f%at%x1f%s"
# Longer messages are cut, changes of longer paths left out.
MAX_MESSAGE_CHARS = 300
MAX_PATH_CHARS = 400

# Words of a message that says that it puts something right.
FIX_WORDS = re.compile(
    r"\b(?:bug ?)?fix(?:e[sd]|ing)?\b|\bhot ?fix|\bbugs?\b|\bregressions?\b|\bcrash(?:es|ed)?\b|"
    r"\brepairs?\b|\bresolves? (?:#|issue)",
    re.IGNORECASE,
)
# No hook, file system monitor, signature check or remote of the repository's own may run, whatever
# its configuration says; paths come as they are, and renames are looked for in 200 files at most.
GIT_COMMAND = [
    "git",
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "protocol.allow=never",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.renameLimit=200",
]
LOG_ARGUMENTS = (
    *["log", "-z", "--numstat", "-M", "--reverse", "--no-merges"],
    *["--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature"],
    f"--format={GIT_LOG_FORMAT}",
)
MAX_KNOWN_COMMITS = 1_000_000
CHUNK_BYTES = 1 << 16


class Commit(NamedTuple):
    """One commit."""

    id: str
    at: float  # when it was committed, seconds since 1970
    message: str  # its first line
    # (path, lines added, lines taken away) and, if renamed, the name before
    files: tuple[tuple[Any, ...], ...]
    authored: float = 0.0  # when it was written; a rebase leaves that as it was

    @property
    def fixes(self) -> bool:
        """True if its message says that it puts something right."""
        return FIX_WORDS.search(self.message) is not None


class GitImport(NamedTuple):
    """The result of importing a repository's history: counts."""

    repository: str  # the id of its first commit: the same in every whole clone
    commits: int = 0  # that are new
    files: int = 0  # changes of files in them
    fixes: int = 0  # that say that they put something right
    left_out: int = 0  # with more files than say anything of any two
    known: int = 0  # of it that were in the log before


def import_git_history(
    work: WorkContext,
    folder: Path,
    space: str,
    most: int | None = None,
) -> GitImport:
    """Take in what is new in the history of the repository at `folder`: each commit once, whoever
    else is at it; nothing, if that is more than `most`.
    """
    # A repository is known by its first commit: the same in every clone, whatever the folder.
    roots = list_root_commits(folder)
    first = roots[0]
    seen = work.store.search_events(
        (COMMIT,),
        space=space,
        containing=[first],
        limit=MAX_KNOWN_COMMITS,
    )
    known = [event for event in seen if event.payload.get("repository") == first]
    # The roots of a shallow clone seem to have made all files at once.
    left_out = list(roots) if is_shallow_clone(folder) else []
    if known:
        last = str(max(known, key=lambda event: event.seq).payload.get("commit"))
        # After a rebase the last one known is no part of the history: then all of it is read again.
        if last and is_ancestor_commit(folder, last):
            left_out.append(last)
    since = tuple(f"^{id}" for id in left_out)
    done = GitImport(first, known=len(known))
    if most is not None and count_git_commits(folder, since) > most:
        return done
    commits = list(read_git_commits(folder, since))
    if not commits:
        return done
    with work.store.transaction():
        return append_new_commits(work, commits, done, space)


def append_new_commits(
    work: WorkContext,
    found: Iterable[Commit],
    done: GitImport,
    space: str,
) -> GitImport:
    """Append those of the commits that are not in the log, and count them."""
    seen = work.store.search_events(
        (COMMIT,),
        space=space,
        limit=MAX_KNOWN_COMMITS,
    )
    known_ids = {str(event.payload.get("commit")) for event in seen}
    # Of a commit that was rewritten the first version is kept: it is one occasion.
    known_keys = {get_rewrite_key(event.payload) for event in seen} - {None}
    new: list[Event] = []
    for commit in found:
        event = to_commit_event(commit, done.repository, space, work.policy.within(space))
        if commit.id not in known_ids and get_rewrite_key(event.payload) not in known_keys:
            new.append(event)
            done = done._replace(
                commits=done.commits + 1,
                files=done.files + len(commit.files),
                fixes=done.fixes + commit.fixes,
                left_out=done.left_out + ("left_out" in event.payload),
            )
    work.store.append(new)
    return done


def count_git_commits(folder: Path, since: tuple[str, ...]) -> int:
    """How many commits `read_git_commits` would tell of; 0 if git fails."""
    with start_git(folder, ("rev-list", "--count", "--no-merges", "HEAD", *since, "--")) as git:
        told = git.communicate()[0].strip()
    return int(told) if told.isdigit() else 0


def read_git_commits(folder: Path, since: tuple[str, ...]) -> Iterator[Commit]:
    """Commits from the oldest to the newest, as git tells them; BadInput if it fails."""
    with start_git(folder, (*LOG_ARGUMENTS, "HEAD", *since, "--")) as git:
        output = git.stdout
        assert output
        with closing(output):
            yield from parse_git_log(iter(lambda: output.read(CHUNK_BYTES), b""))
        complaint = git.stderr.read() if git.stderr else b""
    if git.returncode:
        raise BadInput(f"git could not tell the history of {folder}: {get_first_line(complaint)}")


def list_root_commits(folder: Path) -> list[str]:
    """The ids of a repository's first commits, the oldest first; BadInput where there is none."""
    with start_git(folder, ("rev-list", "--max-parents=0", "HEAD", "--")) as git:
        output, complaint = git.communicate()
    ids = output.decode("ascii", "replace").split()
    if git.returncode or not ids:
        why = get_first_line(complaint) or "no commit yet"
        raise BadInput(f"There is no history to learn from in {folder}: {why}")
    return ids[::-1]


def get_repository_id(folder: Path) -> str:
    """The id of a repository's first commit; empty where there is no history to be read."""
    try:
        return list_root_commits(folder)[0]
    except BadInput:
        return ""


def is_shallow_clone(folder: Path) -> bool:
    """True if the history was cut off somewhere (`git clone --depth`)."""
    with start_git(folder, ("rev-parse", "--is-shallow-repository")) as git:
        return git.communicate()[0].strip() == b"true"


def is_ancestor_commit(folder: Path, commit: str) -> bool:
    """True if this commit is still part of the present history."""
    with start_git(folder, ("merge-base", "--is-ancestor", commit, "HEAD")) as git:
        git.communicate()
    return git.returncode == 0


def start_git(
    folder: Path,
    words: tuple[str, ...],
) -> subprocess.Popen[bytes]:
    """A git process at work in a folder; BadInput where there is no folder or no git."""
    try:
        return subprocess.Popen(
            [*GIT_COMMAND, *words],
            cwd=folder,
            env=config.environment_without_git(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError as err:
        missing = f"there is no folder {folder}" if not folder.is_dir() else "git is not installed"
        raise BadInput(f"The history of {folder} cannot be read: {missing}") from err
    except NotADirectoryError as err:
        raise BadInput(f"{folder} is not a folder") from err


def get_first_line(complaint: bytes) -> str:
    """The first line of what git complained about; empty if nothing."""
    return next(iter(complaint.decode("utf-8", "replace").splitlines()), "")


def to_commit_event(
    commit: Commit,
    repository: str,
    space: str,
    policy: Policy,
) -> Event:
    """A commit as an event, free of secrets."""
    message = redact_short_text(commit.message, policy)
    payload = to_clean_json(make_commit_payload(commit, repository, message))
    files = []
    for path, added, deleted, *before in payload["files"]:
        names = [redact_short_text(name, policy) for name in before]
        files.append([redact_short_text(path, policy), added, deleted, *names])
    return Event(
        verb=COMMIT,
        space=space,
        at=commit.at,
        payload={**payload, "files": files},
    )


# What git prints


def parse_git_log(chunks: Iterable[bytes]) -> Iterator[Commit]:
    """The commits in git's output, which may be cut anywhere."""
    head: list[str] = []
    files: list[tuple[Any, ...]] = []
    parts = (part.decode("utf-8", "replace").lstrip("\n") for part in split_nul_fields(chunks))
    for part in parts:
        if part.startswith("\x01"):
            if head:
                yield make_commit(head, files)
            head, files = part[1:].split("\x1f", 3), []
        elif part.count("\t") >= 2:
            added, deleted, path = part.split("\t", 2)
            # Of a renamed file the path is empty, and the old and the new name follow.
            before = () if path else (next(parts, ""),)
            path = path or next(parts, "")
            files.append((path, parse_line_count(added), parse_line_count(deleted), *before))
    if head:
        yield make_commit(head, files)


def split_nul_fields(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The fields between NUL bytes."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest:
        yield rest


def parse_line_count(count: str) -> int:
    """A number of lines; 0 for the "-" that git writes for binary files."""
    return int(count) if count.isdecimal() else 0


def make_commit(
    head: list[str],
    files: list[tuple[Any, ...]],
) -> Commit:
    """A commit from git's head line and its files."""
    id, at, authored, message = (*head, "", "", "")[:4]
    return Commit(
        id, parse_git_time(at), message[:MAX_MESSAGE_CHARS], tuple(files), parse_git_time(authored)
    )


def parse_git_time(seconds: str) -> float:
    """Seconds since 1970; 0 for what is no time."""
    return float(seconds) if seconds.lstrip("-").isdecimal() else 0.0


def get_rewrite_key(payload: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The (author's time, message) that a commit shares with its rewritten version; None if not
    known.
    """
    at, message = payload.get("authored"), payload.get("message")
    return (at, message) if at and message else None


def make_commit_payload(
    commit: Commit,
    repository: str,
    message: str,
) -> dict[str, Any]:
    """What the log keeps of a commit; `message` is its own, without secrets."""
    is_small = len(commit.files) <= MAX_FILES_PER_CHANGE
    renamed = [file for file in commit.files if len(file) > 3 and file[0] != file[3]]
    # Names must be followed, whatever else a commit did.
    kept = commit.files if is_small else renamed
    payload: dict[str, Any] = {
        "commit": commit.id,
        "repository": repository,
        "message": message,
        "fix": commit.fixes,
        "authored": commit.authored,
        "files": [list(file) for file in kept if len(str(file[0])) <= MAX_PATH_CHARS],
    }
    if renamed:
        payload["renames"] = len(renamed)
    if not is_small:
        payload["left_out"] = len(commit.files)
    return payload
