"""What work has taught so far, in one list: fixes of errors, files that change together, workflows
(D8-D10). Pure.

| type | data | confidence | times |
|---|---|---|---|
| `error_fix` | error, ran, changed, worked, failed, memory | that it works again, by its record | tried |
| `co_edit` | files (two) | the share of the occasions of the busier one | occasions |
| `workflow` | steps, approved, memory | that of the procedure | pieces of work |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity.co_change import Touch, everywhere
from reverie.activity.remedies import commonest
from reverie.activity.workflows import SHAPE
from reverie.core.foreign_numbers import count
from reverie.core.kinds import is_ripe
from reverie.core.model import Memory

ERROR_FIX, CO_EDIT, WORKFLOW = "error_fix", "co_edit", "workflow"


class Pattern(NamedTuple):
    """Something that work has taught."""

    type: str
    data: Mapping[str, Any]
    confidence: float  # 0..1
    times: int  # how often it was met
    first_seen: float
    last_seen: float


def patterns(
    lessons: Iterable[Memory], procedures: Iterable[Memory], touched: Sequence[Touch], now: float
) -> list[Pattern]:
    """All that is known, the surest first."""
    found = [*fixes(lessons), *flows(procedures), *coedits(touched, now)]
    return sorted(
        found,
        key=lambda one: (-one.confidence, -one.times, -one.last_seen, one.type, str(one.data)),
    )


def fixes(lessons: Iterable[Memory]) -> list[Pattern]:
    """Remedies with their record."""
    return [
        Pattern(
            ERROR_FIX,
            {
                "error": one.memory.title,
                "ran": list(one.ran),
                "changed": list(one.changed),
                "worked": one.worked,
                "failed": one.failed,
                "memory": one.memory.id,
            },
            one.chance,
            one.worked + one.failed,
            one.memory.at,
            one.last_at,
        )
        for one in commonest(lessons)
    ]


def flows(procedures: Iterable[Memory]) -> list[Pattern]:
    """Procedures that recurring commands became, approved or waiting."""
    return [
        Pattern(
            WORKFLOW,
            {
                "steps": list(one.details.get("steps") or ()),
                "approved": is_ripe(one),
                "memory": one.id,
            },
            one.confidence,
            count(one.details.get("occasions")),
            one.created_at,
            one.at,
        )
        for one in procedures
        if one.active and SHAPE in one.details
    ]


def coedits(touched: Sequence[Touch], now: float) -> list[Pattern]:
    """Every two files that change together."""
    return [
        Pattern(
            CO_EDIT, {"files": list(one.files)}, one.share, one.occasions, one.first_at, one.last_at
        )
        for one in everywhere(touched, now)
    ]
