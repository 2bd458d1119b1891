"""What a note of a language model does to a memory that it was shown: amend, confirm or retract it.

The model names the memory; what follows is decided here, by the rules that hold for everybody. A
note takes the place of a memory of its own space that is believed no more than the note is;
otherwise both are flagged, for a person to decide. A confirmation counts as the same said again in
another session. What others wrote ties to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.kinds import is_unverified
from reverie.core.model import Add, Change, Edge, Link, Memory, Retire
from reverie.memory.memory_changes import flag_contradiction
from reverie.reconciliation.merge_rules import absorb_memory, can_merge, can_yield, diff_memory

AMENDS, CONFIRMS, RETRACTS = "amends", "confirms", "retracts"


def apply_note(new: Memory, does: str, old: Memory | None, now: float) -> Sequence[Change]:
    """The changes that a note makes; `does` says what it does to the memory `old`, if anything."""
    if old is None or not does or not old.active or old.space != new.space:
        return [Add(new)]
    if is_unverified(new):
        # Somebody's page says it: that neither repeats nor ends what was believed here.
        return [Add(new)] if does == AMENDS else []
    if does == CONFIRMS:
        is_news = new.session not in (old.session, *old.sources)
        if not is_news or not can_merge(old, new):
            return []
        # That it was said again counts, not what the model says of it.
        return diff_memory(old, absorb_memory(old, new._replace(details={}), now))
    if old.trust <= new.trust and can_yield(old, new):
        return [
            Add(new),
            Retire(old.id, now, "superseded", new.id),
            Link(Edge(new.id, "supersedes", old.id, 1.0)),
        ]
    return [Add(new), *flag_contradiction(old, new, now)]
