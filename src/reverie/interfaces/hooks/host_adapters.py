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
    HookEvent,
    first_text,
)

MAX_ANSWER_CHARS = 9_500  # of a block in an answer; Claude Code cuts at 10,000
HUMAN_SOURCES = ("", "user", "sdk")  # where a prompt may come from that somebody meant
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
    happening = host.read(payload)
    return happening if happening and happening.session else None


def read_claude_event(payload: Mapping[str, Any]) -> HookEvent | None:
    """What Claude Code or Codex tells of; None where the host prompts itself.

    Codex answers with what a command printed alone: then nobody knows whether it failed.
    """
    kind, tool = CLAUDE_EVENTS[payload["hook_event_name"]], first_text(payload, "tool_name")
    answered = payload.get("tool_response")
    if kind == TOOL_AFTER and has_failed_exit(answered):
        kind = TOOL_FAILED
    if kind == PROMPT and payload.get("source", "") not in HUMAN_SOURCES:
        return None
    texts = {PROMPT: ("prompt",), TURN_END: ("last_assistant_message",), TOOL_FAILED: ("error",)}
    result = "" if tool.lower() in FILE_TOOLS else extract_result_text(answered)
    return HookEvent(
        kind,
        first_text(payload, "session_id"),
        first_text(payload, "cwd"),
        first_text(payload, *texts.get(kind, ())) or (result if kind == TOOL_FAILED else ""),
        tool,
        payload.get("tool_input"),
        result,
        kind == TOOL_AFTER and isinstance(answered, str),
        to_seconds(payload.get("duration_ms")),
        first_text(payload, "source"),
        first_text(payload, "transcript_path"),
        first_text(payload, "tool_use_id"),
        first_text(payload, "agent_id"),
        model=first_text(payload, "model"),
    )


def read_cursor_event(payload: Mapping[str, Any]) -> HookEvent:
    """What Cursor tells of."""
    kind = CURSOR_EVENTS[payload["hook_event_name"]]
    roots = payload.get("workspace_roots")
    folder = (
        roots[0]
        if isinstance(roots, list) and roots and isinstance(roots[0], str)
        else first_text(payload, "cwd")
    )
    texts = {PROMPT: ("prompt",), TURN_END: ("text",), TOOL_FAILED: ("error_message",)}
    tool = first_text(payload, "tool_name")
    return HookEvent(
        kind,
        first_text(payload, "conversation_id", "session_id"),
        folder,
        first_text(payload, *texts.get(kind, ())),
        tool,
        payload.get("tool_input"),
        "" if tool.lower() in FILE_TOOLS else extract_result_text(payload.get("tool_output")),
        False,
        to_seconds(payload.get("duration")),
        "",
        first_text(payload, "transcript_path"),
        full=to_share(payload.get("context_usage_percent")),
        model=first_text(payload, "model"),
    )


def has_failed_exit(answered: Any) -> bool:
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


def extract_result_text(answered: Any) -> str:
    """What a tool answered, as text: what it printed where that can be told, else all of it."""
    if isinstance(answered, Mapping) and any(
        isinstance(answered.get(name), str) for name in ("stdout", "stderr")
    ):
        return "\n".join(
            filter(None, (first_text(answered, "stdout"), first_text(answered, "stderr")))
        )
    if answered is None or isinstance(answered, str):
        return answered or ""
    if isinstance(answered, Mapping) and isinstance(answered.get("content"), str):
        # what a search found: its lines say of which file they are
        return first_text(answered, "content")
    if (
        isinstance(answered, list)
        and answered
        and all(isinstance(one, Mapping) and isinstance(one.get("text"), str) for one in answered)
    ):
        return "\n".join(first_text(one, "text") for one in answered)
    return dumps(answered, ensure_ascii=False)


def to_seconds(value: Any) -> float | None:
    """Milliseconds as seconds."""
    return (
        value / 1_000 if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    )


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
