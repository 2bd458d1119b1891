"""What to say before a tool runs: warnings whose trigger meets it, reminders it calls for, what is
known of a file.

The desk writes them as rows (`row_of`), for a hook has no time to open the store; the hook holds
what the tool is given against the rows (`meeting`). Warnings and what is known of a file are said
once in a session; a reminder is given once at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reverie.core.trigger_patterns import (
    REGEX_PREFIX,
    TOOL_PREFIX,
    TriggerContext,
    context_of_tool_call,
    matches_trigger,
)

if TYPE_CHECKING:
    from reverie.core.model import Memory

MAX_ROWS = 300  # the most urgent ones: a hook has milliseconds
MAX_WARNINGS = 5
# what tools call the file they are given
PATH_ARGUMENTS = (
    "file_path",
    "path",
    "notebook_path",
    "filePath",
)


def make_warning_row(
    memory: Memory, line: str, when: float | None = None, *, reminder: bool = False
) -> dict[str, Any]:
    """A memory as a hook needs it. `line` is how it is shown; `when` a reminder comes due, if it
    has a time.
    """
    return {
        "id": memory.id,
        "line": line,
        "triggers": list(memory.triggers),
        "files": [] if reminder else list(memory.files),
        "reminder": reminder,
        "when": when,
    }


def find_matching_rows(
    rows: Iterable[Mapping[str, Any]],
    tool: str,
    given: Any,
    shown: Iterable[str],
    now: float,
) -> list[Mapping[str, Any]]:
    """The rows that a tool calls for, in their order, at most MOST_SAID; not those
    that were shown.
    """
    known = set(shown)
    scene = context_of_tool_call(tool, given if isinstance(given, (str, Mapping)) else {})
    everything = "\n".join((scene.text, *scene.argument_lines))
    path = find_file_argument(given)
    found: list[Mapping[str, Any]] = []
    for row in rows:
        if len(found) == MAX_WARNINGS:
            break
        if row["id"] not in known and is_row_called(row, scene, everything, path, now):
            found.append(row)
    return found


def is_row_called(
    row: Mapping[str, Any], scene: TriggerContext, everything: str, path: str, now: float
) -> bool:
    """Whether a row is called for."""
    if row["when"] is not None and row["when"] > now:
        return False
    if any(is_same_file(name, path) for name in row["files"]):
        return True
    return any(
        may_match(one, everything) and matches_trigger(one, scene) for one in row["triggers"]
    )


def may_match(pattern: str, everything: str) -> bool:
    """Whether a pattern could meet at all: its longest literal part occurs. To make a glob of each
    would be slow.
    """
    plain = pattern.strip().lower()
    if plain.startswith(REGEX_PREFIX) or "[" in plain:
        return True
    if plain.startswith(TOOL_PREFIX):
        name, _, plain = plain[len(TOOL_PREFIX) :].partition("(")
        plain = plain.removesuffix(")") or name
    return max(plain.replace("?", "*").split("*"), key=len, default="") in everything


def find_file_argument(given: Any) -> str:
    """The file that a tool is given; empty where it is given none."""
    if not isinstance(given, Mapping):
        return ""
    return next(
        (
            str(given[name]).replace("\\", "/")
            for name in PATH_ARGUMENTS
            if isinstance(given.get(name), str)
        ),
        "",
    )


def is_same_file(name: str, path: str) -> bool:
    """Whether a memory's file is the one at a path: the same, or the end of it."""
    return (
        bool(name) and bool(path) and (path == name or path.endswith("/" + name.removeprefix("./")))
    )
