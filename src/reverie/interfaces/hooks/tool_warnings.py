"""What to say before a tool runs: warnings whose trigger meets it, reminders it calls for, what is
known of a file.

The worker writes them as rows (`make_warning_row`), for a hook has no time to open the store; the
hook holds what the tool is given against the rows (`find_matching_rows`). Warnings and what is
known of a file are said once in a session; a reminder is given once at all.
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
from reverie.interfaces.hooks.hook_event import ToolWarning

if TYPE_CHECKING:
    from reverie.core.model import Memory

# The most urgent ones: a hook has milliseconds.
MAX_ROWS = 300
# Said before one run of a tool: a longer list would not be read.
MAX_WARNINGS = 5
# What tools call the file that they are given.
PATH_ARGUMENTS = ("file_path", "path", "notebook_path", "filePath")


def make_warning_row(
    memory: Memory,
    line: str,
    when: float | None = None,
    *,
    reminder: bool = False,
) -> ToolWarning:
    """A memory as a hook needs it. `line` is how it is shown; `when` a reminder comes due, if it
    has a time.
    """
    files = [] if reminder else list(memory.files)
    return ToolWarning(memory.id, line, list(memory.triggers), files, reminder, when)


def find_matching_rows(
    rows: Iterable[ToolWarning],
    tool: str,
    given: Any,
    shown: Iterable[str],
    now: float,
) -> list[tuple[ToolWarning, str]]:
    """The rows that a tool calls for, each with what called it up, in their order, at most
    MAX_WARNINGS; not those that were shown.
    """
    known = set(shown)
    context = context_of_tool_call(tool, given if isinstance(given, (str, Mapping)) else {})
    everything = "\n".join((context.text, *context.argument_lines))
    path = find_file_argument(given)
    found: list[tuple[ToolWarning, str]] = []
    for row in rows:
        if len(found) == MAX_WARNINGS:
            break
        if row.id not in known and (
            why := find_row_cause(
                row,
                context,
                everything,
                path,
                now,
            )
        ):
            found.append((row, why))
    return found


def find_row_cause(
    row: ToolWarning,
    context: TriggerContext,
    everything: str,
    path: str,
    now: float,
) -> str:
    """The file or trigger by which a row whose time has come is called up; empty if none is met.

    `everything` is all that the tool is given.
    """
    if row.when is not None and row.when > now:
        return ""
    for name in row.files:
        if is_same_file(name, path):
            return f"file {name}"
    for pattern in row.triggers:
        if may_match(pattern, everything) and matches_trigger(pattern, context):
            return f"trigger {pattern.strip()!r}"
    return ""


def may_match(pattern: str, everything: str) -> bool:
    """True if a pattern could match at all: its longest literal part occurs."""
    # Making a regular expression of each glob would be slow.
    plain = pattern.strip().lower()
    # Of these no part is plainly literal.
    if plain.startswith(REGEX_PREFIX) or "[" in plain:
        return True
    if plain.startswith(TOOL_PREFIX):
        name, _, plain = plain[len(TOOL_PREFIX) :].partition("(")
        plain = plain.removesuffix(")") or name
    return (
        max(
            plain.replace("?", "*").split("*"),
            key=len,
            default="",
        )
        in everything
    )


def find_file_argument(given: Any) -> str:
    """The file that a tool is given; empty where it is given none."""
    if isinstance(given, Mapping):
        for name in PATH_ARGUMENTS:
            if isinstance(given.get(name), str):
                return str(given[name]).replace("\\", "/")
    return ""


def is_same_file(name: str, path: str) -> bool:
    """True if a memory's file is the one at a path: the same, or the end of it."""
    if not name or not path:
        return False
    # With the slash: `b.py` is not the end of `ab.py`.
    return path == name or path.endswith("/" + name.removeprefix("./"))
