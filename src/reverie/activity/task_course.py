"""The course of a task as runs of tools tell it: when work on it begins, and when it is committed.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from reverie.activity import FILE, TOOL
from reverie.activity.activity_events import (
    CHANGING_OPERATIONS,
    get_event_task,
    get_run_command,
    list_changed_paths,
    list_file_payloads,
    sort_events,
)
from reverie.activity.error_lessons import is_read_command, strip_command_noise
from reverie.core.model import Event
from reverie.memory.episodes import read_success

# How a task ended that nobody committed: whether it is done, nobody has said.
ENDED = "ended"
# Newest of each that an outcome tells.
MAX_FILES = MAX_COMMANDS = 50
MAX_COMMAND_CHARS = 200

COMMAND_BREAK = re.compile(r"&&|\|\||[;\n|]")
COMMIT_COMMAND = re.compile(
    r"\s*(?:\w+=\S* +)*git(?: +-[Cc] +\S+| +--?[\w-]+(?:=\S+)?)* +commit\b(?!.*--dry-run)"
)


def is_commit_command(command: str) -> bool:
    """True if a command commits to git."""
    return any(map(COMMIT_COMMAND.match, COMMAND_BREAK.split(command)))


def does_work(payload: Mapping[str, Any]) -> bool:
    """True if a run of a tool did something: it changed a file, or ran what does not only look."""
    touched = list_file_payloads(payload)
    if touched:
        return any(one["operation"] in CHANGING_OPERATIONS for one in touched)
    command = strip_command_noise(str(payload.get("command") or ""))
    return bool(command) and not is_read_command(command)


def describe_course(events: Iterable[Event], task: str) -> dict[str, list[str]]:
    """The files that were changed in a task and the commands that did something, as they were
    first; both without what came again.
    """
    files: dict[str, None] = {}
    commands: dict[str, None] = {}
    for event in sort_events(events):
        if get_event_task(event) != task:
            continue
        if event.verb == FILE:
            files.update(dict.fromkeys(list_changed_paths(event)))
        command = strip_command_noise(get_run_command(event))
        is_file = event.verb != TOOL or bool(list_file_payloads(event.payload))
        if is_file or not command or is_read_command(command):
            continue
        if read_success(event.payload) is not False:
            commands[command[:MAX_COMMAND_CHARS]] = None
    told = {"files": list(files)[-MAX_FILES:], "commands": list(commands)[-MAX_COMMANDS:]}
    return {name: values for name, values in told.items() if values}
