"""What the clauses of a sentence do: deny, put in order, set a condition, give something up.

"Use pnpm, not npm" affirms one and denies the other; "never commit without tests" affirms both, as
it asks for tests. All is read from the order of words alone: `lows` are the words in lower case
with phrases replaced (`fixed_phrases`), `concepts` the concept at each place or "". A clause ends
at a comma or at a word that joins.
"""

from collections.abc import Container, Iterator
from typing import TypeAlias

from reverie.reconciliation.paraphrase.concept_vocabulary import (
    LIMB_BOUNDARIES,
    Concepts,
    Words,
    drop_empty,
    load_words,
    word_after,
)

Sides: TypeAlias = tuple[Concepts, Concepts]

NOTS, AUXILIARIES = load_words("NOTS"), load_words("AUXILIARIES")
_JOINTS, _ENDS = load_words("JOINTS"), load_words("ENDS")
_AVOIDS, _AFTERWARDS = load_words("AVOIDS"), load_words("AFTERWARDS")
_PREFERS, _CHANGES = load_words("PREFERS"), load_words("CHANGES")
_LEAVES, _GOES = load_words("LEAVES"), load_words("GOES")
# With what was done: "stopped drinking coffee".
_ENDED = ("stop", "stopped", "quit", "ceased")
_SENTENCE_ENDS = ".!?;\n"
# Before what was done to a thing: "was replaced".
_PASSIVES = ("was", "were", "is", "are", "been", "got")
# Words behind "instead of" that it can give up.
_MAX_GIVEN_UP_WORDS = 7


# What is denied


def find_affirmed(lows: Words) -> list[bool]:
    """For each word, True if it is affirmed and False if it is denied."""
    signs = [True] * len(lows)
    for start, end in _split_clauses(lows):
        for i in range(start, end):
            # A sign is flipped, not cleared: what is denied twice is affirmed.
            for j in _find_denied_places(lows, i, start, end):
                signs[j] = not signs[j]
    return signs


def _split_clauses(lows: Words) -> Iterator[tuple[int, int]]:
    """The clauses as (start, end), in order."""
    start = 0
    for i, low in enumerate(lows):
        more = low == "and" and word_after(lows, i) in (*NOTS, "use", "always", "then")
        joins = more or low in _JOINTS or low in LIMB_BOUNDARIES
        if joins and i > start:
            yield start, i
            start = i
    yield start, len(lows)


def _find_denied_places(
    lows: Words,
    i: int,
    start: int,
    end: int,
) -> range:
    """The places of its clause that a word denies: behind "not", "never", "instead of"; around "is
    forbidden".
    """
    low = lows[i]
    if low in _AFTERWARDS:
        return range(start, end)
    if low == "worse":
        return range(start, i)
    # "Never this without that": that is wanted.
    if low == "without" and _has_denial(lows, range(i)):
        return range(0)
    if is_denial(lows, i):
        if _demands_order(lows, i, end):
            return range(0)
        # Where only auxiliaries follow, what stands before is denied.
        ends_clause = AUXILIARIES.issuperset(lows[i + 1 : end])
        return range(start, i) if ends_clause else range(i + 1, end)
    return range(i + 1, _find_avoided_end(lows, i, start, end))


def _find_avoided_end(
    lows: Words,
    i: int,
    start: int,
    end: int,
) -> int:
    """The end of what a word avoids or gives up behind it; i + 1 if nothing."""
    low = lows[i]
    if low == "NOLONGER" or (low in _ENDED and word_after(lows, i).endswith("ing")):
        return end
    prefers_other = low in ("over", "than", "to") and is_comparison(lows, start, i)
    if low in NOTS or low in _AVOIDS or prefers_other:
        # What "instead of this" covers: not "in Go code" after it.
        return _find_stop(lows, range(i + 2, end), _ENDS)
    return i + 1


def is_comparison(
    lows: Words,
    start: int,
    i: int,
) -> bool:
    """True if "over", "than" or "to" at this place sets one thing before another."""
    if lows[i] == "to":
        return not {"prefer", "prefers"}.isdisjoint(lows[start : i - 1])
    return not _PREFERS.isdisjoint(lows[start:i])


def is_denial(lows: Words, i: int) -> bool:
    """True if the word denies its whole clause: don't, never, is not.

    Not the other half of "this, not that".
    """
    low = lows[i]
    if low == "never":
        return i + 1 < len(lows) and lows[i + 1] not in ("with", "mind")
    before = lows[i - 1] if i else "."
    if low == "nobody":
        return before in LIMB_BOUNDARIES
    if low == "no":
        return before in (".", "!", "?", "\n", "has", "have", "is", "are", "there", "with")
    return low == "not" and (before in (".", "!", "?", "\n", "but") or before in AUXILIARIES)


def _has_denial(lows: Words, places: range) -> bool:
    return any(is_denial(lows, j) for j in places)


def is_ban(lows: Words, i: int) -> bool:
    """True if something is forbidden or avoided at this place."""
    starts = not i or lows[i - 1] in LIMB_BOUNDARIES or lows[i - 1] in AUXILIARIES
    return (
        is_denial(lows, i)
        or lows[i] == "FORBIDDEN"
        or (lows[i] in _AVOIDS and lows[i].islower() and starts)
    )


def _demands_order(
    lows: Words,
    i: int,
    end: int,
) -> bool:
    """True for a denial of doing a thing too early: "never commit without tests" asks for tests."""
    stop = _find_stop(lows, range(i + 1, len(lows)), ",.;!?\n")
    is_early = not {"without", "unless", "until", "BEFORE"}.isdisjoint(lows[i + 1 : stop])
    return is_early and end > i + 1


def _find_stop(
    lows: Words,
    places: range,
    stops: Container[str],
) -> int:
    """The first of these places where a stop stands; the end of the range if none does."""
    return next((j for j in places if lows[j] in stops), places.stop)


# What comes first


def find_order(lows: Words, concepts: Words) -> Sides:
    """(what comes first, what then), both empty where nothing says so. "Faster than" is an order
    too.
    """
    for i, low in enumerate(lows):
        if low in ("BEFORE", "AFTER") and i + 1 < len(lows) and lows[i + 1] not in LIMB_BOUNDARIES:
            return _split_around(lows, concepts, i, low == "BEFORE")
        if low in ("without", "unless", "until") and _has_denial(lows, range(i)):
            return _split_around(lows, concepts, i, True, flipped=True)
    if "than" in lows and not is_comparison(lows, 0, lows.index("than")):
        return _split_around(lows, concepts, lows.index("than"), True)
    return _find_numbered_order(lows, concepts)


def find_condition(lows: Words, concepts: Words) -> Sides:
    """(the condition, what follows from it) of "if this, that"; both empty without one."""
    mark = _find_stop(lows, range(len(lows)), ("if", "when", "whenever"))
    if mark == len(lows):
        return frozenset(), frozenset()
    follows, given = _split_around(lows, concepts, mark, True)
    return given, follows


def _split_around(
    lows: Words,
    concepts: Words,
    i: int,
    before: bool,
    flipped: bool = False,
) -> Sides:
    """The two sides of a "before" or "after", wherever it stands in its sentence."""
    start = _find_start(lows, i, _SENTENCE_ENDS)
    end = _find_stop(lows, range(i + 1, len(lows)), _SENTENCE_ENDS)
    head, tail = drop_empty(concepts[start:i]), drop_empty(concepts[i + 1 : end])
    # "Before a commit, run the tests": the first side stands behind the comma.
    if not head and "," in lows[i:end]:
        comma = lows.index(",", i)
        head, tail = drop_empty(concepts[comma:end]), drop_empty(concepts[i + 1 : comma])
    denied = _has_denial(lows, range(start, i)) or "FORBIDDEN" in lows[i:end]
    if before and denied and "NONEED" not in lows:
        flipped = True
    return (head, tail) if before != flipped else (tail, head)


def _find_start(
    lows: Words,
    i: int,
    stops: Container[str],
) -> int:
    """The place behind the last stop before this one; 0 if there is none."""
    return max(
        (j + 1 for j in range(i) if lows[j] in stops),
        default=0,
    )


def _find_numbered_order(lows: Words, concepts: Words) -> Sides:
    """The order of "first … then …", "first …, second …", or "tests first" alone."""
    if "first" not in lows and "then" not in lows:
        return frozenset(), frozenset()
    for mark in ("then", "second", "AFTER", "later"):
        if mark in lows:
            cut = _find_cut(lows, lows.index(mark))
            return drop_empty(concepts[:cut]), drop_empty(concepts[cut:])
    place = lows.index("first") if "first" in lows else 0
    # "Write tests first", not "the first test".
    ends_limb = place + 1 == len(lows) or lows[place + 1] in LIMB_BOUNDARIES
    if place and ends_limb:
        start = _find_start(lows, place, LIMB_BOUNDARIES)
        return drop_empty(concepts[start:place]), frozenset()
    return frozenset(), frozenset()


def _find_cut(lows: Words, end: int) -> int:
    """Where the limb begins whose "then" stands at this place; there itself without a joint."""
    joints = (",", ";", ".", "and") if "first" in lows[:end] else (",", ";", ".")
    cut = _find_stop(lows, range(end, -1, -1), joints)
    return end if cut < 0 else cut


# What stands together, what is no more


def find_adjacent_pairs(lows: Words, concepts: Words) -> frozenset[Concepts]:
    """Pairs of concepts with only small words between them, within one limb of the sentence."""
    pairs: set[Concepts] = set()
    last = ""
    for low, found in zip(lows, concepts, strict=True):
        if low in LIMB_BOUNDARIES or low == "and":
            last = ""
        elif found:
            if last and last != found:
                pairs.add(frozenset((last, found)))
            last = found
    return frozenset(pairs)


def find_given_up_concepts(lows: Words, concepts: Words) -> Concepts:
    """What is said to be no more: behind "instead of" or "no longer", before "was replaced"."""
    gone: Words = []
    tells_change = not _CHANGES.isdisjoint(lows)
    stops = (*LIMB_BOUNDARIES, "to", "by", "with", "but", "INSTEADOF", "now")
    for i, low in enumerate(lows):
        if low in _LEAVES or (low == "from" and tells_change):
            end = min(i + 1 + _MAX_GIVEN_UP_WORDS, len(lows))
            gone += concepts[
                i + 1 : _find_stop(
                    lows,
                    range(i + 1, end),
                    stops,
                )
            ]
        is_gone = low in ("GONE", "left") or (i > 0 and lows[i - 1] in _PASSIVES)
        if low in _GOES and is_gone:
            gone += concepts[max(0, i - 5) : i]
    return drop_empty(gone)
