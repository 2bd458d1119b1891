"""Orders, conditions, neighbours and what is given up, read from the order of words alone.

`lows` are the words in lower case, `concepts` the concept at each place or "".
"""

from reverie.reconciliation.paraphrase.concept_vocabulary import (
    LIMB_BOUNDARIES,
    drop_empty,
    load_words,
)
from reverie.reconciliation.paraphrase.negation import is_comparison, is_denial

Sides = tuple[frozenset[str], frozenset[str]]

_LEAVES, _GOES, _CHANGES = load_words("LEAVES"), load_words("GOES"), load_words("CHANGES")


def find_order(lows: list[str], concepts: list[str]) -> Sides:
    """(what comes first, what then), both empty where nothing says so. "Faster than" is an order
    too.
    """
    for i, low in enumerate(lows):
        if low in ("BEFORE", "AFTER") and i + 1 < len(lows) and lows[i + 1] not in LIMB_BOUNDARIES:
            return _split_around(lows, concepts, i, low == "BEFORE")
        if low in ("without", "unless", "until") and any(is_denial(lows, j) for j in range(i)):
            return _split_around(lows, concepts, i, True, flipped=True)
    if "than" in lows and not is_comparison(lows, 0, lows.index("than")):
        return _split_around(lows, concepts, lows.index("than"), True)
    return _find_numbered_order(lows, concepts)


def find_condition(lows: list[str], concepts: list[str]) -> Sides:
    """(the condition, what follows from it) of "if this, that"; both empty without one."""
    mark = next((i for i, low in enumerate(lows) if low in ("if", "when", "whenever")), None)
    if mark is None:
        return frozenset(), frozenset()
    follows, given = _split_around(lows, concepts, mark, True)
    return given, follows


def _split_around(
    lows: list[str], concepts: list[str], i: int, before: bool, flipped: bool = False
) -> Sides:
    """The two sides of a "before" or "after", wherever it stands in its sentence."""
    start = max((j + 1 for j in range(i) if lows[j] in ".!?;\n"), default=0)
    end = next((j for j in range(i + 1, len(lows)) if lows[j] in ".!?;\n"), len(lows))
    head, tail = drop_empty(concepts[start:i]), drop_empty(concepts[i + 1 : end])
    # "Before a commit, run the tests": the first side stands behind the comma.
    if not head and "," in lows[i:end]:
        comma = lows.index(",", i)
        head, tail = drop_empty(concepts[comma:end]), drop_empty(concepts[i + 1 : comma])
    denied = any(is_denial(lows, j) for j in range(start, i)) or "FORBIDDEN" in lows[i:end]
    if before and denied and "NONEED" not in lows:
        flipped = True
    return (head, tail) if before != flipped else (tail, head)


def _find_numbered_order(lows: list[str], concepts: list[str]) -> Sides:
    """The order of "first … then …", "first …, second …", or "tests first" alone."""
    if "first" not in lows and "then" not in lows:
        return frozenset(), frozenset()
    for mark in ("then", "second", "AFTER", "later"):
        if mark in lows:
            end = lows.index(mark)
            joints = (",", ";", ".", "and") if "first" in lows[:end] else (",", ";", ".")
            cut = next((j for j in range(end, -1, -1) if lows[j] in joints), end)
            return drop_empty(concepts[:cut]), drop_empty(concepts[cut:])
    place = lows.index("first") if "first" in lows else 0
    # "Write tests first", not "the first test".
    ends_limb = place + 1 == len(lows) or lows[place + 1] in LIMB_BOUNDARIES
    if place and ends_limb:
        start = max((j + 1 for j in range(place) if lows[j] in LIMB_BOUNDARIES), default=0)
        return drop_empty(concepts[start:place]), frozenset()
    return frozenset(), frozenset()


def find_adjacent_pairs(lows: list[str], concepts: list[str]) -> frozenset[frozenset[str]]:
    """Pairs of concepts with only small words between them, within one limb of the sentence."""
    pairs: set[frozenset[str]] = set()
    last = ""
    for low, found in zip(lows, concepts, strict=True):
        if low in LIMB_BOUNDARIES or low == "and":
            last = ""
        elif found:
            if last and last != found:
                pairs.add(frozenset((last, found)))
            last = found
    return frozenset(pairs)


def find_given_up_concepts(lows: list[str], concepts: list[str]) -> frozenset[str]:
    """What is said to be no more: behind "instead of" or "no longer", before "was replaced"."""
    gone: set[str] = set()
    tells_change = bool(_CHANGES & set(lows))
    for i, low in enumerate(lows):
        if low in _LEAVES or (low == "from" and tells_change):
            gone.update(concepts[i + 1 : _find_limb_end(lows, i)])
        is_passive = i > 0 and lows[i - 1] in ("was", "were", "is", "are", "been", "got")
        if low in _GOES and (is_passive or low in ("GONE", "left")):
            gone.update(concepts[max(0, i - 5) : i])
    return frozenset(filter(None, gone))


def _find_limb_end(lows: list[str], i: int) -> int:
    """Where the limb that begins after place i ends, seven words on at most."""
    stops = ("to", "by", "with", "but", "INSTEADOF", "now")
    end = min(i + 8, len(lows))
    return next(
        (j for j in range(i + 1, end) if lows[j] in LIMB_BOUNDARIES or lows[j] in stops), end
    )
