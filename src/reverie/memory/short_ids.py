"""Ids as people type them: `mem_` and some of the characters with which the rest begins or ends.

An id begins with the time, so that those of one day begin alike; its end is chance, and a few
characters of it tell it from all others. Whole ids are what is kept and what programs are given.
"""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from reverie.core.errors import BadInput
from reverie.core.model import Memory

# Fewer characters would name too many.
MIN_CHARS = 3
_SHORT = re.compile(rf"mem_([0-9a-z]{{{MIN_CHARS},25}})")
# 30 bits of chance: among 100,000 memories one in 10,000 needs more, and is then asked for it.
SHOWN_CHARS = 6
# Of the memories that an ambiguous id could mean, so many are listed.
MAX_CANDIDATES = 5
MAX_SHOWN_CHARS = 60


class IdSource(Protocol):
    """What knows ids: a store."""

    def match_ids(self, part: str, limit: int) -> list[str]:
        """Ids that begin or end with these characters."""

    def get(self, ids: Sequence[str]) -> list[Memory]:
        """Memories by id; unknown ids are left out."""


def shorten_id(id: str) -> str:
    """An id as a person is shown it, with what it ends with; what is none of a memory stays."""
    return f"mem_{id[-SHOWN_CHARS:]}" if re.fullmatch("mem_[0-9a-z]{26}", id) else id


def is_short(id: str) -> bool:
    """True if an id may be a part of one."""
    return _SHORT.fullmatch(id) is not None


def expand_id(
    store: IdSource, id: str, is_visible: Callable[[Memory], bool] = lambda _: True
) -> str:
    """The whole id of the one memory that a short one names; itself where none is named by it.

    Raises BadInput with the candidates where several are.
    """
    found = _SHORT.fullmatch(id)
    if found is None or store.get([id]):
        return id
    named = filter(is_visible, store.get(store.match_ids(found[1], 1_000)))
    candidates = list(named)
    if len(candidates) > 1:
        raise BadInput(describe_candidates(id, candidates))
    return candidates[0].id if candidates else id


def describe_candidates(id: str, candidates: Sequence[Memory]) -> str:
    """What to say of an id that names several memories."""
    rows = [
        f"  {one.id}  {' '.join(one.text.split())[:MAX_SHOWN_CHARS]}"
        for one in candidates[:MAX_CANDIDATES]
    ]
    more = len(candidates) - len(rows)
    rest = [f"  and {more} more"] if more else []
    return "\n".join((f"{id} could be {len(candidates)} memories:", *rows, *rest))
