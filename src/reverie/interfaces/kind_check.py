"""Kinds that somebody names, on the command line or in a tool's arguments: slips are refused.

Kinds of one's own are welcome. What is nearly the name of a known kind is a slip: kept under that
name, a prohibition would stop nothing; asked for, it would seem that nothing is known.
"""

from collections.abc import Iterable

from reverie import Mind
from reverie.core.errors import BadInput
from reverie.core.kinds import KINDS
from reverie.core.model import SAID

# Of difflib's likeness, with the same first letter: "negativ" and "fcat" are slips, "recipe" and
# "warning" are kinds of one's own.
MIN_LIKENESS = 0.75


def require_new_kind(mind: Mind, kind: str, space: str) -> None:
    """Raise BadInput for what is nearly a known kind, unless memories of it are there."""
    from difflib import get_close_matches

    if not kind or kind in KINDS or is_kind_used(mind, kind, space):
        return
    known = [name for name in KINDS if name[0] == kind[0]]
    if near := get_close_matches(kind, known, 1, MIN_LIKENESS):
        raise BadInput(f"There is no kind {kind!r}. Did you mean {near[0]}?")


def require_used_kinds(mind: Mind, kinds: Iterable[str], space: str) -> None:
    """Raise BadInput for a kind that is neither a known one nor that of any memory here."""
    odd = [kind for kind in kinds if kind not in (*KINDS, SAID)]
    if odd := [kind for kind in odd if not is_kind_used(mind, kind, space)]:
        raise BadInput(
            f"There is nothing of the kind {', '.join(odd)}. There are {', '.join(KINDS)}"
        )


def is_kind_used(mind: Mind, kind: str, space: str) -> bool:
    """True if a memory is of this kind, also one that was forgotten."""
    return bool(mind.browse(space=space, kinds=[kind], active=None, limit=1))
