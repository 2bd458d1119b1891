"""One adapter for each host: what it sends becomes a `HookEvent`, what is to be said takes the
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
    HookEvent,
    first_text,
)

MAX_ANSWER_CHARS = 9_500  # of a block in an answer; Claude Code cuts at 10,000
HUMAN_SOURCES = ("", "user", "sdk")  # where a prompt may come from that somebody meant
# What these answer is a file's content, which is not kept.
FILE_TOOLS = ("read", "edit", "write", "multiedit", "notebookedit")

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
# Claude Code reads additional context at these only.
CONTEXT_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
)


class HostAdapter(NamedTuple):
    """A host agent as a hook meets it."""

    events: Mapping[str, str]  # its names of what happens, and ours
    read: Callable[[Mapping[str, Any]], HookEvent | None]
    # (its name of the event, what to say) -> its shape
    answer: Callable[[str, str], dict[str, Any]]


def read_host_event(host: HostAdapter, payload: Any) -> HookEvent | None:
    """What a host tells of; None for what does not concern us."""
    if not isinstance(payload, Mapping) or payload.get("hook_event_name") not in host.events:
        return None
    event = host.read(payload)
    return event if event and event.session else None


def read_claude_event(payload: Mapping[str, Any]) -> HookEvent | None:
    """What Claude Code or Codex tells of; None where the host prompts itself."""
    kind, tool = CLAUDE_EVENTS[payload["hook_event_name"]], first_text(payload, "tool_name")
    response = payload.get("tool_response")
    if kind == TOOL_AFTER and has_failed_exit(response):
        kind = TOOL_FAILED
    if kind == PROMPT and payload.get("source", "") not in HUMAN_SOURCES:
        return None
    texts = {PROMPT: ("prompt",), TURN_END: ("last_assistant_message",), TOOL_FAILED: ("error",)}
    text = first_text(payload, *texts.get(kind, ()))
    result = "" if tool.lower() in FILE_TOOLS else extract_result_text(response)
    return HookEvent(
        kind,
        session=first_text(payload, "session_id"),
        cwd=first_text(payload, "cwd"),
        text=text or (result if kind == TOOL_FAILED else ""),
        tool=tool,
        given=payload.get("tool_input"),
        result=result,
        # Codex answers with what a command printed alone: then nobody knows whether it failed.
        doubtful=kind == TOOL_AFTER and isinstance(response, str),
        seconds=to_seconds(payload.get("duration_ms")),
        source=first_text(payload, "source"),
        transcript=first_text(payload, "transcript_path"),
        call=first_text(payload, "tool_use_id"),
        agent=first_text(payload, "agent_id"),
        model=first_text(payload, "model"),
    )


def read_cursor_event(payload: Mapping[str, Any]) -> HookEvent:
    """What Cursor tells of."""
    kind = CURSOR_EVENTS[payload["hook_event_name"]]
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else None
    texts = {PROMPT: ("prompt",), TURN_END: ("text",), TOOL_FAILED: ("error_message",)}
    tool = first_text(payload, "tool_name")
    is_file = tool.lower() in FILE_TOOLS
    return HookEvent(
        kind,
        session=first_text(payload, "conversation_id", "session_id"),
        cwd=root if isinstance(root, str) else first_text(payload, "cwd"),
        text=first_text(payload, *texts.get(kind, ())),
        tool=tool,
        given=payload.get("tool_input"),
        result="" if is_file else extract_result_text(payload.get("tool_output")),
        seconds=to_seconds(payload.get("duration")),
        transcript=first_text(payload, "transcript_path"),
        full=to_share(payload.get("context_usage_percent")),
        model=first_text(payload, "model"),
    )


def has_failed_exit(response: Any) -> bool:
    """True if a response says that the command ended with a code other than 0, as those of Codex
    do.
    """
    if isinstance(response, str) and response.startswith("{"):
        try:
            response = loads(response)
        except ValueError:
            return False
    if not isinstance(response, Mapping):
        return False
    about = response.get("metadata")
    code = (about if isinstance(about, Mapping) else response).get("exit_code")
    return isinstance(code, int) and code != 0


def extract_result_text(response: Any) -> str:
    """What a tool answered, as text: what it printed where that can be told, else all of it."""
    if response is None or isinstance(response, str):
        return response or ""
    if isinstance(response, Mapping):
        names = ("stdout", "stderr")
        if any(isinstance(response.get(name), str) for name in names):
            return "\n".join(filter(None, (first_text(response, name) for name in names)))
        if isinstance(response.get("content"), str):
            # What a search found: its lines say of which file they are.
            return first_text(response, "content")
    if isinstance(response, list) and response and all(map(is_text_part, response)):
        return "\n".join(first_text(part, "text") for part in response)
    return dumps(response, ensure_ascii=False)


def is_text_part(part: Any) -> bool:
    """True for `{"text": …}`, of which MCP tools answer a list."""
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def to_seconds(value: Any) -> float | None:
    """Milliseconds as seconds."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value / 1_000 if is_number else None


def to_share(value: Any) -> float | None:
    """A percentage as a share of 0..1."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 100
    return value / 100 if known else None


def answer_claude(event: str, text: str) -> dict[str, Any]:
    """What Claude Code and Codex read."""
    if event not in CONTEXT_EVENTS:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def answer_cursor(event: str, text: str) -> dict[str, Any]:
    """What Cursor reads: context goes with a prompt and with the start of a session."""
    if event == "beforeSubmitPrompt":
        return {"continue": True, "additional_context": text}
    return {"additional_context": text} if event == "sessionStart" else {}


HOSTS = {
    "claude-code": HostAdapter(CLAUDE_EVENTS, read_claude_event, answer_claude),
    "codex": HostAdapter(CODEX_EVENTS, read_claude_event, answer_claude),
    "cursor": HostAdapter(CURSOR_EVENTS, read_cursor_event, answer_cursor),
}
