"""What `reverie doctor` says of a home that is encrypted at rest: its key, and what lies in the
clear.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from reverie.core import clock, unlocked_key
from reverie.core.encryption_file import find_encryption_fault, read_encryption
from reverie.core.errors import ExtraMissing, HomeLockedError, StoreError
from reverie.core.home_key import read_home_key
from reverie.core.key_ways import KEY_FILE, KeyWay
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.install.settings_findings import (
    DoctorFinding,
    report_fault,
    report_state,
)
from reverie.storage.private_home import is_open_to_others
from reverie.storage.side_files import find_plain_side_files

MAX_NAMED_FILES = 3


def examine_encryption(home: Path) -> Iterator[DoctorFinding]:
    """The state of an encrypted home's key, and files in it that should be sealed and are not;
    nothing for a home that is not encrypted.
    """
    try:
        encryption = read_encryption(home)
    except StoreError as err:
        yield report_fault(f"How this memory is encrypted cannot be read: {err}")
        return
    if encryption is None:
        return
    if fault := find_encryption_fault(home):
        yield report_fault(
            f"{fault}.",
            "Write it anew: reverie data verify --repair",
        )
    try:
        read_home_key(home)
    except (HomeLockedError, ExtraMissing) as err:
        waiting = len(HookFiles(str(home)).list_events())
        yield report_fault(
            f"This memory is encrypted, and locked: {err}",
            f"Until then {waiting:,} events wait sealed, and no agent is told anything.",
        )
    except StoreError as err:
        yield report_fault(f"The key of this memory cannot be read: {err}")
    else:
        unlocked = unlocked_key.read_unlocked(encryption.name, clock.now())
        kept = ", ".join(way.kind for way in encryption.ways)
        state = "unlocked for this login" if unlocked else "opened by what keeps its key"
        yield report_state(f"This memory is encrypted, and {state} (kept by: {kept}).")
    yield from examine_key_file(encryption.find(KEY_FILE))
    plain = list(find_plain_side_files(home))
    if plain:
        named = ", ".join(str(path.relative_to(home)) for path in plain[:MAX_NAMED_FILES])
        more = f" and {len(plain) - MAX_NAMED_FILES} more" if len(plain) > MAX_NAMED_FILES else ""
        yield report_fault(
            f"In this encrypted memory some files lie in the clear: {named}{more}.",
            "Seal them: reverie data unlock",
        )


def examine_key_file(way: KeyWay | None) -> Iterator[DoctorFinding]:
    """Whether others can read the key file, if the key is kept by one that is there."""
    path = Path(way.place) if way else None
    if path is not None and path.exists() and is_open_to_others(path):
        yield report_fault(
            f"Others on this machine can read the key file {path}.",
            f"Close it: chmod 600 {shlex.quote(str(path))}",
        )
