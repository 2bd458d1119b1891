"""What has faded goes to the archive: retired as "faded", listed, and brought back by `restore`.

Fading alone never deletes. A memory goes only if all of it is so: hardly anything is left of it, it
was said once, it was of no use for a month nor within its half-life, and it is not the user's own
word. Nor does it go if it was given within its half-life, used or not (`batch_commit`). Working
memory goes as soon as its time is over: nobody will ask for it again.

Of a type of which a space holds more than `kinds.CAPACITY`, the least retained go too, down to the
capacity: what is left of them by then is less than of any that stays. The user's own words do not
go, nor what is not `capped`, such as what must never be done, nor what was used within its
half-life.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from reverie.core.kinds import DAY, effective_confidence, half_life, kind_of
from reverie.core.model import Memory, Retire
from reverie.reconciliation.pass_view import PassStep, PassView

# effective confidence below which nothing much is left
MIN_CONFIDENCE = 0.05
# seconds without use or mention
UNUSED_SECONDS = 30 * DAY
USER_PROVENANCE = ("user_stated", "user_corrected")


def has_faded(memory: Memory, now: float) -> bool:
    """True if a memory may go to the archive."""
    if kind_of(memory.kind).type == "working":
        return memory.expires_at is not None and memory.expires_at <= now
    return (
        effective_confidence(memory, now) < MIN_CONFIDENCE
        and is_unused(memory, now)
        and not was_used_lately(memory, now)
    )


def is_unused(memory: Memory, now: float) -> bool:
    """True if a memory is not the user's own word, was said once, and of no use for a month."""
    last = max(memory.at, memory.created_at, memory.last_accessed_at or 0.0)
    return (
        memory.provenance not in USER_PROVENANCE
        and memory.strength <= 1
        and now - last >= UNUSED_SECONDS
    )


def was_used_lately(memory: Memory, now: float) -> bool:
    """True if a memory was used within its half-life."""
    used = memory.last_accessed_at
    return used is not None and now - used <= half_life(memory) * DAY


def archive_faded(view: PassView) -> list[PassStep]:
    """Steps that retire what has faded."""
    return [
        archive_memory(memory, view.now)
        for memory in view.memories.values()
        if memory.active and has_faded(memory, view.now)
    ]


def archive_memory(
    memory: Memory,
    now: float,
    why: str = "",
) -> PassStep:
    """The step that retires one memory as faded; `why` there is more to say about it."""
    left = f"{why}{effective_confidence(memory, now):.1%} left of it"
    return PassStep(
        (Retire(memory.id, now, why="faded"),),
        (memory.id,),
        left,
    )


def find_over_capacity(
    memories: Iterable[Memory],
    now: float,
    capacity: Mapping[str, int],
) -> dict[str, str]:
    """The least retained memories of each type over its capacity: id → type; ties go by age.

    What may not go counts, so a type that is full of the user's own words loses all others, and
    keeps those.
    """
    totals = Counter[str]()
    removable: dict[str, list[tuple[float, float, str]]] = {}
    for memory in memories:
        kind = kind_of(memory.kind)
        totals[kind.type] += 1
        is_kept = memory.provenance in USER_PROVENANCE or was_used_lately(memory, now)
        if not is_kept and kind.capped:
            rank = (effective_confidence(memory, now), memory.at, memory.id)
            removable.setdefault(kind.type, []).append(rank)
    found = {}
    for type, ranks in removable.items():
        excess = max(0, totals[type] - capacity[type])
        for _, _, id in sorted(ranks)[:excess]:
            found[id] = type
    return found


def archive_over_capacity(view: PassView, types: Mapping[str, str]) -> list[PassStep]:
    """Steps that retire what is beyond the capacity of its type."""
    return [
        archive_memory(memory, view.now, f"more {types[id]} memories than are kept; ")
        for id, memory in view.memories.items()
        if memory.active
    ]
