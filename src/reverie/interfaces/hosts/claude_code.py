"""Claude Code. Exact names: its own documentation; docs/hosts.md says which versions were tried."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reverie.interfaces.hooks.hook_event import (
    COMPACT_AFTER,
    COMPACT_BEFORE,
    PROMPT,
    SESSION_END,
    SESSION_START,
    SUBAGENT_START,
    TOOL_AFTER,
    TOOL_BEFORE,
    TOOL_FAILED,
    TURN_END,
    HookEvent,
    first_text,
)
from reverie.interfaces.hosts.host_agent import (
    FILE_TOOLS,
    HostAgent,
    ReadSettings,
    extract_result_text,
    has_failed_exit,
    to_seconds,
)

if TYPE_CHECKING:
    from pathlib import Path

# Where a prompt may come from that somebody meant; others the host has made itself.
HUMAN_SOURCES = ("", "user", "sdk")
CLAUDE_EVENTS = {
    "SessionStart": SESSION_START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": TOOL_BEFORE,
    "PostToolUse": TOOL_AFTER,
    "PostToolUseFailure": TOOL_FAILED,
    "SubagentStart": SUBAGENT_START,
    "Stop": TURN_END,
    "PreCompact": COMPACT_BEFORE,
    "PostCompact": COMPACT_AFTER,
    "SessionEnd": SESSION_END,
}
# Claude Code reads additional context at these only.
CONTEXT_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
)


def read_claude_event(payload: Mapping[str, Any]) -> HookEvent | None:
    """What Claude Code or Codex tells of; None where the host prompts itself."""
    kind, tool = CLAUDE_EVENTS[payload["hook_event_name"]], first_text(payload, "tool_name")
    response = payload.get("tool_response")
    # Codex tells of a command that failed as of one that ran.
    if kind == TOOL_AFTER and has_failed_exit(response):
        kind = TOOL_FAILED
    # A sub-agent is prompted by an agent.
    is_asked_by_host = payload.get("source", "") not in HUMAN_SOURCES or payload.get("agent_id")
    if kind == PROMPT and is_asked_by_host:
        return None
    texts = {
        PROMPT: ("prompt",),
        TURN_END: ("last_assistant_message",),
        TOOL_FAILED: ("error",),
    }
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


def answer_claude(event: str, text: str) -> dict[str, Any]:
    """What Claude Code and Codex read."""
    if event not in CONTEXT_EVENTS:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def show_claude(event: str, line: str) -> dict[str, Any]:
    """What Claude Code and Codex show in the terminal; they discard it at other events."""
    return {"systemMessage": line} if event in CONTEXT_EVENTS else {}


def decide_claude(event: str, decision: str, reason: str) -> dict[str, Any]:
    """What keeps a tool from running: `ask` shows the reason to the person, `deny` to the agent."""
    said = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


def settings_files(project: "Path | None") -> tuple["Path", "Path"]:
    """(hooks, MCP servers): of a project the private file of the user's, which is not committed."""
    from reverie.core import config

    if project:
        return project / ".claude" / "settings.local.json", project / ".mcp.json"
    folder = config.host_folder("CLAUDE_CONFIG_DIR", ".claude")
    # The usual folder has its servers beside it, one that a variable names has them inside.
    servers = folder.parent if folder.name == ".claude" else folder
    return folder / "settings.json", servers / ".claude.json"


def commands_folder(project: "Path | None") -> "Path":
    """Where a file `off.md` is the command `/reverie:off`, as with our plugin."""
    folder = project / ".claude" if project else settings_files(None)[0].parent
    return folder / "commands" / "reverie"


def list_settings_files(project: "Path") -> tuple["Path", ...]:
    """Where Claude Code reads what is on: the user's, the project's, the user's own in it."""
    shared = project / ".claude" / "settings.json"
    return settings_files(None)[0], shared, settings_files(project)[0]


def find_switches(read: ReadSettings, project: "Path") -> Iterator[tuple["Path", str]]:
    """Files that keep all hooks from running."""
    for path in list_settings_files(project):
        if read(path).get("disableAllHooks") is True:
            yield path, "disableAllHooks"


def past_files() -> Iterator["Path"]:
    """The transcripts of sessions, without those of subagents."""
    from reverie.core import config

    folder = config.host_folder("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    found = folder.glob("*/*.jsonl")
    return (path for path in found if not path.name.startswith("agent-"))


HOST = HostAgent(
    "Claude Code",
    "Start a new session of Claude Code. `reverie doctor` says whether all is well.",
    CLAUDE_EVENTS,
    read_claude_event,
    answer_claude,
    settings_files,
    find_switches,
    has_plugin=True,
    runs_equal_once=True,
    text_events=("PreCompact",),
    decide=decide_claude,
    show=show_claude,
    commands_folder=commands_folder,
    past_files=past_files,
)
