"""The files in which hooks and the desk meet, below `<home>/hooks`.

    sessions/<session>.json    its note: which space it is in, whether memory is off there      (written by the hook)
    sessions/<session>.block   the block that waits for its next tool or prompt                 (by the desk)
    sessions/<session>.shown   what was shown before tools and after failures, a line each      (by the hook)
    sessions/<session>.given   what went with its prompts, and when, a line each                (by the hook)
    guards/<space>.json        what to say before a tool runs                                   (by the desk)
    spool/<name>.json          what happened and is not taken in yet, sorted by name            (by the hook)
    spool/<name>.held          the same, while its hook still looks for what to say with it     (by the hook)
    claims/<name>              a reminder that was shown before a tool, so that it is shown once (by the hook)
    hosts/<host>               when its last hook came (<host>_gave: brought something): its mtime (by the hook)
    worker.lock                held by the worker for as long as it lives
    trouble.log                what went wrong, the newest TROUBLE bytes or so

Every file is written whole and then renamed to its name, so that nobody reads half of one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple
from zlib import crc32

from reverie.core import clock
from reverie.core.atomic_file import write_atomically

MAX_LOG_BYTES = 100_000  # bytes of the log; what is older goes to `.1`, and from there for good
MAX_WAITING_EVENTS = 10_000  # events in the spool beyond which none is added while no worker lives
MAX_HELD_SECONDS = 10.0  # seconds after which nobody looks any more: its hook was killed
FILE_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class HookFiles(NamedTuple):
    """Where the files of a home are. Plain strings: `pathlib` takes a hook a fifth of its time to
    import.
    """

    home: str

    def of(self, session: str, what: str) -> str:
        """A file of a session: what = "json", "block", "shown" or "given"."""
        return f"{self.home}/hooks/sessions/{to_file_name(session)}.{what}"

    def guards(self, space: str) -> str:
        """What to say before a tool runs in a space."""
        return f"{self.home}/hooks/guards/{to_file_name(space)}.json"

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

    def put(self, event: dict[str, Any], *, held: bool = False) -> str:
        """Have the desk take this in, now or once it is let go of; where it lies. Without secrets
        already.
        """
        path = f"{self.spool}/{clock.new_id('hook')}.{'held' if held else 'json'}"
        write_json_object(path, event)
        return path

    def let_go(self, held: str, more: dict[str, Any]) -> None:
        """The desk may take in what was held, and this with it."""
        if any(more.values()):
            write_json_object(held, (read_json_object(held) or {}) | more)
        os.replace(held, f"{held.removesuffix('.held')}.json")

    def waiting(self) -> list[str]:
        """What is not taken in yet, in the order in which it happened. What a hook holds, once that
        must be dead.
        """
        return [
            path
            for path in self.files("spool")
            if path.endswith(".json") or (path.endswith(".held") and is_abandoned(path))
        ]

    def files(self, folder: str) -> list[str]:
        """The files of one of the folders, by name; none where there is no folder."""
        try:
            return sorted(
                f"{self.home}/hooks/{folder}/{name}"
                for name in os.listdir(f"{self.home}/hooks/{folder}")
            )
        except OSError:
            return []

    def take(self, session: str) -> dict[str, Any] | None:
        """The block that waits for a session, to whoever takes it first; None if none does."""
        block = self.of(session, "block")
        mine = f"{block}.{os.getpid()}"
        try:
            os.replace(block, mine)
            found = read_json_object(mine)
            os.unlink(mine)
        except OSError:
            return None
        return found

    def claim(self, name: str) -> bool:
        """Whether this is mine to show; of all who ask, one is told so."""
        path = f"{self.home}/hooks/claims/{to_file_name(name)}"
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

    def shown(self, session: str, agent: str = "") -> set[str]:
        """What an agent of a session was shown before tools: what a subagent sees, the others do
        not.
        """
        mine = to_file_name(agent)
        return {id for name, id in self._lines(session, "shown") if name == mine}

    def show(self, session: str, ids: Iterable[str], agent: str = "") -> None:
        """An agent is shown these now."""
        self._add(session, "shown", ((to_file_name(agent), id) for id in ids))

    def given(self, session: str) -> dict[str, float]:
        """What went with a session's prompts, and when."""
        return {
            id: float(at)
            for at, id in self._lines(session, "given")
            if at.replace(".", "", 1).isdigit()
        }

    def give(self, session: str, ids: Iterable[str], now: float) -> None:
        """These go with a prompt now."""
        self._add(session, "given", ((f"{now:.3f}", id) for id in ids))

    def _lines(self, session: str, what: str) -> list[tuple[str, str]]:
        """The lines of one of a session's lists: (of whom or when, id)."""
        try:
            with open(self.of(session, what), encoding="utf-8") as file:
                return [
                    (name, id)
                    for name, gap, id in (line.rstrip("\n").rpartition(" ") for line in file)
                    if id
                ]
        except (OSError, ValueError):
            return []

    def _add(self, session: str, what: str, lines: Iterable[tuple[str, str]]) -> None:
        with suppress(OSError), open(self.of(session, what), "a", encoding="utf-8") as file:
            file.write("".join(f"{name} {id}\n" for name, id in lines))

    def trouble(self, text: str) -> None:
        """A line in the log, without secrets; where it cannot be written, on stderr, which hosts
        show who looks for it.

        While the package is half there nothing says what is a secret: then the words of the text
        are left out.
        """
        try:
            from reverie.privacy import redact

            told = redact(text)[0]
        except Exception as err:
            told = f"{text.partition(':')[0]}: {type(err).__name__}: {err}"
        line = f"{clock.now():.0f} {' '.join(told.split())[:500]}\n"
        try:
            os.makedirs(os.path.dirname(self.log), 0o700, exist_ok=True)
            with suppress(FileNotFoundError):
                if os.stat(self.log).st_size > MAX_LOG_BYTES:
                    os.replace(self.log, f"{self.log}.1")
            with open(self.log, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(line)
        except OSError as err:
            with suppress(OSError):
                os.write(
                    2, f"reverie: {line.rstrip()} ({err})\n".encode("ascii", "backslashreplace")
                )


def to_file_name(name: str) -> str:
    """A name that can be a file's; two names never become one."""
    kept = "".join(ch if ch in FILE_NAME_CHARS else "-" for ch in name[:80])
    return kept if kept == name else f"{kept}.{crc32(name.encode('utf-8', 'surrogatepass')):08x}"


def write_json_object(path: str, value: dict[str, Any]) -> None:
    """A file, whole or not at all."""
    data = json.dumps(value).encode("ascii")
    # A prompt waits for this, and flushing to the disk takes some 7 ms.
    try:
        write_atomically(path, data, mode=0o600, durable=False)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        write_atomically(path, data, mode=0o600, durable=False)


def is_abandoned(path: str) -> bool:
    """Whether a file was last written so long ago that nobody holds it."""
    try:
        return not 0 <= clock.now() - os.stat(path).st_mtime < MAX_HELD_SECONDS
    except OSError:
        return False


def read_json_object(path: str) -> dict[str, Any] | None:
    """What a file holds; None if it is not there or holds something else."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
