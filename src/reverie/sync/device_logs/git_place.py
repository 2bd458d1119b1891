"""A git repository as the place through which logs move, by the `git` command.

A bare repository in the home stands between. Each device has a branch of its own,
`reverie/<device>`, which nobody else writes, so nothing is ever merged and no push is refused
because of another device. When files are taken away, as after a purge, the branch begins anew with
one commit, so that its history does not keep them. git asks nobody for a password: what needs one
is trouble that is noted.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree

from reverie.core import clock
from reverie.core.atomic_file import make_private_folder
from reverie.core.config import environment_without_git
from reverie.sync.device_logs.batch_file import owner_of
from reverie.sync.device_logs.log_folder import CLONES, CannotShow, PlaceAway
from reverie.sync.device_logs.log_state import hide_login

BRANCHES = "refs/heads/reverie"
FETCHED = "refs/remotes/place/reverie"
SECONDS = 60.0  # that one command may take
PUSHES = 3
MAX_SAID = 300  # letters of what a git host says
PAUSE = 0.5  # seconds before a push is tried again
NO_REPOSITORY = "not a git repository"  # what git says of a copy of which too much is gone
AUTHOR = ("-c", "user.name=reverie", "-c", "user.email=reverie@localhost")


class GitRefused(PlaceAway):
    """A git command failed."""

    def __init__(self, message: str = "", refusal: str = "") -> None:
        super().__init__(message)
        self.refusal = refusal  # why the other side takes no push, as it says; "" for other errors


class GitPlace:
    """A git repository, seen from one device."""

    def __init__(self, url: str, device: str, home: Path) -> None:
        self.url, self.device = url, device
        self.shown = hide_login(url)
        name = hashlib.sha256(url.encode()).hexdigest()[:12]
        self.path = Path(home) / CLONES / name
        self._objects: dict[str, str] = {}  # file → its object
        self._own: dict[str, str] = {}
        self._is_changed = self._is_shortened = False

    def open(self) -> None:
        """Fetch what is there now; a copy in the home that a crash has damaged is made anew."""
        try:
            self._fetch()
        except GitRefused:
            if not self._is_damaged():
                raise
            rmtree(self.path, ignore_errors=True)
            self._fetch()

    def _is_damaged(self) -> bool:
        """True if the repository answers, so that what is wrong is the copy in the home."""
        try:
            self._git("ls-remote", "--heads", self.url)
        except PlaceAway as err:
            return NO_REPOSITORY in str(err)
        return True

    def _fetch(self) -> None:
        if not (self.path / "HEAD").exists():
            make_private_folder(self.path)
            self._git("init", "--bare", "--quiet", ".")
        wanted = f"+{BRANCHES}/*:{FETCHED}/*"
        self._git("fetch", "--quiet", "--prune", "--no-tags", self.url, wanted)
        listed = self._git("for-each-ref", "--format=%(refname)", FETCHED)
        self._objects = {}
        for branch in listed.split():
            self._objects |= self._list_files(branch)
        self._own = {
            name: one for name, one in self._objects.items() if name.startswith(f"{self.device}-")
        }
        self._is_changed = self._is_shortened = False

    def sizes(self) -> dict[str, int]:
        """The files of logs by name, with their sizes."""
        if not self._objects:
            return {}
        names = list(self._objects)
        answer = self._git(
            "cat-file",
            "--batch-check=%(objectsize)",
            given="\n".join(self._objects[name] for name in names).encode(),
        )
        return dict(zip(names, map(int, answer.split()), strict=True))

    def read(self, name: str) -> bytes:
        """What a file holds."""
        return self._run("cat-file", "blob", self._objects[name])

    def write(self, name: str, data: bytes) -> None:
        """Put a file into the next commit."""
        found = self._git("hash-object", "-w", "--stdin", given=data).strip()
        self._is_changed |= self._own.get(name) != found
        self._own[name] = self._objects[name] = found

    def remove(self, name: str) -> None:
        """Leave a file out of the next commit."""
        if self._own.pop(name, None) is not None:
            self._is_changed = self._is_shortened = True
        self._objects.pop(name, None)

    def erase_log(self, device: str) -> None:
        """Take away the branch of a device. No commit that can be reached has its files then."""
        if not self._find(f"{FETCHED}/{device}"):
            return
        self._push(f":{BRANCHES}/{device}")
        self._git("update-ref", "-d", f"{FETCHED}/{device}")
        self._objects = {
            name: one for name, one in self._objects.items() if owner_of(name) != device
        }

    def finish(self) -> None:
        """Commit and push what was written and removed."""
        if not self._is_changed:
            return
        listing = "".join(f"100644 blob {one}\t{name}\n" for name, one in sorted(self._own.items()))
        tree = self._git("mktree", given=listing.encode()).strip()
        before = self._find(f"{FETCHED}/{self.device}")
        parent = ("-p", before) if before and not self._is_shortened else ()
        commit = self._git(*AUTHOR, "commit-tree", tree, *parent, "-m", "reverie").strip()
        self._push(f"+{commit}:{BRANCHES}/{self.device}")
        self._git("update-ref", f"{FETCHED}/{self.device}", commit)
        self._is_changed = self._is_shortened = False

    def close(self) -> None:
        """Nothing: each command has ended."""

    def _push(self, what: str) -> None:
        """Push a commit as a branch, or nothing in its stead; another device may hold a lock just
        now.
        """
        for number in range(1, PUSHES + 1):
            try:
                self._git("push", "--quiet", self.url, what)
                return
            except GitRefused as err:
                if number == PUSHES:
                    refused = f"{self.shown} takes nothing of this machine: {err.refusal}"
                    raise CannotShow(refused if err.refusal else str(err)) from err
                clock.sleep(PAUSE * number)

    def _list_files(self, branch: str) -> dict[str, str]:
        """The files of a branch, with their objects: those of the device whose branch it is."""
        device = branch.rpartition("/")[2]
        found = {}
        for line in self._git("ls-tree", branch).splitlines():
            about, _, name = line.partition("\t")
            if owner_of(name) == device:
                found[name] = about.split()[2]
        return found

    def _find(self, ref: str) -> str:
        """The commit of a ref; "" for none."""
        return self._git("for-each-ref", "--format=%(objectname)", ref).strip()

    def _git(self, *words: str, given: bytes | None = None) -> str:
        return self._run(*words, given=given).decode("utf-8", "replace")

    def _run(self, *words: str, given: bytes | None = None) -> bytes:
        """What a git command answers; PlaceAway with what it complained of."""
        try:
            done = subprocess.run(
                ["git", "--git-dir", str(self.path), *words],
                input=given if given is not None else b"",
                capture_output=True,
                check=False,
                timeout=SECONDS,
                cwd=self.path,
                env={**environment_without_git(), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            )
        except FileNotFoundError as err:
            raise PlaceAway("git is not installed, so its repository cannot be reached") from err
        except subprocess.TimeoutExpired as err:
            raise PlaceAway(f"{self.shown} did not answer within {SECONDS:.0f} seconds") from err
        except OSError as err:
            raise PlaceAway(f"git cannot be run: {err.strerror}") from err
        if done.returncode:
            said = hide_login(last_line(done.stderr))
            refusal = hide_login(find_refusal(done.stderr))
            raise GitRefused(f"{self.shown} cannot be reached: {said}", refusal)
        return done.stdout


def find_refusal(said: bytes) -> str:
    """Why the other side refused a push, as it says itself; "" if it did not."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines()]
    rejected = [line for line in lines if "[remote rejected]" in line or "[rejected]" in line]
    if not rejected:
        return ""
    told = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    return " ".join(filter(None, told))[:MAX_SAID] or rejected[0]


def last_line(said: bytes) -> str:
    """What a command complained of, as one line."""
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    fatal: Sequence[str] = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or ["it does not say why"])[0].strip()
