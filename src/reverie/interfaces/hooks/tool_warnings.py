"""What to say before a tool runs: warnings whose trigger meets it, reminders it calls for, what is
known of a file.

The worker writes them as rows (`make_warning_row`), for a hook has no time to open the store; the
hook holds what the tool is given against the rows (`find_matching_rows`). Warnings and what is
known of a file are said once in a session; a reminder is given once at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reverie.core.forbidden_calls import is_forbidden_call, stopping_triggers
from reverie.core.touched_files import TouchedFile, find_touched_files, is_written_as
from reverie.core.trigger_patterns import (
    EDIT_PREFIX,
    FILE_PREFIX,
    REGEX_PREFIX,
    RUN_PREFIX,
    TOOL_PREFIX,
    TriggerContext,
    context_of_tool_call,
    matches_trigger,
)
from reverie.interfaces.hooks.hook_event import HookBlock, HookEvent, ToolWarning, WarningTable

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
    context, everything = see_tool_call(tool, given, root)
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


def see_tool_call(tool: str, given: Any, root: str) -> tuple[TriggerContext, str]:
    """(what triggers are held against, all that a tool is given as one text)."""
    arguments = given if isinstance(given, (str, Mapping)) else {}
    context = context_of_tool_call(tool, arguments, root)
    return context, "\n".join((context.text, *context.argument_lines))


def find_stopping_rows(
    rows: Iterable[ToolWarning], tool: str, given: Any, root: str = ""
) -> list[tuple[ToolWarning, str]]:
    """The rows by which a tool is stopped, each with what called it up, in their order: those that
    deny first. Each time, however often they were shown.
    """
    guards = [row for row in rows if row.decision]
    if not guards:
        return []
    context, everything = see_tool_call(tool, given, root)
    found: list[tuple[ToolWarning, str]] = []
    for row in guards:
        for pattern in stopping_triggers(row.triggers):
            if may_match(pattern, everything) and is_forbidden_call(pattern, context):
                found.append((row, f"{row.decision}: trigger {pattern.strip()!r}"))
                break
    return sorted(found, key=lambda one: one[0].decision != "deny")[:MAX_WARNINGS]


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


def add_failure_rows(
    found: HookBlock,
    table: WarningTable,
    event: HookEvent,
    error: str,
    shown: set[str],
) -> HookBlock:
    """What is to be said of a failure, with the memories that tell of such an error."""
    given = event.given if isinstance(event.given, Mapping) else {}
    command = str(given.get("command") or given.get("cmd") or "")
    met = find_failure_rows(table.rows, error, command, {*shown, *found.ids})
    if not met:
        return found
    lines = found.text.splitlines()[:-1] or [table.head]
    return HookBlock(
        "\n".join((*lines, *(row.line for row, _ in met), table.foot)),
        [*found.ids, *(row.id for row, _ in met)],
        why=[*found.why, *((why,) for _, why in met)],
    )


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
    if plain.startswith((RUN_PREFIX, FILE_PREFIX, EDIT_PREFIX)):
        if "|" in plain:
            return True
        # Of a command the program: flags are spelled in several ways.
        plain = plain.partition(":")[2].strip().partition(" ")[0].strip("/")
        plain = plain.rpartition("/")[2]
    elif plain.startswith(TOOL_PREFIX):
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
