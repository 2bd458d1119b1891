"""The status line of a host's terminal: what memory did in the conversation at hand. `reverie
statusline` is the command that a host starts at every turn, with JSON on stdin.

Reads what hooks left in files and opens no store, so that nobody waits.
"""

from __future__ import annotations

import json
import os
import sys

from reverie.core import environment
from reverie.interfaces.hooks.spool import HookFiles

MAX_INPUT_BYTES = 1_000_000


def main() -> None:
    """The line of the usual home."""
    print_status(environment.current_home())


def print_status(home: str) -> None:
    """One line on stdout; an empty one where nothing is known, whatever happens."""
    try:
        given = json.loads(sys.stdin.buffer.read(MAX_INPUT_BYTES) or b"{}")
        session = given.get("session_id")
        line = compose_status(session if isinstance(session, str) else "", HookFiles(home))
    except (OSError, ValueError, AttributeError):
        line = ""
    os.write(1, f"{line}\n".encode("utf-8", "replace"))


def compose_status(session: str, files: HookFiles) -> str:
    """What memory did in a conversation: “reverie: 3 given, 1 stopped”."""
    if not environment.is_switched_on():
        return "reverie: off"
    note = files.read_note(session) if session else None
    if note is None:
        return "reverie"
    if note.off:
        return "reverie: off here"
    if note.held_out:
        return "reverie: silent here (proof)"
    if environment.is_encrypted(files.home):
        from reverie.core.private_files import is_locked

        if is_locked(files.home):
            return "reverie: locked (reverie data unlock)"
    given = len(files.given_times(session).keys() | files.shown_ids(session))
    waiting = len(files.list_events())
    parts = [f"{given} given" if given else "", f"{waiting} waiting" if waiting > 20 else ""]
    said = ", ".join(filter(None, parts))
    return f"reverie: {said}" if said else "reverie"
