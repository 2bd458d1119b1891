"""Answers to what every client asks first, given before the SDK is loaded.

A host starts the server with each of its sessions, greets it and asks what there is; most sessions
ask for nothing more, and loading the SDK and the command line takes two seconds. What is answered
stands in `early_answers.json`, one set for each profile, which `python -m tools.mcp_answers` takes
down from the server itself.

The first message of another kind gets the server (`answer_early` returns), which reads the
greeting again, as if it came first; what it says to that the client has heard already. The server
is loaded meanwhile, once the client has been quiet for WARM_SECONDS.

Always true: a client reads the same lines as from the server alone, in the same order; what is not
plainly one of these questions goes to the server as it came.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reverie import __version__
from reverie.core import clock, config
from reverie.core.environment import PARENT_PID, is_orphaned
from reverie.core.errors import ReverieError

# Seconds after the greeting until the server is loaded in the background.
WARM_SECONDS = 2.0
# Between checks whether the parent process still lives.
PARENT_CHECK_SECONDS = 2.0
# Bytes of a line that are read here; what is longer is no question of these.
MAX_LINE_BYTES = 100_000
VALUE_OPTIONS = ("--profile", "-p", "--space", "-s", "--home")
GREETING = "initialize"

ANSWERED: set[Any] = set()
"""Ids of greetings that were answered here and that the server reads again."""


def answer_early(words: Sequence[str], load_server: Callable[[], None]) -> None:
    """Answer the client's first questions, where these are all the words of `reverie mcp`.

    `load_server` imports what a tool needs: in the background, once the client is quiet. Returns
    when the server is needed, with stdin as if nothing had been read; ends the process when the
    client is gone. Words that are not plainly understood are left to the command line.
    """
    chosen = read_options(words)
    known = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    profile = chosen.get("--profile", "unified") if chosen is not None else ""
    if chosen is None or profile not in known["profiles"] or not can_serve(chosen):
        return
    # The client may be gone before Python was up: then nobody would ever close our stdin.
    if is_orphaned():
        os._exit(0)
    start_parent_watch()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = EarlyServer(known["versions"], known["profiles"][profile], load_server)
    waiting = server.serve()
    # Two threads that import the same modules may meet them half done.
    server.warming.cancel()
    if server.greeted:
        server.warming.join()
    hand_over(waiting)


def read_options(words: Sequence[str]) -> dict[str, str] | None:
    """The options of `reverie mcp` by their long names; None where the command line must look."""
    chosen: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name not in VALUE_OPTIONS:
            return None
        value = value or next(rest, "")
        if not value or value.startswith("-"):
            return None
        chosen[{"-p": "--profile", "-s": "--space"}.get(name, name)] = value
    return chosen


def can_serve(chosen: dict[str, str]) -> bool:
    """False where the server would not start, or a person sits there: the command line tells."""
    from importlib.util import find_spec

    if sys.stdin is None or sys.stdin.isatty() or find_spec("mcp") is None:
        return False
    try:
        config.load_settings(Path(chosen["--home"]) if "--home" in chosen else None)
        if "--space" in chosen:
            from reverie.memory.memory_validation import resolve_space

            resolve_space(chosen["--space"])
    except (ReverieError, OSError):
        return False
    return True


class EarlyServer:
    """Answers lines of a client as the server would, from what that was heard to say."""

    def __init__(
        self,
        versions: Sequence[str],
        answers: dict[str, Any],
        load_server: Callable[[], None],
    ) -> None:
        self.versions, self.answers = versions, answers
        self.greeted: list[bytes] = []  # lines that the server is to read again
        self.warming = threading.Timer(WARM_SECONDS, load_server)
        self.warming.daemon = True

    def serve(self) -> bytes:
        """Answer lines until one needs the server; what the server is to read first."""
        waiting = b""
        while True:
            line, end, rest = waiting.partition(b"\n")
            if not end:
                if len(waiting) > MAX_LINE_BYTES:
                    break
                read = os.read(0, 65_536)
                if not read and not waiting:
                    os._exit(0)
                if not read:
                    break
                waiting += read
                continue
            answer = self.answer(line)
            if answer is None:
                break
            waiting = rest
            try:
                sys.stdout.buffer.write(answer)
                sys.stdout.buffer.flush()
            except OSError:  # nobody reads any more
                os._exit(0)
        return b"".join(self.greeted) + waiting

    def answer(self, line: bytes) -> bytes | None:
        """The line that answers a message, empty for one that needs none; None: ask the server."""
        message = read_message(line)
        method, id, params = message.get("method"), message.get("id"), message.get("params", {})
        if method == "notifications/initialized" and self.greeted and id is None:
            self.greeted.append(line + b"\n")
            return b""
        is_request = isinstance(id, (int, str)) and not isinstance(id, bool)
        if not is_request or method not in self.answers or not self.may_answer(method, params):
            return None
        result = self.answers[method]
        if method == GREETING:
            server = {**result["serverInfo"], "version": __version__}
            result = {**result, "protocolVersion": params["protocolVersion"], "serverInfo": server}
            self.greeted.append(line + b"\n")
            ANSWERED.add(id)
            self.warming.start()
        said = {"jsonrpc": "2.0", "id": id, "result": result}
        return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def may_answer(self, method: str, params: Any) -> bool:
        """True if the server would answer this with what is known: a greeting first, and once."""
        if not isinstance(params, dict):
            return False
        if method != GREETING:
            return bool(self.greeted) and not params.keys() - {"_meta"}
        known = params.get("protocolVersion") in self.versions
        return known and not self.greeted and is_greeting(params)


def read_message(line: bytes) -> dict[str, Any]:
    """A line as a message; empty where it is none, or has what these questions have not."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return {}
    return {} if message.keys() - {"jsonrpc", "id", "method", "params"} else message


def is_greeting(params: dict[str, Any]) -> bool:
    """True if a greeting has what the server asks of one."""
    client = params.get("clientInfo")
    return (
        isinstance(params.get("capabilities"), dict)
        and isinstance(client, dict)
        and all(isinstance(client.get(part), str) for part in ("name", "version"))
    )


def hand_over(waiting: bytes) -> None:
    """Put what the server is to read before what still comes on stdin."""
    wire = os.dup(0)
    reads, writes = os.pipe()
    os.dup2(reads, 0)
    os.close(reads)
    threading.Thread(
        target=pass_on, args=(waiting, wire, writes), name="reverie-stdin", daemon=True
    ).start()


def pass_on(waiting: bytes, wire: int, writes: int) -> None:
    """Write what waits, then whatever comes, until there is no more."""
    with os.fdopen(writes, "wb", buffering=0) as pipe:
        while waiting:
            pipe.write(waiting)
            waiting = os.read(wire, 65_536)


def start_parent_watch() -> None:
    """End this process once the client is gone, even if another process holds our stdin open."""
    threading.Thread(
        target=exit_with_parent,
        args=(PARENT_PID,),
        name="reverie-parent",
        daemon=True,
    ).start()


def exit_with_parent(parent: int) -> None:
    """End this process once its parent is gone. Nothing is lost: what was kept is durable."""
    while os.getppid() == parent:
        clock.sleep(PARENT_CHECK_SECONDS)
    os._exit(0)
