"""Decisions about single memories, as changes: use, rejection, replacement, and the way back.

Pure: values in, changes out. `Store.apply` carries them out.
"""

from collections.abc import Sequence
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.kinds import INTENTION, is_unverified
from reverie.core.model import (
    MEMORY_RELATIONS,
    Change,
    Edge,
    Link,
    Memory,
    Record,
    Reinforcement,
    Retire,
    Revise,
    visible_spaces,
)

# What one explicit verdict does to confidence.
HELPFUL, UNHELPFUL = 0.05, -0.10
# A language model that only looked at it gives a weak signal, often repeated.
JUDGED_HELPFUL, JUDGED_UNHELPFUL = 0.02, -0.01
VERDICTS = {
    "user": (HELPFUL, UNHELPFUL),
    "host": (HELPFUL, UNHELPFUL),  # the agent that was given it
    "judge": (JUDGED_HELPFUL, JUDGED_UNHELPFUL),
}
"""Who judges → what (it helped, it did not) does to confidence."""

SYMMETRIC_RELATIONS = ("relates_to", "resembles")  # that say the same read from either end
# Breadcrumbs kept on one memory; `strength` counts them all.
MAX_REINFORCEMENTS = 200


def record_use(
    memory: Memory,
    now: float,
    *,
    helpful: bool,
    session: str = "",
    by: str = "user",
    at: float | None = None,
) -> Revise:
    """The change that notes that it was shown (`at`; default: now) and did help, or did not.

    `by` is a key of VERDICTS. What a judge found to answer was used, but nobody has said it again:
    strength stays.
    """
    if by not in VERDICTS:
        raise BadInput(f"by={by!r} is nobody who judges; there are {', '.join(VERDICTS)}")
    at = now if at is None else at
    gain, loss = VERDICTS[by]
    # Use makes nobody's own of what others wrote.
    most = memory.trust if is_unverified(memory) else 1.0
    believed = memory.confidence + (gain if helpful else loss)
    fields: dict[str, Any] = {
        "confidence": round(min(most, max(0.0, believed)), 4),
        "updated_at": now,
    }
    if helpful:
        fields["access_count"] = memory.access_count + 1
        fields["last_accessed_at"] = max(at, memory.last_accessed_at or at)
    if helpful and by != "judge":
        trail = (*memory.reinforcements, Reinforcement(session=session, at=at))
        fields["strength"] = memory.strength + 1
        fields["reinforcements"] = trail[-MAX_REINFORCEMENTS:]
    return Revise(memory.id, fields)


def collect_reinforcements(memory: Memory, space: str) -> tuple[Reinforcement, ...]:
    """Where and when a memory was said, and said again, as it is noted on the one of this space
    that it repeats.

    In another space only when: which sessions a project has is nobody else's business.
    """
    first = memory.messages[0] if memory.messages else None
    own = Reinforcement(
        session=memory.session,
        at=memory.at,
        message=first,
    )
    found = (own, *memory.reinforcements)
    if memory.space == space:
        return found
    return tuple(Reinforcement(session="", at=crumb.at) for crumb in found)


def require_active(memory: Memory) -> None:
    """BadInput if a memory is retired."""
    if not memory.active:
        raise BadInput(
            f"{memory.id} does not count any more ({memory.retired_why}); restore it first"
        )


def require_visible_successor(old: Memory, new: Memory) -> None:
    """BadInput if a memory would stand for another where it is not seen: it must lie in the same
    space or above.
    """
    if new.space not in visible_spaces(old.space):
        raise BadInput(
            f"{new.id} lies in {new.space}: who works in {old.space} could not see it in place of "
            f"{old.id}. Keep it in {old.space} or above first"
        )


def supersede_memory(
    old: Memory,
    new: Memory,
    now: float,
) -> list[Change]:
    """The changes by which a newer memory supersedes an older one, which can still be asked
    about.
    """
    if old.id == new.id:
        raise BadInput("A memory cannot supersede itself")
    require_active(old)
    require_active(new)
    require_visible_successor(old, new)
    return [
        Retire(
            old.id,
            now,
            why="superseded",
            superseded_by=new.id,
        ),
        Link(Edge(new.id, "supersedes", old.id)),
    ]


def flag_contradiction(
    one: Memory,
    other: Memory,
    now: float,
) -> list[Change]:
    """The changes that keep both and flag them as contradicting until somebody decides."""
    changes: list[Change] = []
    for a, b in ((one, other), (other, one)):
        # On both sides: whoever reads either must know.
        conflicts = tuple(dict.fromkeys((*a.conflicts_with, b.id)))
        changes.append(Link(Edge(a.id, "contradicts", b.id)))
        changes.append(Revise(a.id, {"conflicts_with": conflicts, "updated_at": now}))
    return changes


def link_memories(
    src: str,
    dst: str,
    rel: str,
    weight: float,
) -> Link:
    """The change that links two memories; BadInput if the relation, the weight or the ends cannot
    be.
    """
    if rel not in MEMORY_RELATIONS:
        raise BadInput(
            f"{rel!r} does not tie memories together; there are {', '.join(MEMORY_RELATIONS)}"
        )
    if not 0.0 <= weight <= 1.0:
        raise BadInput(f"weight={weight!r} must lie between 0 and 1")
    # Such a link would lead a walk back to where it stands.
    if src == dst:
        raise BadInput("A memory cannot be linked to itself")
    return Link(Edge(src, rel, dst, weight))


def find_link(
    edges: Sequence[Edge],
    src: str,
    dst: str,
    rel: str,
) -> Edge:
    """The link of two memories as it stands, or one of weight 0.

    A link without a direction is found from both ends.
    """
    # A pair has one edge of a relation in each direction at most.
    known = {(edge.src, edge.dst): edge for edge in edges if edge.rel == rel}
    found = known.get((src, dst))
    if found is None and rel in SYMMETRIC_RELATIONS:
        found = known.get((dst, src))
    return found or Edge(src, rel, dst, weight=0.0)


def restore_memory(
    memory: Memory,
    successor_edges: Sequence[Edge],
    now: float,
) -> list[Change]:
    """The changes by which it counts again; what had superseded it no longer does."""
    fields: dict[str, Any] = {
        "retired_at": None,
        "retired_why": "",
        "superseded_by": None,
        "updated_at": now,
    }
    if memory.kind == INTENTION:
        from reverie.memory.intention import reopened_details

        fields["details"] = reopened_details(memory)
    changes: list[Change] = [Revise(memory.id, fields)]
    return changes + [Link(edge._replace(weight=0.0)) for edge in successor_edges]


def unmerge_memory(
    kept: Memory,
    gone: Memory,
    now: float,
) -> list[Change]:
    """The change by which a memory is as strong as before another was merged into it.

    What others wrote had made it no stronger.
    """
    if is_unverified(gone):
        return []
    trail = list(kept.reinforcements)
    for crumb in collect_reinforcements(gone, kept.space):
        # One each: the same may have been said twice at one time.
        if crumb in trail:
            trail.remove(crumb)
    fields = {
        "strength": max(1, kept.strength - gone.strength),
        "reinforcements": tuple(trail),
        "updated_at": now,
    }
    return [Revise(kept.id, fields)]


def invert_records(records: Sequence[Record], now: float) -> list[Change]:
    """The changes that take an event back, last thing first. Something added is retired, not
    erased.
    """
    return [undo_record(record, now) for record in reversed(records)]


def undo_record(record: Record, now: float) -> Change:
    """The change that takes one record of history back."""
    match record.op:
        case "add":
            return Retire(record.memory_id, now, why="undone")
        case "link":
            return Link(Edge(src=record.memory_id, **record.before))
        case _:
            return Revise(record.memory_id, dict(record.before))


def find_later_changes(record: Record, memory: Memory) -> list[str]:
    """Fields that somebody else changed after this record: taking it back would lose their work."""
    return [
        name
        for name, value in record.after.items()
        if name != "updated_at" and getattr(memory, name, value) != value
    ]
