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
from reverie.text.function_words import count_telling_words
from reverie.text.prompt_phrases import PAIRED_SCRIPTS, detect_scripts

# How a task ended that nobody committed: whether it is done, nobody has said.
ENDED = "ended"
# Newest of each that an outcome tells.
MAX_FILES = MAX_COMMANDS = 50
MAX_COMMAND_CHARS = 200

COMMAND_BREAK = re.compile(r"&&|\|\||[;\n|]")
COMMIT_COMMAND = re.compile(
    r"\s*(?:\w+=\S* +)*git(?: +-[Cc] +\S+| +--?[\w-]+(?:=\S+)?)* +commit\b(?!.*--dry-run)"
)

# A commit that goes into the one before it is no other piece of work.
REWORKS_COMMIT = re.compile(r" --(?:amend|fixup|squash)\b")
# The first line of a commit's message where the command holds it, in quotes or as a here document.
COMMIT_MESSAGE = re.compile(
    r"\bgit\b[^\n;|&]{0,200}? commit\b(?:[^\n;|&]{0,300}? (?:-[a-zA-Z]*m|--message)[ =]?"
    r"(?:[\"']?\$\(cat +<<-?\s*['\"]?\w+['\"]?\s*\n\s*(?P<cat>[^\n]+)"
    r"|\"(?P<double>(?:[^\"\\\n]|\\.)+)|'(?P<single>[^'\n]+)|(?P<bare>[^\s'\"$;|&]+))"
    r"|[^\n]{0,300}?<<-?\s*['\"]?\w+['\"]?[^\n]*\n\s*(?P<here>[^\n]+))"
)
# Words that say something, from which on a line tells what was done: "fix typo" does not, nor
# "commit this"; in scripts without spaces twice as many.
TELLING_WORDS = 3


def is_commit_command(command: str) -> bool:
    """True if a command commits to git."""
    return any(map(COMMIT_COMMAND.match, COMMAND_BREAK.split(command)))


def find_commit_subject(command: str) -> str:
    """The first line of the message with which a command commits; empty if it does not hold it."""
    found = COMMIT_MESSAGE.search(command)
    line = next(filter(None, found.groups()), "") if found else ""
    return line.replace('\\"', '"').strip()


def describe_commit(command: str, prompt: str) -> dict[str, Any]:
    """What a commit says of the task that it ends, as fields of its event.

    An episode is made of the words that say what was done: those of the commit, else those of the
    prompt; of none where neither does. Of 64 tasks in real sessions about a quarter of the prompts
    said it ("next step", "2"), of the commits nearly all.
    """
    subject = find_commit_subject(command)
    if tells_work(subject):
        return {"what": subject}
    is_told = tells_work(prompt) and not REWORKS_COMMIT.search(command)
    return {} if is_told else {"importance": 0.0}


def tells_work(line: str) -> bool:
    """True if a line has enough words of its own to tell what was done."""
    least = TELLING_WORDS * (2 if detect_scripts(line) & PAIRED_SCRIPTS else 1)
    return count_telling_words(line) >= least


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
