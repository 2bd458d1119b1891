"""Guards: what a prohibition does when a tool is about to do what it forbids.

    ask    the person decides, and sees which memory says so, whose word it is, and since when
    deny   it is not done
    tell   the agent is told, and goes on
    off    nothing happens at tools; the memory counts elsewhere as before

What is chosen for one memory stands in its details; else a prohibition does what the setting
`guards` says, and anything else with a trigger tells. Always true: only the user's own word, or
what the user has approved, may stop anything. What others wrote, what an agent observed or
concluded can at most be told. Pure.
"""

from collections.abc import Mapping

from reverie.core.clock import format_day
from reverie.core.errors import BadInput
from reverie.core.kinds import NEGATIVE, maturity_of
from reverie.core.model import Memory, Revise
from reverie.memory.detail_changes import drop_details, revise_details
from reverie.memory.memory_changes import require_active

ASK, DENY, TELL, OFF = DECISIONS = ("ask", "deny", "tell", "off")
DOES = {
    ASK: "you are asked",
    DENY: "it is not run",
    TELL: "the agent is told",
    OFF: "nothing happens",
}
STOPPING = (ASK, DENY)
GUARD = "guard"  # in the details
OWN_WORD = ("user_stated", "user_corrected")
MAX_REASON_CHARS = 300


def decide_guard(memory: Memory, default: str) -> str:
    """What a memory does when its trigger meets a tool call: a member of DECISIONS."""
    chosen = memory.details.get(GUARD)
    if chosen not in DECISIONS:
        chosen = default if memory.kind == NEGATIVE else TELL
    return TELL if chosen in STOPPING and not may_stop(memory) else str(chosen)


def may_stop(memory: Memory) -> bool:
    """True for the user's own word, and for what the user has approved."""
    if memory.provenance in OWN_WORD:
        return True
    review = memory.details.get("curated")
    by = review.get("by") if isinstance(review, Mapping) else None
    return maturity_of(memory) == "validated" and by == "user"


def explain_guard(memory: Memory) -> str:
    """Why a tool is stopped, for a person: what was said, by whom, when, and where to change it."""
    # On one line, without what could steer a terminal.
    text = "".join(ch if ch.isprintable() else " " for ch in memory.text)
    if len(text) > MAX_REASON_CHARS:
        text = text[:MAX_REASON_CHARS].rstrip() + " …"
    who = "You said" if memory.provenance in OWN_WORD else "You approved"
    if memory.speaker and memory.speaker != "user":
        name = "".join(ch for ch in memory.speaker if ch.isprintable())[:40]
        who = f"{name} said" if memory.provenance in OWN_WORD else who
    return f"{who} on {format_day(memory.at)}: “{text}” (Reverie, {memory.id})"


def set_guard(memory: Memory, decision: str, now: float) -> Revise:
    """The change by which a memory does this; "default" takes the choice back.

    BadInput if it has no trigger, or asks or denies without being the user's word.
    """
    require_active(memory)
    if decision == "default":
        return revise_details(memory, drop_details(memory.details, GUARD), now)
    if decision not in DECISIONS:
        raise BadInput(
            f"{decision!r} is not what a guard does; there are {', '.join(DECISIONS)} and default"
        )
    if not memory.triggers:
        raise BadInput(
            f"{memory.id} has no trigger, so no tool call meets it. Give it one: "
            f'reverie edit {memory.id} --trigger "run:git push --force"'
        )
    if decision in STOPPING and not may_stop(memory):
        raise BadInput(
            f"{memory.id} is not your own word ({memory.provenance}), so it may not stop anything. "
            f"Approve it first: reverie memory curate {memory.id}"
        )
    return revise_details(memory, {**memory.details, GUARD: decision}, now)
