"""Looking at single memories: a curator approves one, passes it on to a person, or puts it away.

A curator is a person or an agent with that task; who it was, when, and what they noted stands in
the details. Only people and their agents curate; nothing here is done unasked. Pure: values in,
changes out.
"""

from __future__ import annotations

from reverie.core.code_anchors import outdated_notice
from reverie.core.errors import BadInput
from reverie.core.kinds import MATURITIES, is_mature, maturity_of
from reverie.core.model import Change, Memory, Retire, Revise

CURATION_DETAILS = ("maturity", "curated")  # names in the details


def curate_memory(memory: Memory, state: str, now: float, *, by: str, note: str) -> list[Change]:
    """What follows when a curator gives a memory a state of MATURITIES; "raw" takes a
    state back.
    """
    if state not in MATURITIES:
        raise BadInput(f"{state!r} is not a state of a memory; there are {', '.join(MATURITIES)}")
    if not memory.active:
        raise BadInput(
            f"{memory.id} does not count any more ({memory.retired_why}); restore it first"
        )
    plain = {name: value for name, value in memory.details.items() if name not in CURATION_DETAILS}
    said = {"curated": {"by": by, "at": now, "note": note}} if state != "raw" else {}
    stands = {"maturity": state} if state in ("validated", "escalated") else {}
    changes: list[Change] = [
        Revise(id=memory.id, fields={"details": {**plain, **said, **stands}, "updated_at": now})
    ]
    return (
        [*changes, Retire(id=memory.id, at=now, why="dismissed")]
        if state == "dismissed"
        else changes
    )


def is_awaiting_review(memory: Memory) -> bool:
    """Whether somebody should look at it: it was passed on to a person, was only concluded, or
    speaks of code that has

    changed since.
    """
    return (
        maturity_of(memory) == "escalated" or not is_mature(memory) or bool(outdated_notice(memory))
    )
