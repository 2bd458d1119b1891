"""Words in their common form: what means the same is the same concept.

A concept is a stem, or the first word of the line of synonyms that the word stands in. Numbers
become values with what they measure ("two weeks" is "14 days"), phrases become single words first.
The tables are in `wording_tables`.
"""

import re
import unicodedata
from functools import cache, lru_cache

from reverie.reconciliation.paraphrase import wording_tables
from reverie.reconciliation.paraphrase.fixed_phrases import PHRASES
from reverie.text.tokenization import STOP_WORDS

# What separates the limbs of a sentence.
LIMB_BOUNDARIES = frozenset(",;:.!?()–—|\n")
# Words whose stem and concept are cached.
CACHE_SIZE = 8_192

# Letters that two forms of a word must share at the beginning, and at most differ in at the end.
MIN_SHARED_LETTERS = 4
# Endings with the fewest letters that must be left without them; the first that fits is taken off.
ENDINGS = (
    ("ations", 4),
    ("ation", 4),
    ("ments", 4),
    ("ment", 4),
    ("ings", 3),
    ("ing", 3),
    ("ied", 2),
    ("ies", 2),
    ("ed", 3),
    ("ions", 4),
    ("ion", 4),
    ("iness", 3),
    ("ness", 4),
    ("sses", 2),
    ("es", 3),
    ("s", 3),
    ("ly", 4),
    ("e", 3),
)

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
    for ending, fewest in ENDINGS:
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


@cache
def load_opposites() -> frozenset[frozenset[str]]:
    """Pairs of concepts that cannot both hold."""
    return frozenset(
        frozenset(map(to_concept, line.split()))
        for line in wording_tables.OPPOSITES.strip().splitlines()
    )


@cache
def load_opposites_by_concept() -> dict[str, tuple[frozenset[str], ...]]:
    """For each concept the pairs of opposites that it stands in."""
    words = frozenset().union(*load_opposites())
    return {
        word: tuple(sorted((pair for pair in load_opposites() if word in pair), key=sorted))
        for word in words
    }


@lru_cache(maxsize=CACHE_SIZE)
def find_opposite_pairs(concepts: frozenset[str]) -> frozenset[frozenset[str]]:
    """The pairs of opposites in which one of these concepts stands."""
    found = load_opposites_by_concept()
    return frozenset(pair for word in concepts & found.keys() for pair in found[word])


@cache
def load_place_words() -> frozenset[str]:
    """Concepts of environments and systems where something may hold."""
    return frozenset(map(to_concept, wording_tables.PLACES.split()))


@cache
def load_weak_concepts() -> frozenset[str]:
    """Concepts that one may say or leave out."""
    return frozenset(map(to_concept, wording_tables.WEAK.split()))


@cache
def load_light_concepts() -> frozenset[str]:
    """Concepts that carry no content of their own."""
    return frozenset(map(to_concept, (wording_tables.LIGHT + wording_tables.STEERS).split()))


@cache
def load_words(name: str) -> frozenset[str]:
    """The words of one table of `wording_tables`."""
    return frozenset(getattr(wording_tables, name).split())


@cache
def _compile_phrases() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE), says) for pattern, says in PHRASES]


def replace_phrases(text: str) -> str:
    """The text with phrases as single words."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("`", " ")
    for pattern, says in _compile_phrases():
        text = pattern.sub(says, text)
    return text


@cache
def load_phrase_marks() -> frozenset[str]:
    """The marks that stand for phrases."""
    return frozenset(re.findall(r"[A-Z]{4,}", " ".join(says for _, says in PHRASES)))


def list_concepts(lows: list[str]) -> list[str]:
    """For each place the concept that stands there; "" for what carries nothing."""
    found: list[str] = []
    for i, low in enumerate(lows):
        value, _ = read_value(lows, i)
        if value:
            found.append(value[0])
        else:
            found.append("" if _is_empty_word(low) else to_concept(low))
    return found


def _is_empty_word(low: str) -> bool:
    """True for marks, stop words and light words."""
    return (
        low in LIMB_BOUNDARIES
        or low in load_phrase_marks()
        or low in STOP_WORDS
        or to_concept(low) in load_light_concepts()
    )


def drop_empty(concepts: list[str]) -> frozenset[str]:
    """The concepts of those places where one stands."""
    return frozenset(filter(None, concepts))


def read_value(lows: list[str], i: int) -> tuple[tuple[str, str] | None, int]:
    """((value, what it measures), how many further words belong to it) at a place; None if none.

    Measures are a unit's name, "clock", "ordinal", "version", or "" for a plain number.
    """
    low, after = lows[i], word_after(lows, i)
    if _CLOCK.match(low):
        return (low + ("pm" if after == "pm" else ""), "clock"), 0
    match = _NUMBER.match(low)
    if not match:
        if low not in wording_tables.NUMBERS or (low == "one" and _is_pronoun(lows, i)):
            return None, 0
        return _measure_amount(float(wording_tables.NUMBERS[low]), "", after)
    digits, unit = match.groups()
    if unit in ("st", "nd", "rd", "th"):
        return (digits, "ordinal"), 0
    if "." in digits and not unit and after not in wording_tables.UNITS and not _find_unit(after):
        return (digits, "version"), 0
    # Of "1.2.3 GB" no number can be made.
    amount = float(digits.replace(",", "")) if digits.count(".") < 2 else 0.0
    return _measure_amount(amount, unit, after)


def _measure_amount(amount: float, unit: str, after: str) -> tuple[tuple[str, str], int]:
    """An amount in the base unit of what it measures, named by its own unit or the next word."""
    measured = _find_unit(unit) or _find_unit(after)
    if measured:
        base, factor = measured
        return (f"{amount * factor:g} {base}", base), 0 if unit else 1
    return (f"{amount:g}{unit}", ""), 0


def _is_pronoun(lows: list[str], i: int) -> bool:
    """True if "one" stands for a thing: the one, an old one."""
    counts = i == 0 or lows[i - 1] in ("needs", "need", "only", "has", "have", "exactly", "with")
    return not counts or word_after(lows, i) in LIMB_BOUNDARIES


def word_after(lows: list[str], i: int) -> str:
    """The word after this place; "" at the end."""
    return lows[i + 1] if i + 1 < len(lows) else ""


def _find_unit(word: str) -> tuple[str, float] | None:
    """(base unit, factor) of a unit or its plural."""
    units = wording_tables.UNITS
    return units.get(word) or (units.get(word[:-1]) if word.endswith("s") else None)
