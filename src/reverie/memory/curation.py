"""Looking at single memories: a curator approves one, passes it on to a person, or dismisses it.

A curator is a person or an agent with that task; who it was, when, and what they noted stands in
the details. Only people and their agents curate; nothing here is done unasked. Pure: values in,
changes out.
"""

from reverie.core.code_anchors import outdated_notice
from reverie.core.doubt import is_in_doubt
from reverie.core.errors import BadInput
from reverie.core.kinds import MATURITIES, is_mature, maturity_of
from reverie.core.model import Change, Memory, Retire
from reverie.memory.detail_changes import drop_details, revise_details
from reverie.memory.memory_changes import require_active
from reverie.memory.memory_validation import CURATION_DETAILS


def curate_memory(
    memory: Memory,
    state: str,
    now: float,
    *,
    by: str,
    note: str,
) -> list[Change]:
    """The changes that give a memory a state of MATURITIES; "raw" takes a state back.

    BadInput if there is no such state, or if the memory is retired.
    """
    if state not in MATURITIES:
        raise BadInput(f"{state!r} is not a state of a memory; there are {', '.join(MATURITIES)}")
    require_active(memory)
    details = drop_details(memory.details, *CURATION_DETAILS)
    if state != "raw":
        details["curated"] = {
            "by": by,
            "at": now,
            "note": note,
        }
    if state in ("validated", "escalated"):
        details["maturity"] = state
    changes: list[Change] = [revise_details(memory, details, now)]
    # Retired, not erased: `reverie memory restore` brings it back.
    if state == "dismissed":
        changes.append(Retire(memory.id, now, why="dismissed"))
    return changes


def is_awaiting_review(memory: Memory) -> bool:
    """True if somebody should look at it: it was passed on to a person, was only inferred, speaks
    of code that has changed since, or rests on what has.
    """
    is_passed_on = maturity_of(memory) == "escalated"
    has_moved_on = bool(outdated_notice(memory)) or is_in_doubt(memory)
    return is_passed_on or not is_mature(memory) or has_moved_on
