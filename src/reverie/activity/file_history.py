"""The history of one file: who touched it when, with what, and what broke (issue 5, part 7; D7).
Pure.

Deeds that count: what was done to the file, commits that changed it, runs of tools whose command
names it, and runs that failed with an error that names it. A file that had another name is
followed. After a change, the next run of a command that had gone well before, in the same
conversation, and now fails is what the change broke.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from reverie.activity import COMMIT, FILE, TOOL
from reverie.activity.activity_events import (
    derive_file_payload,
    get_event_task,
    get_run_command,
    get_run_error,
    list_changed_paths,
    normalize_event_path,
)
from reverie.activity.failure_signature import compute_failure_signature
from reverie.activity.remedies import MAX_SECONDS_BETWEEN
from reverie.core.model import Event
from reverie.memory.episodes import read_success

# how a tool touched it: its command names the file, or only its error does
RUN_NAMES_FILE, ERROR_NAMES_FILE = (
    "run",
    "error",
)


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


def build_file_history(names: Collection[str], deeds: Iterable[Event]) -> list[FileTouch]:
    """The history of a file that bore these names, newest first; `deeds` are events that may name
    it.
    """
    known = sorted(deeds, key=lambda event: (event.at, event.seq), reverse=True)
    failed = {
        (event.at, event.session): get_error_line(event)
        for event in known
        if event.verb == TOOL and derive_file_payload(event.payload)
    }
    found = [one for event in known if (one := match_file_touch(event, names)) is not None]
    return [one._replace(error=one.error or failed.get((one.at, one.session), "")) for one in found]


def add_broken_commands(found: Iterable[FileTouch], runs: Iterable[Event]) -> list[FileTouch]:
    """The same with what each change broke; `runs` are the runs of tools around them."""
    theirs = group_runs_by_session(runs)
    return [
        one._replace(broke=find_broken_commands(one, theirs.get(one.session, ()))) for one in found
    ]


def match_file_touch(event: Event, names: Collection[str]) -> FileTouch | None:
    """How an event touched a file, if it did."""
    payload = event.payload
    base = FileTouch(
        event.seq, event.at, "", "", read_success(payload), event.session, get_event_task(event)
    )
    if event.verb == FILE and (path := find_named_path([str(payload.get("path") or "")], names)):
        lines = tuple(n for n in payload.get("lines") or () if isinstance(n, int))
        return base._replace(
            how=str(payload.get("operation") or "edit"),
            path=path,
            lines=lines,
            context=get_payload_text(payload, "context"),
            summary=get_payload_text(payload, "summary"),
        )
    if event.verb == COMMIT and (path := find_named_path(list_changed_paths(event), names)):
        return base._replace(
            how=COMMIT, path=path, ok=None, context=get_payload_text(payload, "message")
        )
    if event.verb != TOOL or derive_file_payload(
        payload
    ):  # a tool that reads or edits one file is in the log as that, too
        return None
    command = get_run_command(event)
    if path := find_mentioned_path(command, names):
        return base._replace(
            how=RUN_NAMES_FILE, path=path, context=command, error=get_error_line(event)
        )
    if read_success(payload) is False and (
        path := find_mentioned_path(get_run_error(event), names)
    ):
        return base._replace(
            how=ERROR_NAMES_FILE,
            path=path,
            context=command or get_payload_text(payload, "tool"),
            error=get_error_line(event),
        )
    return None


def find_named_path(paths: Iterable[str], names: Collection[str]) -> str:
    """The first of the paths that is one of the names, or ends with one; empty if none does."""
    return next(
        (
            path
            for path in map(normalize_event_path, paths)
            for name in names
            if path == name or path.endswith(f"/{name}")
        ),
        "",
    )


def find_mentioned_path(words: str, names: Iterable[str]) -> str:
    """The first of the names that stands in a text as a path of its own, or as the end of one."""
    return next(
        (
            name
            for name in names
            if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w/-]|\.\w)", words)
        ),
        "",
    )


def get_payload_text(payload: Mapping[str, object], name: str) -> str:
    """What stands under a name, if it is a text."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def get_error_line(event: Event) -> str:
    """The line that tells most of why a run failed; empty where it did not."""
    return (
        compute_failure_signature(get_run_error(event)).line
        if read_success(event.payload) is False
        else ""
    )


def group_runs_by_session(runs: Iterable[Event]) -> dict[str, list[Event]]:
    """Runs of commands by conversation, oldest first."""
    found: dict[str, list[Event]] = {}
    for event in sorted(runs, key=lambda event: (event.at, event.seq)):
        if event.session and get_run_command(event):
            found.setdefault(event.session, []).append(event)
    return found


def find_broken_commands(change: FileTouch, runs: Sequence[Event]) -> tuple[str, ...]:
    """Commands that had gone well before a change and failed when they were next run after it."""
    if change.how in ("read", COMMIT, RUN_NAMES_FILE, ERROR_NAMES_FILE) or change.ok is False:
        return ()
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
