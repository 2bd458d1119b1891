"""One adapter for each host: what it sends becomes a `Happening`, what is to be said takes the
shape that it reads.

Claude Code and Codex share one protocol, but Codex refuses fields it does not know, so only what
both know is sent. Exact names: the hosts' own documentation (docs/hosts.md says which versions were
tried).
"""

from collections.abc import Callable, Mapping
from json import dumps, loads
from typing import Any, NamedTuple

from reverie.interfaces.hooks.hook_event import (
    COMPACT_AFTER,
    COMPACT_BEFORE,
    PROMPT,
    SESSION_END,
    SESSION_START,
    TOOL_AFTER,
    TOOL_BEFORE,
    TOOL_FAILED,
    TURN_END,
    Happening,
    text_in,
)

MOST_CHARS = 9_500  # of a block in an answer; Claude Code cuts at 10,000
PEOPLE = ("", "user", "sdk")  # where a prompt may come from that somebody meant
# what these answer is a file's content
FILE_TOOLS = (
    "read",
    "edit",
    "write",
    "multiedit",
    "notebookedit",
)

CLAUDE_EVENTS = {
    "SessionStart": SESSION_START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": TOOL_BEFORE,
    "PostToolUse": TOOL_AFTER,
    "PostToolUseFailure": TOOL_FAILED,
    "Stop": TURN_END,
    "PreCompact": COMPACT_BEFORE,
    "PostCompact": COMPACT_AFTER,
    "SessionEnd": SESSION_END,
}
CODEX_EVENTS = {name: kind for name, kind in CLAUDE_EVENTS.items() if name != "PostToolUseFailure"}
CURSOR_EVENTS = {
    "sessionStart": SESSION_START,
    "beforeSubmitPrompt": PROMPT,
    "preToolUse": TOOL_BEFORE,
    "postToolUse": TOOL_AFTER,
    "postToolUseFailure": TOOL_FAILED,
    "afterAgentResponse": TURN_END,
    "preCompact": COMPACT_BEFORE,
    "sessionEnd": SESSION_END,
}
CARRIES = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure")


class Host(NamedTuple):
    """A host agent as a hook meets it."""

    events: Mapping[str, str]  # its names of what happens, and ours
    read: Callable[[Mapping[str, Any]], Happening | None]
    # (its name of the event, what to say) -> its shape
    answer: Callable[[str, str], dict[str, Any]]


def heard(host: Host, payload: Any) -> Happening | None:
    """What a host tells of; None for what does not concern us."""
    if not isinstance(payload, Mapping) or payload.get("hook_event_name") not in host.events:
        return None
    happening = host.read(payload)
    return happening if happening and happening.session else None


def from_claude(payload: Mapping[str, Any]) -> Happening | None:
    """What Claude Code or Codex tells of; None where the host prompts itself.

    Codex answers with what a command printed alone: then nobody knows whether it failed.
    """
    kind, tool = CLAUDE_EVENTS[payload["hook_event_name"]], text_in(payload, "tool_name")
    answered = payload.get("tool_response")
    if kind == TOOL_AFTER and failed(answered):
        kind = TOOL_FAILED
    if kind == PROMPT and payload.get("source", "") not in PEOPLE:
        return None
    texts = {PROMPT: ("prompt",), TURN_END: ("last_assistant_message",), TOOL_FAILED: ("error",)}
    result = "" if tool.lower() in FILE_TOOLS else shown(answered)
    return Happening(
        kind,
        text_in(payload, "session_id"),
        text_in(payload, "cwd"),
        text_in(payload, *texts.get(kind, ())) or (result if kind == TOOL_FAILED else ""),
        tool,
        payload.get("tool_input"),
        result,
        kind == TOOL_AFTER and isinstance(answered, str),
        milliseconds(payload.get("duration_ms")),
        text_in(payload, "source"),
        text_in(payload, "transcript_path"),
        text_in(payload, "tool_use_id"),
        text_in(payload, "agent_id"),
        model=text_in(payload, "model"),
    )


def from_cursor(payload: Mapping[str, Any]) -> Happening:
    """What Cursor tells of."""
    kind = CURSOR_EVENTS[payload["hook_event_name"]]
    roots = payload.get("workspace_roots")
    folder = (
        roots[0]
        if isinstance(roots, list) and roots and isinstance(roots[0], str)
        else text_in(payload, "cwd")
    )
    texts = {PROMPT: ("prompt",), TURN_END: ("text",), TOOL_FAILED: ("error_message",)}
    tool = text_in(payload, "tool_name")
    return Happening(
        kind,
        text_in(payload, "conversation_id", "session_id"),
        folder,
        text_in(payload, *texts.get(kind, ())),
        tool,
        payload.get("tool_input"),
        "" if tool.lower() in FILE_TOOLS else shown(payload.get("tool_output")),
        False,
        milliseconds(payload.get("duration")),
        "",
        text_in(payload, "transcript_path"),
        full=percent(payload.get("context_usage_percent")),
        model=text_in(payload, "model"),
    )


def failed(answered: Any) -> bool:
    """Whether an answer says that the command ended with a code other than 0, as those
    of Codex do.
    """
    if isinstance(answered, str) and answered.startswith("{"):
        try:
            answered = loads(answered)
        except ValueError:
            return False
    if not isinstance(answered, Mapping):
        return False
    about = answered.get("metadata")
    code = (about if isinstance(about, Mapping) else answered).get("exit_code")
    return isinstance(code, int) and code != 0


def shown(answered: Any) -> str:
    """What a tool answered, as text: what it printed where that can be told, else all of it."""
    if isinstance(answered, Mapping) and any(
        isinstance(answered.get(name), str) for name in ("stdout", "stderr")
    ):
        return "\n".join(filter(None, (text_in(answered, "stdout"), text_in(answered, "stderr"))))
    if answered is None or isinstance(answered, str):
        return answered or ""
    if isinstance(answered, Mapping) and isinstance(answered.get("content"), str):
        # what a search found: its lines say of which file they are
        return text_in(answered, "content")
    if (
        isinstance(answered, list)
        and answered
        and all(isinstance(one, Mapping) and isinstance(one.get("text"), str) for one in answered)
    ):
        return "\n".join(text_in(one, "text") for one in answered)
    return dumps(answered, ensure_ascii=False)


def milliseconds(value: Any) -> float | None:
    """Milliseconds as seconds."""
    return (
        value / 1_000 if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    )


def percent(value: Any) -> float | None:
    """A percentage as a share of 0..1."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 100
    return value / 100 if known else None


def to_claude(event: str, text: str) -> dict[str, Any]:
    """What Claude Code and Codex read."""
    if event not in CARRIES:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def to_cursor(event: str, text: str) -> dict[str, Any]:
    """What Cursor reads: context goes with a prompt and with the start of a session."""
    if event == "beforeSubmitPrompt":
        return {"continue": True, "additional_context": text}
    return {"additional_context": text} if event == "sessionStart" else {}


HOSTS = {
    "claude-code": Host(CLAUDE_EVENTS, from_claude, to_claude),
    "codex": Host(CODEX_EVENTS, from_claude, to_claude),
    "cursor": Host(CURSOR_EVENTS, from_cursor, to_cursor),
}
