"""The table that hooks read before a tool runs: guards, reminders, what is known of files, what
tells of errors.

Built from the store by the worker, and by whoever changes a guard, so that the change holds at
once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from reverie.activity.remedies import is_remedy
from reverie.context_window import HEAD, render_memory_line
from reverie.core.environment import is_encrypted
from reverie.core.forbidden_calls import stopping_triggers
from reverie.core.kinds import INTENTION, LEARNING, is_unverified
from reverie.core.model import Filter, Memory, visible_spaces
from reverie.injection.due_reminders import load_waiting_reminders
from reverie.interfaces.hooks.hook_event import ToolWarning, WarningTable
from reverie.interfaces.hooks.locked_guards import encode_guards
from reverie.interfaces.hooks.spool import HookFiles, read_json_object, write_json_object
from reverie.interfaces.hooks.tool_warnings import MAX_ERROR_ROWS, MAX_ROWS, make_warning_row
from reverie.memory import intention
from reverie.memory.guards import ASK, OFF, STOPPING, TELL, decide_guard, explain_guard
from reverie.retrieval import warning_order
from reverie.retrieval.card_subjects import NO_SUBJECTS, find_card_subjects
from reverie.retrieval.rescoring import can_surface
from reverie.text.injection_fence import FENCE_END

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.storage import Store

# Newest memories among which those about files are looked for.
MAX_BROWSED_MEMORIES = 2_000
# What an agent must not do by itself while anything is guarded. It is never told: its time is far
# off.
KEEPER = ToolWarning(
    "guards",
    "",
    (
        "run:reverie guards allow",
        "run:reverie guards set",
        "run:reverie guards default",
        "run:reverie guards locked",
    ),
    when=1e18,
    decision=ASK,
    reason="Guards are changed by a person, not by an agent (Reverie)",
)


def build_warning_table(store: Store, settings: Settings, space: str, now: float) -> WarningTable:
    """What hooks say and stop in a space."""
    visible = visible_spaces(space)
    if settings.is_off(space):
        return WarningTable(HEAD, FENCE_END, space=space)
    found = store.with_triggers(visible)
    decisions = {memory.id: decide_guard(memory, settings.guards) for memory in found}
    triggered = [
        memory
        for memory in found
        if memory.kind != INTENTION and can_surface(memory, now) and decisions[memory.id] != OFF
    ]
    # The most urgent first, for the table is cut at MAX_ROWS; what stops before what is told.
    triggered.sort(key=lambda one: (decisions[one.id] not in STOPPING, warning_order(one)))
    newest = store.browse(Filter(spaces=visible, without=(INTENTION,), limit=MAX_BROWSED_MEMORIES))
    others = [one for one in newest if one.id not in decisions and may_come_at_tools(one, now)]
    subjects = {memory.id: find_card_subjects(memory) for memory in (*triggered, *others)}
    by_call = [*triggered, *(one for one in others if any(subjects[one.id][:2]))]
    rows = [
        *make_reminder_rows(load_waiting_reminders(store, visible), now),
        *(
            with_guard(
                make_warning_row(
                    memory,
                    render_memory_line(memory, now),
                    subjects=subjects[memory.id]._replace(
                        error=subjects[memory.id].error and not is_remedy(memory)
                    ),
                ),
                memory,
                decisions.get(memory.id, TELL),
            )
            for memory in by_call
        ),
    ][:MAX_ROWS]
    # What only a failure calls up is looked at then alone.
    there = {row.id for row in rows}
    errors = [
        one
        for one in others
        if subjects[one.id].error and one.id not in there and not is_remedy(one)
    ]
    rows += [
        make_warning_row(
            memory, render_memory_line(memory, now), subjects=NO_SUBJECTS._replace(error=True)
        )
        for memory in errors[:MAX_ERROR_ROWS]
    ]
    if any(row.decision for row in rows):
        rows.append(KEEPER)
    # Where no fix is known, a hook need not open the store for a failed tool.
    lessons = store.browse(Filter(spaces=visible, kinds=(LEARNING,), limit=1))
    return WarningTable(HEAD, FENCE_END, rows, len(lessons), space)


def write_locked_guards(store: Store, settings: Settings, now: float) -> None:
    """Write what hooks are to know of all guards while an encrypted home is locked; what is there
    goes if the home is not encrypted.
    """
    files = HookFiles(str(settings.home))
    if not is_encrypted(settings.home):
        with suppress(OSError):
            os.unlink(files.locked_guards)
        return
    spaces: dict[str, list[ToolWarning]] = {}
    for memory in store.with_triggers(sorted(store.stats().spaces)):
        decision = decide_guard(memory, settings.guards)
        stops = decision in STOPPING and memory.kind != INTENTION and can_surface(memory, now)
        if stops and not settings.is_off(memory.space):
            triggers = list(stopping_triggers(memory.triggers))
            row = ToolWarning(memory.id, "", triggers, decision=decision)
            spaces.setdefault(memory.space, []).append(row)
    known = encode_guards(spaces, settings.locked_guards)
    if read_json_object(files.locked_guards) != known:
        write_json_object(files.locked_guards, known)


def with_guard(row: ToolWarning, memory: Memory, decision: str) -> ToolWarning:
    """The row of a memory, with what a person reads if it may stop a tool."""
    if decision not in STOPPING:
        return row
    return row._replace(decision=decision, reason=explain_guard(memory))


def make_reminder_rows(reminders: Iterable[Memory], now: float) -> list[ToolWarning]:
    """The rows of reminders that something calls up."""
    return [
        make_warning_row(
            memory,
            render_memory_line(memory, now),
            intention.read_reminder(memory).when,
            reminder=True,
        )
        for memory in reminders
        if memory.triggers
    ]


def may_come_at_tools(memory: Memory, now: float) -> bool:
    """True if what a memory says of files or errors may be shown at a tool."""
    return can_surface(memory, now) and not is_unverified(memory)


def refresh_warning_tables(store: Store, settings: Settings, space: str, now: float) -> None:
    """Write the tables of a space, and of all that hooks read already, anew."""
    files = HookFiles(str(settings.home))
    paths = files.list_files("guards")
    known = {(read_json_object(path) or {}).get("space") for path in paths}
    spaces = {space, *(one for one in known if isinstance(one, str) and one)}
    for one in spaces:
        path = files.guards_file(one)
        # Elsewhere no hook has asked yet; the worker writes it when one does.
        if one == space or os.path.exists(path):
            write_json_object(path, build_warning_table(store, settings, one, now).to_json())
    write_locked_guards(store, settings, now)
