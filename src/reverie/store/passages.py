"""Texts that are erased, found again in other texts: whole, as a passage, or cut off at the end.

Letter case and white space make no difference. A text of a word or two stands in many a sentence by chance, so it is
only blanked where it is the whole of a value, and not where that is the program's own word (`stays`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from json import dumps
from typing import Any

from reverie.words import UNSPACED, folded

PURGED = "[purged]"
PURGING = "purging"  # meta: what the store has let go of and files may still hold
CHANCE = 20          # letters; a shorter text may stand in an unrelated event by chance
WEIGHT = 2           # letters that a sign counts for where no space parts words: it says more
SAME = 0.7           # of a text's words in a sentence of its source: it says the same
ENDS = ".!?…。"
KEPT = ("role",)     # without it a turn could not be learned from
OURS = ("event", "space", "session", "kind", "verb", "host", "tool", "outcome")    # names of what programs say

_SIGN = re.compile(f"[{UNSPACED}]")
_BEFORE, _AFTER = rf"(?<![^\W{UNSPACED}])", rf"(?![^\W{UNSPACED}])"    # whole words: "role" is not in "parole"

Beginning = tuple[re.Pattern[str], str]    # finds how a text begins; the whole text, folded


class Passages:
    """Blanks these texts in others, as `store.scrub.Cleans` asks for it."""

    def __init__(self, texts: Collection[str]) -> None:
        bare = {text.strip().rstrip(ENDS) for text in texts} - {""}    # with a full stop behind it or not
        self.whole = {folded(text) for text in bare}
        self.passage = passages(filter(tells, bare))
        self.begun = beginnings([text for text in sorted(bare) if len(text) > CHANCE])

    def text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """A text without them, and whether any was there."""
        bare = text.strip().rstrip(ENDS)
        if folded(bare) in self.whole:
            return text.replace(bare, PURGED), ("purged",)    # what ends it stays, as within other texts
        clean = without_beginning(self.begun, without_passage(self.passage, text))
        return (clean, ("purged",)) if clean != text else (text, ())

    def value(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        """The same of every string in a value of JSON."""
        clean = in_strings(value, lambda text: self.text(text)[0])
        return (clean, ("purged",)) if clean != value else (value, ())


def in_strings(value: Any, clean: Callable[[str], str]) -> Any:
    """A value with every string in it as `clean` makes it; names of fields stay."""
    if isinstance(value, dict):
        return {name: inner if stays(name, inner) else in_strings(inner, clean) for name, inner in value.items()}
    if isinstance(value, list):
        return [in_strings(inner, clean) for inner in value]
    return clean(value) if isinstance(value, str) else value


def stays(name: str, value: Any) -> bool:
    """Whether a value of this name is left as it is: it steers a program, and is a short text by chance."""
    return name in KEPT or (name in OURS and isinstance(value, str) and len(value) < CHANCE)


def tells(text: str) -> bool:
    """Whether a text is so long that it stands nowhere by chance."""
    return len(text) + (WEIGHT - 1) * len(_SIGN.findall(text)) >= CHANCE


def telling(text: str) -> str:
    """The longest word of a text, which every payload that repeats it holds; empty if it has none."""
    return max(re.findall(r"\w+", text.lower()), key=len, default="")


def passages(texts: Iterable[str]) -> re.Pattern[str] | None:
    """An expression for any of the texts, the longest first; None for no text."""
    written = {form for text in texts for form in (      # also within JSON
        text, dumps(text, ensure_ascii=False)[1:-1], dumps(text)[1:-1])}
    forms = [whole(text) for text in sorted(written, key=lambda t: (-len(t), t))]
    return re.compile("|".join(forms), re.IGNORECASE) if forms else None


def whole(text: str) -> str:
    """An expression for a text, whatever white space parts its words, but not within a longer word."""
    return (("" if _SIGN.match(text[:1]) else _BEFORE) + r"\s+".join(map(re.escape, text.split()))
            + ("" if _SIGN.match(text[-1:]) else _AFTER))


def without_passage(passage: re.Pattern[str] | None, text: str) -> str:
    """A text with the passages blanked."""
    return passage.sub(PURGED, text) if passage else text


def beginnings(texts: Iterable[str]) -> list[Beginning]:
    """How texts begin, and the whole of them."""
    return [(re.compile(_BEFORE + r"\s+".join(map(re.escape, text[:CHANCE].split())), re.IGNORECASE), folded(text))
            for text in texts]


def without_beginning(begun: Sequence[Beginning], text: str) -> str:
    """A text without the part at its end that begins one of the texts: it was cut there."""
    for start, whole in begun:
        for found in start.finditer(text):
            if whole.startswith(folded(text[found.start():]).rstrip("…. ")):
                return text[:found.start()] + PURGED
    return text


def without_sentences(passage: re.Pattern[str] | None, texts: Collection[str], said: str) -> str:
    """What was said without the passages and the sentences that say the same as one of the texts."""
    meant = [words for text in texts if len(words := set(re.findall(r"\w+", text.lower()))) > 2]
    parts = re.split(r"((?<=[.!?。！？])\s+|\n+)", without_passage(passage, said))
    return "".join(PURGED if any(same(words, part) for words in meant) else part for part in parts)


def same(words: set[str], sentence: str) -> bool:
    """Whether a sentence holds most of the words of a text."""
    return len(words & set(re.findall(r"\w+", sentence.lower()))) >= SAME * len(words)
