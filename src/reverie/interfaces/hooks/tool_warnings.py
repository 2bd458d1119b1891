"""What to say before a tool runs: warnings whose trigger meets it, reminders it calls for, what is
known of a file.

The worker writes them as rows (`make_warning_row`), for a hook has no time to open the store; the
hook holds what the tool is given against the rows (`find_matching_rows`). Warnings and what is
known of a file are said once in a session; a reminder is given once at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reverie.core.trigger_patterns import (
    REGEX_PREFIX,
    TOOL_PREFIX,
    TriggerContext,
    context_of_tool_call,
    matches_trigger,
)
from reverie.interfaces.hooks.hook_event import ToolWarning
from reverie.interfaces.hooks.touched_files import TouchedFile, find_touched_files, is_written_as

if TYPE_CHECKING:
    from reverie.core.model import Memory
    from reverie.retrieval.card_subjects import CardSubjects

# The most urgent ones: a hook has milliseconds.
MAX_ROWS = 300
# Further ones that only tell of errors.
MAX_ERROR_ROWS = 150
# Said before one run of a tool: a longer list would not be read.
MAX_WARNINGS = 5
# Of these, what is known of files and kinds of files.
MAX_CARDS = 3


def make_warning_row(
    memory: Memory,
    line: str,
    when: float | None = None,
    *,
    reminder: bool = False,
    subjects: CardSubjects | None = None,
) -> ToolWarning:
    """A memory as a hook needs it. `line` is how it is shown; `when` a reminder comes due, if it
    has a time; `subjects` is what else calls it up.
    """
    row = ToolWarning(memory.id, line, list(memory.triggers), [], reminder, when, [])
    if subjects is None:
        return row if reminder else row._replace(files=list(memory.files))
    files, writes, error = subjects
    return row._replace(files=list(files), writes=list(writes), error=error)


def find_matching_rows(
    rows: Iterable[ToolWarning],
    tool: str,
    given: Any,
    shown: Iterable[str],
    now: float,
    root: str = "",
    told: Collection[str] = (),
) -> list[tuple[ToolWarning, str]]:
    """The rows that a tool calls for, each with what called it up, in their order, at most
    MAX_WARNINGS; not those that were shown. `root` is the work tree; what was `told` with a prompt
    is warned of again, but not told again of a file.
    """
    known = set(shown)
    context = context_of_tool_call(tool, given if isinstance(given, (str, Mapping)) else {})
    everything = "\n".join((context.text, *context.argument_lines))
    touched = find_touched_files(tool, given, root)
    found: list[tuple[ToolWarning, str]] = []
    cards = 0
    for row in rows:
        if len(found) == MAX_WARNINGS:
            break
        if row.id in known or (row.when is not None and row.when > now):
            continue
        why = find_trigger_cause(row, context, everything)
        may_tell = not why and cards < MAX_CARDS and row.id not in told
        if may_tell and (why := find_file_cause(row, touched)):
            cards += 1
        if why:
            found.append((row, why))
    return found


def find_trigger_cause(row: ToolWarning, context: TriggerContext, everything: str) -> str:
    """The trigger by which a row is called up; empty if none is met.

    `everything` is all that the tool is given.
    """
    for pattern in row.triggers:
        if may_match(pattern, everything) and matches_trigger(pattern, context):
            return f"trigger {pattern.strip()!r}"
    return ""


def find_failure_rows(
    rows: Iterable[ToolWarning],
    error: str,
    command: str,
    shown: Iterable[str],
) -> list[tuple[ToolWarning, str]]:
    """The rows that tell of the error which a tool failed with, each with the words that say so, at
    most MAX_CARDS; not those that were shown.
    """
    from reverie.activity.error_mentions import find_error_mention

    known, found = set(shown), list[tuple[ToolWarning, str]]()
    for row in rows:
        if not row.error or row.id in known or len(found) == MAX_CARDS:
            continue
        # Behind the text stands where it comes from.
        if words := find_error_mention(row.line.rpartition(" [")[0], error, command):
            found.append((row, f"error {words!r}"))
    return found


def find_file_cause(row: ToolWarning, touched: Iterable[TouchedFile]) -> str:
    """The file, or the kind of file that is changed, by which a row is called up; empty if none
    is met.
    """
    for file in touched:
        for name in row.files:
            if file.is_named(name):
                return f"file {name}"
        for pattern in row.writes:
            if file.written and is_written_as(file.path, pattern):
                return f"writes {pattern}"
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
