"""Codex. It speaks Claude Code's protocol, but refuses fields that it does not know, so only what
both know is sent.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reverie.interfaces.hosts.claude_code import (
    CLAUDE_EVENTS,
    answer_claude,
    decide_claude,
    read_claude_event,
    show_claude,
)
from reverie.interfaces.hosts.host_agent import CANNOT_ASK, HostAgent, ReadSettings

if TYPE_CHECKING:
    from pathlib import Path

# It has no event for a tool that failed: `has_failed_exit` and `hooks/exit_status` find out. That
# of a subagent was not tried.
NOT_OF_CODEX = ("PostToolUseFailure", "SubagentStart")
CODEX_EVENTS = {name: kind for name, kind in CLAUDE_EVENTS.items() if name not in NOT_OF_CODEX}


def decide_codex(event: str, decision: str, reason: str) -> dict[str, Any]:
    """What keeps a tool from running. Codex reads `ask`, reports it as a failure of the hook and
    runs the tool (0.169.0), so that what should be asked is denied.
    """
    return decide_claude(event, "deny", reason + (CANNOT_ASK if decision == "ask" else ""))


def settings_files(project: "Path | None") -> tuple["Path", "Path"]:
    """(hooks, MCP servers)."""
    from reverie.core import config

    folder = project / ".codex" if project else config.host_folder("CODEX_HOME", ".codex")
    return folder / "hooks.json", folder / "config.toml"


def find_switches(read: ReadSettings, project: "Path") -> Iterator[tuple["Path", str]]:
    """Files whose `[features]` keep all hooks from running, under the old name or the new."""
    for path in (settings_files(None)[1], settings_files(project)[1]):
        features = read(path).get("features")
        if not isinstance(features, Mapping):
            continue
        off = [name for name in ("hooks", "codex_hooks") if features.get(name) is False]
        if off:
            yield path, f"[features] {off[0]} = false"


def past_files() -> Iterator["Path"]:
    """The rollouts of sessions."""
    from reverie.core import config

    folder = config.host_folder("CODEX_HOME", ".codex")
    yield from folder.glob("sessions/**/*.jsonl")
    yield from folder.glob("archived_sessions/*.jsonl")


HOST = HostAgent(
    "Codex",
    "Start Codex and trust the hooks when it asks (or by /hooks). `reverie doctor` says whether "
    "all is well.",
    CODEX_EVENTS,
    read_claude_event,
    answer_claude,
    settings_files,
    find_switches,
    past_files=past_files,
    decide=decide_codex,
    can_ask=False,
    show=show_claude,
)
