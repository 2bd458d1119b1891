"""Which files a host keeps its settings in, and what ours look like there.

A project's files that other people get with the repository name no place on this machine; those that do are private
(`.claude/settings.local.json`) or are said to be (docs/hosts.md).
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reverie import config
from reverie.surfaces import hooks
from reverie.surfaces.hooks.hosts import HOSTS
from reverie.surfaces.wiring import entries

NAMES = {"claude-code": "Claude Code", "codex": "Codex", "cursor": "Cursor"}


class Target(NamedTuple):
    """A settings file, and how our entries get into its text and out of it."""

    path: Path
    what: str                          # "hooks" or "server"
    put: Callable[[str], str]
    drop: Callable[[str], str]


class Place(NamedTuple):
    """For whom Reverie is wired, and which memory it opens there."""

    home: Path                         # the memory's home
    project: Path | None = None        # the project's folder; None: for the user, in all projects

    @property
    def moved(self) -> bool:
        """Whether hosts have to be told where the memory is."""
        return self.home != config.user_home() / ".reverie"


def targets(host: str, place: Place) -> list[Target]:
    """The settings files of a host."""
    events, command = HOSTS[host].events, hook_command(host, place)
    hooks = (entries.flat if host == "cursor" else entries.grouped)(events, command)
    hooked, servers = files(host, place.project)
    found = [Target(hooked, "hooks", partial(entries.altered, change=hooks),
                    partial(entries.altered, change=entries.unhooked))]  # fmt: skip
    server = mcp_server(place)
    if servers.suffix == ".toml":
        return [*found, Target(servers, "server", partial(entries.toml_with, server=server), entries.toml_without)]
    return [*found, Target(servers, "server", partial(entries.altered, change=entries.serving(server)),
                           partial(entries.altered, change=entries.unserved))]  # fmt: skip


def files(host: str, project: Path | None) -> tuple[Path, Path]:
    """(the file with a host's hooks, the one with its MCP servers)."""
    if host == "claude-code":
        if project:
            return project / ".claude" / "settings.local.json", project / ".mcp.json"
        folder = config.host_folder("CLAUDE_CONFIG_DIR", ".claude")
        return folder / "settings.json", (folder if folder.name != ".claude" else folder.parent) / ".claude.json"
    if host == "codex":
        folder = project / ".codex" if project else config.host_folder("CODEX_HOME", ".codex")
        return folder / "hooks.json", folder / "config.toml"
    folder = project / ".cursor" if project else config.host_folder("", ".cursor")
    return folder / "hooks.json", folder / "mcp.json"


def hook_command(host: str, place: Place) -> str:
    """The command line that a host runs. Whatever happens, also while Reverie is being upgraded, it ends with 0."""
    words = [sys.executable, "-I", "-S", launcher(), host]
    if sys.platform == "win32":
        return f"{subprocess.list2cmdline(words)} || exit 0"
    home = f"REVERIE_HOME={shlex.quote(str(place.home))} " if place.moved else ""
    return f"{home}{shlex.join(words)} 2>/dev/null || true"


def launcher() -> str:
    """The file that a hook starts with."""
    return str(Path(hooks.__path__[0]).absolute() / "run.py")


def mcp_server(place: Place) -> Mapping[str, Any]:
    """Our MCP server, as hosts want it."""
    if place.project:
        return {"command": "reverie", "args": ["mcp"]}
    server: dict[str, Any] = {"command": sys.executable, "args": ["-m", "reverie", "mcp"]}
    return {**server, "env": {"REVERIE_HOME": str(place.home)}} if place.moved else server
