"""The command line that a host runs at each of its moments: how it is written, and how ours is told
from others'.

A command is ours only if Reverie would write it so, to the letter, on this machine or from another
installation: `read` takes a line apart and puts it together again, and what does not come out the
same is somebody else's. That a line mentions `reverie-hook` means nothing: people log our hooks,
slow them down, count them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from reverie.interfaces import hooks
from reverie.interfaces.hosts import HOST_MODULES

# As the plugin names the hook, and who wires it by hand.
BY_NAME = ("reverie-hook",)
# Neither the environment's nor the site's packages: `hooks/run.py` says why.
FLAGS = ("-I", "-S")
# Earlier versions had the launcher in another folder, and their lines are ours too.
LAUNCHER = re.compile(r"reverie[/\\](?:interfaces|surfaces)[/\\]hooks[/\\]run\.py\Z")
# Whatever happens, also while Reverie is being upgraded, a hook ends with 0.
SILENT = " 2>/dev/null || true"
WINDOWS_SILENT = " || exit 0"


class HookCommand(NamedTuple):
    """A command line of ours, taken apart."""

    program: tuple[str, ...]  # the interpreter, its flags and our launcher; or BY_NAME
    host: str
    home: str = ""  # the REVERIE_HOME that it sets; "": none
    windows: bool = False  # written for cmd.exe

    @property
    def line(self) -> str:
        """The command line as a host's settings hold it."""
        words = [*self.program, self.host]
        if self.windows:
            return subprocess.list2cmdline(words) + WINDOWS_SILENT
        home = f"REVERIE_HOME={shlex.quote(self.home)} " if self.home else ""
        return f"{home}{shlex.join(words)}{SILENT}"


def own_program() -> tuple[str, ...]:
    """What this installation starts a hook with."""
    return (sys.executable, *FLAGS, launcher_path())


def is_own_program(program: tuple[str, ...]) -> bool:
    """True if a hook starts this installation, also by the launcher of an earlier version."""
    package = Path(hooks.__path__[0]).resolve().parents[1]
    *start, launcher = program
    is_same_start = tuple(start) == own_program()[:-1]
    return is_same_start and Path(launcher).resolve().is_relative_to(package)


def launcher_path() -> str:
    """The file that a hook starts with."""
    return str(Path(hooks.__path__[0]).absolute() / "run.py")


def parse_hook_line(line: str) -> HookCommand | None:
    """A line that Reverie wrote, taken apart; None for everybody else's."""
    for hook in (parse_posix_line(line), parse_windows_line(line)):
        # Put together again it must be the same line, to the letter.
        if hook and is_our_hook(hook) and hook.line == line:
            return hook
    return None


def is_our_hook(hook: HookCommand) -> bool:
    """True if a hook starts what ours do."""
    if hook.host not in HOST_MODULES:
        return False
    if hook.program == BY_NAME:
        return True
    # The interpreter may be any: another installation is still ours.
    is_launched = len(hook.program) == 4 and hook.program[1:3] == FLAGS
    return is_launched and LAUNCHER.search(hook.program[3]) is not None


def parse_posix_line(line: str) -> HookCommand | None:
    """A line for a shell, whoever wrote it."""
    try:
        words = shlex.split(line.removesuffix(SILENT))
    except ValueError:
        return None
    if len(words) < 2:
        return None
    *program, host = words
    home = ""
    if words[0].startswith("REVERIE_HOME="):
        home = program.pop(0).partition("=")[2]
    return HookCommand(tuple(program), host, home)


def parse_windows_line(line: str) -> HookCommand | None:
    """A line for cmd.exe, whoever wrote it: words without spaces, or in quotes."""
    found = re.findall(r'"([^"]*)"|(\S+)', line.removesuffix(WINDOWS_SILENT))
    words = [quoted or bare for quoted, bare in found]
    return (
        HookCommand(
            tuple(words[:-1]),
            words[-1],
            windows=True,
        )
        if len(words) > 1
        else None
    )
