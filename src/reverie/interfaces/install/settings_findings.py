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
from reverie.interfaces.hosts import HOST_MODULES, load_host, load_hosts
from reverie.interfaces.hosts.claude_code import list_settings_files
from reverie.interfaces.install import command_files, hook_line, settings_entries
from reverie.interfaces.install.json_edit import parse_json_object
from reverie.interfaces.install.settings_writer import read_settings_text

PLUGIN = "reverie@"  # how our plugin's name begins, whatever the market is called
UNINSTALL = "claude plugin uninstall"  # Claude Code's own command
MENTIONS = ("reverie-hook", "reverie/interfaces/hooks/run.py", "reverie/surfaces/hooks/run.py")


class DoctorFinding(NamedTuple):
    """The result of one check."""

    well: bool
    text: str
    mend: str = ""  # what to do about it, or what is worth knowing


def report_fault(text: str, mend: str = "") -> DoctorFinding:
    """Something that does not work as it should, and what mends it."""
    return DoctorFinding(False, text, mend)


def report_state(text: str, hint: str = "") -> DoctorFinding:
    """How something stands that is well, or is the user's own choice."""
    return DoctorFinding(True, text, hint)


class HostWiring(NamedTuple):
    """One host, for the user or for a project."""

    host: str
    project: Path | None
    path: Path  # of the hooks
    hooks: Mapping[str, Sequence[hook_line.HookCommand]]  # ours, by event
    foreign_commands: int  # commands that mention ours and are somebody's own
    server: Mapping[str, Any] | None  # our MCP server
    servers_path: Path

    @property
    def name(self) -> str:
        """The host's title with the file, for messages."""
        return f"{load_host(self.host).title} ({self.path})"

    @property
    def install_command(self) -> str:
        """The command that wires the host again."""
        return f"reverie install {self.host}{' --project' if self.project else ''}"


class HostFiles:
    """Hosts' files, each read once; what could not be read is remembered."""

    def __init__(self) -> None:
        self.read: dict[Path, Mapping[str, Any]] = {}
        self.troubles: dict[Path, str] = {}

    def read_data(self, path: Path) -> Mapping[str, Any]:
        """What a file of JSON or TOML holds; nothing if it is not there or cannot be read."""
        if path not in self.read:
            self.read[path] = {}
            try:
                text = read_settings_text(path) or ""
                self.read[path] = (
                    settings_entries.parse_toml(text)
                    if path.suffix == ".toml"
                    else parse_json_object(text)
                )
            except OSError as err:
                self.troubles[path] = err.strerror or str(err)
            except BadInput as err:
                self.troubles[path] = str(err)
        return self.read[path]

    def unreadable(self) -> Iterator[DoctorFinding]:
        """The files that somebody has to mend."""
        for path, trouble in self.troubles.items():
            yield report_fault(
                f"{path} cannot be read: {trouble}", "Its host may not read it either."
            )


def find_wirings(found: HostFiles, project: Path) -> list[HostWiring]:
    """Every host that is wired with hooks or a server of ours, for the user first."""
    every = [read_wiring(found, host, root) for host in HOST_MODULES for root in (None, project)]
    return [one for one in every if one.hooks or one.server or one.foreign_commands]


def read_wiring(
    found: HostFiles,
    host: str,
    project: Path | None,
) -> HostWiring:
    """One host as its files have it."""
    path, servers = load_host(host).settings_files(project)
    data = found.read_data(path)
    hooks: dict[str, list[hook_line.HookCommand]] = {}
    others = 0
    for place, handler in settings_entries.iter_handlers(data):
        line = str(handler.get("command", ""))
        if hook := hook_line.parse_hook_line(line):
            hooks.setdefault(str(place[1]), []).append(hook)
        others += hook is None and any(word in line for word in MENTIONS)
    listed = found.read_data(servers).get(
        "mcp_servers" if servers.suffix == ".toml" else "mcpServers"
    )
    server = listed.get(settings_entries.SERVER) if isinstance(listed, Mapping) else None
    return HostWiring(
        host, project, path, hooks, others, server if isinstance(server, Mapping) else None, servers
    )


def judge_wiring(one: HostWiring, home: Path) -> Iterator[DoctorFinding]:
    """What is to be said of one wiring without trying anything."""
    if not one.hooks:
        if one.foreign_commands:
            yield report_state(
                f"{one.name} has {one.foreign_commands} commands of somebody's own "
                "that mention our hook.",
                f"They are not looked at. If you want ours: {one.install_command}",
            )
        return
    missing = [event for event in load_host(one.host).events if event not in one.hooks]
    if missing:
        yield report_fault(
            f"{one.name}: no hook for {', '.join(missing)}.",
            f"Wire it anew: {one.install_command}",
        )
    if any(len(hooks) > 1 for hooks in one.hooks.values()):
        yield report_fault(
            f"{one.name}: it runs more than one hook of ours at the same event.",
            f"Wire it anew: {one.install_command}",
        )
    if one.foreign_commands:
        yield report_state(
            f"{one.name}: {one.foreign_commands} more commands mention our hook and are not ours.",
            "If they run it, every hook runs twice.",
        )
    every = {hook for hooks in one.hooks.values() for hook in hooks}
    for program in sorted({hook.program for hook in every}):
        # The interpreter and our launcher, or the one command that is both.
        needed = (program[0], program[-1])
        lost = next((word for word in needed if not is_available(word)), "")
        if lost:
            yield report_fault(
                f"{one.name}: its hook does not work: {lost} is not there.",
                f"Wire it anew: {one.install_command}",
            )
        elif program != hook_line.own_program() and hook_line.is_own_program(program):
            yield report_state(
                f"{one.name} is wired by an earlier version of this installation. Its hooks work.",
                f"To renew them: {one.install_command}",
            )
        elif program not in (hook_line.own_program(), hook_line.BY_NAME):
            yield report_state(
                f"{one.name} is wired to another installation of Reverie ({program[-1]}), which is "
                "not tried from here.",
                f"To have this one: {one.install_command}",
            )
    usual = config.user_home() / ".reverie"
    for other in sorted({Path(hook.home or usual) for hook in every if not hook.windows}):
        if other.resolve() != home.resolve():
            look = (
                ""
                if one.project
                else f". To look at that one: reverie --home {shlex.quote(str(other))} doctor"
            )
            yield report_fault(
                f"{one.name}: its hooks open the memory in {other}, and this is the one in {home}.",
                f"To wire this one: {one.install_command}{look}",
            )


def is_available(word: str) -> bool:
    """True if a program is on the path, or a file where it is said to be."""
    return shutil.which(word) is not None or Path(word).is_file()


def judge_server(one: HostWiring) -> Iterator[DoctorFinding]:
    """Say if the MCP server cannot be started: its program is looked up, not run."""
    if one.server is None:
        if one.hooks:
            yield report_state(
                f"{load_host(one.host).title} has no MCP server of ours ({one.servers_path}).",
                f"If you want it: {one.install_command}",
            )
        return
    program = one.server.get("command")
    if isinstance(program, str) and not is_available(program):
        yield report_fault(
            f"{load_host(one.host).title} ({one.servers_path}): its MCP server cannot start: "
            f"{program} is not there.",
            mend_program(program, one),
        )


def mend_program(program: str, one: HostWiring) -> str:
    """What brings back a program that a host is to start."""
    if program == "reverie":
        return "Install Reverie with pipx or uv tool, or add its folder to PATH."
    return f"Wire it anew: {one.install_command}"


def judge_commands(one: HostWiring) -> Iterator[DoctorFinding]:
    """Commands of ours that are not there, or whose program is not: it is looked up, not run."""
    folder = load_host(one.host).commands_folder(one.project)
    if folder is None or not one.hooks:
        return
    missing = []
    for name in command_files.COMMANDS:
        path = folder / f"{name}.md"
        try:
            text = read_settings_text(path)
        except (OSError, BadInput) as err:
            yield report_fault(f"{path} cannot be read: {err}", "Its host may not read it either.")
            continue
        found = command_files.parse_command(text or "")
        if text is None:
            missing.append(f"/reverie:{name}")
        elif found is None:
            yield report_state(f"{path} is a command of somebody's own, and is left as it is.")
        elif not is_available(program := found[1][0]):
            yield report_fault(
                f"{load_host(one.host).title}: its command /reverie:{name} does not work: "
                f"{program} is not there.",
                mend_program(program, one),
            )
    if missing:
        yield report_state(
            f"{load_host(one.host).title} has no command {', '.join(missing)} of ours ({folder}).",
            f"If you want it: {one.install_command}",
        )


def find_plugin(found: HostFiles, project: Path) -> tuple[Path, str] | None:
    """The settings of Claude Code in which our plugin is switched on, and its whole name; None
    where it is not.
    """
    for path in list_settings_files(project):
        enabled = found.read_data(path).get("enabledPlugins")
        for name, on in enabled.items() if isinstance(enabled, Mapping) else ():
            if name.startswith(PLUGIN) and on:
                return path, name
    return None


def judge_plugin(named: tuple[Path, str]) -> Iterator[DoctorFinding]:
    """Our plugin, and whether what it names can be found."""
    yield report_state(f"Claude Code has our plugin ({named[0]}).")
    for program in ("reverie-hook", "reverie"):
        if not is_available(program):
            yield report_fault(
                f"Our plugin for Claude Code runs {program}, which is not on the path.",
                "Install Reverie with pipx or uv tool, or add its folder to PATH.",
            )


def find_disabled_hooks(
    found: HostFiles,
    host: str,
    project: Path,
) -> Iterator[DoctorFinding]:
    """A finding for each settings file that disables all hooks of a host."""
    agent = load_host(host)
    for path, switch in agent.find_switches(found.read_data, project):
        yield report_fault(
            f"{agent.title} runs no hooks at all: {switch} in {path}.",
            "Take that out of the file.",
        )


def find_double_wirings(
    every: Sequence[HostWiring], named: tuple[Path, str] | None
) -> Iterator[DoctorFinding]:
    """Hosts that run each hook more than once."""
    for host, agent in load_hosts().items():
        wired = [one.hooks for one in every if one.host == host and one.hooks]
        if wired and named and agent.has_plugin:
            yield report_fault(
                f"{agent.title} is wired more than once, by our plugin and its settings: all runs "
                "twice.",
                f"Keep one: {UNINSTALL} {named[1]}, or reverie uninstall {host}",
            )
            continue
        once = agent.runs_equal_once and all(one == wired[0] for one in wired)
        if len(wired) > 1 and not once:
            yield report_fault(
                f"{agent.title} is wired more than once: every hook runs twice.",
                f"Keep one: reverie uninstall {host}, or reverie uninstall {host} --project",
            )
