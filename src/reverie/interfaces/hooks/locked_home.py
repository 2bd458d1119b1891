"""What hooks do while the home is encrypted and locked: what happens is written down, sealed to the
home's public key, and nothing is handed over, as nothing can be read. The person is told once in a
session. Guards stop as far as they can be read (`locked_guards`).
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
from reverie.interfaces.hooks.hook_event import NO_BLOCK, HookBlock
from reverie.interfaces.hooks.locked_guards import (
    count_guards,
    read_locked_guards,
    stop_while_locked,
)
from reverie.interfaces.hooks.spool import create_file, write_json_object

if TYPE_CHECKING:
    from reverie.interfaces.hooks.hook_main import HookCall
    from reverie.interfaces.hosts.host_agent import HostAgent

LOCKED = (
    "Reverie: memory is locked, {asleep}what happens is kept sealed. Unlock it: reverie data unlock"
)
ASLEEP = "so nothing stops what you forbade here ({guards}), "
# What cannot be sealed is not written: the settings of the encryption are damaged, or its library
# is gone.
UNSEALABLE = "Reverie: nothing is kept, for it cannot be sealed. What is wrong: reverie doctor"
HELD_UP = "It was not run: this host cannot ask. Tell the user; repeated, it runs"
DENY = "deny"
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
    take_in: Callable[[HookCall, HookBlock], object],
) -> Mapping[str, Any] | None:
    """Have an event taken in, and what to show the person; None if the home is not locked."""
    event, files = call.event, call.files
    try:
        if not is_locked(files.home):
            return None
        if event.kind == kinds.TOOL_BEFORE:
            start_worker_if_useful(call)
            return answer_guarded(call, host, name, take_in)
        if event.kind in TAKEN_IN:
            if event.doubtful:
                from reverie.interfaces.hooks.exit_status import resolve_outcome

                call = call._replace(event=resolve_outcome(event))
            take_in(call, NO_BLOCK)
    except ReverieError as err:
        files.log_trouble(f"{event.kind}: {type(err).__name__}: {err}")
        return tell_once(call, host, name, lambda: UNSEALABLE)
    if event.kind == kinds.PROMPT:
        note = call.note._replace(asked=call.now)
        with suppress(OSError):
            write_json_object(files.session_file(event.session, "json"), note._asdict())
    start_worker_if_useful(call)
    return tell_once(call, host, name, lambda: compose_notice(call))


def answer_guarded(
    call: HookCall, host: HostAgent, name: str, take_in: Callable[[HookCall, HookBlock], object]
) -> Mapping[str, Any]:
    """What keeps a tool from running, if anything does; it is written down, sealed."""
    stop = stop_while_locked(call)
    if stop is None:
        return {}
    answer = host.decide(name, stop.decision, stop.reason)
    if answer and not stop.ids and not host.can_ask:
        return host.decide(name, DENY, f"{stop.reason}. {HELD_UP}")
    if answer:
        try:
            # What the tool is given is told once it has run.
            told = call.event._replace(given=None, result="", text="")
            take_in(call._replace(event=told), stop.join(NO_BLOCK))
        except ReverieError as err:  # it is stopped all the same
            call.files.log_trouble(f"not written down: {type(err).__name__}: {err}")
    return answer


def compose_notice(call: HookCall) -> str:
    """What the person is told of a locked home, and of the guards in it."""
    guards = read_locked_guards(call.files, call.note.space)
    asleep = ASLEEP.format(guards=count_guards(guards.total)) if guards.are_asleep else ""
    return LOCKED.format(asleep=asleep)


def tell_once(
    call: HookCall, host: HostAgent, name: str, compose: Callable[[], str]
) -> Mapping[str, Any]:
    """What shows the person a line, once in a session; afterwards empty, and nothing composed."""
    event = call.event
    may_show = call.note.notices and event.kind in (kinds.SESSION_START, kinds.PROMPT)
    marker = call.files.session_file(event.session, "locked")
    return host.show(name, compose()) if may_show and create_file(marker, os.O_EXCL) else {}


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
