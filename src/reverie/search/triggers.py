"""Memories with trigger patterns, called up when a pattern meets the context: "never use println!" near a println!.

A pattern is a literal, found anywhere without regard to case; with `*` or `?` it is a glob that must fit a whole word.
A trigger that meets is stronger evidence than any resemblance, so such memories come first.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

from reverie.clock import ticks
from reverie.model import Hit, Memory

MET = 0.97               # the score of a memory whose trigger met
MOST_CONTEXT = 20_000    # characters of context that patterns are held against
OFTEN = 50               # memories between two looks at the time


def met(memories: Iterable[Memory], context: str, end: float | None = None) -> list[Hit]:
    """Memories of which a trigger meets the context, in order of id; from the moment `end` on no further are tried."""
    seen = context[-MOST_CONTEXT:].lower()
    words = set(re.findall(r"\S+", seen))
    found = []
    for place, memory in enumerate(memories):
        if end is not None and place % OFTEN == 0 and ticks() >= end:
            break
        if (pattern := first_met(memory.triggers, seen, words)) is not None:
            found.append(Hit(memory, MET, (f"trigger {pattern!r}",)))
    return found


def called(hit: Hit) -> bool:
    """Whether a trigger called it up."""
    return bool(hit.why) and hit.why[0].startswith("trigger ")


def first_met(patterns: Sequence[str], context: str, words: set[str]) -> str | None:
    """The first pattern that meets the context; an empty one meets nothing (CC-66)."""
    return next((pattern for pattern in patterns if meets(pattern.strip().lower(), context, words)), None)


def meets(pattern: str, context: str, words: set[str]) -> bool:
    """Whether one pattern is found in the context or, as a glob, fits one of its words."""
    if not pattern:
        return False
    if "*" in pattern or "?" in pattern:
        fits = glob(pattern)
        return any(fits.match(word) for word in words)
    return pattern in context


@lru_cache(maxsize=10_000)
def glob(pattern: str) -> re.Pattern[str]:
    """A glob as an expression; runs of stars are one, so that no pattern can take long."""
    return re.compile(translate(re.sub(r"\*+", "*", pattern)))


def merged(hits: Sequence[Hit], called: Sequence[Hit]) -> list[Hit]:
    """What was called up first, then the rest; a memory found both ways keeps both reasons."""
    if not called:
        return list(hits)
    found = {hit.memory.id: hit for hit in hits}
    first = [Hit(hit.memory, max(hit.score, found[hit.memory.id].score), (*hit.why, *found[hit.memory.id].why))
             if hit.memory.id in found else hit for hit in called]
    known = {hit.memory.id for hit in called}
    return [*first, *(hit for hit in hits if hit.memory.id not in known)]
