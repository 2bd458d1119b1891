"""What was done, as events of the log: runs of tools, files read and edited, tasks, commits (D6,
D7, D11, D13, X31).

`tool`    tool, command, parameters, result, ok, error, duration (seconds), task
`file`    path, operation, lines, context (the tool that did it), summary, ok, task
`task`    task, outcome ("started", "success", "failure", …), summary, error
`commit`  commit, repository, message, fix, files: [path, added, deleted, name before]

Payloads are bounded before anything else is done with them, so that a tool that answers with a
gigabyte costs as little as one that answers with a word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from posixpath import join, normpath
from typing import Any, NamedTuple

from reverie.activity import COMMIT, FILE, TOOL
from reverie.activity.failure_signature import signature
from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.core.private_passages import tags_between
from reverie.memory.episodes import went
from reverie.text.injection_fence import FENCE, without_injections

OPERATIONS = ("read", "edit", "write", "create", "delete", "rename")
CHANGING = frozenset(OPERATIONS) - {"read"}

MOST_TEXT = 4_000  # characters of an answer or an error that are kept: the first half and the last
MOST_VALUE = 2_000  # of one parameter
ANSWERS = ("result", "error")
# what tells a deed, and how much of it is kept
LABELS, MOST_LABEL = (
    ("tool", "task", "context"),
    200,
)
NEAR = 4_000  # characters beside each cut that are kept until secrets have been taken out
CUT = "\ue0f0…"  # stands at such a cut, and in no text of anybody's
LEFT_OUT = re.compile(r" ([\d,]+) characters …\n?")
# characters of an answer that are looked through for what Reverie put there, before any cut
LOOKED_THROUGH = 100_000
MOST_ITEMS, MOST_DEPTH = 50, 5

MOVES = re.compile(r"cd (\S+)")
LEAVES = re.compile(rf"(?:{MOVES.pattern} *(?:&&|;) *)+")
GIVEN_COMMAND = ("command", "cmd", "script", "code")
GIVEN_FOLDER = ("cwd", "workdir", "working_directory", "directory")
GIVEN_PATH = ("file_path", "path", "filename", "notebook_path")


def ends(text: str, most: int) -> str:
    """A text, or its first and last part with a mark between them: errors stand at either end.

    Each is NEAR longer than will be kept: secrets are taken out later, and no cut may go through
    one (`shortened`).
    """
    wide = most // 2 + NEAR
    return (
        text
        if len(text) <= 2 * wide
        else f"{text[:wide]}\n{CUT} {len(text) - 2 * wide:,} characters …"
        + (f"{tags_between(text, wide, len(text) - wide)}\n{text[-wide:]}")
    )


def shortened(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A payload as the log keeps it, once it holds no secret: of long texts the ends."""
    return {
        name: label(value)
        if name in LABELS
        else bounded(value, MOST_TEXT if name in ANSWERS else MOST_VALUE, cut=closer)
        for name, value in payload.items()
    }


def closer(text: str, most: int) -> str:
    """The ends of a text without what `ends` kept for longer; what stood beside its cut may be half
    of a secret.
    """
    half = most // 2
    start, cut, rest = text.partition(CUT)
    number = LEFT_OUT.match(rest)
    if not cut or number is None:
        return (
            text
            if len(text) <= most
            else f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"
        )
    start, rest = start.removesuffix("\n"), rest[number.end() :]
    first, last = start[:-NEAR][:half], rest[NEAR:][-half:]
    gone = int(number[1].replace(",", "")) + len(start) + len(rest) - len(first) - len(last)
    return f"{first}\n… {gone:,} characters …\n{last}"


def beginning(text: str) -> str:
    """A label, or its beginning, NEAR longer than will be kept."""
    return text if len(text) <= MOST_LABEL + NEAR else text[: MOST_LABEL + NEAR] + CUT


def label(text: Any) -> str:
    """A label as the log keeps it, once it holds no secret."""
    whole = str(text)
    return (whole.removesuffix(CUT)[:-NEAR] if whole.endswith(CUT) else whole)[:MOST_LABEL]


def news(text: str, most: int) -> str:
    """The same of what a tool gave back, without what Reverie put there, such as an answer of
    `recall` (CC-62).
    """
    if len(text) > LOOKED_THROUGH:
        return without_injections(ends(text, most))
    return ends(without_injections(text).strip() if FENCE in text else text, most)


def bounded(
    value: Any,
    most: int = MOST_VALUE,
    depth: int = MOST_DEPTH,
    cut: Callable[[str, int], str] = ends,
) -> Any:
    """A snapshot of a value for the log: JSON values, of which no text, list or depth is larger
    than allowed.
    """
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        return f"({type(value).__name__})" if depth <= 0 else some_of(value, most, depth - 1, cut)
    if (
        value is None
        or isinstance(value, (bool, float))
        or (isinstance(value, int) and value.bit_length() < 64)
    ):
        return value
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value[: 2 * most]).decode("utf-8", "replace")
    return f"({type(value).__name__})" if isinstance(value, int) else cut(str(value), most)


def some_of(
    values: Mapping[Any, Any] | Iterable[Any], most: int, depth: int, cut: Callable[[str, int], str]
) -> Any:
    """The first MOST_ITEMS of some values, each bounded."""
    if isinstance(values, Mapping):
        return {
            str(key)[:200]: bounded(values[key], most, depth, cut)
            for key in islice(values, MOST_ITEMS)
        }
    return [bounded(inner, most, depth, cut) for inner in islice(values, MOST_ITEMS)]


class Run(NamedTuple):
    """One run of a tool, as it is told by whoever ran it."""

    tool: str
    parameters: Any = None
    result: Any = None
    ok: bool = True
    error: Any = None
    duration: float | None = None  # seconds
    task: str = ""


def tool_payload(run: Run) -> dict[str, Any]:
    """What the log keeps of a run."""
    given = bounded(run.parameters)
    command = (
        next((given[name] for name in GIVEN_COMMAND if isinstance(given.get(name), str)), "")
        if isinstance(given, Mapping)
        else given
        if isinstance(given, str)
        else ""
    )
    payload = {
        "tool": beginning(str(run.tool)),
        "command": command,
        "parameters": given if given != command else None,
        "result": bounded(run.result, MOST_TEXT, cut=news),
        "ok": bool(run.ok),
        "error": bounded(run.error, MOST_TEXT, cut=news),
        "duration": run.duration,
        "task": beginning(str(run.task)),
    }
    return {name: value for name, value in payload.items() if value not in (None, "", {}, [])}


def file_payload(
    path: str,
    operation: str,
    lines: Sequence[int] | None,
    summary: str,
    ok: bool,
    task: str,
    context: str = "",
) -> dict[str, Any]:
    """What the log keeps of something done to a file; BadInput for what is no path, operation or
    range.
    """
    if not isinstance(path, str) or not path.strip():
        raise BadInput("A file has a path")
    if operation not in OPERATIONS:
        raise BadInput(f"{operation!r} is not one of {', '.join(OPERATIONS)}")
    whole = [] if lines is None else list(lines)
    if lines is not None and (
        len(whole) != 2 or not all(isinstance(n, int) for n in whole) or whole[0] > whole[1]
    ):
        raise BadInput(f"lines={lines!r} must be the first and the last line")
    payload = {
        "path": plain_path(path),
        "operation": operation,
        "lines": whole,
        "summary": ends(summary, MOST_VALUE),
        "ok": bool(ok),
        "task": beginning(task),
        "context": beginning(context),
    }
    return {name: value for name, value in payload.items() if value not in ("", [])}


def plain_path(path: str) -> str:
    """A path as the log has it: with slashes, without a leading "./"."""
    return path.strip().replace("\\", "/").removeprefix("./")


def fits(event: Event, tool: str, file: str, task: str) -> bool:
    """Whether a deed is one of this tool, this task, and touches a file whose path ends so or holds
    it as a part.
    """
    payload = event.payload
    paths = [
        str(payload.get("path") or ""),
        *parameters_of(event),
        *(str(name) for row in payload.get("files") or () for name in (row[0], row[-1])),
    ]
    return (
        (not tool or str(payload.get("tool", "")).lower() == tool.lower())
        and (not task or task_of(event) == task)
        and (not file or any(file in path for path in paths))
    )


def parameters_of(event: Event) -> list[str]:
    """Texts that a tool was given, and the command that it ran."""
    given = event.payload.get("parameters")
    inner = list(given.values()) if isinstance(given, Mapping) else [given]
    return [text for text in (command_of(event), *inner) if isinstance(text, str)]


def task_of(event: Event) -> str:
    """The piece of work that a deed belongs to; empty if that is not said."""
    return task_in(event.payload)


def command_of(event: Event) -> str:
    """What a run of a tool ran; empty for tools that take no command."""
    return str(event.payload.get("command") or "")


def folder_of(event: Event) -> str:
    """Where a run of a tool says that its command ran: a parameter, and `cd` before it; empty if it
    does not say.
    """
    given = event.payload.get("parameters")
    named = [given.get(name) for name in GIVEN_FOLDER] if isinstance(given, Mapping) else []
    first = next((folder for folder in named if isinstance(folder, str)), "")
    before = LEAVES.match(" ".join(command_of(event).split()))
    moves = MOVES.findall(before[0]) if before else []
    return normpath(join(first, *moves)) if first or moves else ""


def error_of(event: Event) -> str:
    """What a run that failed said: its error, and its answer where errors are no texts of their
    own.
    """
    told = [event.payload.get(name) for name in ("error", "result", "output", "stderr")]
    return "\n".join(text for text in told if isinstance(text, str) and text.strip())


def edited(event: Event) -> list[str]:
    """Paths that a deed changed, if it went well: a `file` that was, and the files of a commit."""
    payload = event.payload
    if event.verb == COMMIT:
        return [str(row[0]) for row in payload.get("files") or () if row]
    changed = (
        event.verb == FILE
        and payload.get("ok") is not False
        and payload.get("operation") in CHANGING
    )
    return [plain_path(str(payload["path"]))] if changed and payload.get("path") else []


def touched(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a run of a tool that reads or edits one file did to it, as the payload of a `file`."""
    operation, given = FILE_TOOLS.get(str(payload.get("tool")).lower()), payload.get("parameters")
    paths = [given.get(name) for name in GIVEN_PATH] if isinstance(given, Mapping) else []
    path = next((path for path in paths if isinstance(path, str) and path.strip()), None)
    return (
        file_payload(
            path,
            operation,
            None,
            "",
            payload.get("ok") is True,
            task_in(payload),
            str(payload.get("tool")),
        )
        if operation and path
        else None
    )


FILE_TOOLS = {
    "read": "read",
    "view": "read",
    "read_file": "read",
    "edit": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "str_replace_based_edit_tool": "edit",
    "edit_file": "edit",
    "write": "write",
    "write_file": "write",
    "create_file": "create",
}
"""Tools of coding agents that touch one file, and what they do to it. In small letters."""


def task_in(payload: Mapping[str, Any]) -> str:
    """The piece of work that a payload names."""
    return str(payload.get("task") or "")


class ToolStats(NamedTuple):
    """How a tool did over a window (X31). Durations in seconds; None where none was told."""

    tool: str
    runs: int
    failed: int
    success_rate: float | None  # of the runs that say how they went
    p50: float | None
    p95: float | None
    last_at: float


class Practice(NamedTuple):
    """How work went over a window: each tool, files read again, errors met again (X31,
    D61, D62).
    """

    tools: tuple[ToolStats, ...] = ()
    reads: int = 0
    rereads: int = 0  # of a file that the same task or conversation had read, unchanged since
    errors: int = 0
    repeated: int = 0  # errors whose like had been met before in the window


def practice(events: Iterable[Event]) -> Practice:
    """Statistics of these deeds, most used tools first."""
    deeds = sorted(events, key=lambda event: (event.at, event.seq))
    runs: dict[str, list[Event]] = {}
    for event in deeds:
        if event.verb == TOOL:
            runs.setdefault(str(event.payload.get("tool") or "tool"), []).append(event)
    reads, rereads = readings(event for event in deeds if event.verb == FILE)
    met = Counter(
        signature(error_of(event)).key
        for event in deeds
        if went(event.payload) is False and error_of(event)
    )
    tools = sorted(
        (tool_stats(tool, some) for tool, some in runs.items()),
        key=lambda one: (-one.runs, one.tool),
    )
    return Practice(tuple(tools), reads, rereads, met.total(), met.total() - len(met))


def readings(deeds: Iterable[Event]) -> tuple[int, int]:
    """How often files were read, and how often again without having changed (D61); deeds in order
    of time.
    """
    reads = rereads = 0
    readers: dict[str, set[str]] = {}  # of a file, those who have read it since it last changed
    for event in deeds:
        path, who = (
            plain_path(str(event.payload.get("path") or "")),
            task_of(event) or event.session,
        )
        if event.payload.get("operation") == "read":
            known = readers.setdefault(path, set())
            reads, rereads = reads + 1, rereads + (who in known)
            known.add(who)
        elif edited(event):
            readers.pop(path, None)
    return reads, rereads


def tool_stats(tool: str, runs: Sequence[Event]) -> ToolStats:
    """How one tool did in these runs."""
    said = [done for event in runs if (done := went(event.payload)) is not None]
    taken = sorted(
        float(seconds)
        for event in runs
        if isinstance(seconds := event.payload.get("duration"), (int, float))
        and math.isfinite(seconds)
    )
    return ToolStats(
        tool,
        len(runs),
        said.count(False),
        said.count(True) / len(said) if said else None,
        nearest_rank(taken, 0.5),
        nearest_rank(taken, 0.95),
        runs[-1].at,
    )


def nearest_rank(ordered: Sequence[float], share: float) -> float | None:
    """A percentile of values in order, by nearest rank."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
