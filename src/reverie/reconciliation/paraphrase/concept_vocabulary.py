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
from reverie.text.tokenization import STOP

BOUND = frozenset(",;:.!?()–—|\n")  # what parts limbs of a sentence
KNOWN = 8_192  # words whose stem and concept are kept

_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)([a-z]{0,3})$")
_CLOCK = re.compile(r"\d{1,2}:\d{2}$")


@lru_cache(maxsize=KNOWN)
def concept(word: str) -> str:
    """The common form of a word: its synonyms and its other forms have the same."""
    known = synonyms()
    return known.get(word) or known.get(stem(word)) or stem(word)


@lru_cache(maxsize=KNOWN)
def stem(word: str) -> str:
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
            return _trimmed(word[: -len(ending)], ending)
    return word


def _trimmed(root: str, ending: str) -> str:
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
def synonyms() -> dict[str, str]:
    """Word or stem → what it is read as."""
    known: dict[str, str] = {}
    for line in wording_tables.SYNONYMS.strip().splitlines():
        head, *others = line.split()
        for word in (head, *others):
            known.setdefault(word, stem(head))
            known.setdefault(stem(word), stem(head))
    return known


@cache
def contrasts() -> dict[str, frozenset[int]]:
    """Concept → the lines of alternatives that it stands in."""
    lines: dict[str, set[int]] = {}
    for row, line in enumerate(
        (wording_tables.CONTRASTS + wording_tables.OPPOSITES).strip().splitlines()
    ):
        for word in line.split():
            lines.setdefault(concept(word), set()).add(row)
    return {word: frozenset(rows) for word, rows in lines.items()}


@cache
def opposites() -> frozenset[frozenset[str]]:
    """Pairs of concepts that cannot both hold."""
    return frozenset(
        frozenset(map(concept, line.split()))
        for line in wording_tables.OPPOSITES.strip().splitlines()
    )


@cache
def opposed() -> dict[str, tuple[frozenset[str], ...]]:
    """Concept → the pairs of opposites that it stands in."""
    words = frozenset().union(*opposites())
    return {
        word: tuple(sorted((pair for pair in opposites() if word in pair), key=sorted))
        for word in words
    }


@lru_cache(maxsize=KNOWN)
def pairs_with(concepts: frozenset[str]) -> frozenset[frozenset[str]]:
    """The pairs of opposites in which one of these stands."""
    found = opposed()
    return frozenset(pair for word in concepts & found.keys() for pair in found[word])


@cache
def places() -> frozenset[str]:
    """Environments and systems where something may hold."""
    return frozenset(map(concept, wording_tables.PLACES.split()))


@cache
def weak() -> frozenset[str]:
    """Concepts that one may say or leave out."""
    return frozenset(map(concept, wording_tables.WEAK.split()))


@cache
def light() -> frozenset[str]:
    """Concepts that carry no content of their own."""
    return frozenset(map(concept, (wording_tables.LIGHT + wording_tables.STEERS).split()))


@cache
def among(name: str) -> frozenset[str]:
    """The words of one table of `wording`."""
    return frozenset(getattr(wording_tables, name).split())


@cache
def _phrases() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE), says) for pattern, says in PHRASES]


def phrased(text: str) -> str:
    """The text with phrases as single words."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("`", " ")
    for pattern, says in _phrases():
        text = pattern.sub(says, text)
    return text


@cache
def marks() -> frozenset[str]:
    """The marks that stand for phrases."""
    return frozenset(re.findall(r"[A-Z]{4,}", " ".join(says for _, says in PHRASES)))


def concepts_of(lows: list[str]) -> list[str]:
    """For each place the concept that stands there; "" for what carries nothing."""
    found: list[str] = []
    for i, low in enumerate(lows):
        value, _ = value_at(lows, i)
        if value:
            found.append(value[0])
        else:
            bare = low in BOUND or low in marks() or low in STOP or concept(low) in light()
            found.append("" if bare else concept(low))
    return found


def some(concepts: list[str]) -> frozenset[str]:
    """Those places where something stands."""
    return frozenset(filter(None, concepts))


def value_at(lows: list[str], i: int) -> tuple[tuple[str, str] | None, int]:
    """A number with what it measures, and how many further words belong to it."""
    low = lows[i]
    if _CLOCK.match(low):
        return (low + ("pm" if following(lows, i) == "pm" else ""), "clock"), 0
    match = _NUMBER.match(low)
    if not match and (low not in wording_tables.NUMBERS or (low == "one" and _pronoun(lows, i))):
        return None, 0
    if match and match[2] in ("st", "nd", "rd", "th"):
        return (match[1], "ordinal"), 0
    if match and "." in match[1]:
        number, unit = match[1], match[2]
        if (
            not unit
            and following(lows, i) not in wording_tables.UNITS
            and _unit(following(lows, i)) is None
        ):
            return (number, "version"), 0
    amount = float(
        match[1].replace(",", "")
        if match and match[1].count(".") < 2
        else wording_tables.NUMBERS.get(low, 0)
    )
    unit = match[2] if match else ""
    measured = _unit(unit) or _unit(following(lows, i))
    if measured:
        return (f"{amount * measured[1]:g} {measured[0]}", measured[0]), 0 if unit else 1
    return (f"{amount:g}{unit}", ""), 0


def _pronoun(lows: list[str], i: int) -> bool:
    """Whether "one" stands for a thing: the one, an old one."""
    after = following(lows, i)
    return (
        i > 0 and lows[i - 1] not in ("needs", "need", "only", "has", "have", "exactly", "with")
    ) or after in BOUND


def following(lows: list[str], i: int) -> str:
    """The word after this one; none at the end is an empty one."""
    return lows[i + 1] if i + 1 < len(lows) else ""


def _unit(word: str) -> tuple[str, float] | None:
    return wording_tables.UNITS.get(word) or (
        wording_tables.UNITS.get(word[:-1]) if word.endswith("s") else None
    )
