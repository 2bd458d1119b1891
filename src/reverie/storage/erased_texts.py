"""Texts that are erased, found again in other texts: whole, as a passage, or cut off at the end.

Letter case and white space make no difference. A text of a word or two stands in many a sentence by
chance, so it is only blanked where it is the whole of a value, and not where that is the program's
own word (`stays`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from json import dumps
from typing import Any

from reverie.text.tokenization import UNSPACED, fold_text

PURGED = "[purged]"
PURGING = "purging"  # meta: what the store has let go of and files may still hold
MIN_DISTINCTIVE_CHARS = 20  # letters; a shorter text may stand in an unrelated event by chance
UNSPACED_WEIGHT = 2  # letters that a sign counts for where no space parts words: it says more
MIN_SHARED_WORDS = 0.7  # of a text's words in a sentence of its source: it says the same
SENTENCE_ENDS = ".!?…。"
KEPT_FIELDS = ("role",)  # without it a turn could not be learned from
# names of what programs say
PROGRAM_FIELDS = (
    "event",
    "space",
    "session",
    "kind",
    "verb",
    "host",
    "tool",
    "outcome",
)

_SIGN = re.compile(f"[{UNSPACED}]")
_TOKEN = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_ESCAPE = re.compile(r"\\u[0-9a-f]{4}|\\.")
# whole words: "role" is not in "parole"
_BEFORE, _AFTER = (
    rf"(?<![^\W{UNSPACED}])",
    rf"(?![^\W{UNSPACED}])",
)


class TextPrefilter:
    """Which of some texts, each told by a word of it, another text may hold: most of it holds none
    of thousands.
    """

    def __init__(self, told: Iterable[tuple[str, str]]) -> None:
        """`told`: a word, in lower case, and what it tells. Without spaces a word stands within a
        longer one.
        """
        self.words: dict[str, list[str]] = {}
        self.parts: dict[str, list[str]] = {}
        for word, text in told:
            (self.words if word and not _SIGN.match(word) else self.parts).setdefault(
                word, []
            ).append(text)

    def within(self, text: str) -> list[str]:
        """What may stand in a text."""
        lower = text.lower()
        found = [
            one
            for word in self.words.keys() & set(_TOKEN.findall(lower))
            for one in self.words[word]
        ]
        return found + [one for part, some in self.parts.items() if part in lower for one in some]

    def holds(self, written: str) -> bool:
        """Whether something may stand in what is written as JSON."""
        return bool(self.within(_ESCAPE.sub(" ", written) if "\\" in written else written))


class PassageEraser:
    """Blanks these texts in others, as `store.scrub.Cleans` asks for it."""

    def __init__(self, texts: Collection[str]) -> None:
        some = {strip_sentence_end(text) for text in texts} - {
            ""
        }  # with a full stop behind it or not
        self.whole = {fold_text(text) for text in some}
        written = {
            form for text in some if is_distinctive(text) for form in list_written_forms(text)
        }
        self.passages = TextPrefilter((longest_word(form), form) for form in written)
        self.begun = TextPrefilter(
            (longest_word(first_whole_words(text)), text)
            for text in some
            if len(text) > MIN_DISTINCTIVE_CHARS
        )
        self.found: dict[str, re.Pattern[str]] = {}

    def scrub_text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """A text without them, and whether any was there."""
        said = strip_sentence_end(text)
        if fold_text(said) in self.whole:
            return text.replace(said, PURGED), (
                "purged",
            )  # what ends it stays, as within other texts
        clean = self.without_beginning(self.without(text))
        return (clean, ("purged",)) if clean != text else (text, ())

    def scrub_value(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        """The same of every string in a value of JSON."""
        clean = map_strings(value, lambda text: self.scrub_text(text)[0])
        return (clean, ("purged",)) if clean != value else (value, ())

    def without(self, text: str) -> str:
        """A text with the passages blanked, the longest first."""
        for form in sorted(find_present(self.passages, text), key=lambda form: (-len(form), form)):
            text = self.finding(to_word_pattern(form)).sub(PURGED, text)
        return text

    def without_beginning(self, text: str) -> str:
        """A text without the part at its end that begins one of the texts: it was cut there."""
        for one in sorted(find_present(self.begun, text, MIN_DISTINCTIVE_CHARS)):
            start = self.finding(_BEFORE + to_spaced_pattern(one[:MIN_DISTINCTIVE_CHARS]))
            for found in start.finditer(text):
                if fold_text(one).startswith(fold_text(text[found.start() :]).rstrip("…. ")):
                    return text[: found.start()] + PURGED
        return text

    def finding(self, expression: str) -> re.Pattern[str]:
        """What finds a text: made when one holds it, for that takes some milliseconds."""
        if expression not in self.found:
            self.found[expression] = re.compile(expression, re.IGNORECASE)
        return self.found[expression]


def find_present(sieve: TextPrefilter, text: str, begun: int | None = None) -> list[str]:
    """What stands in a text, or `begun` characters of it do, perhaps as part of a longer word."""
    if not (some := sieve.within(text)):
        return []
    written = fold_text(text)
    return [one for one in some if fold_text(one[:begun]) in written]


def strip_sentence_end(text: str) -> str:
    """A text without what ends it."""
    return text.strip().rstrip(SENTENCE_ENDS)


def list_written_forms(text: str) -> tuple[str, ...]:
    """A text as it is, and as JSON writes it."""
    return text, dumps(text, ensure_ascii=False)[1:-1], dumps(text)[1:-1]


def map_strings(value: Any, clean: Callable[[str], str]) -> Any:
    """A value with every string in it as `clean` makes it; names of fields stay."""
    if isinstance(value, dict):
        return {
            name: inner if is_kept_field(name, inner) else map_strings(inner, clean)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [map_strings(inner, clean) for inner in value]
    return clean(value) if isinstance(value, str) else value


def is_kept_field(name: str, value: Any) -> bool:
    """Whether a value of this name is left as it is: it steers a program, and is a short text by
    chance.
    """
    return name in KEPT_FIELDS or (
        name in PROGRAM_FIELDS and isinstance(value, str) and len(value) < MIN_DISTINCTIVE_CHARS
    )


def is_distinctive(text: str) -> bool:
    """Whether a text is so long that it stands nowhere by chance."""
    return len(text) + (UNSPACED_WEIGHT - 1) * len(_SIGN.findall(text)) >= MIN_DISTINCTIVE_CHARS


def longest_word(text: str) -> str:
    """The longest word of a text, which whatever repeats it holds; empty if it has none."""
    words = _TOKEN.findall(text.lower())
    return max([word for word in words if not _SIGN.match(word)] or words, key=len, default="")


def first_whole_words(text: str) -> str:
    """How a text begins, as far as its words are whole: it may be cut off anywhere beyond. Empty if
    none is.
    """
    start = text[:MIN_DISTINCTIVE_CHARS]
    words = start[: max((word.start() for word in _TOKEN.finditer(start)), default=0)]
    return start if not longest_word(words) and _SIGN.match(longest_word(start)) else words


def to_spaced_pattern(text: str) -> str:
    """An expression for a text, whatever white space parts its words."""
    return r"\s+".join(map(re.escape, text.split()))


def to_word_pattern(text: str) -> str:
    """An expression for a text that does not stand within a longer word."""
    return (
        ("" if _SIGN.match(text[:1]) else _BEFORE)
        + to_spaced_pattern(text)
        + ("" if _SIGN.match(text[-1:]) else _AFTER)
    )


def blank_sentences(clean: PassageEraser, texts: Collection[str], said: str) -> str:
    """What was said without the passages and the sentences that say the same as one of
    the texts.
    """
    meant = [words for text in texts if len(words := set(re.findall(r"\w+", text.lower()))) > 2]
    parts = re.split(r"((?<=[.!?。！？])\s+|\n+)", clean.without(said))
    return "".join(
        PURGED if any(is_same_statement(words, part) for words in meant) else part for part in parts
    )


def is_same_statement(words: set[str], sentence: str) -> bool:
    """Whether a sentence holds most of the words of a text."""
    return len(words & set(re.findall(r"\w+", sentence.lower()))) >= MIN_SHARED_WORDS * len(words)
