"""The history of one file: who touched it when, with what, and what broke.

Events that count: what was done to the file, commits that changed it, runs of tools whose command
names it, and runs that failed with an error that names it. A file that had another name is
followed. After a change, the next run of a command that had gone well before, in the same
conversation, and now fails is what the change broke. Pure.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity import COMMIT, FILE, TOOL
from reverie.activity.activity_events import (
    get_event_task,
    get_run_command,
    get_run_error,
    list_changed_paths,
    list_file_payloads,
    normalize_event_path,
    sort_events,
)
from reverie.activity.failure_signature import compute_failure_signature
from reverie.activity.remedies import MAX_SECONDS_BETWEEN
from reverie.core.model import Event
from reverie.memory.episodes import read_success

# How a tool touched it: its command names the file, or only its error does.
RUN_NAMES_FILE, ERROR_NAMES_FILE = "run", "error"


class FileTouch(NamedTuple):
    """One time that a file was touched."""

    event: int  # its number in the log
    at: float
    how: str  # an operation ("read", "edit", …), "commit", "run" or "error"
    path: str  # the file's name then
    ok: bool | None  # whether it went well; None: not said
    session: str = ""  # the conversation in which it was done
    task: str = ""
    context: str = ""  # with what: the tool, the command, the commit's message
    lines: tuple[int, ...] = ()
    summary: str = ""  # what changed
    error: str = ""  # what was said where it failed: the line that tells most
    broke: tuple[str, ...] = ()  # commands that failed next and had not before, each with its error


def build_file_history(
    names: Collection[str],
    events: Iterable[Event],
) -> list[FileTouch]:
    """The history of a file that bore these names, newest first, from events that may name it."""
    ordered = sort_events(events, newest_first=True)
    touches = [touch for event in ordered if (touch := match_file_touch(event, names))]
    # A tool that edits a file is logged as a run and as a `file`: the run has the error.
    errors = {
        (event.at, event.session): get_error_line(event)
        for event in ordered
        if event.verb == TOOL and list_file_payloads(event.payload)
    }
    return [
        touch._replace(error=touch.error or errors.get((touch.at, touch.session), ""))
        for touch in touches
    ]


def add_broken_commands(
    found: Iterable[FileTouch],
    runs: Iterable[Event],
) -> list[FileTouch]:
    """The touches with what each change broke; `runs` are the runs of tools around them."""
    by_session: dict[str, list[Event]] = defaultdict(list)
    for event in sort_events(runs):
        if event.session and get_run_command(event):
            by_session[event.session].append(event)
    return [one._replace(broke=find_broken_commands(one, by_session[one.session])) for one in found]


def match_file_touch(event: Event, names: Collection[str]) -> FileTouch | None:
    """How an event touched a file, if it did."""
    payload = event.payload
    ok, task = read_success(payload), get_event_task(event)
    base = FileTouch(
        event.seq,
        event.at,
        "",
        "",
        ok,
        event.session,
        task,
    )
    if event.verb == FILE:
        path = find_named_path([str(payload.get("path") or "")], names)
        return complete_file_touch(base, payload, path) if path else None
    if event.verb == COMMIT:
        path = find_named_path(list_changed_paths(event), names)
        message = get_payload_text(payload, "message")
        return (
            base._replace(
                how=COMMIT,
                path=path,
                ok=None,
                context=message,
            )
            if path
            else None
        )
    return match_run_touch(base, event, names)


def complete_file_touch(
    base: FileTouch,
    payload: Mapping[str, Any],
    path: str,
) -> FileTouch:
    """The touch of a `file` event."""
    return base._replace(
        how=str(payload.get("operation") or "edit"),
        path=path,
        lines=tuple(n for n in payload.get("lines") or () if isinstance(n, int)),
        context=get_payload_text(payload, "context"),
        summary=get_payload_text(payload, "summary"),
    )


def match_run_touch(
    base: FileTouch,
    event: Event,
    names: Collection[str],
) -> FileTouch | None:
    """How a run of a tool touched a file: its command names it, or its error does."""
    # A tool that reads or edits one file is in the log as that, too.
    if event.verb != TOOL or list_file_payloads(event.payload):
        return None
    command = get_run_command(event)
    path = find_mentioned_path(command, names)
    if path:
        error = get_error_line(event)
        return base._replace(
            how=RUN_NAMES_FILE,
            path=path,
            context=command,
            error=error,
        )
    path = find_mentioned_path(get_run_error(event), names) if base.ok is False else ""
    if not path:
        return None
    context = command or get_payload_text(event.payload, "tool")
    return base._replace(
        how=ERROR_NAMES_FILE,
        path=path,
        context=context,
        error=get_error_line(event),
    )


def find_named_path(paths: Iterable[str], names: Collection[str]) -> str:
    """The first of the paths that is one of the names, or ends with one; empty if none does."""
    for path in map(normalize_event_path, paths):
        if any(path == name or path.endswith(f"/{name}") for name in names):
            return path
    return ""


def find_mentioned_path(text: str, names: Iterable[str]) -> str:
    """The first of the names that stands in a text as a path or as the end of one; else empty."""
    for name in names:
        if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w/-]|\.\w)", text):
            return name
    return ""


def get_payload_text(payload: Mapping[str, object], name: str) -> str:
    """The text under a key of a payload; empty if there is none."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def get_error_line(event: Event) -> str:
    """The line that tells most of why a run failed; empty where it did not."""
    if read_success(event.payload) is not False:
        return ""
    return compute_failure_signature(get_run_error(event)).line


def may_break(touch: FileTouch) -> bool:
    """True if the touch changed the file, so that what goes wrong next may come of it."""
    is_change = touch.how not in ("read", COMMIT, RUN_NAMES_FILE, ERROR_NAMES_FILE)
    return is_change and touch.ok is not False


def find_broken_commands(change: FileTouch, runs: Sequence[Event]) -> tuple[str, ...]:
    """Commands that had gone well before a change and failed when they were next run after it."""
    if not may_break(change):
        return ()
    # Only commands that had gone well: what failed before was not broken by this.
    before: dict[str, bool | None] = {}
    after: dict[str, Event] = {}
    for event in runs:
        if (event.at, event.seq) <= (change.at, change.event):
            before[get_run_command(event)] = read_success(event.payload)
        elif event.at <= change.at + MAX_SECONDS_BETWEEN:
            after.setdefault(get_run_command(event), event)
    return tuple(
        f"{command}: {get_error_line(event)}"
        for command, event in after.items()
        if before.get(command) is True and read_success(event.payload) is False
    )
