"""How memories are used, and which are worth most. Pure: memories in, figures out."""

from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.kinds import DAY, effective_confidence
from reverie.core.model import Memory

# Days within which a use counts as lately.
RECENT_DAYS = 30.0


class Usage(NamedTuple):
    """What was made of some memories."""

    memories: int = 0
    used: int = 0  # of these, once at least
    uses: int = 0  # in all
    lately: int = 0  # memories that were used in the last 30 days
    confirmed: int = 0  # memories that were said or found true more than once
    best: tuple[Memory, ...] = ()  # most valuable first; none that was never used or confirmed


def memory_worth(memory: Memory, now: float) -> float:
    """How often it was used or said again, times how far it is believed now; 0 if nobody ever
    needed it.
    """
    return (memory.access_count + memory.strength - 1) * effective_confidence(memory, now)


def summarize_usage(
    memories: Sequence[Memory],
    now: float,
    limit: int,
) -> Usage:
    """The figures, and the `limit` most valuable; of equals the newer, then by id."""
    # What nobody ever needed is not among the best, however few there are.
    needed = [memory for memory in memories if memory_worth(memory, now) > 0]
    needed.sort(key=lambda memory: (-memory_worth(memory, now), -memory.at, memory.id))
    recent = RECENT_DAYS * DAY
    return Usage(
        memories=len(memories),
        used=sum(memory.access_count > 0 for memory in memories),
        uses=sum(memory.access_count for memory in memories),
        best=tuple(needed[:limit]),
        lately=sum(now - (memory.last_accessed_at or 0.0) <= recent for memory in memories),
        confirmed=sum(memory.strength > 1 for memory in memories),
    )
