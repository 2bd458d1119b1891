"""What work has taught so far, in one list: fixes of errors, files that change together, workflows.

| type | data | confidence | times |
|---|---|---|---|
| `error_fix` | error, ran, changed, worked, failed, memory | that it works again | tried |
| `co_edit` | files (two) | the share of the occasions of the busier one | occasions |
| `workflow` | steps, approved, memory | that of the procedure | pieces of work |
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity.co_change import FileChange, find_all_co_changes
from reverie.activity.remedies import FixSuggestion, rank_known_remedies
from reverie.activity.workflows import SHAPE_DETAIL
from reverie.core.foreign_numbers import to_count
from reverie.core.kinds import is_mature
from reverie.core.model import Memory


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
    found = [to_error_fix(one) for one in rank_known_remedies(lessons)]
    recurring = [one for one in procedures if one.active and SHAPE_DETAIL in one.details]
    found += map(to_workflow_pattern, recurring)
    for pair in find_all_co_changes(touched, now):
        files = {"files": list(pair.files)}
        seen = pair.occasions, pair.first_at, pair.last_at
        found.append(LearnedPattern("co_edit", files, pair.share, *seen))
    return sorted(
        found,
        key=lambda one: (-one.confidence, -one.times, -one.last_seen, one.type, str(one.data)),
    )


def to_error_fix(fix: FixSuggestion) -> LearnedPattern:
    """A remedy with its record."""
    data = {
        "error": fix.memory.title,
        "ran": list(fix.ran),
        "changed": list(fix.changed),
        "worked": fix.worked,
        "failed": fix.failed,
        "memory": fix.memory.id,
    }
    tried = fix.worked + fix.failed
    return LearnedPattern(
        "error_fix",
        data,
        fix.chance,
        tried,
        fix.memory.at,
        fix.last_at,
    )


def to_workflow_pattern(procedure: Memory) -> LearnedPattern:
    """A procedure that recurring commands became, approved or waiting."""
    details = procedure.details
    data = {
        "steps": list(details.get("steps") or ()),
        "approved": is_mature(procedure),
        "memory": procedure.id,
    }
    return LearnedPattern(
        "workflow",
        data,
        procedure.confidence,
        to_count(details.get("occasions")),
        procedure.created_at,
        procedure.at,
    )
