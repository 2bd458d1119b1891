"""What hooks know of guards while the home is locked: `hooks/locked-guards.json`, in the clear.

By default it says how many guards stop something in which space, and nothing else; the first tool
of a session that runs a command or changes a file is then asked about, for nobody can tell whether
it is forbidden. With the setting `locked_guards = "open"` it has their triggers too, and guards
stop as ever. Never in it: what was said, by whom, when.

The worker writes it, and whoever changes a guard (`warning_table.write_locked_guards`). In a home
that is not encrypted there is none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.interfaces.hooks.hook_event import ToolStop, ToolWarning
from reverie.interfaces.hooks.spool import (
    HookFiles,
    create_file,
    read_json_object,
    to_record,
    write_json_object,
)

if TYPE_CHECKING:
    from reverie.interfaces.hooks.hook_main import HookCall

SEALED, OPEN = "sealed", "open"  # values of the setting `locked_guards`
ASK = "ask"
REASON = (
    "You forbade this ({trigger}). Memory is locked, so your words cannot be shown; to read them: "
    "reverie data unlock (Reverie, {id})"
)
ASLEEP = (
    "Memory is locked, so nobody looks whether you forbade this ({guards} here). To have guards "
    "stop again: reverie data unlock. You are asked once in a session (Reverie)"
)


class LockedGuards(NamedTuple):
    """The guards of a space, and of those above it, as far as a locked home tells."""

    total: int = 0  # that stop something
    rows: tuple[ToolWarning, ...] = ()  # those that can be looked at

    @property
    def are_asleep(self) -> bool:
        """True if there are guards, and none of them stops anything now."""
        return self.total > 0 and not self.rows


def read_locked_guards(files: HookFiles, space: str) -> LockedGuards:
    """What is known of the guards of a space; none where nothing was written."""
    from reverie.core.model import visible_spaces

    spaces = (read_json_object(files.locked_guards) or {}).get("spaces")
    if not isinstance(spaces, Mapping):
        return LockedGuards()
    above = map(spaces.get, reversed(visible_spaces(space)))
    found = [one for one in above if isinstance(one, Mapping)]
    rows = [to_row(row) for one in found for row in one.get("rows", ())]
    return LockedGuards(sum(int(one.get("count", 0)) for one in found), tuple(rows))


def to_row(values: Mapping[str, Any]) -> ToolWarning:
    """A guard as the file has it, with what a person reads when it stops something."""
    row = to_record({"line": "", **values}, ToolWarning)
    return row._replace(reason=REASON.format(trigger=", ".join(row.triggers), id=row.id))


def encode_guards(spaces: Mapping[str, Iterable[ToolWarning]], choice: str) -> dict[str, Any]:
    """What the file holds of the guards of each space."""
    found: dict[str, Any] = {}
    for space, guards in spaces.items():
        rows = list(guards)
        found[space] = {"count": len(rows)}
        if choice == OPEN:
            found[space]["rows"] = [
                {"id": row.id, "triggers": list(row.triggers), "decision": row.decision}
                for row in rows
            ]
    return {"spaces": found}


def close_guards(files: HookFiles) -> None:
    """Take the triggers out of the file, for which no key is needed."""
    found = read_json_object(files.locked_guards)
    if found is None:
        return
    spaces = found.get("spaces", {})
    counts = {space: {"count": one.get("count", 0)} for space, one in spaces.items()}
    write_json_object(files.locked_guards, {"spaces": counts})


def stop_while_locked(call: HookCall) -> ToolStop | None:
    """What stops a tool that is about to run in a locked home; None if it may."""
    event, files = call.event, call.files
    guards = read_locked_guards(files, call.note.space)
    if guards.rows:
        from reverie.interfaces.hooks.tool_stop import stop_tool

        return stop_tool(event, guards.rows, call.note.root, files, call.now)
    if not guards.are_asleep or not may_do_harm(call):
        return None
    if not create_file(files.session_file(event.session, "unguarded"), os.O_EXCL):
        return None
    return ToolStop(ASK, ASLEEP.format(guards=count_guards(guards.total)), [], [])


def may_do_harm(call: HookCall) -> bool:
    """True for a tool that runs a command or changes a file."""
    from reverie.core.tool_calls import RUN, WRITE, ToolCall

    given = call.event.given
    arguments = given if isinstance(given, (str, Mapping)) else {}
    return ToolCall(call.event.tool, arguments, call.note.root).kind in (RUN, WRITE)


def count_guards(count: int) -> str:
    """How many guards, in words."""
    return f"{count} guard" if count == 1 else f"{count} guards"
