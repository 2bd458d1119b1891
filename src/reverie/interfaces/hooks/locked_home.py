"""What hooks do while the home is encrypted and locked: what happens is written down, sealed to the
home's public key, and nothing is handed over, as nothing can be read. The person is told once in a
session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reverie.core.errors import ReverieError, StoreError
from reverie.core.home_key import gives_key_unasked
from reverie.core.private_files import is_locked
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.spool import create_file, write_json_object

if TYPE_CHECKING:
    from reverie.interfaces.hooks.hook_main import HookCall
    from reverie.interfaces.hosts.host_agent import HostAgent

LOCKED = "Reverie: memory is locked, what happens is kept sealed. Unlock it: reverie data unlock"
# What cannot be sealed is not written: the settings of the encryption are damaged, or its library
# is gone.
UNSEALABLE = "Reverie: nothing is kept, for it cannot be sealed. What is wrong: reverie doctor"
# Of the others there is nothing to take in: before a tool, only what was said would be.
TAKEN_IN = frozenset(
    (
        kinds.SESSION_START,
        kinds.PROMPT,
        kinds.TOOL_AFTER,
        kinds.TOOL_FAILED,
        kinds.TURN_END,
        kinds.COMPACT_BEFORE,
        kinds.SESSION_END,
    )
)


def answer_locked(
    call: HookCall,
    host: HostAgent,
    name: str,
    take_in: Callable[[HookCall], object],
) -> Mapping[str, Any] | None:
    """Have an event taken in, and what to show the person; None if the home is not locked."""
    event, files = call.event, call.files
    try:
        if not is_locked(files.home):
            return None
        if event.kind in TAKEN_IN:
            if event.doubtful:
                from reverie.interfaces.hooks.exit_status import resolve_outcome

                call = call._replace(event=resolve_outcome(event))
            take_in(call)
    except ReverieError as err:
        files.log_trouble(f"{event.kind}: {type(err).__name__}: {err}")
        return tell_once(call, host, name, UNSEALABLE)
    if event.kind == kinds.PROMPT:
        note = call.note._replace(asked=call.now)
        with suppress(OSError):
            write_json_object(files.session_file(event.session, "json"), note._asdict())
    start_worker_if_useful(call)
    return tell_once(call, host, name, LOCKED)


def tell_once(call: HookCall, host: HostAgent, name: str, line: str) -> Mapping[str, Any]:
    """What shows the person a line, once in a session; empty afterwards."""
    event = call.event
    may_show = call.note.notices and event.kind in (kinds.SESSION_START, kinds.PROMPT)
    marker = call.files.session_file(event.session, "locked")
    return host.show(name, line) if may_show and create_file(marker, os.O_EXCL) else {}


def start_worker_if_useful(call: HookCall) -> None:
    """Start a worker where it has the key without a person, from the keyring or a passphrase in the
    environment: it has the time to ask for it.
    """
    try:
        if call.note.idle <= 0 or not gives_key_unasked(call.files.home):
            return
        from reverie.interfaces.worker_start import wake_worker

        wake_worker(call.files.home, call.files.lock)
    except (OSError, StoreError):
        return
