"""How a command ended, where the host tells a hook only what it printed: read from the end of the
host's own file.

Codex writes each command's exit code there before it asks the hook. The format is the host's own
and may change: what cannot be read is not known, and then the words of the answer are all there is.
"""

import json
from collections.abc import Mapping
from typing import Any

from reverie.interfaces.hooks.hook_event import TOOL_FAILED, HookEvent

# Bytes at the end of the file that are looked at: the command has just ended.
TAIL_BYTES = 256_000


def find_exit_code(transcript: str, call: str) -> int | None:
    """The code that a command ended with; None where the file does not say."""
    if not transcript or not call:
        return None
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return None
    # As it stands in the file: most lines are about other calls, and need no parsing.
    name = json.dumps(call).encode("ascii")
    for line in reversed(lines):
        if name in line and b'"exit_code"' in line:
            code = parse_exit_code(line, call)
            if code is not None:
                return code
    return None


def parse_exit_code(line: bytes, call: str) -> int | None:
    """The code in a line, if it is about that call."""
    try:
        row: Any = json.loads(line)
        item = row["payload"]["item"]
        code = item["exit_code"] if item["id"] == call else None
    except (ValueError, KeyError, TypeError):
        return None
    return code if isinstance(item, Mapping) and isinstance(code, int) else None


def resolve_outcome(event: HookEvent) -> HookEvent:
    """A run of which the host does not say whether it failed, as the host's own file tells of
    it.
    """
    code = find_exit_code(event.transcript, event.call)
    if code is None:
        return event
    if code == 0:
        return event._replace(doubtful=False)
    return event._replace(
        doubtful=False,
        kind=TOOL_FAILED,
        text=event.result or f"Exit code {code}",
    )
