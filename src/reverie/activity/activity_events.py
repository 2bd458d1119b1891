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
from reverie.activity.failure_signature import compute_failure_signature
from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.core.private_passages import tags_in_cut
from reverie.memory.episodes import read_success
from reverie.text.injection_fence import FENCE, remove_injections

OPERATIONS = ("read", "edit", "write", "create", "delete", "rename")
CHANGING_OPERATIONS = frozenset(OPERATIONS) - {"read"}

MAX_ANSWER_CHARS = (
    4_000  # characters of an answer or an error that are kept: the first half and the last
)
MAX_VALUE_CHARS = 2_000  # of one parameter
ANSWER_FIELDS = ("result", "error")
# what tells a deed, and how much of it is kept
LABEL_FIELDS, MAX_LABEL_CHARS = (
    ("tool", "task", "context"),
    200,
)
CUT_MARGIN = 4_000  # characters beside each cut that are kept until secrets have been taken out
CUT_MARK = "\ue0f0…"  # stands at such a cut, and in no text of anybody's
OMITTED_COUNT = re.compile(r" ([\d,]+) characters …\n?")
# characters of an answer that are looked through for what Reverie put there, before any cut
MAX_SCANNED_CHARS = 100_000
MAX_ITEMS, MAX_DEPTH = 50, 5

CHANGE_FOLDER = re.compile(r"cd (\S+)")
LEADING_CHANGES = re.compile(rf"(?:{CHANGE_FOLDER.pattern} *(?:&&|;) *)+")
COMMAND_PARAMETERS = ("command", "cmd", "script", "code")
FOLDER_PARAMETERS = ("cwd", "workdir", "working_directory", "directory")
PATH_PARAMETERS = ("file_path", "path", "filename", "notebook_path")


def keep_text_ends(text: str, most: int) -> str:
    """A text, or its first and last part with a mark between them: errors stand at either end.

    Each is NEAR longer than will be kept: secrets are taken out later, and no cut may go through
    one (`shortened`).
    """
    wide = most // 2 + CUT_MARGIN
    return (
        text
        if len(text) <= 2 * wide
        else f"{text[:wide]}\n{CUT_MARK} {len(text) - 2 * wide:,} characters …"
        + (f"{tags_in_cut(text, wide, len(text) - wide)}\n{text[-wide:]}")
    )


def shorten_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A payload as the log keeps it, once it holds no secret: of long texts the ends."""
    return {
        name: trim_label(value)
        if name in LABEL_FIELDS
        else bound_value(
            value,
            MAX_ANSWER_CHARS if name in ANSWER_FIELDS else MAX_VALUE_CHARS,
            cut=trim_text_ends,
        )
        for name, value in payload.items()
    }


def trim_text_ends(text: str, most: int) -> str:
    """The ends of a text without what `ends` kept for longer; what stood beside its cut may be half
    of a secret.
    """
    half = most // 2
    start, cut, rest = text.partition(CUT_MARK)
    number = OMITTED_COUNT.match(rest)
    if not cut or number is None:
        return (
            text
            if len(text) <= most
            else f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"
        )
    start, rest = start.removesuffix("\n"), rest[number.end() :]
    first, last = start[:-CUT_MARGIN][:half], rest[CUT_MARGIN:][-half:]
    gone = int(number[1].replace(",", "")) + len(start) + len(rest) - len(first) - len(last)
    return f"{first}\n… {gone:,} characters …\n{last}"


def keep_label_start(text: str) -> str:
    """A label, or its beginning, NEAR longer than will be kept."""
    return (
        text
        if len(text) <= MAX_LABEL_CHARS + CUT_MARGIN
        else text[: MAX_LABEL_CHARS + CUT_MARGIN] + CUT_MARK
    )


def trim_label(text: Any) -> str:
    """A label as the log keeps it, once it holds no secret."""
    whole = str(text)
    return (whole.removesuffix(CUT_MARK)[:-CUT_MARGIN] if whole.endswith(CUT_MARK) else whole)[
        :MAX_LABEL_CHARS
    ]


def keep_new_text(text: str, most: int) -> str:
    """The same of what a tool gave back, without what Reverie put there, such as an answer of
    `recall` (CC-62).
    """
    if len(text) > MAX_SCANNED_CHARS:
        return remove_injections(keep_text_ends(text, most))
    return keep_text_ends(remove_injections(text).strip() if FENCE in text else text, most)


def bound_value(
    value: Any,
    most: int = MAX_VALUE_CHARS,
    depth: int = MAX_DEPTH,
    cut: Callable[[str, int], str] = keep_text_ends,
) -> Any:
    """A snapshot of a value for the log: JSON values, of which no text, list or depth is larger
    than allowed.
    """
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        return (
            f"({type(value).__name__})"
            if depth <= 0
            else bound_collection(value, most, depth - 1, cut)
        )
    if (
        value is None
        or isinstance(value, (bool, float))
        or (isinstance(value, int) and value.bit_length() < 64)
    ):
        return value
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value[: 2 * most]).decode("utf-8", "replace")
    return f"({type(value).__name__})" if isinstance(value, int) else cut(str(value), most)


def bound_collection(
    values: Mapping[Any, Any] | Iterable[Any], most: int, depth: int, cut: Callable[[str, int], str]
) -> Any:
    """The first MOST_ITEMS of some values, each bounded."""
    if isinstance(values, Mapping):
        return {
            str(key)[:200]: bound_value(values[key], most, depth, cut)
            for key in islice(values, MAX_ITEMS)
        }
    return [bound_value(inner, most, depth, cut) for inner in islice(values, MAX_ITEMS)]


class ToolRunRecord(NamedTuple):
    """One run of a tool, as it is told by whoever ran it."""

    tool: str
    parameters: Any = None
    result: Any = None
    ok: bool = True
    error: Any = None
    duration: float | None = None  # seconds
    task: str = ""


def make_tool_payload(run: ToolRunRecord) -> dict[str, Any]:
    """What the log keeps of a run."""
    given = bound_value(run.parameters)
    command = (
        next((given[name] for name in COMMAND_PARAMETERS if isinstance(given.get(name), str)), "")
        if isinstance(given, Mapping)
        else given
        if isinstance(given, str)
        else ""
    )
    payload = {
        "tool": keep_label_start(str(run.tool)),
        "command": command,
        "parameters": given if given != command else None,
        "result": bound_value(run.result, MAX_ANSWER_CHARS, cut=keep_new_text),
        "ok": bool(run.ok),
        "error": bound_value(run.error, MAX_ANSWER_CHARS, cut=keep_new_text),
        "duration": run.duration,
        "task": keep_label_start(str(run.task)),
    }
    return {name: value for name, value in payload.items() if value not in (None, "", {}, [])}


def make_file_payload(
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
        "path": normalize_event_path(path),
        "operation": operation,
        "lines": whole,
        "summary": keep_text_ends(summary, MAX_VALUE_CHARS),
        "ok": bool(ok),
        "task": keep_label_start(task),
        "context": keep_label_start(context),
    }
    return {name: value for name, value in payload.items() if value not in ("", [])}


def normalize_event_path(path: str) -> str:
    """A path as the log has it: with slashes, without a leading "./"."""
    return path.strip().replace("\\", "/").removeprefix("./")


def matches_activity(event: Event, tool: str, file: str, task: str) -> bool:
    """Whether a deed is one of this tool, this task, and touches a file whose path ends so or holds
    it as a part.
    """
    payload = event.payload
    paths = [
        str(payload.get("path") or ""),
        *list_parameter_texts(event),
        *(str(name) for row in payload.get("files") or () for name in (row[0], row[-1])),
    ]
    return (
        (not tool or str(payload.get("tool", "")).lower() == tool.lower())
        and (not task or get_event_task(event) == task)
        and (not file or any(file in path for path in paths))
    )


def list_parameter_texts(event: Event) -> list[str]:
    """Texts that a tool was given, and the command that it ran."""
    given = event.payload.get("parameters")
    inner = list(given.values()) if isinstance(given, Mapping) else [given]
    return [text for text in (get_run_command(event), *inner) if isinstance(text, str)]


def get_event_task(event: Event) -> str:
    """The piece of work that a deed belongs to; empty if that is not said."""
    return get_payload_task(event.payload)


def get_run_command(event: Event) -> str:
    """What a run of a tool ran; empty for tools that take no command."""
    return str(event.payload.get("command") or "")


def get_run_folder(event: Event) -> str:
    """Where a run of a tool says that its command ran: a parameter, and `cd` before it; empty if it
    does not say.
    """
    given = event.payload.get("parameters")
    named = [given.get(name) for name in FOLDER_PARAMETERS] if isinstance(given, Mapping) else []
    first = next((folder for folder in named if isinstance(folder, str)), "")
    before = LEADING_CHANGES.match(" ".join(get_run_command(event).split()))
    moves = CHANGE_FOLDER.findall(before[0]) if before else []
    return normpath(join(first, *moves)) if first or moves else ""


def get_run_error(event: Event) -> str:
    """What a run that failed said: its error, and its answer where errors are no texts of their
    own.
    """
    told = [event.payload.get(name) for name in ("error", "result", "output", "stderr")]
    return "\n".join(text for text in told if isinstance(text, str) and text.strip())


def list_changed_paths(event: Event) -> list[str]:
    """Paths that a deed changed, if it went well: a `file` that was, and the files of a commit."""
    payload = event.payload
    if event.verb == COMMIT:
        return [str(row[0]) for row in payload.get("files") or () if row]
    changed = (
        event.verb == FILE
        and payload.get("ok") is not False
        and payload.get("operation") in CHANGING_OPERATIONS
    )
    return [normalize_event_path(str(payload["path"]))] if changed and payload.get("path") else []


def derive_file_payload(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a run of a tool that reads or edits one file did to it, as the payload of a `file`."""
    operation, given = FILE_TOOLS.get(str(payload.get("tool")).lower()), payload.get("parameters")
    paths = [given.get(name) for name in PATH_PARAMETERS] if isinstance(given, Mapping) else []
    path = next((path for path in paths if isinstance(path, str) and path.strip()), None)
    return (
        make_file_payload(
            path,
            operation,
            None,
            "",
            payload.get("ok") is True,
            get_payload_task(payload),
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


def get_payload_task(payload: Mapping[str, Any]) -> str:
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


class WorkStatistics(NamedTuple):
    """How work went over a window: each tool, files read again, errors met again (X31,
    D61, D62).
    """

    tools: tuple[ToolStats, ...] = ()
    reads: int = 0
    rereads: int = 0  # of a file that the same task or conversation had read, unchanged since
    errors: int = 0
    repeated: int = 0  # errors whose like had been met before in the window


def measure_work(events: Iterable[Event]) -> WorkStatistics:
    """Statistics of these deeds, most used tools first."""
    deeds = sorted(events, key=lambda event: (event.at, event.seq))
    runs: dict[str, list[Event]] = {}
    for event in deeds:
        if event.verb == TOOL:
            runs.setdefault(str(event.payload.get("tool") or "tool"), []).append(event)
    reads, rereads = count_file_reads(event for event in deeds if event.verb == FILE)
    met = Counter(
        compute_failure_signature(get_run_error(event)).key
        for event in deeds
        if read_success(event.payload) is False and get_run_error(event)
    )
    tools = sorted(
        (measure_tool_runs(tool, some) for tool, some in runs.items()),
        key=lambda one: (-one.runs, one.tool),
    )
    return WorkStatistics(tuple(tools), reads, rereads, met.total(), met.total() - len(met))


def count_file_reads(deeds: Iterable[Event]) -> tuple[int, int]:
    """How often files were read, and how often again without having changed (D61); deeds in order
    of time.
    """
    reads = rereads = 0
    readers: dict[str, set[str]] = {}  # of a file, those who have read it since it last changed
    for event in deeds:
        path, who = (
            normalize_event_path(str(event.payload.get("path") or "")),
            get_event_task(event) or event.session,
        )
        if event.payload.get("operation") == "read":
            known = readers.setdefault(path, set())
            reads, rereads = reads + 1, rereads + (who in known)
            known.add(who)
        elif list_changed_paths(event):
            readers.pop(path, None)
    return reads, rereads


def measure_tool_runs(tool: str, runs: Sequence[Event]) -> ToolStats:
    """How one tool did in these runs."""
    said = [done for event in runs if (done := read_success(event.payload)) is not None]
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
        compute_percentile(taken, 0.5),
        compute_percentile(taken, 0.95),
        runs[-1].at,
    )


def compute_percentile(ordered: Sequence[float], share: float) -> float | None:
    """A percentile of values in order, by nearest rank."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
