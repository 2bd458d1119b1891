"""Taking in the history of a repository: each commit becomes an event, once (D9, D14).

The log itself says how far we are: the newest commit of that repository in it. What is new since then is asked of git
and appended in one transaction; where history was rewritten, what is known already is left out. Merges are passed
over: what they brought stands in the commits that they joined.

Nothing of the repository is run and nothing is fetched: no hook, pager, filter, external diff, signature check or
remote, whatever its configuration says.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from reverie import config
from reverie.errors import BadInput
from reverie.lifecycle.experience import COMMIT
from reverie.lifecycle.experience.commits import FORMAT, Commit, commits, payload
from reverie.lifecycle.intake import cleaned, private
from reverie.model import Event
from reverie.settle.reading import Work

GIT = ("git", "--no-pager", "--no-optional-locks", "--no-replace-objects", "-c", "core.fsmonitor=false",
       "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false", "-c", "protocol.allow=never",
       "-c", "core.quotePath=false", "-c", "diff.renameLimit=200")
LOG = ("log", "-z", "--numstat", "-M", "--reverse", "--no-merges", "--no-ext-diff", "--no-textconv", "--no-color",
       "--no-show-signature", f"--format={FORMAT}")
MOST_KNOWN = 1_000_000   # commits of one repository
CHUNK = 1 << 16


class Chronicle(NamedTuple):
    """What a repository's history came to."""

    repository: str          # the id of its first commit: the same in every clone
    commits: int = 0         # that are new
    files: int = 0           # changes of files in them
    fixes: int = 0           # that say that they put something right
    left_out: int = 0        # with more files than say anything of any two
    known: int = 0           # that were in the log before


def chronicled(work: Work, folder: Path, space: str) -> Chronicle:
    """Take in what is new in the history of the repository at `folder`."""
    repository = first_commit(folder)
    seen = [event for event in work.store.happened((COMMIT,), space=space, containing=[repository], limit=MOST_KNOWN)
            if event.payload.get("repository") == repository]
    known = {str(event.payload.get("commit")) for event in seen}
    newest = max(seen, key=lambda event: event.seq, default=None)
    last = str(newest.payload.get("commit")) if newest else ""
    since = (f"^{last}",) if last and exists(folder, last) else ()
    done, new = Chronicle(repository, known=len(known)), []
    for one in history(folder, since):
        if one.id not in known:
            new.append(event_of(one, repository, space))
            done = counted(done, one, new[-1])
    with work.store.alone():
        work.store.append(new)
    return done


def history(folder: Path, since: tuple[str, ...]) -> Iterator[Commit]:
    """Commits from the oldest to the newest, as git tells them."""
    with asked(folder, (*LOG, "HEAD", *since, "--")) as git:
        assert git.stdout
        with closing(git.stdout):
            yield from commits(iter(lambda: git.stdout.read(CHUNK), b""))  # type: ignore[union-attr]
        said = git.stderr.read() if git.stderr else b""
    if git.returncode:
        raise BadInput(f"git could not tell the history of {folder}: {first_line(said)}")


def first_commit(folder: Path) -> str:
    """The id of a repository's first commit; BadInput where there is none."""
    with asked(folder, ("rev-list", "--max-parents=0", "HEAD", "--")) as git:
        told, said = git.communicate()
    ids = told.decode("ascii", "replace").split()
    if git.returncode or not ids:
        raise BadInput(f"There is no history to learn from in {folder}: {first_line(said) or 'no commit yet'}")
    return ids[-1]


def exists(folder: Path, commit: str) -> bool:
    """Whether this commit is still part of the present history."""
    with asked(folder, ("merge-base", "--is-ancestor", commit, "HEAD")) as git:
        git.communicate()
    return git.returncode == 0


def asked(folder: Path, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Git, at work in a folder."""
    try:
        return subprocess.Popen([*GIT, *words], cwd=folder, env=config.without_git(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError as err:
        missing = f"there is no folder {folder}" if not folder.is_dir() else "git is not installed"
        raise BadInput(f"The history of {folder} cannot be read: {missing}") from err
    except NotADirectoryError as err:
        raise BadInput(f"{folder} is no folder") from err


def first_line(said: bytes) -> str:
    """What git complained about."""
    return next(iter(said.decode("utf-8", "replace").splitlines()), "")


def event_of(commit: Commit, repository: str, space: str) -> Event:
    """A commit as an event, free of secrets."""
    told = cleaned(payload(commit, repository, private(commit.message)))
    told["files"] = [[private(file[0]), *file[1:3], *map(private, file[3:])] for file in told["files"]]
    return Event(verb=COMMIT, space=space, at=commit.at, payload=told)


def counted(done: Chronicle, commit: Commit, event: Event) -> Chronicle:
    """The tally with one more commit."""
    return done._replace(commits=done.commits + 1, files=done.files + len(commit.files),
                         fixes=done.fixes + commit.fixes, left_out=done.left_out + ("left_out" in event.payload))
