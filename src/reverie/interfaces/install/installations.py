"""Which installations of Reverie a machine starts: what its name means in a shell, and what hosts
start. Read from files; nothing that a file names is run.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from reverie.interfaces.install.settings_findings import DoctorFinding, HostWiring, report_fault

# How pip and uv start a script: by its interpreter, or by a shell where that has a long name.
SCRIPT_START = re.compile(rb"#!(?:/bin/sh\n'''exec' )?\"?([^\"\n]+?)\"?(?: \"\$0\"[^\n]*)?\n")
MAX_START_BYTES = 1_000


class ReverieInstallation(NamedTuple):
    """An installation, told by the folder in which its interpreter lies."""

    folder: Path

    @property
    def version(self) -> str:
        """The version that is installed there; "" where none can be read."""
        found = self.folder.parent.glob("lib/python*/site-packages/reverie-*.dist-info")
        return next((path.name.split("-")[1].removesuffix(".dist") for path in found), "")

    @property
    def name(self) -> str:
        """Its version and place, for people."""
        return f"{f'version {self.version} in ' * bool(self.version)}{self.folder}"


def find_installation(program: str) -> ReverieInstallation | None:
    """The installation that a program belongs to: an interpreter, or a script that names one; None
    where that cannot be read.
    """
    where = shutil.which(program)
    if where is None:
        return None
    try:
        with Path(where).open("rb") as file:
            start = SCRIPT_START.match(file.read(MAX_START_BYTES))
    except OSError:
        return None
    if start is not None:
        where = start[1].decode(errors="replace")
    # Anything else is a wrapper, or a launcher that only its system can read.
    is_python = Path(where).name.startswith("python")
    return ReverieInstallation(Path(where).parent.resolve()) if is_python else None


def find_other_installations(every: Sequence[HostWiring]) -> Iterator[DoctorFinding]:
    """Hosts that start another installation than a shell does: both write into one
    memory.
    """
    usual = find_installation("reverie") or find_installation(sys.executable)
    for one in every:
        words = {hook.program[0] for hook in chain.from_iterable(one.hooks.values())}
        served = one.server.get("command") if one.server else None
        if isinstance(served, str):
            words.add(served)
        found = {find_installation(word) for word in words} - {usual, None}
        for other in sorted(filter(None, found)):
            if usual is not None:
                yield report_fault(
                    f"Two installations of Reverie are at work: {one.name} starts {other.name}, "
                    f"and a shell starts {usual.name}.",
                    f"Wire the latter: {one.install_command}",
                )
