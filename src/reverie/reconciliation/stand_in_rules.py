"""Whether one memory can stand for another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from reverie.core.model import Memory
from reverie.reconciliation.merge_rules import (
    meaning,
)


def replaces(keep: Memory, gone: Memory, wordings: Sequence[str] = ()) -> bool:
    """Whether one memory can stand for another: in some wording all it says, for as long, from as
    good a source.
    """
    said = "\n".join((keep.text, *wordings))
    return (
        holds(said, gone.text)
        and keep.trust >= gone.trust
        and keep.expires_at == gone.expires_at
        and meaning(gone).items() <= meaning(keep).items()
    )


def holds(text: str, other: str) -> bool:
    """Whether a text holds every number, identifier and name of the other, as a word and not as a
    part of one.
    """
    said = text.lower()
    return all(re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", said) for mark in telling(other))


@lru_cache(maxsize=4_096)
def telling(text: str) -> frozenset[str]:
    """What must not be lost of a text: its numbers, identifiers, quotations, addresses
    and names.
    """
    found = [*TELLING.findall(text), *NAME.findall(text)]
    return frozenset(mark.strip('`".,:;').lower() for mark in found)


TELLING = re.compile(
    r"https?://\S+|`[^`]+`|\"[^\"]+\"|\w*\d[\w.,:/%+-]*|\w+(?:[_./:@#\\-]+\w+)+|\w*[a-z][A-Z]\w*"
)


NAME = re.compile(r"(?<![.!?\n]\s)(?<!^)\b[A-Z]\w+")
