"""Memories with trigger patterns, called up when a pattern meets the context: "never use println!" near a println!.

What patterns mean is told in `reverie.patterns`. A trigger that meets is stronger evidence than any resemblance, so
such memories come first.
"""

from collections.abc import Iterable, Sequence

from reverie.clock import ticks
from reverie.model import Hit, Memory
from reverie.patterns import Scene, meets

MET = 0.97               # the score of a memory whose trigger met
OFTEN = 50               # memories between two looks at the time


def met(memories: Iterable[Memory], scene: Scene, end: float | None = None) -> list[Hit]:
    """Memories of which a trigger meets the scene, in order of id; from the moment `end` on no further are tried."""
    found = []
    for place, memory in enumerate(memories):
        if end is not None and place % OFTEN == 0 and ticks() >= end:
            break
        if (pattern := first_met(memory.triggers, scene)) is not None:
            found.append(Hit(memory, MET, (f"trigger {pattern!r}",)))
    return found


def first_met(patterns: Sequence[str], scene: Scene) -> str | None:
    """The first pattern that is met."""
    return next((pattern.strip() for pattern in patterns if meets(pattern, scene)), None)


def merged(hits: Sequence[Hit], called: Sequence[Hit]) -> list[Hit]:
    """What was called up first, then the rest; a memory found both ways keeps both reasons."""
    if not called:
        return list(hits)
    found = {hit.memory.id: hit for hit in hits}
    first = [Hit(hit.memory, max(hit.score, found[hit.memory.id].score), (*hit.why, *found[hit.memory.id].why))
             if hit.memory.id in found else hit for hit in called]
    known = {hit.memory.id for hit in called}
    return [*first, *(hit for hit in hits if hit.memory.id not in known)]
