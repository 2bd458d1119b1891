"""What work has taught so far, in one list: fixes of errors, files that change together, workflows.

| type | data | confidence | times |
|---|---|---|---|
| `error_fix` | error, ran, changed, worked, failed, memory | that it works again | tried |
| `co_edit` | files (two) | the share of the occasions of the busier one | occasions |
| `workflow` | steps, approved, memory | that of the procedure | pieces of work |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity.co_change import FileChange, find_all_co_changes
from reverie.activity.remedies import rank_known_remedies
from reverie.activity.workflows import SHAPE_DETAIL
from reverie.core.foreign_numbers import to_count
from reverie.core.kinds import is_mature
from reverie.core.model import Memory

ERROR_FIX, CO_EDIT, WORKFLOW = "error_fix", "co_edit", "workflow"


class LearnedPattern(NamedTuple):
    """Something that work has taught."""

    type: str
    data: Mapping[str, Any]
    confidence: float  # 0..1
    times: int  # how often it was met
    first_seen: float
    last_seen: float


def list_learned_patterns(
    lessons: Iterable[Memory],
    procedures: Iterable[Memory],
    touched: Sequence[FileChange],
    now: float,
) -> list[LearnedPattern]:
    """All patterns, the surest first."""
    found = [
        *list_error_fixes(lessons),
        *list_workflow_patterns(procedures),
        *list_co_edits(touched, now),
    ]
    return sorted(
        found,
        key=lambda one: (-one.confidence, -one.times, -one.last_seen, one.type, str(one.data)),
    )


def list_error_fixes(lessons: Iterable[Memory]) -> list[LearnedPattern]:
    """Remedies with their record."""
    return [
        LearnedPattern(
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
        for one in rank_known_remedies(lessons)
    ]


def list_workflow_patterns(procedures: Iterable[Memory]) -> list[LearnedPattern]:
    """Procedures that recurring commands became, approved or waiting."""
    return [
        LearnedPattern(
            WORKFLOW,
            {
                "steps": list(one.details.get("steps") or ()),
                "approved": is_mature(one),
                "memory": one.id,
            },
            one.confidence,
            to_count(one.details.get("occasions")),
            one.created_at,
            one.at,
        )
        for one in procedures
        if one.active and SHAPE_DETAIL in one.details
    ]


def list_co_edits(touched: Sequence[FileChange], now: float) -> list[LearnedPattern]:
    """Every two files that change together."""
    return [
        LearnedPattern(
            CO_EDIT, {"files": list(one.files)}, one.share, one.occasions, one.first_at, one.last_at
        )
        for one in find_all_co_changes(touched, now)
    ]
