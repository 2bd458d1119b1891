"""From and until when a memory is true in the world, as far as it says."""

from reverie.core.clock import format_day
from reverie.core.model import Memory


def is_valid_at(memory: Memory, moment: float) -> bool:
    """True if the memory holds in the world at a moment, as far as it says."""
    return (memory.valid_from is None or memory.valid_from <= moment) and (
        memory.valid_to is None or memory.valid_to > moment
    )


def describe_validity(memory: Memory, moment: float) -> str:
    """What to tell readers of a memory that does not hold at a moment; empty for others."""
    if memory.valid_to is not None and memory.valid_to <= moment:
        return f"no longer true since {format_day(memory.valid_to)}"
    if memory.valid_from is not None and memory.valid_from > moment:
        return f"true only from {format_day(memory.valid_from)}"
    return ""


def format_validity(memory: Memory) -> str:
    """The days from and until which a memory is true; empty if it names none."""
    ends = (("from", memory.valid_from), ("until", memory.valid_to))
    return " ".join(f"{word} {format_day(at)}" for word, at in ends if at is not None)
