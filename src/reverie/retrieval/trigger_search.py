"""Memories with trigger patterns, found when a pattern matches the context: "never use println!"
near a println!.

What patterns mean is told in `core.trigger_patterns`. A trigger that matches is stronger evidence
than any resemblance, so such memories come first.
"""

from collections.abc import Iterable, Sequence

from reverie.core.clock import ticks
from reverie.core.model import Hit, Memory
from reverie.core.trigger_patterns import TriggerContext, is_regex_trigger, matches_trigger

# The score of a memory whose trigger matched.
TRIGGER_SCORE = 0.97
# Memories between two looks at the clock; with regular expressions, it is looked at for each one.
CLOCK_INTERVAL = 50


class TriggeredHits(list[Hit]):
    """Memories of which a trigger matched.

    `untried` memories have triggers for which there was no time: they may belong here too.
    """

    untried: int = 0


def match_triggers(
    memories: Iterable[Memory],
    scene: TriggerContext,
    end: float | None = None,
) -> TriggeredHits:
    """Memories of which a trigger matches the scene, in the order given.

    From the moment `end` (of `clock.ticks`) on no further ones are tried. Regular expressions come
    last: no other pattern waits for one that is slow.
    """
    every = list(memories)
    found: dict[str, str] = {}
    untried = try_triggers(every, scene, found, end, expressions=False)
    with_expressions = [
        memory
        for memory in every[: len(every) - untried]
        if memory.id not in found and any(map(is_regex_trigger, memory.triggers))
    ]
    untried += try_triggers(with_expressions, scene, found, end, expressions=True)
    hits = TriggeredHits()
    for memory in every:
        if memory.id in found:
            hits.append(Hit(memory, TRIGGER_SCORE, (f"trigger {found[memory.id]!r}",)))
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
    """Note in `found`, by id, the first pattern of each memory that matches.

    Tries regular expressions alone, or all other patterns. Returns how many memories were not
    tried.
    """
    interval = 1 if expressions else CLOCK_INTERVAL
    for place, memory in enumerate(memories):
        if end is not None and place % interval == 0 and ticks() >= end:
            return len(memories) - place
        for pattern in memory.triggers:
            if is_regex_trigger(pattern) is expressions and matches_trigger(pattern, scene):
                found[memory.id] = pattern.strip()
                break
    return 0


def is_triggered(hit: Hit) -> bool:
    """True if a trigger called it up."""
    return bool(hit.why) and hit.why[0].startswith("trigger ")


def merge_triggered(
    hits: Sequence[Hit],
    called: Sequence[Hit],
) -> list[Hit]:
    """What triggers called up first, then the rest; a memory found both ways keeps both reasons."""
    by_id = {hit.memory.id: hit for hit in hits}
    merged = []
    for hit in called:
        ranked = by_id.pop(hit.memory.id, hit._replace(why=()))
        score = max(hit.score, ranked.score)
        merged.append(Hit(hit.memory, score, (*hit.why, *ranked.why)))
    return [*merged, *by_id.values()]
