"""The life of a memory as moments on a line: said, confirmed, amended, in doubt, gone. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.doubt import DOUBT
from reverie.core.model import Memory, Record

SAID, WRITTEN, CONFIRMED, AMENDED, DOUBTED, ARCHIVED, RESTORED, UNTIL = (
    "said",
    "written down",
    "confirmed",
    "amended",
    "in doubt",
    "archived",
    "restored",
    "true until",
)
FROM = "true from"


class LifeMoment(NamedTuple):
    """Something that happened to a memory."""

    at: float
    what: str
    event: int = 0  # 0: it stands in the memory itself


def trace_life(memory: Memory, history: Sequence[Record]) -> list[LifeMoment]:
    """The moments of a memory in order, each sort at one time once."""
    moments = [LifeMoment(memory.at, SAID)]
    if abs(memory.created_at - memory.at) >= 60.0:
        moments.append(LifeMoment(memory.created_at, WRITTEN))
    moments += [LifeMoment(again.at, CONFIRMED) for again in memory.reinforcements]
    for record in history:
        if what := name_change(record):
            moments.append(LifeMoment(record.event.at, what, record.event.seq))
    if memory.valid_from is not None:
        moments.append(LifeMoment(memory.valid_from, FROM))
    if memory.valid_to is not None:
        moments.append(LifeMoment(memory.valid_to, UNTIL))
    distinct = {(moment.at, moment.what): moment for moment in moments}
    return sorted(distinct.values())


def name_change(record: Record) -> str:
    """What a change means for the life of a memory; empty if it is not worth a mark."""
    if record.op == "retire":
        return ARCHIVED
    if record.op != "revise":
        return ""
    if "retired_at" in record.after:
        return RESTORED if record.after["retired_at"] is None else ARCHIVED
    if "text" in record.after:
        return AMENDED
    details, before = record.after.get("details"), record.before.get("details")
    if isinstance(details, dict) and DOUBT in details and DOUBT not in (before or {}):
        return DOUBTED
    return ""
