"""Events of the log that tell what was done: runs of tools, files read and edited, tasks, commits.

    `tool`    tool, command, parameters, result, ok, error, duration (seconds), task
    `file`    path, operation, lines, context (the tool that did it), summary, ok, task
    `task`    task, outcome ("started", "success", "failure", …), summary, error
    `commit`  commit, repository, message, fix, files: [path, added, deleted, name before]

Payloads are bounded before anything else is done with them, so that a tool that answers with a
gigabyte costs as little as one that answers with a word.
"""

import math
import re
from collections import Counter, defaultdict
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

WEEK_SECONDS = 7 * 86_400.0
OPERATIONS = ("read", "edit", "write", "create", "delete", "rename")
CHANGING_OPERATIONS = frozenset(OPERATIONS) - {"read"}

# Of a result or an error the first half of these characters and the last are kept; of a
# parameter, of a label that names a tool or task, fewer.
MAX_ANSWER_CHARS = 4_000
MAX_VALUE_CHARS = 2_000
ANSWER_FIELDS = ("result", "error")
LABEL_FIELDS, MAX_LABEL_CHARS = ("tool", "task", "context"), 200
# Texts are bounded before secrets are taken out of them, and no cut may go through a secret: so
# many more characters are kept beside each cut until then.
CUT_MARGIN = 4_000
# Stands at such a cut, and in no text of anybody's.
CUT_MARK = "\ue0f0…"
OMITTED_COUNT = re.compile(r" ([\d,]+) characters …\n?")
# Characters of an answer that are searched for injected text before any cut.
MAX_SCANNED_CHARS = 100_000
MAX_ITEMS, MAX_DEPTH = 50, 5

CHANGE_FOLDER = re.compile(r"cd (\S+)")
LEADING_CHANGES = re.compile(rf"(?:{CHANGE_FOLDER.pattern} *(?:&&|;) *)+")
COMMAND_PARAMETERS = ("command", "cmd", "script", "code")
FOLDER_PARAMETERS = ("cwd", "workdir", "working_directory", "directory")
PATH_PARAMETERS = ("file_path", "path", "filename", "notebook_path")


def keep_text_ends(text: str, most: int) -> str:
    """A text, or its first and last part with a mark between them: errors stand at either end.

    Each is CUT_MARGIN longer than will be kept, until `shorten_payload`.
    """
    # A mark stands only where something was cut: the margins beside it may be taken off again.
    wide = most // 2 + CUT_MARGIN
    if len(text) <= 2 * wide:
        return text
    omitted = f"{CUT_MARK} {len(text) - 2 * wide:,} characters …"
    tags = tags_in_cut(text, wide, len(text) - wide)
    return f"{text[:wide]}\n{omitted}{tags}\n{text[-wide:]}"


def shorten_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A payload as the log keeps it, once it holds no secret: of long texts the ends."""
    short: dict[str, Any] = {}
    for name, value in payload.items():
        most = MAX_ANSWER_CHARS if name in ANSWER_FIELDS else MAX_VALUE_CHARS
        if name in LABEL_FIELDS:
            short[name] = trim_label(value)
        else:
            short[name] = bound_value(value, most, cut=trim_text_ends)
    return short


def trim_text_ends(text: str, most: int) -> str:
    """The ends of a text without the margins of `keep_text_ends`, which may be half a secret."""
    half = most // 2
    start, cut, rest = text.partition(CUT_MARK)
    number = OMITTED_COUNT.match(rest)
    if not cut or number is None:
        if len(text) <= most:
            return text
        return f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"
    start, rest = start.removesuffix("\n"), rest[number.end() :]
    first, last = start[:-CUT_MARGIN][:half], rest[CUT_MARGIN:][-half:]
    dropped = len(start) + len(rest) - len(first) - len(last)
    omitted = int(number[1].replace(",", "")) + dropped
    return f"{first}\n… {omitted:,} characters …\n{last}"


def keep_label_start(text: str) -> str:
    """A label, or its beginning, CUT_MARGIN longer than will be kept."""
    most = MAX_LABEL_CHARS + CUT_MARGIN
    return text if len(text) <= most else text[:most] + CUT_MARK


def trim_label(text: Any) -> str:
    """A label as the log keeps it, once it holds no secret."""
    label = str(text)
    if label.endswith(CUT_MARK):
        label = label.removesuffix(CUT_MARK)[:-CUT_MARGIN]
    return label[:MAX_LABEL_CHARS]


def keep_new_text(text: str, most: int) -> str:
    """The ends of what a tool gave back, without what Reverie put there, such as an answer of
    `recall`.
    """
    # Searching a gigabyte for a fence would cost more than the tool did.
    if len(text) > MAX_SCANNED_CHARS:
        return remove_injections(keep_text_ends(text, most))
    return keep_text_ends(remove_injections(text).strip() if FENCE in text else text, most)


def bound_value(
    value: Any,
    most: int = MAX_VALUE_CHARS,
    depth: int = MAX_DEPTH,
    cut: Callable[[str, int], str] = keep_text_ends,
) -> Any:
    """A JSON snapshot of a value, with no text, list or depth larger than allowed."""
    type_name = f"({type(value).__name__})"
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        return bound_collection(value, most, depth - 1, cut) if depth > 0 else type_name
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 64 else type_name
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value[: 2 * most]).decode("utf-8", "replace")
    return cut(str(value), most)


def bound_collection(
    values: Mapping[Any, Any] | Iterable[Any],
    most: int,
    depth: int,
    cut: Callable[[str, int], str],
) -> Any:
    """The first MAX_ITEMS of some values, each bounded."""
    if isinstance(values, Mapping):
        return {
            str(key)[:200]: bound_value(values[key], most, depth, cut)
            for key in islice(values, MAX_ITEMS)
        }
    return [bound_value(inner, most, depth, cut) for inner in islice(values, MAX_ITEMS)]


class ToolRunRecord(NamedTuple):
    """One run of a tool, as reported by whoever ran it."""

    tool: str
    parameters: Any = None
    result: Any = None
    ok: bool = True
    error: Any = None
    duration: float | None = None  # seconds
    task: str = ""


def make_tool_payload(run: ToolRunRecord) -> dict[str, Any]:
    """The payload of a tool run in the event log."""
    given = bound_value(run.parameters)
    command = find_command(given)
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
    return without_empty_values(payload)


def without_empty_values(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A payload without what says nothing; False and 0 do."""
    return {name: value for name, value in payload.items() if value not in (None, "", {}, [])}


def find_command(parameters: Any) -> str:
    """The command among a tool's parameters, or the one text that it was given; else empty."""
    if isinstance(parameters, Mapping):
        return first_text(parameters.get(name) for name in COMMAND_PARAMETERS)
    return parameters if isinstance(parameters, str) else ""


def first_text(values: Iterable[Any]) -> str:
    """The first of these values that is a text; else empty."""
    return next((value for value in values if isinstance(value, str)), "")


def make_file_payload(
    path: str,
    operation: str,
    lines: Sequence[int] | None = None,
    summary: str = "",
    ok: bool = True,
    task: str = "",
    context: str = "",
) -> dict[str, Any]:
    """The payload of a file operation in the event log.

    BadInput for what is no path, operation or range of lines (first, last).
    """
    if not isinstance(path, str) or not path.strip():
        raise BadInput("A file has a path")
    if operation not in OPERATIONS:
        raise BadInput(f"{operation!r} is not one of {', '.join(OPERATIONS)}")
    payload = {
        "path": normalize_event_path(path),
        "operation": operation,
        "lines": check_line_range(lines),
        "summary": keep_text_ends(summary, MAX_VALUE_CHARS),
        "ok": bool(ok),
        "task": keep_label_start(task),
        "context": keep_label_start(context),
    }
    return without_empty_values(payload)


def check_line_range(lines: Sequence[int] | None) -> list[int]:
    """[first, last], or nothing where no lines are named; BadInput for anything else."""
    if lines is None:
        return []
    ends = list(lines)
    if len(ends) != 2 or not all(isinstance(end, int) for end in ends) or ends[0] > ends[1]:
        raise BadInput(f"lines={lines!r} must be the first and the last line")
    return ends


def normalize_event_path(path: str) -> str:
    """A path as the log has it: with slashes, without a leading "./"."""
    return path.strip().replace("\\", "/").removeprefix("./")


def matches_activity(
    event: Event,
    tool: str,
    file: str,
    task: str,
) -> bool:
    """True if an event is one of this tool and task, and names a path that holds `file`; an empty
    one means any.
    """
    payload = event.payload
    if tool and str(payload.get("tool", "")).lower() != tool.lower():
        return False
    if task and get_event_task(event) != task:
        return False
    paths = [str(payload.get("path") or ""), *list_parameter_texts(event)]
    for row in payload.get("files") or ():
        paths += [str(row[0]), str(row[-1])]
    return not file or any(file in path for path in paths)


def list_parameter_texts(event: Event) -> list[str]:
    """The command that a tool ran, and the texts that it was given."""
    given = event.payload.get("parameters")
    inner = list(given.values()) if isinstance(given, Mapping) else [given]
    return [text for text in (get_run_command(event), *inner) if isinstance(text, str)]


def get_event_task(event: Event) -> str:
    """The task that an event belongs to; empty if it names none."""
    return str(event.payload.get("task") or "")


def sort_events(
    events: Iterable[Event],
    *,
    newest_first: bool = False,
) -> list[Event]:
    """Events in the order in which things happened; of one moment, in that of the log."""
    return sorted(
        events,
        key=lambda event: (event.at, event.seq),
        reverse=newest_first,
    )


def get_run_command(event: Event) -> str:
    """What a run of a tool ran; empty for tools that take no command."""
    return str(event.payload.get("command") or "")


def get_run_folder(event: Event) -> str:
    """The folder that a run names: a parameter, and `cd` before its command; empty if none."""
    given = event.payload.get("parameters")
    folder = ""
    if isinstance(given, Mapping):
        folder = first_text(given.get(name) for name in FOLDER_PARAMETERS)
    before = LEADING_CHANGES.match(" ".join(get_run_command(event).split()))
    moves = CHANGE_FOLDER.findall(before[0]) if before else []
    return normpath(join(folder, *moves)) if folder or moves else ""


def get_run_error(event: Event) -> str:
    """What a failed run said: its error, and its answer where errors are no texts of their own."""
    texts = [event.payload.get(name) for name in ("error", "result", "output", "stderr")]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def list_changed_paths(event: Event) -> list[str]:
    """Paths that an event changed: of a `file` event if it went well, and the files of a commit."""
    payload = event.payload
    if event.verb == COMMIT:
        return [str(row[0]) for row in payload.get("files") or () if row]
    path = payload.get("path")
    if event.verb != FILE or not path or payload.get("ok") is False:
        return []
    if payload.get("operation") not in CHANGING_OPERATIONS:
        return []
    return [normalize_event_path(str(path))]


# Tools of coding agents that touch one file, and what they do to it. In lower case.
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


def derive_file_payload(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """The `file` payload of a run of a tool that reads or edits one file; None of other runs."""
    tool = str(payload.get("tool"))
    operation = FILE_TOOLS.get(tool.lower())
    given = payload.get("parameters")
    paths = [given.get(name) for name in PATH_PARAMETERS] if isinstance(given, Mapping) else []
    path = first_text(path for path in paths if str(path).strip())
    if not operation or not path:
        return None
    ok, task = payload.get("ok") is True, str(payload.get("task") or "")
    return make_file_payload(path, operation, None, "", ok, task, tool)


# What a patch of Codex's says it does to a file.
PATCHED_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (\S.*?)\s*$", re.MULTILINE)
PATCH_OPERATIONS = {"Add": "create", "Update": "edit", "Delete": "delete"}


def list_file_payloads(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The `file` payloads of a run of a tool: of the file that it was given, or of those that it
    patched.
    """
    touched = derive_file_payload(payload)
    if touched is not None:
        return [touched]
    given = payload.get("parameters")
    texts = [payload.get("command"), given.get("input") if isinstance(given, Mapping) else given]
    patched = PATCHED_FILE.findall(first_text(text for text in texts if text))
    ok, task = payload.get("ok") is True, str(payload.get("task") or "")
    tool = str(payload.get("tool"))
    return [
        make_file_payload(path, PATCH_OPERATIONS[does], None, "", ok, task, tool)
        for does, path in dict.fromkeys(patched)
    ]


class ToolStats(NamedTuple):
    """How a tool did over a window. Durations in seconds; None where none was reported."""

    tool: str
    runs: int
    failed: int
    success_rate: float | None  # of the runs that say how they went
    p50: float | None
    p95: float | None
    last_at: float


class WeekCounts(NamedTuple):
    """What was read and met again in seven days, each week counted by itself."""

    since: float
    reads: int
    rereads: int
    errors: int
    repeated: int


class WorkStatistics(NamedTuple):
    """Statistics of a window of time: each tool, files read again, errors that recurred."""

    tools: tuple[ToolStats, ...] = ()
    reads: int = 0
    rereads: int = 0  # of a file that the same task or conversation had read, unchanged since
    errors: int = 0
    repeated: int = 0  # errors whose like had been met before in the window
    # The weeks that something was recorded in, the oldest first, where the window has several: one
    # sees whether what is read and met again becomes less.
    weeks: tuple[WeekCounts, ...] = ()


def measure_weeks(events: Sequence[Event], until: float) -> tuple[WeekCounts, ...]:
    """What was read and met again, week by week back from `until`; nothing for a single week."""
    by_week: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_week[max(0, int((until - event.at) // WEEK_SECONDS))].append(event)
    if not by_week.keys() - {0}:
        return ()
    found = []
    for week in sorted(by_week, reverse=True):
        told = measure_work(by_week[week])
        since = until - (week + 1) * WEEK_SECONDS
        found.append(WeekCounts(since, told.reads, told.rereads, told.errors, told.repeated))
    return tuple(found)


def measure_work(events: Iterable[Event]) -> WorkStatistics:
    """Statistics of these activity events, most used tools first."""
    runs: dict[str, list[Event]] = defaultdict(list)
    files: list[Event] = []
    met = Counter[str]()
    for event in sort_events(events):
        if event.verb == TOOL:
            tool = str(event.payload.get("tool") or "tool")
            runs[tool].append(event)
        elif event.verb == FILE:
            files.append(event)
        error = get_run_error(event) if read_success(event.payload) is False else ""
        if error:
            met[compute_failure_signature(error).key] += 1
    reads, rereads = count_file_reads(files)
    tools = [measure_tool_runs(tool, of_tool) for tool, of_tool in runs.items()]
    tools.sort(key=lambda stats: (-stats.runs, stats.tool))
    errors = met.total()
    return WorkStatistics(tuple(tools), reads, rereads, errors, errors - len(met))


def count_file_reads(events: Iterable[Event]) -> tuple[int, int]:
    """(reads of files, reads again by the same task or session without a change since).

    Events are `file` events in order of time.
    """
    reads = rereads = 0
    # For each file, those who have read it since it last changed.
    readers: dict[str, set[str]] = {}
    for event in events:
        path = normalize_event_path(str(event.payload.get("path") or ""))
        # A task may begin in the middle of a conversation.
        reader = {get_event_task(event), event.session} - {""}
        if event.payload.get("operation") == "read":
            known = readers.setdefault(path, set())
            reads += 1
            rereads += not reader.isdisjoint(known)
            known |= reader
        elif list_changed_paths(event):
            readers.pop(path, None)
    return reads, rereads


def measure_tool_runs(tool: str, runs: Sequence[Event]) -> ToolStats:
    """How one tool did in these runs."""
    outcomes = [read_success(event.payload) for event in runs]
    known = [outcome for outcome in outcomes if outcome is not None]
    durations = [event.payload.get("duration") for event in runs]
    numbers = [float(value) for value in durations if isinstance(value, (int, float))]
    seconds = sorted(filter(math.isfinite, numbers))
    return ToolStats(
        tool,
        len(runs),
        known.count(False),
        known.count(True) / len(known) if known else None,
        compute_percentile(seconds, 0.5),
        compute_percentile(seconds, 0.95),
        runs[-1].at,
    )


def compute_percentile(ordered: Sequence[float], share: float) -> float | None:
    """A percentile of sorted values, by nearest rank; None of none."""
    return (
        ordered[
            max(
                0,
                math.ceil(share * len(ordered)) - 1,
            )
        ]
        if ordered
        else None
    )
