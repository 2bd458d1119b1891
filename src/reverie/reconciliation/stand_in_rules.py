"""Whether one memory can stand for another, so that nothing is lost when the other goes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from reverie.core.model import Memory
from reverie.reconciliation.merge_rules import get_procedure_parts

# Addresses, quotations, numbers and identifiers.
MARK_PATTERN = re.compile(
    r"https?://\S+|`[^`]+`|\"[^\"]+\"|\w*\d[\w.,:/%+-]*|\w+(?:[_./:@#\\-]+\w+)+|\w*[a-z][A-Z]\w*"
)
# A capital that does not begin a sentence.
NAME_PATTERN = re.compile(r"(?<![.!?\n]\s)(?<!^)\b[A-Z]\w+")


def can_replace(keep: Memory, gone: Memory, wordings: Sequence[str] = ()) -> bool:
    """True if `keep` says in some wording all that `gone` says, for as long, from as good a
    source.
    """
    return (
        holds_marks("\n".join((keep.text, *wordings)), gone.text)
        and keep.trust >= gone.trust
        and keep.expires_at == gone.expires_at
        and get_procedure_parts(gone).items() <= get_procedure_parts(keep).items()
    )


def holds_marks(text: str, other: str) -> bool:
    """True if a text has every number, identifier and name of the other as a word of its own."""
    lower = text.lower()
    return all(re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", lower) for mark in find_marks(other))


@lru_cache(maxsize=4_096)
def find_marks(text: str) -> frozenset[str]:
    """What must not be lost of a text: its numbers, identifiers, quotations, addresses, names."""
    found = [*MARK_PATTERN.findall(text), *NAME_PATTERN.findall(text)]
    return frozenset(mark.strip('`".,:;').lower() for mark in found)
