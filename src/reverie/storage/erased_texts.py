"""Finding erased texts again in other texts: whole, as a passage, or cut off at the end.

Letter case and white space make no difference. A text of a word or two occurs in many sentences by
chance, so it is blanked only where it is a whole value, and not where that value is a program's own
word (`is_kept_field`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from json import dumps
from typing import Any

from reverie.text.tokenization import UNSPACED, fold_text

PURGED = "[purged]"
PURGING = "purging"  # in `meta`: what the store has erased and files may still hold
# In `meta`: files of a scrub are still to be written anew.
REWRITE_PENDING = "scrubbing"
MIN_DISTINCTIVE_CHARS = 20  # a shorter text may occur in an unrelated event by chance
# Letters that a sign counts for in scripts without spaces between words: it says more.
UNSPACED_WEIGHT = 2
# The share of a text's words from which a sentence of its source counts as saying the same.
MIN_SHARED_WORDS = 0.7
SENTENCE_ENDS = ".!?…。"
KEPT_FIELDS = ("role",)  # without it a turn could not be learned from
# Fields whose short values are programs' own words.
PROGRAM_FIELDS = ("event", "space", "session", "kind", "verb", "host", "tool", "outcome")

# More are looked for word by word.
MAX_NEEDLES = 16
MAX_NEEDLE_CHARS = 64  # enough to tell, and SQLite takes no pattern of 50,000
# The k of temperatures is a k in lower case: words with one are looked for by what is around it.
_PLAIN = re.compile("[a-jl-z0-9]{3,}")
_SIGN = re.compile(f"[{UNSPACED}]")
_TOKEN = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_ESCAPE = re.compile(r"\\u[0-9a-f]{4}|\\.")
# Whole words only: "role" is not in "parole".
_BEFORE = rf"(?<![^\W{UNSPACED}])"
_AFTER = rf"(?![^\W{UNSPACED}])"


class TextPrefilter:
    """A cheap test which of many texts another text may contain, by one word of each.

    Most texts contain none of thousands, and looking for each of them would take far longer.
    """

    def __init__(self, words: Iterable[tuple[str, str]]) -> None:
        """`words` are pairs of a lower-case word and the text it stands for.

        In scripts without spaces a word may stand within a longer one.
        """
        self.words: dict[str, list[str]] = {}
        self.parts: dict[str, list[str]] = {}
        for word, text in words:
            table = self.words if word and not _SIGN.match(word) else self.parts
            table.setdefault(word, []).append(text)

    def find_candidates(self, text: str) -> list[str]:
        """The texts that may occur in `text`."""
        lower = text.lower()
        found: list[str] = []
        for word in self.words.keys() & set(_TOKEN.findall(lower)):
            found += self.words[word]
        for part, texts in self.parts.items():
            if part in lower:
                found += texts
        return found

    def may_match_json(self, written: str) -> bool:
        """True if one of the texts may occur in a JSON text."""
        plain = _ESCAPE.sub(" ", written) if "\\" in written else written
        return bool(self.find_candidates(plain))

    def find_needles(self) -> list[str] | None:
        """Pieces in plain letters, lower case, of which whatever may match holds one: a database
        looks for them faster than we do. None if there are too many, or a word has none.
        """
        found = set()
        for word in (*self.words, *self.parts):
            pieces = _PLAIN.findall(word)
            if not pieces:
                return None
            found.add(max(pieces, key=len)[:MAX_NEEDLE_CHARS])
        fewest = [one for one in found if not any(o in one for o in found - {one})]
        return sorted(fewest) if len(fewest) <= MAX_NEEDLES else None


class PassageEraser:
    """Blanks some texts wherever they occur in others; a `TextCleaner`."""

    def __init__(self, texts: Collection[str]) -> None:
        # A full stop behind a text makes no difference.
        erased = {strip_sentence_end(text) for text in texts} - {""}
        self.whole = {fold_text(text) for text in erased}
        forms: set[str] = set()
        for text in erased:
            if is_distinctive(text):
                forms.update(list_written_forms(text))
        self.passages = TextPrefilter((longest_word(form), form) for form in forms)
        self.beginnings = TextPrefilter(
            (longest_word(first_whole_words(text)), text)
            for text in erased
            if len(text) > MIN_DISTINCTIVE_CHARS
        )
        self.patterns: dict[str, re.Pattern[str]] = {}

    def scrub_text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """A text without them, and ("purged",) if any was there."""
        body = strip_sentence_end(text)
        if fold_text(body) in self.whole:
            # The full stop stays, as it does within other texts.
            return text.replace(body, PURGED), ("purged",)
        clean = self.blank_passages(text)
        clean = self.blank_cut_end(clean)
        return (clean, ("purged",)) if clean != text else (text, ())

    def scrub_value(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        """The same for every string in a JSON value."""
        clean = map_strings(value, lambda text: self.scrub_text(text)[0])
        return (clean, ("purged",)) if clean != value else (value, ())

    def blank_passages(self, text: str) -> str:
        """A text with the passages blanked, the longest first."""
        forms = find_present(self.passages, text)
        # A shorter text may be part of a longer one, and would leave the rest of that behind.
        for form in sorted(
            forms,
            key=lambda form: (-len(form), form),
        ):
            text = self.pattern(to_word_pattern(form)).sub(PURGED, text)
        return text

    def blank_cut_end(self, text: str) -> str:
        """A text without the beginning of an erased one at its end, where it was cut off."""
        for erased in sorted(find_present(self.beginnings, text, MIN_DISTINCTIVE_CHARS)):
            start = self.pattern(_BEFORE + to_spaced_pattern(erased[:MIN_DISTINCTIVE_CHARS]))
            for found in start.finditer(text):
                rest = fold_text(text[found.start() :]).rstrip("…. ")
                if fold_text(erased).startswith(rest):
                    return text[: found.start()] + PURGED
        return text

    def pattern(self, expression: str) -> re.Pattern[str]:
        """A compiled expression, kept: compiling one takes some milliseconds."""
        if expression not in self.patterns:
            self.patterns[expression] = re.compile(expression, re.IGNORECASE)
        return self.patterns[expression]


def find_present(
    prefilter: TextPrefilter,
    text: str,
    chars: int | None = None,
) -> list[str]:
    """The texts that occur in `text`, or whose first `chars` do, perhaps within a longer word."""
    candidates = prefilter.find_candidates(text)
    if not candidates:
        return []
    folded = fold_text(text)
    return [candidate for candidate in candidates if fold_text(candidate[:chars]) in folded]


def strip_sentence_end(text: str) -> str:
    """A text without white space around it and without its closing punctuation."""
    return text.strip().rstrip(SENTENCE_ENDS)


def list_written_forms(text: str) -> tuple[str, ...]:
    """A text as it is, and in the two ways that JSON may write it."""
    wide, ascii_only = dumps(text, ensure_ascii=False), dumps(text)
    return text, wide[1:-1], ascii_only[1:-1]


def map_strings(value: Any, clean: Callable[[str], str]) -> Any:
    """A JSON value with `clean` applied to every string in it; keys and kept fields stay."""
    if isinstance(value, dict):
        cleaned = {}
        for name, inner in value.items():
            cleaned[name] = inner if is_kept_field(name, inner) else map_strings(inner, clean)
        return cleaned
    if isinstance(value, list):
        return [map_strings(inner, clean) for inner in value]
    return clean(value) if isinstance(value, str) else value


def is_kept_field(name: str, value: Any) -> bool:
    """True if the value of this field is left alone: a short text that steers a program."""
    return name in KEPT_FIELDS or (
        name in PROGRAM_FIELDS and isinstance(value, str) and len(value) < MIN_DISTINCTIVE_CHARS
    )


def is_distinctive(text: str) -> bool:
    """True if a text is so long that it occurs nowhere by chance."""
    extra = (UNSPACED_WEIGHT - 1) * len(_SIGN.findall(text))
    return len(text) + extra >= MIN_DISTINCTIVE_CHARS


def longest_word(text: str) -> str:
    """The longest word of a text, in lower case, of a spaced script if there is any; "" if none."""
    words = _TOKEN.findall(text.lower())
    spaced = [word for word in words if not _SIGN.match(word)]
    return max(
        spaced or words,
        key=len,
        default="",
    )


def first_whole_words(text: str) -> str:
    """The whole words at the beginning of a text, which may be cut off anywhere after them.

    "" if there is no whole word, except in scripts without spaces.
    """
    start = text[:MIN_DISTINCTIVE_CHARS]
    starts = [word.start() for word in _TOKEN.finditer(start)]
    words = start[: max(starts, default=0)]
    if not longest_word(words) and _SIGN.match(longest_word(start)):
        return start
    return words


def to_spaced_pattern(text: str) -> str:
    """A regular expression for a text with any white space between its words."""
    return r"\s+".join(map(re.escape, text.split()))


def to_word_pattern(text: str) -> str:
    """A regular expression for a text that is not part of a longer word."""
    before = "" if _SIGN.match(text[:1]) else _BEFORE
    after = "" if _SIGN.match(text[-1:]) else _AFTER
    return before + to_spaced_pattern(text) + after


def blank_sentences(
    clean: PassageEraser,
    texts: Collection[str],
    source: str,
) -> str:
    """A source with the passages blanked, and the sentences that say the same as one of `texts`."""
    word_sets = [split_word_set(text) for text in texts]
    # One or two words would be shared by chance.
    erased = [words for words in word_sets if len(words) > 2]
    parts = re.split(r"((?<=[.!?。！？])\s+|\n+)", clean.blank_passages(source))
    for place, part in enumerate(parts):
        if any(is_same_statement(words, part) for words in erased):
            parts[place] = PURGED
    return "".join(parts)


def split_word_set(text: str) -> set[str]:
    """The different words of a text, in lower case."""
    return set(re.findall(r"\w+", text.lower()))


def is_same_statement(words: set[str], sentence: str) -> bool:
    """True if a sentence contains most of these words."""
    return len(words & split_word_set(sentence)) >= MIN_SHARED_WORDS * len(words)
