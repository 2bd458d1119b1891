"""What is in doubt because its reason has changed, as its details say.

`reconciliation.doubts` writes it, and takes it away when the reason is back; whoever ranks, shows
or asks about a memory reads it here.
"""

from collections.abc import Mapping
from typing import Any

from reverie.core.clock import format_day
from reverie.core.model import Memory

DOUBT = "doubt"  # a name in the details


def doubt_of(memory: Memory) -> Mapping[str, Any]:
    """What stands in a memory's details of its doubt; empty for a sound one.

    `since` is a moment, `root` the memory that changed, `by` the one that rests on it directly,
    `change` what became of the root and `words` the whole, in words, which quote the memories of
    `quotes`: a purge of one of these takes the note away.
    """
    found = memory.details.get(DOUBT)
    is_whole = isinstance(found, Mapping) and isinstance(found.get("since"), (int, float))
    return found if is_whole and isinstance(found, Mapping) else {}


def is_in_doubt(memory: Memory) -> bool:
    """True if what the memory rests on has changed and nobody has looked since."""
    return bool(doubt_of(memory))


def describe_doubt(memory: Memory) -> str:
    """What to tell readers of a memory whose reason has changed; empty for others."""
    doubt = doubt_of(memory)
    return f"in doubt since {format_day(doubt['since'])}: {doubt.get('words', '')}" if doubt else ""
