"""The files in which hooks and the desk meet, below `<home>/hooks`.

    sessions/<session>.json    its note: which space it is in, whether memory is off there      (written by the hook)
    sessions/<session>.block   the block that waits for its next prompt                         (by the desk)
    sessions/<session>.shown   what was shown before tools, a line each                         (by the hook)
    guards/<space>.json        what to say before a tool runs                                   (by the desk)
    spool/<name>.json          what happened and is not taken in yet, sorted by name            (by the hook)
    claims/<name>              a reminder that was shown before a tool, so that it is shown once (by the hook)
    hosts/<host>               when its last hook came (<host>_gave: brought something): its mtime (by the hook)
    worker.lock                held by the worker for as long as it lives
    trouble.log                what went wrong, the newest TROUBLE bytes or so

Every file is written whole and then renamed to its name, so that nobody reads half of one.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, NamedTuple
from zlib import crc32

from reverie import clock

TROUBLE = 100_000        # bytes of the log; what is older goes to `.1`, and from there for good
MOST_WAITING = 10_000    # events in the spool beyond which none is added while no worker lives
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Places(NamedTuple):
    """Where the files of a home are. Plain strings: `pathlib` takes a hook a fifth of its time to import."""

    home: str

    def of(self, session: str, what: str) -> str:
        """A file of a session: what = "json", "block" or "shown"."""
        return f"{self.home}/hooks/sessions/{plain(session)}.{what}"

    def guards(self, space: str) -> str:
        """What to say before a tool runs in a space."""
        return f"{self.home}/hooks/guards/{plain(space)}.json"

    @property
    def spool(self) -> str:
        """Where events wait."""
        return f"{self.home}/hooks/spool"

    @property
    def lock(self) -> str:
        """What the worker holds."""
        return f"{self.home}/hooks/worker.lock"

    @property
    def log(self) -> str:
        """What went wrong."""
        return f"{self.home}/hooks/trouble.log"

    def put(self, event: dict[str, Any]) -> None:
        """Have the desk take this in. Without secrets already."""
        write(f"{self.spool}/{clock.new_id('hook')}.json", event)

    def waiting(self) -> list[str]:
        """What is not taken in yet, in the order in which it happened."""
        return [path for path in self.files("spool") if path.endswith(".json")]

    def files(self, folder: str) -> list[str]:
        """The files of one of the folders, by name; none where there is no folder."""
        try:
            return sorted(f"{self.home}/hooks/{folder}/{name}" for name in os.listdir(f"{self.home}/hooks/{folder}"))
        except OSError:
            return []

    def take(self, session: str) -> dict[str, Any] | None:
        """The block that waits for a session, to whoever takes it first; None if none does."""
        block = self.of(session, "block")
        mine = f"{block}.{os.getpid()}"
        try:
            os.replace(block, mine)
            found = read(mine)
            os.unlink(mine)
        except OSError:
            return None
        return found

    def claim(self, name: str) -> bool:
        """Whether this is mine to show; of all who ask, one is told so."""
        path = f"{self.home}/hooks/claims/{plain(name)}"
        try:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            return False
        return True

    def came(self, what: str) -> None:
        """A hook of a host came just now, or one that brought something ("claude-code_gave")."""
        path = f"{self.home}/hooks/hosts/{what}"
        with suppress(OSError):
            try:
                os.utime(path)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))

    def last(self, what: str) -> float | None:
        """When `came` was told of this last; None if never."""
        try:
            return os.stat(f"{self.home}/hooks/hosts/{what}").st_mtime
        except OSError:
            return None

    def shown(self, session: str) -> set[str]:
        """What was shown in a session before tools."""
        try:
            with open(self.of(session, "shown"), encoding="utf-8") as file:
                return set(file.read().split())
        except OSError:
            return set()

    def show(self, session: str, ids: list[str]) -> None:
        """These are shown now."""
        with suppress(OSError), open(self.of(session, "shown"), "a", encoding="utf-8") as file:
            file.write("".join(f"{id}\n" for id in ids))

    def trouble(self, text: str) -> None:
        """A line in the log, without secrets, if it can be written at all."""
        from reverie.privacy import redact

        with suppress(OSError):
            os.makedirs(os.path.dirname(self.log), 0o700, exist_ok=True)
            with suppress(FileNotFoundError):
                if os.stat(self.log).st_size > TROUBLE:
                    os.replace(self.log, f"{self.log}.1")
            with open(self.log, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{clock.now():.0f} {' '.join(redact(text)[0].split())[:500]}\n")


def plain(name: str) -> str:
    """A name that can be a file's; two names never become one."""
    kept = "".join(ch if ch in PLAIN else "-" for ch in name[:80])
    return kept if kept == name else f"{kept}.{crc32(name.encode('utf-8', 'surrogatepass')):08x}"


def write(path: str, value: dict[str, Any]) -> None:
    """A file, whole or not at all."""
    half = f"{path}.{os.getpid()}.part"
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    try:
        number = os.open(half, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        number = os.open(half, flags, 0o600)
    with open(number, "wb") as file:
        file.write(json.dumps(value).encode("ascii"))
    os.replace(half, path)


def read(path: str) -> dict[str, Any] | None:
    """What a file holds; None if it is not there or holds something else."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
