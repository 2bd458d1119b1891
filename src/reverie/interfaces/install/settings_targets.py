"""Which files a host keeps its settings in, and what ours look like there.

A project's files that other people get with the repository name no place on this machine; those
that do are private (`.claude/settings.local.json`) or are said to be (docs/hosts.md).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core import config
from reverie.interfaces.hooks.host_adapters import HOSTS
from reverie.interfaces.install import hook_line, settings_entries

NAMES = {"claude-code": "Claude Code", "codex": "Codex", "cursor": "Cursor"}


class Target(NamedTuple):
    """A settings file, and how our entries get into its text and out of it."""

    path: Path
    what: str  # "hooks" or "server"
    put: Callable[[str], settings_entries.Wired]
    drop: Callable[[str, Collection[str] | None], str]


class Place(NamedTuple):
    """For whom Reverie is wired, and which memory it opens there."""

    home: Path  # the memory's home
    project: Path | None = None  # the project's folder; None: for the user, in all projects

    @property
    def moved(self) -> bool:
        """Whether hosts have to be told where the memory is."""
        return self.home != config.user_home() / ".reverie"


def targets(host: str, place: Place) -> list[Target]:
    """The settings files of a host."""
    hooked, servers = files(host, place.project)
    hooks = partial(
        settings_entries.hooked,
        events=tuple(HOSTS[host].events),
        line=hook_command(host, place),
        flat=host == "cursor",
    )
    with_server, without = (
        (settings_entries.toml_served, settings_entries.toml_without)
        if servers.suffix == ".toml"
        else (settings_entries.served, settings_entries.unserved)
    )
    return [
        Target(hooked, "hooks", hooks, settings_entries.unhooked),
        Target(servers, "server", partial(with_server, server=mcp_server(place)), without),
    ]


def files(host: str, project: Path | None) -> tuple[Path, Path]:
    """(the file with a host's hooks, the one with its MCP servers)."""
    if host == "claude-code":
        if project:
            return project / ".claude" / "settings.local.json", project / ".mcp.json"
        folder = config.host_folder("CLAUDE_CONFIG_DIR", ".claude")
        return folder / "settings.json", (
            folder if folder.name != ".claude" else folder.parent
        ) / ".claude.json"
    if host == "codex":
        folder = project / ".codex" if project else config.host_folder("CODEX_HOME", ".codex")
        return folder / "hooks.json", folder / "config.toml"
    folder = project / ".cursor" if project else config.host_folder("", ".cursor")
    return folder / "hooks.json", folder / "mcp.json"


def hook_command(host: str, place: Place) -> str:
    """The command line that a host runs."""
    moved = place.moved and sys.platform != "win32"
    return hook_line.Hook(
        hook_line.ours(), host, str(place.home) if moved else "", sys.platform == "win32"
    ).line


def mcp_server(place: Place) -> Mapping[str, Any]:
    """Our MCP server, as hosts want it."""
    if place.project:
        return {"command": "reverie", "args": ["mcp"]}
    server: dict[str, Any] = {"command": sys.executable, "args": settings_entries.SERVE_ARGS}
    return {**server, "env": {"REVERIE_HOME": str(place.home)}} if place.moved else server
