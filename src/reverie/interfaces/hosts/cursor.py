"""Cursor, by its documented messages: not tried with the real program (docs/hosts.md)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reverie.interfaces.hooks.hook_event import (
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
from reverie.interfaces.hosts.host_agent import (
    CANNOT_ASK,
    FILE_TOOLS,
    HostAgent,
    extract_result_text,
    has_failed_exit,
    parse_response,
    to_seconds,
    to_share,
)

if TYPE_CHECKING:
    from pathlib import Path

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


def read_cursor_event(payload: Mapping[str, Any]) -> HookEvent:
    """What Cursor tells of."""
    kind = CURSOR_EVENTS[payload["hook_event_name"]]
    # A window may have several folders; the first one is where its agent works.
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else None
    texts = {
        PROMPT: ("prompt",),
        TURN_END: ("text",),
        TOOL_FAILED: ("error_message",),
    }
    tool = first_text(payload, "tool_name")
    is_file = tool.lower() in FILE_TOOLS
    answer = parse_response(payload.get("tool_output"))
    result = "" if is_file else extract_result_text(answer)
    # A shell's command that failed has run, as Cursor sees it.
    if kind == TOOL_AFTER and has_failed_exit(answer):
        kind = TOOL_FAILED
    return HookEvent(
        kind,
        session=first_text(payload, "conversation_id", "session_id"),
        cwd=root if isinstance(root, str) else first_text(payload, "cwd"),
        text=first_text(payload, *texts.get(kind, ())) or (result if kind == TOOL_FAILED else ""),
        tool=tool,
        given=payload.get("tool_input"),
        result=result,
        seconds=to_seconds(payload.get("duration")),
        transcript=first_text(payload, "transcript_path"),
        full=to_share(payload.get("context_usage_percent")),
        model=first_text(payload, "model"),
    )


def answer_cursor(event: str, text: str) -> dict[str, Any]:
    """What Cursor reads: context goes with a prompt, with the start of a session, and with what a
    tool answered.
    """
    if event == "beforeSubmitPrompt":
        return {"continue": True, "additional_context": text}
    return {"additional_context": text} if event in ("sessionStart", "postToolUse") else {}


def decide_cursor(_event: str, decision: str, reason: str) -> dict[str, Any]:
    """What keeps a tool from running. Cursor asks only before a shell command and an MCP call,
    which have events of their own; here it reads `deny`.
    """
    said = reason + (CANNOT_ASK if decision == "ask" else "")
    return {"permission": "deny", "user_message": said, "agent_message": said}


def settings_files(project: "Path | None") -> tuple["Path", "Path"]:
    """(hooks, MCP servers)."""
    from reverie.core import config

    folder = project / ".cursor" if project else config.host_folder("", ".cursor")
    return folder / "hooks.json", folder / "mcp.json"


def past_files() -> Iterator["Path"]:
    """The database with the conversations of all windows."""
    from reverie.core import config

    path = config.program_folder("Cursor") / "User" / "globalStorage" / "state.vscdb"
    return iter([path] if path.is_file() else [])


HOST = HostAgent(
    "Cursor",
    "Restart Cursor. `reverie doctor` says whether all is well.",
    CURSOR_EVENTS,
    read_cursor_event,
    answer_cursor,
    settings_files,
    flat_hooks=True,
    prompt_fields=("conversation_id", "session_id", "cwd", "prompt"),
    past_files=past_files,
    decide=decide_cursor,
    can_ask=False,
)
