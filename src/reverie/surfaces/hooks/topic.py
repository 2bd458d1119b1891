"""Whether a prompt goes on with what lies ready for it, and whether it has words of its own to look for.

A block was prepared for what was said before. Where the user thanks, or begins something else, it waits: most turns
need no memory. Words that nearly every working session says (`search.gate.everyday`) tell neither.

Always true: what nobody can tell counts as going on; a remark that only closes or greets brings nothing.
"""

from collections.abc import Collection, Mapping
from typing import Any

from reverie.search.gate import everyday, stem, stems_of
from reverie.surfaces.hooks.guards import may_meet

LOOKED_AT = 4_000         # characters of a prompt
MOST_ABOUT = 300          # words of what a block is about
_CLOSING = """
alright awesome bye cheers cool day evening excellent fine good goodbye great haha hello hey hi lgtm lol luck many mind
morning much nice night ok okay perfect super sure thank thanks thx tomorrow weekend welcome wonderful wow yay
"""
CLOSING = frozenset(map(stem, _CLOSING.split()))


def own_words(text: str) -> frozenset[str]:
    """The words of a prompt that tell what it is about, without their endings."""
    return stems_of(text[:LOOKED_AT]) - everyday() - CLOSING


def about(*texts: str) -> list[str]:
    """What a block is about, as `goes_on` compares it: of what it was prepared for, and of its memories."""
    return sorted(frozenset().union(*map(own_words, texts)))[:MOST_ABOUT]


def goes_on(text: str, known: Collection[str]) -> bool:
    """Whether a prompt goes on with what these words are about: it shares one, or has none and does not close."""
    own = own_words(text)
    if own:
        return not own.isdisjoint(known)
    said = stems_of(text[:LOOKED_AT])
    return not said or not said <= CLOSING


def worth_looking(text: str, guards: Mapping[str, Any] | None) -> bool:
    """Whether a prompt has words that may find something, or one that calls a memory up."""
    if own_words(text):
        return True
    low = text[:LOOKED_AT].lower()
    return any(may_meet(one, low) for row in (guards or {}).get("rows", ()) for one in row["triggers"]
               if not one.strip().startswith("tool:"))  # fmt: skip
