"""What others wrote: a tool's result, a web page, a file, a line that somebody else committed (X36,
X49).

Its provenance, `untrusted`, is the first defence, and it does not look at words: such a memory
describes and commands nobody. It is of a kind that takes anybody's word (`kinds.Kind.voice`), or a
note that names the kind that was asked for in `details["asked_kind"]`; it watches for nothing; it
is believed as little as its source, whatever is said of it; and it approves itself of nothing. The
second defence does look at words (`planted`) and is a net with holes: what addresses the assistant
waits in `pending` for a person, with the reason in `details["planted"]`.

Always true of every way in, for `intake.built` ends here. Pure.
"""

from __future__ import annotations

from reverie.core.kinds import ANYBODY, kind_of
from reverie.core.model import TRUST_BY_PROVENANCE, UNTRUSTED, Memory
from reverie.privacy.prompt_injection import find_prompt_injection

ASKED_KIND, PLANTED, HEARD_FROM = "asked_kind", "planted", "heard_from"  # names in details
TOOL_RESULT, FOREIGN_MEMORIES, PASTED_TEXT = (
    "a tool's result",
    "somebody else's memories",
    "a text that was read or pasted",
)
PROMOTING_DETAILS = ("emotion", "rate", "when", "every", "priority")
"""Details that would raise its rank or call it up."""


def disarm_memory(memory: Memory) -> Memory:
    """The memory as what others wrote may be. Doing it twice changes nothing more."""
    looked_at = "curated" in memory.details
    details = {
        name: value
        for name, value in memory.details.items()
        if name not in PROMOTING_DETAILS
        and (name != "maturity" or looked_at or value == "escalated")
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
        salience=min(memory.salience, 0.5),
    )
    return plain if looked_at else screen_for_injection(plain)


def screen_for_injection(memory: Memory) -> Memory:
    """The memory, waiting for a person if its words address the assistant. Also for what we wrote
    around words of others, such as the error in a remedy.
    """
    why = find_prompt_injection(f"{memory.title}\n{memory.text}")
    return (
        memory._replace(details={**memory.details, "maturity": "escalated", PLANTED: why})
        if why
        else memory
    )
