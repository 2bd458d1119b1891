"""What can happen in a host, whichever host it is."""

from collections.abc import Mapping
from typing import Any, NamedTuple

SESSION_START, PROMPT, TURN_END, SESSION_END = "session_start", "prompt", "turn_end", "session_end"
TOOL_BEFORE, TOOL_AFTER, TOOL_FAILED = "tool_before", "tool_after", "tool_failed"
TOOL_KINDS = (TOOL_BEFORE, TOOL_AFTER, TOOL_FAILED)
COMPACT_BEFORE, COMPACT_AFTER = "compact_before", "compact_after"


class HookEvent(NamedTuple):
    """One moment of a conversation, as a hook is told of it."""

    kind: str  # one of those above
    session: str
    cwd: str = ""
    text: str = ""  # what the user or the agent said, or a tool's error
    tool: str = ""
    given: Any = None  # what the tool is given
    result: str = ""  # what it answered
    doubtful: bool = False  # the host does not say whether the tool failed
    seconds: float | None = None  # how long it took
    source: str = ""  # how a session began ("startup", "resume", "clear", "compact")
    transcript: str = ""  # the host's file of this conversation
    call: str = ""  # the host's name of this run of a tool
    agent: str = ""  # the subagent that it happens to; empty: the conversation's own agent
    full: float | None = None  # share of the context that is used, where the host says so
    model: str = ""  # which one speaks, if the host says so


def first_text(payload: Mapping[str, Any], *names: str) -> str:
    """The first of these values that is a text; empty where none is."""
    return next(
        (value for name in names if isinstance(value := payload.get(name), str) and value), ""
    )
