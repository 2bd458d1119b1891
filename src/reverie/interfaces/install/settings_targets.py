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
from reverie.interfaces.hosts import load_host
from reverie.interfaces.install import command_files, hook_line, settings_entries


class SettingsTarget(NamedTuple):
    """A settings file, and how our entries get into its text and out of it."""

    path: Path
    what: str  # "hooks", "server" or "command"; of the last the whole file is ours
    add_entries: Callable[[str], settings_entries.WiredText]
    remove_entries: Callable[[str, Collection[str] | None], str]


class WiringPlace(NamedTuple):
    """For whom Reverie is wired, and which memory it opens there."""

    home: Path  # the memory's home
    project: Path | None = None  # the project's folder; None: for the user, in all projects

    @property
    def is_custom_home(self) -> bool:
        """True if hosts have to be told where the memory is."""
        return self.home != config.user_home() / ".reverie"


def list_targets(name: str, place: WiringPlace) -> list[SettingsTarget]:
    """The settings files of a host."""
    host = load_host(name)
    hooked, servers = host.settings_files(place.project)
    hooks = partial(
        settings_entries.add_hooks,
        events=tuple(host.events),
        line=build_hook_command(name, place),
        flat=host.flat_hooks,
    )
    with_server, without = (
        (settings_entries.add_toml_server, settings_entries.remove_toml_server)
        if servers.suffix == ".toml"
        else (settings_entries.add_server, settings_entries.remove_server)
    )
    server = partial(with_server, server=build_mcp_server(place))
    folder = host.commands_folder(place.project)
    program = build_program(place)
    return [
        SettingsTarget(hooked, "hooks", hooks, settings_entries.remove_hooks),
        SettingsTarget(servers, "server", server, without),
        *(
            SettingsTarget(
                folder / f"{command}.md",
                "command",
                partial(command_files.add_command, name=command, program=program),
                command_files.remove_command,
            )
            for command in command_files.COMMANDS
            if folder is not None
        ),
    ]


def build_hook_command(host: str, place: WiringPlace) -> str:
    """The command line that a host runs."""
    windows = sys.platform == "win32"
    # cmd.exe cannot set a variable for one command, so there the user's environment says it.
    home = str(place.home) if place.is_custom_home and not windows else ""
    return hook_line.HookCommand(hook_line.own_program(), host, home, windows).line


def build_program(place: WiringPlace) -> list[str]:
    """What starts Reverie in the files of our commands."""
    # A project's file is committed: it names no place on this machine.
    if place.project:
        return [*command_files.PLUGIN_PROGRAM]
    home = ["--home", str(place.home)] if place.is_custom_home else []
    return [sys.executable, *command_files.MODULE_ARGS, *home]


def build_mcp_server(place: WiringPlace) -> Mapping[str, Any]:
    """Our MCP server, as hosts want it."""
    # A project's file is committed: it names no place on this machine.
    if place.project:
        return {"command": "reverie", "args": ["mcp"]}
    server: dict[str, Any] = {"command": sys.executable, "args": settings_entries.SERVE_ARGS}
    return {**server, "env": {"REVERIE_HOME": str(place.home)}} if place.is_custom_home else server
