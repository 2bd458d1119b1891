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
    command_of,
    edited,
    error_of,
    plain_path,
    task_of,
    touched,
)
from reverie.activity.failure_signature import signature
from reverie.activity.remedies import MOST_SECONDS
from reverie.core.model import Event
from reverie.memory.episodes import went

# how a tool touched it: its command names the file, or only its error does
RAN, NAMED = (
    "run",
    "error",
)


class Touching(NamedTuple):
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


def history(names: Collection[str], deeds: Iterable[Event]) -> list[Touching]:
    """The history of a file that bore these names, newest first; `deeds` are events that may name
    it.
    """
    known = sorted(deeds, key=lambda event: (event.at, event.seq), reverse=True)
    failed = {
        (event.at, event.session): error_line(event)
        for event in known
        if event.verb == TOOL and touched(event.payload)
    }
    found = [one for event in known if (one := touching(event, names)) is not None]
    return [one._replace(error=one.error or failed.get((one.at, one.session), "")) for one in found]


def with_what_broke(found: Iterable[Touching], runs: Iterable[Event]) -> list[Touching]:
    """The same with what each change broke; `runs` are the runs of tools around them."""
    theirs = by_session(runs)
    return [one._replace(broke=broken(one, theirs.get(one.session, ()))) for one in found]


def touching(event: Event, names: Collection[str]) -> Touching | None:
    """How an event touched a file, if it did."""
    payload = event.payload
    base = Touching(event.seq, event.at, "", "", went(payload), event.session, task_of(event))
    if event.verb == FILE and (path := named_by([str(payload.get("path") or "")], names)):
        lines = tuple(n for n in payload.get("lines") or () if isinstance(n, int))
        return base._replace(
            how=str(payload.get("operation") or "edit"),
            path=path,
            lines=lines,
            context=text(payload, "context"),
            summary=text(payload, "summary"),
        )
    if event.verb == COMMIT and (path := named_by(edited(event), names)):
        return base._replace(how=COMMIT, path=path, ok=None, context=text(payload, "message"))
    if event.verb != TOOL or touched(
        payload
    ):  # a tool that reads or edits one file is in the log as that, too
        return None
    command = command_of(event)
    if path := written_in(command, names):
        return base._replace(how=RAN, path=path, context=command, error=error_line(event))
    if went(payload) is False and (path := written_in(error_of(event), names)):
        return base._replace(
            how=NAMED, path=path, context=command or text(payload, "tool"), error=error_line(event)
        )
    return None


def named_by(paths: Iterable[str], names: Collection[str]) -> str:
    """The first of the paths that is one of the names, or ends with one; empty if none does."""
    return next(
        (
            path
            for path in map(plain_path, paths)
            for name in names
            if path == name or path.endswith(f"/{name}")
        ),
        "",
    )


def written_in(words: str, names: Iterable[str]) -> str:
    """The first of the names that stands in a text as a path of its own, or as the end of one."""
    return next(
        (
            name
            for name in names
            if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w/-]|\.\w)", words)
        ),
        "",
    )


def text(payload: Mapping[str, object], name: str) -> str:
    """What stands under a name, if it is a text."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def error_line(event: Event) -> str:
    """The line that tells most of why a run failed; empty where it did not."""
    return signature(error_of(event)).line if went(event.payload) is False else ""


def by_session(runs: Iterable[Event]) -> dict[str, list[Event]]:
    """Runs of commands by conversation, oldest first."""
    found: dict[str, list[Event]] = {}
    for event in sorted(runs, key=lambda event: (event.at, event.seq)):
        if event.session and command_of(event):
            found.setdefault(event.session, []).append(event)
    return found


def broken(change: Touching, runs: Sequence[Event]) -> tuple[str, ...]:
    """Commands that had gone well before a change and failed when they were next run after it."""
    if change.how in ("read", COMMIT, RAN, NAMED) or change.ok is False:
        return ()
    before: dict[str, bool | None] = {}
    after: dict[str, Event] = {}
    for event in runs:
        if (event.at, event.seq) <= (change.at, change.event):
            before[command_of(event)] = went(event.payload)
        elif event.at <= change.at + MOST_SECONDS:
            after.setdefault(command_of(event), event)
    return tuple(
        f"{command}: {error_line(event)}"
        for command, event in after.items()
        if before.get(command) is True and went(event.payload) is False
    )
