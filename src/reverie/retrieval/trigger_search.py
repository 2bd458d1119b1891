"""Memories with trigger patterns, called up when a pattern meets the context: "never use println!"
near a println!.

What patterns mean is told in `reverie.patterns`. A trigger that meets is stronger evidence than any
resemblance, so such memories come first.
"""

from collections.abc import Iterable, Sequence

from reverie.core.clock import ticks
from reverie.core.model import Hit, Memory
from reverie.core.trigger_patterns import Scene, is_expression, meets

MET = 0.97  # the score of a memory whose trigger met
OFTEN = 50  # memories between two looks at the time, where no expression is among the patterns


class Called(list[Hit]):
    """What was called up. `untried` memories have triggers for which there was no time: they may
    belong here too.
    """

    untried: int = 0


def met(memories: Iterable[Memory], scene: Scene, end: float | None = None) -> Called:
    """Memories of which a trigger meets the scene, in the order given; from the moment `end` on no
    further are tried.

    Regular expressions come last: no other pattern waits for one that is slow.
    """
    every = list(memories)
    found: dict[str, str] = {}
    untried = try_each(every, scene, found, end, expressions=False)
    waiting = [
        one
        for one in every[: len(every) - untried]
        if one.id not in found and any(map(is_expression, one.triggers))
    ]
    untried += try_each(waiting, scene, found, end, expressions=True)
    hits = Called(
        Hit(one, MET, (f"trigger {found[one.id]!r}",)) for one in every if one.id in found
    )
    hits.untried = untried
    return hits


def try_each(
    memories: Sequence[Memory],
    scene: Scene,
    found: dict[str, str],
    end: float | None,
    *,
    expressions: bool,
) -> int:
    """Note in `found`, by id, the first pattern of each memory that meets; how many memories were
    not tried.
    """
    often = 1 if expressions else OFTEN
    for place, memory in enumerate(memories):
        if end is not None and place % often == 0 and ticks() >= end:
            return len(memories) - place
        some = [pattern for pattern in memory.triggers if is_expression(pattern) is expressions]
        if (pattern := first_met(some, scene)) is not None:
            found[memory.id] = pattern
    return 0


def called(hit: Hit) -> bool:
    """Whether a trigger called it up."""
    return bool(hit.why) and hit.why[0].startswith("trigger ")


def first_met(patterns: Sequence[str], scene: Scene) -> str | None:
    """The first pattern that is met."""
    return next((pattern.strip() for pattern in patterns if meets(pattern, scene)), None)


def merged(hits: Sequence[Hit], called: Sequence[Hit]) -> list[Hit]:
    """What was called up first, then the rest; a memory found both ways keeps both reasons."""
    if not called:
        return list(hits)
    found = {hit.memory.id: hit for hit in hits}
    first = [
        Hit(
            hit.memory,
            max(hit.score, found[hit.memory.id].score),
            (*hit.why, *found[hit.memory.id].why),
        )
        if hit.memory.id in found
        else hit
        for hit in called
    ]
    known = {hit.memory.id for hit in called}
    return [*first, *(hit for hit in hits if hit.memory.id not in known)]
