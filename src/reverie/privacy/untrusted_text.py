"""What others wrote: a tool's result, a web page, a file, a line that somebody else committed.

Its provenance, `untrusted`, is the first defence, and it does not look at words: such a memory
describes and commands nobody. It is of a kind that takes anybody's word (`kinds.Kind.voice`), or a
note that names the kind that was asked for in `details["asked_kind"]`; it has no triggers; it is
believed as little as its source, whatever is said of it; and it approves itself of nothing. The
second defence does look at words (`prompt_injection`) and is a net with holes: what addresses the
assistant waits for a review by a person, with the reason in `details["planted"]`.

Always true of every way in, for `memory_validation.build_memory` ends here. Pure.
"""

from __future__ import annotations

from reverie.core.kinds import ANYBODY, kind_of
from reverie.core.model import TRUST_BY_PROVENANCE, UNTRUSTED, Memory
from reverie.privacy.prompt_injection import find_prompt_injection

ASKED_KIND, PLANTED, HEARD_FROM = "asked_kind", "planted", "heard_from"  # names in details
CAME_FROM = "came_from"  # in details: the page, file or command in whose answer it stood
TOOL_RESULT = "a tool's result"
FOREIGN_MEMORIES = "somebody else's memories"
PASTED_TEXT = "a text that was read or pasted"
# Details that would raise its rank or call it up.
PROMOTING_DETAILS = ("emotion", "rate", "when", "every", "priority")


def disarm_memory(memory: Memory) -> Memory:
    """The memory as what others wrote may be. Doing it twice changes nothing more."""
    is_reviewed = "curated" in memory.details
    details = {
        name: value
        for name, value in memory.details.items()
        if name not in PROMOTING_DETAILS
        and (name != "maturity" or is_reviewed or value == "escalated")
    }
    kind = memory.kind
    if kind_of(kind).voice != ANYBODY:
        kind, details = "note", {ASKED_KIND: kind, **details}
    most = TRUST_BY_PROVENANCE[UNTRUSTED]
    plain = memory._replace(
        kind=kind,
        details=details,
        triggers=(),
        trust=min(memory.trust, most),
        confidence=min(memory.confidence, most),
        # Half is what a memory has whose weight nobody has told.
        salience=min(memory.salience, 0.5),
    )
    return plain if is_reviewed else screen_for_injection(plain)


def screen_for_injection(memory: Memory) -> Memory:
    """The memory, waiting for a person if its words address the assistant.

    Also for what we wrote around words of others, such as the error in a remedy.
    """
    reason = find_prompt_injection(f"{memory.title}\n{memory.text}")
    if not reason:
        return memory
    return memory._replace(
        details={
            **memory.details,
            "maturity": "escalated",
            PLANTED: reason,
        }
    )
