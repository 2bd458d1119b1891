"""Hosts that are wired and run no hook all the same: their own transcripts tell of sessions that
began since then, and no hook came.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from reverie.core import config
from reverie.interfaces.cli.terminal_output import count_noun
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hosts import load_host
from reverie.interfaces.install import hook_line
from reverie.interfaces.install.settings_findings import DoctorFinding, HostWiring, report_fault
from reverie.interfaces.install.settings_writer import WiringLedger
from reverie.porting.past_sessions import PEEKED_BYTES, peek_folder

# A session may have begun before the last hook of another one, or before a clock was set.
SLACK_SECONDS = 60.0
_BEGAN = re.compile(rb'"timestamp"\s*:\s*"([^"]{10,40})"')


def judge_silence(
    host: str,
    wirings: Sequence[HostWiring],
    home: Path,
) -> DoctorFinding | None:
    """A fault if sessions of a host began and none of their hooks came."""
    files = HookFiles(str(home))
    # Where memory is off a hook comes, too.
    came = max(files.last(host) or 0.0, files.last(f"{host}_off") or 0.0)
    for one in wirings:
        count = count_sessions(one, max(came, wired_at(one, home)) + SLACK_SECONDS)
        if not count:
            continue
        agent = load_host(host)
        programs = {hook.program for hooks in one.hooks.values() for hook in hooks}
        mend = f"{agent.title} says why: /hooks there"
        if programs != {hook_line.own_program()}:
            mend = f"Wire it anew, and begin a new session: {one.install_command}"
        return report_fault(
            f"{one.name} is wired, but its hooks do not come: "
            f"{count_noun(count, 'session')} began since {'the last one did' if came else 'then'}.",
            mend,
        )
    return None


def wired_at(one: HostWiring, home: Path) -> float:
    """When a host was wired, by our own note of it, else by the file that it stands in."""
    for path in (WiringLedger(home, one.host).path, one.path):
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def count_sessions(one: HostWiring, since: float) -> int:
    """How many sessions of a host began since then, where its wiring holds."""
    count = 0
    for path in load_host(one.host).past_files():
        with suppress(OSError, ValueError):
            if path.suffix == ".jsonl" and path.stat().st_mtime > since and began_at(path) > since:
                count += one.project is None or is_within(path, one.project)
    return count


def began_at(path: Path) -> float:
    """When a session began, by the first time that its transcript names; ValueError if it names
    none.
    """
    with path.open("rb") as file:
        found = _BEGAN.search(file.read(PEEKED_BYTES))
    if found is None:
        raise ValueError(f"{path} names no time")
    return datetime.fromisoformat(found[1].decode()).timestamp()


def is_within(path: Path, project: Path) -> bool:
    """True if a transcript tells of work in a project."""
    folder = peek_folder(path)
    spaces = {config.project_space_of(one) for one in (Path(folder), project)}
    return bool(folder) and len(spaces) == 1
