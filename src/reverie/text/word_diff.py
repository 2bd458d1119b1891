"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

SAME, GONE, NEW = "same", "gone", "new"
WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# Of longer texts, comparing word by word would take seconds.
MAX_WORDS = 4_000


class DiffPart(NamedTuple):
    """A run of words that both texts have, that went, or that came."""

    what: str
    text: str


def diff_words(before: str, after: str) -> list[DiffPart]:
    """The parts of both texts in order; joined without what came they are the first text, without
    what went the second.
    """
    old, new = WORDS.findall(before), WORDS.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        return [part for part in (DiffPart(GONE, before), DiffPart(NEW, after)) if part.text]
    parts: list[DiffPart] = []
    for what, i, k, m, n in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            parts.append(DiffPart(SAME, "".join(old[i:k])))
            continue
        if k > i:
            parts.append(DiffPart(GONE, "".join(old[i:k])))
        if n > m:
            parts.append(DiffPart(NEW, "".join(new[m:n])))
    return parts
