"""Changes of the details of a memory, which are anybody's: what is not meant stays. Pure."""

from collections.abc import Mapping
from typing import Any

from reverie.core.model import Memory, Revise


def drop_details(details: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The details without those of these names."""
    return {name: value for name, value in details.items() if name not in names}


def revise_details(
    memory: Memory,
    details: Mapping[str, Any],
    now: float,
) -> Revise:
    """The change that gives a memory these details instead of its own."""
    return Revise(memory.id, {"details": details, "updated_at": now})
