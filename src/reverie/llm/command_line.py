"""A host agent's own command line as a model: `claude -p` and `codex exec`, for who pays for one of
them already.

It runs in an empty folder, without hooks, servers and tools that act, with `REVERIE_OFF` set, and
leaves no session behind: so it reads no project, does nothing, and Reverie does not record itself,
neither now nor when past sessions are taken in. Codex alone reads the user's own AGENTS.md all the
same. The question goes through its standard input, so that no other user of the machine reads it in
the list of processes. One call is one process; it takes seconds, so nothing is asked that a turn
waits for (`LanguageModel.is_quick`).
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.environment import quiet_child_environment
from reverie.llm.language_model import (
    BUSY,
    DOWN,
    MALFORMED,
    REFUSED,
    STOPPED,
    TIMEOUT,
    LlmAddress,
    LlmCallFailed,
    LlmReply,
    LlmRequest,
)
from reverie.text.tokenization import shorten_line

if TYPE_CHECKING:
    import subprocess

# How much longer than an address a program may take: it has to start, and says nothing before.
PATIENCE = 2.0
MAX_ANSWER_CHARS = 200_000
MAX_TOLD_CHARS = 160
# What a program says of itself when waiting will help, and when somebody has to do something.
BUSY_SIGNS = ("rate limit", "rate_limit", "usage limit", "limit reached", "overloaded")
# A port may hold these digits too.
_BUSY_STATUS = re.compile(r"\b(?:429|529)\b")
REFUSED_SIGNS = (
    "log in",
    "login",
    "logged in",
    "api key",
    "unauthorized",
    "authentication",
    "credit",
    "unknown option",
    "unexpected argument",
    "not supported",
    "not_found",
    "404 not found",
    "issue with the selected model",
)


# Codex knows no option that leaves out what could act, read or start something, so each is named;
# one that a version does not know is passed over.
CODEX_FEATURES = (
    "hooks",
    "shell_tool",
    "unified_exec",
    "multi_agent",
    "goals",
    "apps",
    "plugins",
    "view_image",
    "image_generation",
    "computer_use",
    "browser_use",
    "shell_snapshot",
)
CLAUDE_VARIABLES = {
    # "@/path" in what somebody said would be read and sent along.
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    # The user's instructions to an agent that works.
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # 32,000 tokens for each question, else.
    "MAX_THINKING_TOKENS": "0",
    # A limit that was reached is told, and not waited for until the time is over.
    "CLAUDE_CODE_MAX_RETRIES": "0",
}


class ProgramForm(NamedTuple):
    """How one program is called and how its answer is read."""

    program: str
    # (model, instructions, data, environment) → (arguments, standard input)
    build: Callable[[str, str, str, Mapping[str, str]], tuple[list[str], str]]
    read: Callable[[str], LlmReply]
    variables: Mapping[str, str] = {}


class CommandLineModel:
    """A program on PATH that asks a model: an `LlmClient`."""

    def __init__(self, where: LlmAddress, price: tuple[float, float]) -> None:
        self._where, self._price = where, price
        self._guard = Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = 0

    def ask(self, request: LlmRequest) -> LlmReply:
        """One process, one try; raises LlmCallFailed."""
        form = FORMS[self._where.provider]
        path = shutil.which(form.program)
        if path is None:
            raise LlmCallFailed(REFUSED, f"there is no program {form.program!r} on PATH")
        env = {**quiet_child_environment(), **form.variables}
        words, data = form.build(self._where.model, request.instructions, request.data, env)
        seconds = PATIENCE * request.timeout_seconds
        code, out, errors = self._run([path, *words], data, env, seconds)
        if code:
            raise failure_from_output(form.program, code, out, errors)
        reply = form.read(out)
        return reply._replace(text=reply.text[:MAX_ANSWER_CHARS])

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars by the prices that were set; else None: a subscription has no list price."""
        if not any(self._price):
            return None
        return (tokens_in * self._price[0] + tokens_out * self._price[1]) / 1e6

    def close(self) -> None:
        """End what runs."""
        with self._guard:
            self._closed += 1
            running = list(self._running)
        for process in running:
            end_process(process)

    def _run(
        self,
        command: list[str],
        data: str,
        env: Mapping[str, str],
        seconds: float,
    ) -> tuple[int, str, str]:
        """(exit code, output, errors) of a program in an empty folder."""
        import subprocess

        closed = self._closed
        with tempfile.TemporaryDirectory(prefix="reverie-llm-", ignore_cleanup_errors=True) as cwd:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=cwd,
                    env=env,
                    encoding="utf-8",
                    errors="replace",
                    # A group of its own: what it starts ends with it.
                    start_new_session=True,
                )
            except OSError as err:
                raise LlmCallFailed(REFUSED, f"{command[0]} cannot be run: {err}") from err
            with self._guard:
                self._running.add(process)
            try:
                out, errors = process.communicate(data, timeout=seconds)
            except BaseException as err:
                # Also at Ctrl-C, which does not reach a group of its own.
                end_process(process)
                process.communicate()
                if not isinstance(err, subprocess.TimeoutExpired):
                    raise
                raise LlmCallFailed(TIMEOUT, f"no answer within {seconds:g} seconds") from None
            finally:
                with self._guard:
                    self._running.discard(process)
        if self._closed != closed:
            raise LlmCallFailed(STOPPED, "closed meanwhile")
        return process.returncode, out, errors


def end_process(process: subprocess.Popen[str]) -> None:
    """End a process and what it started; one that is gone already is no trouble."""
    import os
    import signal
    from contextlib import suppress

    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def build_claude_call(
    model: str,
    instructions: str,
    data: str,
    env: Mapping[str, str],  # noqa: ARG001 - as every form has it
) -> tuple[list[str], str]:
    """The arguments and the input of `claude -p`: no tools, no hooks, no servers, nothing kept."""
    return [
        "-p",
        "--output-format",
        "json",
        "--model",
        model,
        "--system-prompt",
        instructions,
        "--tools",
        "",
        "--settings",
        '{"disableAllHooks": true}',
        "--strict-mcp-config",
        "--no-session-persistence",
    ], data


def build_codex_call(
    model: str,
    instructions: str,
    data: str,
    env: Mapping[str, str],
) -> tuple[list[str], str]:
    """The arguments and the input of `codex exec`: nothing may be written, nothing is kept."""
    off = [f"features.{name}=false" for name in CODEX_FEATURES]
    off += [f"mcp_servers.{name}.enabled=false" for name in list_codex_servers(env)]
    off += ["notify=[]", 'web_search="disabled"']
    return [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--ephemeral",
        "--sandbox",
        "read-only",
        *(word for setting in off for word in ("-c", setting)),
        "-m",
        model,
        "-",
    ], f"{instructions}\n\n{data}"


def list_codex_servers(env: Mapping[str, str]) -> list[str]:
    """The names of the servers in the user's settings of Codex, which would be started."""
    import tomllib

    folder = env.get("CODEX_HOME") or Path(env.get("HOME") or "~").expanduser() / ".codex"
    try:
        found = tomllib.loads(Path(folder, "config.toml").read_text("utf-8")).get("mcp_servers")
    # None are there, or Codex itself will say what is wrong.
    except (OSError, ValueError):
        return []
    # Codex takes no other names.
    return [name for name in found or () if re.fullmatch(r"[\w-]+", name)]


def read_claude_answer(out: str) -> LlmReply:
    """The answer in the JSON that `claude -p` prints."""
    found = read_last_object(out, "result")
    if found.get("is_error"):
        raise failure_from_output("claude", 0, str(found.get("result", "")), "")
    usage = found.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    # What was read from its cache, or put there, was read all the same.
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return LlmReply(
        str(found.get("result") or ""),
        sum_counts(usage, names),
        sum_counts(usage, ("output_tokens",)),
    )


def read_codex_answer(out: str) -> LlmReply:
    """The last message in the lines of JSON that `codex exec` prints."""
    text = ""
    usage: Mapping[str, Any] = {}
    for row in iterate_objects(out):
        item = row.get("item")
        if row.get("type") == "item.completed" and isinstance(item, dict):
            is_message = item.get("type") == "agent_message"
            text = str(item.get("text") or "") if is_message else text
        elif row.get("type") == "turn.completed":
            given = row.get("usage")
            usage = given if isinstance(given, dict) else {}
        elif row.get("type") in ("turn.failed", "error"):
            raise failure_from_output("codex", 0, out, "")
    if not text:
        raise LlmCallFailed(MALFORMED, "codex printed no message")
    counts = sum_counts(usage, ("input_tokens",)), sum_counts(usage, ("output_tokens",))
    return LlmReply(text, *counts)


def iterate_objects(out: str) -> list[dict[str, Any]]:
    """The JSON objects that stand on lines of their own; other lines are passed over."""
    found: list[dict[str, Any]] = []
    for line in out.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


def read_last_object(out: str, name: str) -> dict[str, Any]:
    """The last printed object that has a field of this name; LlmCallFailed without one."""
    found = [row for row in iterate_objects(out) if name in row]
    if found:
        return found[-1]
    raise LlmCallFailed(MALFORMED, f"no {name!r} in what was printed: {shorten_output(out)}")


def sum_counts(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The sum of these counts; None where none of them is given."""
    counts = [usage[name] for name in names if type(usage.get(name)) is int]
    return sum(counts) if counts else None


def failure_from_output(program: str, code: int, out: str, errors: str) -> LlmCallFailed:
    """What a program that failed says of it, as one of our outcomes, in its own words."""
    said = [row.get("result") or row.get("message") for row in iterate_objects(out)]
    told = next((str(text) for text in reversed(said) if text), "")
    why = told or errors or out
    lower = why.lower()
    outcome = DOWN
    if any(sign in lower for sign in BUSY_SIGNS) or _BUSY_STATUS.search(lower):
        outcome = BUSY
    elif any(sign in lower for sign in REFUSED_SIGNS):
        outcome = REFUSED
    ended = f" ended with exit code {code}" if code else " could not answer"
    shown = shorten_line(told, MAX_TOLD_CHARS) if told else shorten_output(why)
    return LlmCallFailed(outcome, f"{program}{ended}: {shown or 'it said nothing'}")


def shorten_output(text: str) -> str:
    """The end of what a program printed, on one line: errors stand there."""
    return " ".join(text.split())[-MAX_TOLD_CHARS:]


FORMS: dict[str, ProgramForm] = {
    "claude-cli": ProgramForm("claude", build_claude_call, read_claude_answer, CLAUDE_VARIABLES),
    "codex-cli": ProgramForm("codex", build_codex_call, read_codex_answer),
}
"""The programs that can be asked, by the provider's name in the setting `llm`."""
