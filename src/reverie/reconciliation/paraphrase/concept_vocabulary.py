"""Words in their common form: what means the same is the same concept.

A concept is a stem, or the first word of the line of synonyms that the word stands in. Numbers
become values with what they measure ("two weeks" is "14 days"), phrases become single words first.
The tables are in `wording`.
"""

import re
import unicodedata
from functools import cache, lru_cache

from reverie.reconciliation.paraphrase import wording_tables
from reverie.reconciliation.paraphrase.fixed_phrases import PHRASES
from reverie.text.tokenization import STOP_WORDS

LIMB_BOUNDARIES = frozenset(",;:.!?()–—|\n")  # what parts limbs of a sentence
CACHE_SIZE = 8_192  # words whose stem and concept are kept

_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)([a-z]{0,3})$")
_CLOCK = re.compile(r"\d{1,2}:\d{2}$")


@lru_cache(maxsize=CACHE_SIZE)
def to_concept(word: str) -> str:
    """The common form of a word: its synonyms and its other forms have the same."""
    known = load_synonyms()
    return known.get(word) or known.get(stem_concept_word(word)) or stem_concept_word(word)


@lru_cache(maxsize=CACHE_SIZE)
def stem_concept_word(word: str) -> str:
    """A word without its ending: a light hand, as only two texts of one author are compared.

    >>> stem("committing"), stem("commits"), stem("migrations")
    ('commit', 'commit', 'migrat')
    """
    if len(word) <= 3 or not word.isalpha() or not word.islower():
        return word
    for ending, least in (
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
    ):
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= least
            and not (ending == "s" and word.endswith("ss"))
        ):
            return _trim_root(word[: -len(ending)], ending)
    return word


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
    """Word or stem → what it is read as."""
    known: dict[str, str] = {}
    for line in wording_tables.SYNONYMS.strip().splitlines():
        head, *others = line.split()
        for word in (head, *others):
            known.setdefault(word, stem_concept_word(head))
            known.setdefault(stem_concept_word(word), stem_concept_word(head))
    return known


@cache
def load_contrasts() -> dict[str, frozenset[int]]:
    """Concept → the lines of alternatives that it stands in."""
    lines: dict[str, set[int]] = {}
    for row, line in enumerate(
        (wording_tables.CONTRASTS + wording_tables.OPPOSITES).strip().splitlines()
    ):
        for word in line.split():
            lines.setdefault(to_concept(word), set()).add(row)
    return {word: frozenset(rows) for word, rows in lines.items()}


@cache
def load_opposites() -> frozenset[frozenset[str]]:
    """Pairs of concepts that cannot both hold."""
    return frozenset(
        frozenset(map(to_concept, line.split()))
        for line in wording_tables.OPPOSITES.strip().splitlines()
    )


@cache
def load_opposites_by_concept() -> dict[str, tuple[frozenset[str], ...]]:
    """Concept → the pairs of opposites that it stands in."""
    words = frozenset().union(*load_opposites())
    return {
        word: tuple(sorted((pair for pair in load_opposites() if word in pair), key=sorted))
        for word in words
    }


@lru_cache(maxsize=CACHE_SIZE)
def find_opposite_pairs(concepts: frozenset[str]) -> frozenset[frozenset[str]]:
    """The pairs of opposites in which one of these stands."""
    found = load_opposites_by_concept()
    return frozenset(pair for word in concepts & found.keys() for pair in found[word])


@cache
def load_place_words() -> frozenset[str]:
    """Environments and systems where something may hold."""
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
    """The words of one table of `wording`."""
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
            bare = (
                low in LIMB_BOUNDARIES
                or low in load_phrase_marks()
                or low in STOP_WORDS
                or to_concept(low) in load_light_concepts()
            )
            found.append("" if bare else to_concept(low))
    return found


def drop_empty(concepts: list[str]) -> frozenset[str]:
    """Those places where something stands."""
    return frozenset(filter(None, concepts))


def read_value(lows: list[str], i: int) -> tuple[tuple[str, str] | None, int]:
    """A number with what it measures, and how many further words belong to it."""
    low = lows[i]
    if _CLOCK.match(low):
        return (low + ("pm" if word_after(lows, i) == "pm" else ""), "clock"), 0
    match = _NUMBER.match(low)
    if not match and (low not in wording_tables.NUMBERS or (low == "one" and _is_pronoun(lows, i))):
        return None, 0
    if match and match[2] in ("st", "nd", "rd", "th"):
        return (match[1], "ordinal"), 0
    if match and "." in match[1]:
        number, unit = match[1], match[2]
        if (
            not unit
            and word_after(lows, i) not in wording_tables.UNITS
            and _find_unit(word_after(lows, i)) is None
        ):
            return (number, "version"), 0
    amount = float(
        match[1].replace(",", "")
        if match and match[1].count(".") < 2
        else wording_tables.NUMBERS.get(low, 0)
    )
    unit = match[2] if match else ""
    measured = _find_unit(unit) or _find_unit(word_after(lows, i))
    if measured:
        return (f"{amount * measured[1]:g} {measured[0]}", measured[0]), 0 if unit else 1
    return (f"{amount:g}{unit}", ""), 0


def _is_pronoun(lows: list[str], i: int) -> bool:
    """Whether "one" stands for a thing: the one, an old one."""
    after = word_after(lows, i)
    return (
        i > 0 and lows[i - 1] not in ("needs", "need", "only", "has", "have", "exactly", "with")
    ) or after in LIMB_BOUNDARIES


def word_after(lows: list[str], i: int) -> str:
    """The word after this one; none at the end is an empty one."""
    return lows[i + 1] if i + 1 < len(lows) else ""


def _find_unit(word: str) -> tuple[str, float] | None:
    return wording_tables.UNITS.get(word) or (
        wording_tables.UNITS.get(word[:-1]) if word.endswith("s") else None
    )
