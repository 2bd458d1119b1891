"""The files in which hooks and the worker meet, below `<home>/hooks`.

    sessions/<session>.json    what holds for a session (`SessionNote`)              by the hook
    sessions/<session>.block   the block that waits for its next tool or prompt      by the worker
    sessions/<session>.shown   what was shown at its tools, a line each              by the hook
    sessions/<session>.given   what went with its prompts, and when, a line each     by the hook
    sessions/<session>.known   digests of the secrets that it gave away        by hooks and by MCP
    sessions/<session>.unended that its end never came was told                     by the hook
    sessions/<session>.locked  that the home is locked was told                     by the hook
    sessions/<session>.unguarded  that guards sleep, for it is locked, was asked    by the hook
    sessions/<session>.unusable  that config.toml cannot be used was told            by the hook
    locked-guards.json         what is known of guards while it is locked            by the worker
    news/<space>.json          what was learned since somebody was told              by the worker
    guards/<space>.json        what to say before a tool runs (`WarningTable`)       by the worker
    spool/<name>.json          an event that waits (`SpooledEvent`), by name         by the hook
    spool/<name>.held          one whose hook still looks for what to say with it    by the hook
    claims/<name>              a reminder that is shown before a tool, so only once  by the hook
    claims/allow-<id>          what a guard stops is allowed once            by `reverie guards`
    hosts/<host>               its mtime is when its last hook came                  by the hook
    hosts/<host>_gave          the same of the last hook that had something to say   by the hook
    hosts/<host>_off           the same of the last one where memory is off          by the hook
    worker.lock                held by the worker for as long as it lives, which it names
    trouble.log                what went wrong, the newest MAX_LOG_BYTES or so

Every file is written whole and then renamed to its name, so that nobody reads half of one. In an
encrypted home what holds texts is sealed (`core.private_files`): events, blocks, plans, news, what
to say before tools, and the lines of the log.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple, TypeVar
from zlib import crc32

from reverie.core import clock
from reverie.core.atomic_file import make_private_folder, open_private, write_atomically
from reverie.core.private_files import read_private_bytes, seal_lines, write_private_bytes
from reverie.interfaces.hooks.hook_event import (
    HookBlock,
    HookEvent,
    SessionNote,
    SpooledEvent,
    ToolWarning,
    WarningTable,
)

# Of the log; what is older goes to `.1`, and from there for good.
MAX_LOG_BYTES = 100_000
# Beyond which no event is added while no worker lives: nobody takes them in.
MAX_WAITING_EVENTS = 10_000
# After which nobody looks for a block any more: the hook was killed. Hooks end within two seconds.
MAX_HELD_SECONDS = 10.0
# After which nobody goes by what a person has allowed once.
MAX_ALLOWANCE_SECONDS = 600.0
# In the clear, to be read without a key.
LOCKED_GUARDS = "locked-guards.json"
# Safe in the file names of every system.
FILE_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")

Record = TypeVar("Record", bound=tuple[Any, ...])


class HookFiles(NamedTuple):
    """The files of a home. Paths are plain strings: importing `pathlib` takes a fifth of a hook's
    time.
    """

    home: str

    def session_file(self, session: str, what: str) -> str:
        """A file of a session: what = "json", "block", "plan", "shown", "given" or "known"."""
        return f"{self.home}/hooks/sessions/{to_file_name(session)}.{what}"

    def guards_file(self, space: str) -> str:
        """The file of what to say before a tool runs in a space."""
        return f"{self.home}/hooks/guards/{to_file_name(space)}.json"

    def news_file(self, space: str) -> str:
        """The file of what was learned in a space since somebody was told."""
        return f"{self.home}/hooks/news/{to_file_name(space)}.json"

    @property
    def locked_guards(self) -> str:
        """The file of what is known of guards while an encrypted home is locked."""
        return f"{self.home}/hooks/{LOCKED_GUARDS}"

    @property
    def spool(self) -> str:
        """The folder in which events wait."""
        return f"{self.home}/hooks/spool"

    @property
    def lock(self) -> str:
        """The file that the worker holds."""
        return f"{self.home}/hooks/worker.lock"

    @property
    def log(self) -> str:
        """The file of what went wrong."""
        return f"{self.home}/hooks/trouble.log"

    # Events

    def add_event(self, event: SpooledEvent, *, held: bool = False) -> str:
        """Leave an event for the worker, for now or for once it is released; its path."""
        path = f"{self.spool}/{clock.new_id('hook')}.{'held' if held else 'json'}"
        write_json_object(path, event.to_json())
        return path

    def release_event(self, held: str, block: HookBlock, waited: float = 0.0) -> None:
        """Let the worker take in an event that was held, and the block that was said with it, for
        which the host waited so many seconds.
        """
        if block.ids or block.due or block.withheld:
            said = {
                "ids": list(block.ids),
                "due": list(block.due),
                "why": list(block.why),
                "withheld": list(block.withheld),
                "waited": round(max(waited, 0.0), 3),
            }
            # While the home is locked it cannot be read, and must not be replaced by less.
            event = read_json_object(held)
            if event is not None:
                write_json_object(held, event | said)
        os.replace(held, f"{held.removesuffix('.held')}.json")

    def list_events(self) -> list[str]:
        """The paths of the events that wait, in the order in which they happened.

        One that a hook holds is among them once that hook must be dead.
        """
        return [
            path
            for path in self.list_files("spool")
            if path.endswith(".json") or (path.endswith(".held") and is_abandoned(path))
        ]

    def list_files(self, folder: str) -> list[str]:
        """The files of one of the folders, by name; none where there is no folder."""
        try:
            return sorted(
                f"{self.home}/hooks/{folder}/{name}"
                for name in os.listdir(f"{self.home}/hooks/{folder}")
            )
        except OSError:
            return []

    # What the worker wrote for hooks

    def read_note(self, session: str) -> SessionNote | None:
        """The note of a session."""
        return read_record(self.session_file(session, "json"), SessionNote)

    def read_block(self, session: str, what: str = "block") -> HookBlock | None:
        """The block, or the plan, that waits for a session; it goes on waiting."""
        return read_record(self.session_file(session, what), HookBlock)

    def take_block(self, session: str, what: str = "block") -> HookBlock | None:
        """The block, or the plan, that waits for a session, to whoever takes it first; None if
        none does.
        """
        block = self.session_file(session, what)
        mine = f"{block}.{os.getpid()}"
        # Renaming decides: of two hooks that take it at once, one finds it gone.
        try:
            os.replace(block, mine)
            found = read_record(mine, HookBlock)
            os.unlink(mine)
        except OSError:
            return None
        return found

    def read_warnings(self, space: str) -> WarningTable | None:
        """What to say before a tool runs in a space."""
        table = read_record(self.guards_file(space), WarningTable)
        if table is None:
            return None
        rows: Any = table.rows  # still as JSON has them
        return table._replace(rows=[to_record(row, ToolWarning) for row in rows])

    # What was said

    def claim_reminder(self, name: str) -> bool:
        """True if this is mine to show; of all who ask, one is told so."""
        return create_file(f"{self.home}/hooks/claims/{to_file_name(name)}", os.O_EXCL)

    def add_allowance(self, id: str) -> None:
        """A person allows once what a guard stops."""
        create_file(f"{self.home}/hooks/claims/allow-{to_file_name(id)}")

    def take_allowance(self, id: str, now: float) -> bool:
        """True if a person has just allowed once what a guard stops; it is used up."""
        path = f"{self.home}/hooks/claims/allow-{to_file_name(id)}"
        try:
            age = now - os.stat(path).st_mtime
            os.unlink(path)
        except OSError:
            return False
        return age < MAX_ALLOWANCE_SECONDS

    def shown_ids(self, session: str, agent: str = "") -> set[str]:
        """What an agent of a session was shown at its tools: a subagent's context is its own."""
        mine = to_file_name(agent)
        return {id for name, id in self._read_lines(session, "shown") if name == mine}

    def add_shown(
        self,
        session: str,
        ids: Iterable[str],
        agent: str = "",
    ) -> None:
        """An agent is shown these now."""
        self._append_lines(
            session,
            "shown",
            ((to_file_name(agent), id) for id in ids),
        )

    def given_times(self, session: str) -> dict[str, float]:
        """What went with a session's prompts, and when."""
        return {
            id: float(at)
            for at, id in self._read_lines(session, "given")
            if at.replace(".", "", 1).isdigit()
        }

    def add_given(
        self,
        session: str,
        ids: Iterable[str],
        now: float,
    ) -> None:
        """These go with a prompt now."""
        self._append_lines(session, "given", ((f"{now:.3f}", id) for id in ids))

    def _read_lines(
        self,
        session: str,
        what: str,
    ) -> list[tuple[str, str]]:
        """The lines of one of a session's lists: (of whom or when, id)."""
        try:
            with open(self.session_file(session, what), encoding="utf-8") as file:
                lines = [line.rstrip("\n").rpartition(" ") for line in file]
        except (OSError, ValueError):
            return []
        return [(name, id) for name, _, id in lines if id]

    def _append_lines(
        self,
        session: str,
        what: str,
        lines: Iterable[tuple[str, str]],
    ) -> None:
        # One short write in append mode, so that hooks that run at once mix no lines.
        path = self.session_file(session, what)
        with suppress(OSError), open_to_append(path) as file:
            file.write("".join(f"{name} {id}\n" for name, id in lines))

    # How hooks fare

    def mark_seen(self, what: str) -> None:
        """A hook of a host came just now, or one that had something to say ("codex_gave")."""
        path = f"{self.home}/hooks/hosts/{what}"
        # The time is all there is to say, so nothing is written.
        try:
            os.utime(path)
        except FileNotFoundError:
            create_file(path)
        except OSError:
            pass

    def last(self, what: str) -> float | None:
        """When `mark_seen` was told of this last; None if never."""
        try:
            return os.stat(f"{self.home}/hooks/hosts/{what}").st_mtime
        except OSError:
            return None

    def log_trouble(self, text: str) -> None:
        """Write a line into the log, without secrets; where that cannot be, on stderr, which hosts
        show to those who look for it.
        """
        try:
            from reverie.privacy import redact

            safe = redact(text)[0]
        except Exception as err:
            # While the package is half there nothing says what is a secret: the words are left out.
            safe = f"{text.partition(':')[0]}: {type(err).__name__}: {err}"
        line = f"{clock.now():.0f} {' '.join(safe.split())[:500]}\n"
        try:
            self._append_to_log(line)
        except OSError as err:
            complaint = f"reverie: {line.rstrip()} ({err})\n"
            with suppress(OSError):
                os.write(2, complaint.encode("ascii", "backslashreplace"))

    def _append_to_log(self, line: str) -> None:
        make_private_folder(os.path.dirname(self.log))
        with suppress(FileNotFoundError):
            if os.stat(self.log).st_size > MAX_LOG_BYTES:
                os.replace(self.log, f"{self.log}.1")
        try:
            data = seal_lines(self.home, line.encode("utf-8", "backslashreplace"))
        except Exception as err:
            # How the home is encrypted cannot be read: the words are left out, not written plainly.
            data = f"{line.partition(' ')[0]} could not be sealed: {type(err).__name__}\n".encode()
        with open(self.log, "ab", opener=open_private) as log:
            log.write(data)


def open_to_append(path: str) -> IO[str]:
    """A file of ours, to be appended to; a new one is its owner's alone."""
    return open(path, "a", encoding="utf-8", errors="backslashreplace", opener=open_private)


def to_file_name(name: str) -> str:
    """A name that can be a file's; two names never become one."""
    # Names may be paths or ids of any length; a checksum keeps those apart that are cut alike.
    plain = "".join(ch if ch in FILE_NAME_CHARS else "-" for ch in name[:80])
    if plain == name:
        return plain
    return f"{plain}.{crc32(name.encode('utf-8', 'surrogatepass')):08x}"


def create_file(path: str, how: int = 0) -> bool:
    """Create an empty file, and its folder; False if that cannot be."""
    try:
        make_private_folder(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | how, 0o600))
    except OSError:
        return False
    return True


def is_abandoned(path: str) -> bool:
    """True if a file was last written so long ago that nobody holds it."""
    try:
        return not 0 <= clock.now() - os.stat(path).st_mtime < MAX_HELD_SECONDS
    except OSError:
        return False


def home_of(path: str) -> str:
    """The home of a file of hooks."""
    return path.rpartition("/hooks/")[0]


def is_sealed_file(path: str) -> bool:
    """True for a file that holds texts, which an encrypted home keeps sealed. Notes of sessions and
    what they gave away hold none, and are needed while it is locked, as is what is known of guards.
    """
    folder, _, name = path.rpartition("/")
    if name == LOCKED_GUARDS:
        return False
    return not folder.endswith("/sessions") or not name.endswith((".json", ".known"))


def write_json_object(path: str, value: Mapping[str, Any]) -> None:
    """Write a file, whole or not at all."""
    # ASCII, so that a lone surrogate in a host's text is no error.
    data = json.dumps(value).encode("ascii")
    try:
        write_hook_file(path, data)
    except FileNotFoundError:
        make_private_folder(os.path.dirname(path))
        write_hook_file(path, data)


def write_hook_file(path: str, data: bytes) -> None:
    """Write a file into a folder that is there."""
    # A prompt waits for this, and flushing to the disk takes some 7 ms.
    if is_sealed_file(path):
        write_private_bytes(home_of(path), path, data, durable=False)
    else:
        write_atomically(path, data, mode=0o600, durable=False)


def read_json_object(path: str) -> dict[str, Any] | None:
    """What a file holds; None if it is not there, holds no object, or is sealed and the home is
    locked.
    """
    from reverie.core.errors import ReverieError

    try:
        return load_json_object(path)
    except ReverieError:
        return None


def load_json_object(path: str) -> dict[str, Any] | None:
    """What a file holds; None if it is not there or holds no object. HomeLockedError for a sealed
    one while the home is locked, CannotOpen if it was sealed for another.
    """
    try:
        found = json.loads(read_private_bytes(home_of(path), path))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def read_record(path: str, kind: type[Record]) -> Record | None:
    """The record that a file holds; None if it is not there or holds none."""
    found = read_json_object(path)
    return None if found is None else to_record(found, kind)


def read_spooled_event(path: str) -> SpooledEvent:
    """The event that a file holds; ValueError or TypeError for what is none. Errors of what is
    sealed are those of `load_json_object`.
    """
    found = load_json_object(path)
    if found is None:
        raise ValueError("is no JSON object")
    return to_record({**found, "event": to_record(found, HookEvent)}, SpooledEvent)


def to_record(values: Mapping[str, Any], kind: type[Record]) -> Record:
    """A record of the values that it knows; the others belong to another version."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return kind(**{name: values[name] for name in names if name in values})
