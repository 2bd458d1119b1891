"""What hosts' settings say of Reverie, read and judged, never run.

A project's files come with the repository, from whoever wrote it; the user's own may hold anybody's
commands. So a line is taken apart and compared with what this installation would write (`command`),
and programs are only looked up.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core import config
from reverie.core.errors import BadInput
from reverie.interfaces.hooks.host_adapters import HOSTS
from reverie.interfaces.install import hook_line, settings_entries
from reverie.interfaces.install.json_edit import parsed
from reverie.interfaces.install.settings_targets import NAMES, files
from reverie.interfaces.install.settings_writer import text_of

PLUGIN = "reverie@"  # how our plugin's name begins, whatever the market is called
UNINSTALL = "claude plugin uninstall"  # Claude Code's own command
MENTIONS = ("reverie-hook", "reverie/interfaces/hooks/run.py", "reverie/surfaces/hooks/run.py")


class Finding(NamedTuple):
    """One thing that was looked at."""

    well: bool
    text: str
    mend: str = ""  # what to do about it, or what is worth knowing


class Wiring(NamedTuple):
    """One host, for the user or for a project."""

    host: str
    project: Path | None
    path: Path  # of the hooks
    hooks: Mapping[str, Sequence[hook_line.Hook]]  # ours, by event
    others: int  # commands that mention ours and are somebody's own
    server: Mapping[str, Any] | None  # our MCP server
    servers: Path

    @property
    def name(self) -> str:
        """As people call it."""
        return f"{NAMES[self.host]} ({self.path})"

    @property
    def again(self) -> str:
        """What wires it anew."""
        return f"reverie install {self.host}{' --project' if self.project else ''}"


class Files:
    """Hosts' files, each read once; what could not be read is remembered."""

    def __init__(self) -> None:
        self.read: dict[Path, Mapping[str, Any]] = {}
        self.troubles: dict[Path, str] = {}

    def data(self, path: Path) -> Mapping[str, Any]:
        """What a file of JSON or TOML holds; nothing if it is not there or cannot be read."""
        if path not in self.read:
            self.read[path] = {}
            try:
                text = text_of(path) or ""
                self.read[path] = (
                    settings_entries.read_toml(text) if path.suffix == ".toml" else parsed(text)
                )
            except OSError as err:
                self.troubles[path] = err.strerror or str(err)
            except BadInput as err:
                self.troubles[path] = str(err)
        return self.read[path]

    def unreadable(self) -> Iterator[Finding]:
        """The files that somebody has to mend."""
        for path, trouble in self.troubles.items():
            yield Finding(
                False, f"{path} cannot be read: {trouble}", "Its host may not read it either."
            )


def wirings(found: Files, project: Path) -> list[Wiring]:
    """Every host that is wired with hooks or a server of ours, for the user first."""
    every = [wiring(found, host, root) for host in NAMES for root in (None, project)]
    return [one for one in every if one.hooks or one.server or one.others]


def wiring(found: Files, host: str, project: Path | None) -> Wiring:
    """One host as its files have it."""
    path, servers = files(host, project)
    data = found.data(path)
    hooks: dict[str, list[hook_line.Hook]] = {}
    others = 0
    for place, handler in settings_entries.every_handler(data):
        line = str(handler.get("command", ""))
        if hook := hook_line.read(line):
            hooks.setdefault(str(place[1]), []).append(hook)
        others += hook is None and any(word in line for word in MENTIONS)
    listed = found.data(servers).get("mcp_servers" if servers.suffix == ".toml" else "mcpServers")
    server = listed.get(settings_entries.SERVER) if isinstance(listed, Mapping) else None
    return Wiring(
        host, project, path, hooks, others, server if isinstance(server, Mapping) else None, servers
    )


def judged(one: Wiring, home: Path) -> Iterator[Finding]:
    """What is to be said of one wiring without trying anything."""
    if not one.hooks:
        if one.others:
            yield Finding(
                True,
                f"{one.name} has {one.others} commands of somebody's own that mention our hook.",
                f"They are not looked at. If you want ours: {one.again}",
            )
        return
    missing = [event for event in HOSTS[one.host].events if event not in one.hooks]
    if missing:
        yield Finding(
            False, f"{one.name}: no hook for {', '.join(missing)}.", f"Wire it anew: {one.again}"
        )
    if any(len(hooks) > 1 for hooks in one.hooks.values()):
        yield Finding(
            False,
            f"{one.name}: it runs more than one hook of ours at the same event.",
            f"Wire it anew: {one.again}",
        )
    if one.others:
        yield Finding(
            True,
            f"{one.name}: {one.others} more commands mention our hook and are not ours.",
            "If they run it, every hook runs twice.",
        )
    every = {hook for hooks in one.hooks.values() for hook in hooks}
    for program in sorted({hook.program for hook in every}):
        if lost := next((word for word in runs(program) if not there(word)), ""):
            yield Finding(
                False,
                f"{one.name}: its hook does not work: {lost} is not there.",
                f"Wire it anew: {one.again}",
            )
        elif program not in (hook_line.ours(), hook_line.BY_NAME):
            yield Finding(
                True,
                f"{one.name} is wired to another installation of Reverie ({program[-1]}), which is not "
                "tried from here.",
                f"To have this one: {one.again}",
            )
    usual = config.user_home() / ".reverie"
    for other in sorted({Path(hook.home or usual) for hook in every if not hook.windows}):
        if other.resolve() != home.resolve():
            look = (
                ""
                if one.project
                else f". To look at that one: reverie --home {shlex.quote(str(other))} doctor"
            )
            yield Finding(
                False,
                f"{one.name}: its hooks open the memory in {other}, and this is the one in {home}.",
                f"To wire this one: {one.again}{look}",
            )


def runs(program: Sequence[str]) -> tuple[str, ...]:
    """The files that a hook's program needs."""
    return (program[0], program[-1])


def there(word: str) -> bool:
    """Whether a program is on the path, or a file where it is said to be."""
    return shutil.which(word) is not None or Path(word).is_file()


def server_of(one: Wiring) -> Iterator[Finding]:
    """Whether the MCP server can be started: its program is looked up, not run."""
    if one.server is None:
        if one.hooks:
            yield Finding(
                True,
                f"{NAMES[one.host]} has no MCP server of ours ({one.servers}).",
                f"If you want it: {one.again}",
            )
        return
    program = one.server.get("command")
    if isinstance(program, str) and not there(program):
        mend = (
            "Install Reverie with pipx or uv tool, or add its folder to PATH."
            if program == "reverie"
            else f"Wire it anew: {one.again}"
        )
        yield Finding(
            False,
            f"{NAMES[one.host]} ({one.servers}): its MCP server cannot start: {program} is not there.",
            mend,
        )


def plugin(found: Files, project: Path) -> tuple[Path, str] | None:
    """The settings of Claude Code in which our plugin is switched on, and its whole name; None
    where it is not.
    """
    for path in claude_settings(project):
        enabled = found.data(path).get("enabledPlugins")
        for name, on in enabled.items() if isinstance(enabled, Mapping) else ():
            if name.startswith(PLUGIN) and on:
                return path, name
    return None


def plugged(named: tuple[Path, str]) -> Iterator[Finding]:
    """Our plugin, and whether what it names can be found."""
    yield Finding(True, f"Claude Code has our plugin ({named[0]}).")
    for program in ("reverie-hook", "reverie"):
        if not there(program):
            yield Finding(
                False,
                f"Our plugin for Claude Code runs {program}, which is not on the path.",
                "Install Reverie with pipx or uv tool, or add its folder to PATH.",
            )


def switched_off(found: Files, host: str, project: Path) -> Iterator[Finding]:
    """Where a host is told to run no hooks at all."""
    if host == "claude-code":
        for path in claude_settings(project):
            if found.data(path).get("disableAllHooks") is True:
                yield Finding(
                    False,
                    f"Claude Code runs no hooks at all: disableAllHooks in {path}.",
                    "Take that out of the file.",
                )
    if host == "codex":
        for path in (files(host, None)[1], files(host, project)[1]):
            features = found.data(path).get("features")
            off = [
                name
                for name in ("hooks", "codex_hooks")
                if isinstance(features, Mapping) and features.get(name) is False
            ]
            if off:
                yield Finding(
                    False,
                    f"Codex runs no hooks at all: [features] {off[0]} = false in {path}.",
                    "Take that out of the file.",
                )


def claude_settings(project: Path) -> tuple[Path, ...]:
    """Where Claude Code keeps what is on: the user's, the project's, the user's own in
    the project.
    """
    return (
        files("claude-code", None)[0],
        project / ".claude" / "settings.json",
        files("claude-code", project)[0],
    )


def twice(every: Sequence[Wiring], named: tuple[Path, str] | None) -> Iterator[Finding]:
    """Hosts that run each hook more than once."""
    for host in NAMES:
        wired = [one.hooks for one in every if one.host == host and one.hooks]
        if wired and named and host == "claude-code":
            yield Finding(
                False,
                "Claude Code is wired more than once, by our plugin and its settings: all runs twice.",
                f"Keep one: {UNINSTALL} {named[1]}, or reverie uninstall {host}",
            )
            continue
        # Claude Code runs equal handlers of several files once.
        once = host == "claude-code" and all(one == wired[0] for one in wired)
        if len(wired) > 1 and not once:
            yield Finding(
                False,
                f"{NAMES[host]} is wired more than once: every hook runs twice.",
                f"Keep one: reverie uninstall {host}, or reverie uninstall {host} --project",
            )
