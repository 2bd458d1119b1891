"""Lessons from errors in conversations: a command failed, later the same command went well; what
was done in between fixed it.

Nobody says so: it is observed. Only what a stranger could use is kept: something of the
surroundings was put right by a command (a missing package, a service that did not run), or an error
of the tools by a change of one or two files. Tests that fail while their code is being written
teach nothing.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.text.text_signals import find_file_names
from reverie.text.tokenization import shorten_line

# Things done in between; after more nobody knows which of them it was.
MAX_STEPS = 3
# Messages between failure and success.
MAX_SPAN = 30
MAX_COMMAND_CHARS, MAX_ERROR_CHARS = 120, 160  # characters shown
# Failures that wait for their success.
MAX_OPEN_FAILURES = 50


class AgentCall(NamedTuple):
    """Something that the agent asked of a tool."""

    tool: str
    command: str  # what was run; empty for others
    file: str  # what was edited; empty for others


class ErrorFix(NamedTuple):
    """A command that failed, and what was done before it went well."""

    command: str  # empty: it does not matter which
    error: str
    ran: tuple[str, ...]
    changed: tuple[str, ...]
    first: int  # places among the messages
    last: int
    told: tuple[str, ...] = ()  # commands that destroyed something: no advice
    diffs: tuple[str, ...] = ()  # what was changed in each of `changed`, where that is known
    cause: str = ""  # what was wrong, in the agent's words

    @property
    def text(self) -> str:
        """The lesson in one sentence, and what was wrong in another."""
        steps = [f"running `{command}`" for command in self.ran]
        diffs = (*self.diffs, *[""] * len(self.changed))
        changes = [
            f"{path} ({diff})" if diff else path
            for path, diff in zip(self.changed, diffs, strict=False)
        ]
        if changes:
            steps.append(f"changing {' and '.join(changes)}")
        what = f"`{self.command}`" if self.command else "A command"
        done = f"; fixed by {' and '.join(steps)}" if steps else ""
        if self.told:
            gone = " and ".join(f"`{command}`" for command in self.told)
            after = "it went away after" if not steps else "before that"
            done += f"; {after} {gone} had been run, which did away with something: look first"
        cause = f" What was wrong: {self.cause}" if self.cause else ""
        return f"{what} failed with “{self.error}”{done}.{cause}"


class OpenFailure(NamedTuple):
    """A command that failed and has not gone well since."""

    place: int
    error: str
    ran: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    steps: int = 0


_CALL = re.compile(r"^\[(?P<tool>[\w.-]{1,60}) (?P<given>\{.*)\]?\s*$", re.MULTILINE)
_NAMED_VALUE = re.compile(r"\"(command|cmd|file_path|path|filename)\": \"((?:[^\"\\]|\\.)*)\"")
_EDIT_TOOLS = frozenset(
    (
        "edit",
        "write",
        "multiedit",
        "notebookedit",
        "str_replace_based_edit_tool",
        "apply_patch",
        "create",
        "edit_file",
        "write_file",
        "replace",
    )
)
_CHECKING_COMMAND = re.compile(
    r"^(?:(?:python3?|uv run|poetry run|npx|pnpm|yarn)(?: -m)? )*(?:pytest|tox|mypy|pyright|"
    r"flake8|pylint|jest|vitest|eslint|ruff check|tsc --noEmit|cargo (?:test|check|clippy)|"
    r"go (?:test|vet)|npm (?:test|run (?:test|lint|check)))\b(?!.*--(?:fix|write)\b)"
)
_GIT_SAVE_COMMAND = re.compile(r"^git (?:-\S+ )*(?:add|commit|push|tag|stash list|fetch)\b")
_GIT_ERROR = re.compile(
    r"\bgit\b|commit|stash|push|merge|branch|untracked|working (?:tree|directory)|\btag\b",
    re.IGNORECASE,
)
_FAILURE_TEXT = re.compile(
    r"(?:^|\n)\s*(?:Exit code [1-9]|(?:\S+: )?(?:fatal|panic)\b|Traceback |FAIL(?:ED|URE)?\b|! |"
    r"make(?:\[\d+\])?: \*\*\* )|\b(?:command not found|No such file or directory|"
    r"Permission denied|Connection refused|ModuleNotFoundError|ImportError|Unauthorized|"
    r"ECONNREFUSED|EADDRINUSE|ENOENT|EACCES|not recognized as|cannot find|could not find|"
    r"No module named|BUILD FAILED|Could not|unable to|is not installed|OutOfMemoryError|"
    r"timed out)\b|\b\w*(?:Error|Exception)\b(?::|\(|\[)|\berror(?:\[\w+\])?:|npm ERR!|"
    r"\bBadConnection\b|ConnectionBad",
    re.IGNORECASE,
)
_ENVIRONMENT_ERROR = re.compile(
    r"command not found|No module named|ModuleNotFound|not installed|refused|Unauthorized|"
    r"permission denied|Access denied|must be logged in|credentials|expired|token|does not exist|"
    r"not found|could not find|couldn'?t find|cannot find|unresolved import|undeclared crate|"
    r"missing|not up to date|out of date|unsupported|version|already in use|EADDRINUSE|ENOENT|"
    r"ECONN|timed? ?out|lookup failed|no space|not running|not running|locked|acquiring|"
    r"environment variable|not set|Undefined control|cannot connect|couldn'?t be resolved|"
    r"cannot resolve|failed to resolve|peer dep|conflict|certificate|ssl",
    re.IGNORECASE,
)
_TEST_FAILURE = re.compile(
    r"^E\s+assert\b|\bFAILED \S+ - assert\b|--- FAIL: |"
    r"\b(?:AssertionError|assert(?:ion)? failed|Expected .+ (?:received|but|got)|"
    r"got \S+, want|Failures?:|expect\()|(?:^|[=,:] *)\d+ failed\b",
    re.IGNORECASE,
)
_ERROR_PREFIX = re.compile(r"^(?:\* What went wrong: |E {2,}|e: |\*\* )")
_USER_REJECTS = re.compile(
    r"\W*(?:no|nope|whoa|wait|stop|don'?t|do not|never|undo|revert|wrong)\b", re.IGNORECASE
)
_NOISE_LINE = re.compile(
    r"^\s*(?:[|+~^=\-*#]+\s*$|Traceback|FAILURE: Build|File \"|at \S+\(|\s*$|Exit code \d+\s*$)"
)


def parse_agent_calls(text: str) -> list[AgentCall]:
    """The tool calls that are written into an assistant's message: `[Bash {"command": "…"}]`."""
    calls = [
        parse_agent_call(
            match["tool"],
            match["given"],
        )
        for match in _CALL.finditer(text)
    ]
    return [call for call in calls if call is not None]


def parse_agent_call(tool: str, given: str) -> AgentCall | None:
    """One call from its JSON; None where neither a command nor an edited file can be read."""
    try:
        values: Any = json.loads(given)
    except (ValueError, RecursionError):
        # A long call was cut off: what is whole of it still counts.
        values = dict(_NAMED_VALUE.findall(given))
    if not isinstance(values, Mapping):
        return None
    command = str(values.get("command") or values.get("cmd") or "")
    path = str(values.get("file_path") or values.get("path") or values.get("filename") or "")
    file = path if tool.lower() in _EDIT_TOOLS else ""
    return AgentCall(tool, strip_command_noise(command), file)


def strip_command_noise(command: str) -> str:
    """A command without what varies from call to call: folders, redirections, what shortens its
    output.
    """
    command = re.sub(r"^(?:cd \S+ *(?:&&|;) *)+", "", " ".join(command.split()))
    command = re.sub(
        r"(?: 2>&1| 2>/dev/null| \| (?:head|tail|tee|cat|less|grep)\b[^|]*)+$", "", command
    )
    return command.strip()


def has_failure_text(result: str) -> bool:
    """True if a tool's answer tells of an error."""
    return _FAILURE_TEXT.search(result) is not None


def is_read_command(command: str) -> bool:
    """True if a command only looks at something: it changes nothing and fixes nothing."""
    from reverie.activity.remedy_wording import only_looks

    return only_looks(command)


def is_idle_command(command: str, error: str) -> bool:
    """True if a command can have fixed nothing: it looks, tests, or saves in git what is there.

    The last counts only where the error is not git's own affair.
    """
    only_saves = _GIT_SAVE_COMMAND.match(command) is not None and not _GIT_ERROR.search(error)
    return is_read_command(command) or only_saves or _CHECKING_COMMAND.match(command) is not None


def is_test_failure(error: str) -> bool:
    """True for an error of a test whose code is being written: what is done about it teaches
    nothing.
    """
    return _TEST_FAILURE.search(error) is not None


def find_error_line(result: str) -> str:
    """The line that says most about an error: one about the surroundings, any that tells of an
    error, or the first.
    """
    lines = [
        _ERROR_PREFIX.sub("", line.strip())
        for line in result.splitlines()
        if not _NOISE_LINE.match(line)
    ]
    telling = [line for line in lines if _ENVIRONMENT_ERROR.search(line)]
    telling = telling or [line for line in lines if _FAILURE_TEXT.search(line)]
    return shorten_line(
        (telling or lines or [""])[0].strip("` \t"),
        MAX_ERROR_CHARS,
    )


def pair_calls_with_results(
    messages: Sequence[tuple[str, str]],
) -> Iterator[tuple[int, AgentCall | None, str]]:
    """Each call with its answer, and where the answer stands; None in place of a call where the
    user speaks.

    Several answers in one message belong to all calls before it.
    """
    waiting: list[AgentCall] = []
    for place, (role, text) in enumerate(messages):
        if role == "assistant":
            waiting += parse_agent_calls(text)
        elif role == "tool" and waiting:
            for call in waiting:
                yield place, call, text
            waiting = []
        elif role == "user":
            waiting = []
            yield place, None, text


def find_error_fixes(messages: Sequence[tuple[str, str]]) -> tuple[list[ErrorFix], list[int]]:
    """(fixes that these messages (role, text) teach, places of failures that still wait)."""
    fixes: list[ErrorFix] = []
    waiting: dict[str, OpenFailure] = {}
    for place, call, result in pair_calls_with_results(messages):
        if call is None:
            # "No, undo that": what was done was not wanted.
            if _USER_REJECTS.match(result):
                waiting = {}
        elif call.command and has_failure_text(result):
            known = waiting.get(call.command)
            if known is None or place - known.place > MAX_SPAN:
                waiting[call.command] = OpenFailure(place, find_error_line(result))
                # The oldest are given up: a loop of failing commands must not fill the memory.
                waiting = dict(list(waiting.items())[-MAX_OPEN_FAILURES:])
        elif call.command in waiting:
            failure = waiting.pop(call.command)
            fix = judge_error_fix(call.command, failure, place)
            if fix:
                said = [
                    text for role, text in messages[failure.place : place] if role == "assistant"
                ]
                fixes.append(word_error_fix(fix, fix.error, said))
        else:
            waiting = {command: add_fix_step(failure, call) for command, failure in waiting.items()}
    earliest = len(messages) - MAX_SPAN
    open_places = [failure.place for failure in waiting.values() if failure.place >= earliest]
    return fixes, sorted(open_places)


def add_fix_step(failure: OpenFailure, call: AgentCall) -> OpenFailure:
    """The failure after one more thing was done about it; looking and testing do nothing."""
    if call.command and not is_idle_command(call.command, failure.error):
        return failure._replace(
            ran=(*failure.ran, call.command),
            steps=failure.steps + 1,
        )
    if call.file and call.file not in failure.changed:
        return failure._replace(
            changed=(*failure.changed, call.file),
            steps=failure.steps + 1,
        )
    return failure


def judge_error_fix(
    command: str,
    failure: OpenFailure,
    place: int,
) -> ErrorFix | None:
    """The fix of a failure; None if nothing or too much was done, it took too long, or it was work
    in progress.
    """
    ran = tuple(dict.fromkeys(step for step in failure.ran if len(step) <= MAX_COMMAND_CHARS))
    steps = len({*ran, *failure.changed})
    if not failure.error or len(command) > MAX_COMMAND_CHARS or place - failure.place > MAX_SPAN:
        return None
    if not 1 <= steps <= MAX_STEPS or failure.steps > MAX_STEPS:
        return None
    # A changed file is a lesson only where the tools or the surroundings failed; else it is the
    # work itself.
    is_surroundings = _ENVIRONMENT_ERROR.search(failure.error) is not None
    if is_test_failure(failure.error) or (not ran and not is_surroundings):
        return None
    return ErrorFix(command, failure.error, ran, failure.changed, failure.place, place)


def word_error_fix(fix: ErrorFix, output: str, said: Iterable[str]) -> ErrorFix:
    """A fix as it is told to others, by all that the failed command printed, and by what the agent
    said before it went well.
    """
    from reverie.activity import remedy_wording as wording

    told = tuple(command for command in fix.ran if wording.destroys(command))
    advice = [command for command in fix.ran if command not in told]
    about = " ".join((output, *fix.ran, *fix.changed))
    return fix._replace(
        error=wording.hide_personal_paths(fix.error),
        ran=tuple(wording.generalize_command(command, output) for command in advice),
        told=tuple(wording.generalize_command(command, output) for command in told),
        cause=wording.find_cause(map(drop_calls, said), about, between=True),
    )


def drop_calls(text: str) -> str:
    """What an agent said beside the calls of tools that are written into its message."""
    return _CALL.sub("", text)


def list_fix_files(fix: ErrorFix) -> tuple[str, ...]:
    """The files that a fix is about."""
    return tuple(dict.fromkeys((*fix.changed, *find_file_names(fix.error))))
