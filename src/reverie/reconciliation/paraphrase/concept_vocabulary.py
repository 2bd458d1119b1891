"""Words in their common form: what means the same is the same concept.

A concept is a stem, or the first word of the line of synonyms that the word stands in. Numbers
become values with what they measure ("two weeks" is "14 days"), phrases become single words first.
The tables are in `wording_tables`.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TypeAlias

from reverie.reconciliation.paraphrase import wording_tables
from reverie.reconciliation.paraphrase.fixed_phrases import PHRASES
from reverie.text.tokenization import STOP_WORDS

Concepts: TypeAlias = frozenset[str]
Words: TypeAlias = list[str]  # of a sentence, in order

# What separates the limbs of a sentence.
LIMB_BOUNDARIES = frozenset(",;:.!?()–—|\n")
# Words whose stem and concept are cached.
CACHE_SIZE = 8_192

# Letters that two forms of a word must share at the beginning, and at most differ in at the end.
MIN_SHARED_LETTERS = 4
# Endings with the fewest letters that must be left without them; the first that fits is taken off.
ENDINGS = {
    "ations": 4,
    "ation": 4,
    "ments": 4,
    "ment": 4,
    "ings": 3,
    "ing": 3,
    "ied": 2,
    "ies": 2,
    "ed": 3,
    "ions": 4,
    "ion": 4,
    "iness": 3,
    "ness": 4,
    "sses": 2,
    "es": 3,
    "s": 3,
    "ly": 4,
    "e": 3,
}

_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)([a-z]{0,3})$")
_CLOCK = re.compile(r"\d{1,2}:\d{2}$")


@lru_cache(maxsize=CACHE_SIZE)
def to_concept(word: str) -> str:
    """The common form of a word: its synonyms and its other forms have the same."""
    known = load_synonyms()
    return known.get(word) or known.get(stem_concept_word(word)) or stem_concept_word(word)


@lru_cache(maxsize=CACHE_SIZE)
def stem_concept_word(word: str) -> str:
    """A word without its ending. A light hand, as only two texts of one author are compared.

    >>> stem_concept_word("committing"), stem_concept_word("migrations")
    ('commit', 'migrat')
    """
    if len(word) <= 3 or not word.isalpha() or not word.islower():
        return word
    for ending, fewest in ENDINGS.items():
        if not word.endswith(ending) or len(word) - len(ending) < fewest:
            continue
        if ending == "s" and word.endswith("ss"):
            continue
        return _trim_root(word[: -len(ending)], ending)
    return word


def has_common_start(a: str, b: str) -> bool:
    """True if one of two words is the other with a short ending: user, users."""
    short, long = sorted((a, b), key=len)
    return (
        short.isalpha()
        and long.isalpha()
        and len(short) >= MIN_SHARED_LETTERS
        and len(long) - len(short) <= MIN_SHARED_LETTERS
        and long.startswith(short)
    )


def _trim_root(root: str, ending: str) -> str:
    if ending in ("ied", "ies", "iness"):
        return root + "y"
    if ending in ("ation", "ations"):
        return root + "at" if root[-1] in "grltc" else root
    if ending == "sses":
        return root + "ss"
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "sl":
        return root[:-1]
    return root[:-1] if len(root) > 3 and root[-1] == "e" else root


@cache
def load_synonyms() -> dict[str, str]:
    """What each word or stem is read as."""
    known: dict[str, str] = {}
    for line in wording_tables.SYNONYMS.strip().splitlines():
        head, *others = line.split()
        for word in (head, *others):
            known.setdefault(word, stem_concept_word(head))
            known.setdefault(stem_concept_word(word), stem_concept_word(head))
    return known


@cache
def load_contrasts() -> dict[str, frozenset[int]]:
    """For each concept the numbers of the lines of alternatives that it stands in."""
    table = wording_tables.CONTRASTS + wording_tables.OPPOSITES
    lines: dict[str, set[int]] = {}
    for number, line in enumerate(table.strip().splitlines()):
        for word in line.split():
            lines.setdefault(to_concept(word), set()).add(number)
    return {concept: frozenset(numbers) for concept, numbers in lines.items()}


@lru_cache(maxsize=CACHE_SIZE)
def list_alternatives(concept: str) -> tuple[str, ...]:
    """The other words of the lines of alternatives that a concept stands in."""
    numbers = load_contrasts().get(concept, frozenset())
    if not numbers:
        return ()
    lines = (wording_tables.CONTRASTS + wording_tables.OPPOSITES).strip().splitlines()
    words = [word for number in sorted(numbers) for word in lines[number].split()]
    return tuple(word for word in words if to_concept(word) != concept)


@cache
def load_opposites() -> frozenset[Concepts]:
    """Pairs of concepts that cannot both hold."""
    return frozenset(
        frozenset(map(to_concept, line.split()))
        for line in wording_tables.OPPOSITES.strip().splitlines()
    )


@lru_cache(maxsize=CACHE_SIZE)
def find_opposite_pairs(concepts: Concepts) -> frozenset[Concepts]:
    """The pairs of opposites in which one of these concepts stands."""
    return frozenset(pair for pair in load_opposites() if not pair.isdisjoint(concepts))


@cache
def load_words(table: str) -> frozenset[str]:
    """The words of one table of `wording_tables`."""
    return frozenset(getattr(wording_tables, table).split())


@cache
def load_concepts(*tables: str) -> Concepts:
    """The concepts of the words of these tables of `wording_tables`."""
    return frozenset(to_concept(word) for table in tables for word in load_words(table))


LIGHT_CONCEPTS = load_concepts("LIGHT", "STEERS")
WEAK_CONCEPTS = load_concepts("WEAK")
PLACE_CONCEPTS = load_concepts("PLACES")


@cache
def load_number_words() -> dict[str, int]:
    """The value of each number word."""
    cells = wording_tables.NUMBERS.split()
    return dict(zip(cells[::2], map(int, cells[1::2]), strict=True))


@cache
def load_units() -> dict[str, tuple[str, float]]:
    """(what it measures, how many of the smallest unit it is) of each unit."""
    rows = map(str.split, wording_tables.UNITS.strip().splitlines())
    return {unit: (" ".join(measure), float(factor)) for unit, *measure, factor in rows}


@cache
def _compile_phrases() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE), says) for pattern, says in PHRASES.items()]


def replace_phrases(text: str) -> str:
    """The text with phrases as single words."""
    text = (
        unicodedata.normalize("NFKC", text)
        .replace("’", "'")
        .replace(
            "`",
            " ",
        )
    )
    for pattern, says in _compile_phrases():
        text = pattern.sub(says, text)
    return text


@cache
def load_phrase_marks() -> frozenset[str]:
    """The marks that stand for phrases."""
    return frozenset(re.findall(r"[A-Z]{4,}", " ".join(PHRASES.values())))


def list_concepts(lows: Words) -> Words:
    """For each place the concept that stands there; "" for what carries nothing."""
    found: Words = []
    for i, low in enumerate(lows):
        value, _, _ = read_value(lows, i)
        found.append(value if value or _is_empty_word(low) else to_concept(low))
    return found


def _is_empty_word(low: str) -> bool:
    """True for marks, stop words and light words."""
    return (
        low in LIMB_BOUNDARIES
        or low in load_phrase_marks()
        or low in STOP_WORDS
        or to_concept(low) in LIGHT_CONCEPTS
    )


def format_concepts(concepts: Iterable[str]) -> str:
    """Up to four concepts, for a person."""
    return ", ".join(sorted(concepts)[:4])


def drop_empty(concepts: Words) -> Concepts:
    """The concepts of those places where one stands."""
    return frozenset(filter(None, concepts))


def read_value(lows: Words, i: int) -> tuple[str, str, int]:
    """(value, what it measures, how many further words belong to it) at a place; value is "" if
    none stands there.

    Measures are a unit's name, "clock", "ordinal", "version", or "" for a plain number.
    """
    low, after = lows[i], word_after(lows, i)
    if _CLOCK.match(low):
        return low + ("pm" if after == "pm" else ""), "clock", 0
    match = _NUMBER.match(low)
    if not match:
        number = load_number_words().get(low)
        if number is None or (low == "one" and _is_pronoun(lows, i)):
            return "", "", 0
        return _measure_amount(float(number), "", after)
    digits, unit = match.groups()
    if unit in ("st", "nd", "rd", "th"):
        return digits, "ordinal", 0
    if "." in digits and not unit and not _find_unit(after):
        return digits, "version", 0
    # Of "1.2.3 GB" no number can be made.
    amount = float(digits.replace(",", "")) if digits.count(".") < 2 else 0.0
    return _measure_amount(amount, unit, after)


def _measure_amount(
    amount: float,
    unit: str,
    after: str,
) -> tuple[str, str, int]:
    """An amount in the base unit of what it measures, named by its own unit or the next word."""
    measured = _find_unit(unit) or _find_unit(after)
    if measured is None:
        return f"{amount:g}{unit}", "", 0
    base, factor = measured
    return f"{amount * factor:g} {base}", base, 0 if unit else 1


def _is_pronoun(lows: Words, i: int) -> bool:
    """True if "one" stands for a thing: the one, an old one."""
    counts = i == 0 or lows[i - 1] in ("needs", "need", "only", "has", "have", "exactly", "with")
    return not counts or word_after(lows, i) in LIMB_BOUNDARIES


def word_after(lows: Words, i: int) -> str:
    """The word after this place; "" at the end."""
    return lows[i + 1] if i + 1 < len(lows) else ""


def _find_unit(word: str) -> tuple[str, float] | None:
    """(base unit, factor) of a unit or its plural."""
    units = load_units()
    return units.get(word) or units.get(word.removesuffix("s"))
