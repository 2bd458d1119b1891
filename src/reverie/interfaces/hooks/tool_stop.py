"""What keeps a tool from running: guards that it meets, unless a person has allowed it once."""

from __future__ import annotations

from collections.abc import Sequence

from reverie.interfaces.hooks.hook_event import HookEvent, ToolStop, ToolWarning
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hooks.tool_warnings import find_stopping_rows


def stop_tool(
    event: HookEvent, rows: Sequence[ToolWarning], root: str, files: HookFiles, now: float
) -> ToolStop | None:
    """What stops a tool that is about to run in a work tree; None if it may."""
    found = find_stopping_rows(rows, event.tool, event.given, root)
    met = [(row, why) for row, why in found if not files.take_allowance(row.id, now)]
    if not met:
        return None
    decision = met[0][0].decision
    return ToolStop(
        decision,
        "\n".join(row.reason for row, _ in met if row.decision == decision),
        [row.id for row, _ in met],
        [why for _, why in met],
    )
