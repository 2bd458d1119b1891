"""What two memories are to each other, told without a language model.

`compare` answers with one of five relations: the new memory says the same as the old one, nearly the same, the
opposite, something that replaces it, or something else. Pure: two memories and how near their vectors are.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from reverie.model import Memory

RELATIONS = ("same", "near", "contradicts", "updates", "apart")
SAME_COSINE, NEAR_COSINE = 0.92, 0.80    # CONSTANTS row 7
NEAR_TOKENS = 0.75                       # CONSTANTS: near-dup tokens; what counts where there is no embedder (CC-86)


class Verdict(NamedTuple):
    """What the new memory is to the old one, how sure that is (0..1), and why, in words for a person."""

    relation: str        # a member of RELATIONS
    confidence: float
    why: str


def compare(old: Memory, new: Memory, cosine: float | None, *, wordings: Sequence[str] = ()) -> Verdict:
    """What `new` is to `old`; `wordings` are further texts by which `old` is known.

    `cosine` is the likeness of their vectors; None where there is no embedder, and then shared words count.
    """
    words = set(re.findall(r"\w+", new.text.lower()))
    if any(_said(text) == _said(new.text) for text in (old.text, *wordings)):
        return Verdict("same", 1.0, "the same words")
    shared = max(_overlap(set(re.findall(r"\w+", text.lower())), words) for text in (old.text, *wordings))
    if (cosine or 0.0) >= NEAR_COSINE or shared >= NEAR_TOKENS:
        return Verdict("near", max(cosine or 0.0, shared), "nearly the same words")
    return Verdict("apart", 1.0 - max(cosine or 0.0, shared), "other words")


def _said(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _overlap(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0
