"""Codex. It speaks Claude Code's protocol, but refuses fields that it does not know, so only what
both know is sent.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from reverie.interfaces.hosts.claude_code import CLAUDE_EVENTS, answer_claude, read_claude_event
from reverie.interfaces.hosts.host_agent import HostAgent, ReadSettings

if TYPE_CHECKING:
    from pathlib import Path

# It has no event for a tool that failed: `has_failed_exit` and `hooks/exit_status` find out.
CODEX_EVENTS = {name: kind for name, kind in CLAUDE_EVENTS.items() if name != "PostToolUseFailure"}


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
)
