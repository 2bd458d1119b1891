"""What has faded goes to the archive (B115, B125): retired as "faded", listed, and brought back by
`restore`.

Fading alone never deletes. A memory goes only if all of it is so: hardly anything is left of it, it
was said once, it was of no use for a month, and it is not the user's own word (CONSTANTS row 16;
CC-50 to CC-53). Working memory goes as soon as its time is over: nobody will ask for it again
(C11).

Of a type of which a space holds more than `kinds.CAPACITY`, the least retained go too, down to the
capacity (X34): what is left of them by then is less than of any that stays. The user's own words
and what must never be done do not.
"""

from collections.abc import Iterable, Mapping

from reverie.core.kinds import DAY, EXPLICIT_KINDS, effective_confidence, memory_type_of
from reverie.core.model import Memory, Retire
from reverie.reconciliation.pass_view import PassStep, PassView

MIN_CONFIDENCE = 0.05  # effective confidence below which nothing much is left
UNUSED_SECONDS = 30 * DAY  # without use or mention
USER_PROVENANCE = ("user_stated", "user_corrected")


def has_faded(memory: Memory, now: float) -> bool:
    """Whether it may go to the archive."""
    if memory.kind in EXPLICIT_KINDS:
        return memory.expires_at is not None and memory.expires_at <= now
    last = max(memory.at, memory.created_at, memory.last_accessed_at or 0.0)
    return (
        effective_confidence(memory, now) < MIN_CONFIDENCE
        and memory.strength <= 1
        and now - last >= UNUSED_SECONDS
        and memory.provenance not in USER_PROVENANCE
    )


def archive_faded(view: PassView) -> list[PassStep]:
    """Retire what has faded."""
    return [
        PassStep(
            (Retire(memory.id, view.now, why="faded"),),
            (memory.id,),
            f"{effective_confidence(memory, view.now):.1%} left of it",
        )
        for memory in view.memories.values()
        if memory.active and has_faded(memory, view.now)
    ]


def find_over_capacity(
    memories: Iterable[Memory], now: float, capacity: Mapping[str, int]
) -> dict[str, str]:
    """The least retained of each type that has more than its capacity, by id, with the type; ties
    go by age.

    What may not go counts, so a type that is full of the user's own words loses all others, and
    keeps those.
    """
    held: dict[str, int] = {}
    loose: dict[str, list[tuple[float, float, str]]] = {}
    for memory in memories:
        type = memory_type_of(memory.kind)
        held[type] = held.get(type, 0) + 1
        if memory.provenance not in USER_PROVENANCE and memory.kind != "negative":
            loose.setdefault(type, []).append(
                (effective_confidence(memory, now), memory.at, memory.id)
            )
    return {
        id: type
        for type, some in loose.items()
        for _, _, id in sorted(some)[: max(0, held[type] - capacity[type])]
    }


def archive_over_capacity(view: PassView, types: Mapping[str, str]) -> list[PassStep]:
    """Retire what is beyond the capacity of its type."""
    return [
        PassStep(
            (Retire(id, view.now, why="faded"),),
            (id,),
            f"more {types[id]} memories than are kept; {effective_confidence(memory, view.now):.1%} left of it",
        )
        for id, memory in view.memories.items()
        if memory.active
    ]
