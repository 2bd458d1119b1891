"""Memories with trigger patterns, called up when a pattern meets the context: "never use println!"
near a println!.

What patterns mean is told in `reverie.patterns`. A trigger that meets is stronger evidence than any
resemblance, so such memories come first.
"""

from collections.abc import Iterable, Sequence

from reverie.core.clock import ticks
from reverie.core.model import Hit, Memory
from reverie.core.trigger_patterns import TriggerContext, is_regex_trigger, matches_trigger

TRIGGER_SCORE = 0.97  # the score of a memory whose trigger met
CLOCK_INTERVAL = (
    50  # memories between two looks at the time, where no expression is among the patterns
)


class TriggeredHits(list[Hit]):
    """What was called up. `untried` memories have triggers for which there was no time: they may
    belong here too.
    """

    untried: int = 0


def match_triggers(
    memories: Iterable[Memory], scene: TriggerContext, end: float | None = None
) -> TriggeredHits:
    """Memories of which a trigger meets the scene, in the order given; from the moment `end` on no
    further are tried.

    Regular expressions come last: no other pattern waits for one that is slow.
    """
    every = list(memories)
    found: dict[str, str] = {}
    untried = try_triggers(every, scene, found, end, expressions=False)
    waiting = [
        one
        for one in every[: len(every) - untried]
        if one.id not in found and any(map(is_regex_trigger, one.triggers))
    ]
    untried += try_triggers(waiting, scene, found, end, expressions=True)
    hits = TriggeredHits(
        Hit(one, TRIGGER_SCORE, (f"trigger {found[one.id]!r}",)) for one in every if one.id in found
    )
    hits.untried = untried
    return hits


def try_triggers(
    memories: Sequence[Memory],
    scene: TriggerContext,
    found: dict[str, str],
    end: float | None,
    *,
    expressions: bool,
) -> int:
    """Note in `found`, by id, the first pattern of each memory that meets; how many memories were
    not tried.
    """
    often = 1 if expressions else CLOCK_INTERVAL
    for place, memory in enumerate(memories):
        if end is not None and place % often == 0 and ticks() >= end:
            return len(memories) - place
        some = [pattern for pattern in memory.triggers if is_regex_trigger(pattern) is expressions]
        if (pattern := find_first_match(some, scene)) is not None:
            found[memory.id] = pattern
    return 0


def is_triggered(hit: Hit) -> bool:
    """Whether a trigger called it up."""
    return bool(hit.why) and hit.why[0].startswith("trigger ")


def find_first_match(patterns: Sequence[str], scene: TriggerContext) -> str | None:
    """The first pattern that is met."""
    return next((pattern.strip() for pattern in patterns if matches_trigger(pattern, scene)), None)


def merge_triggered(hits: Sequence[Hit], called: Sequence[Hit]) -> list[Hit]:
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
