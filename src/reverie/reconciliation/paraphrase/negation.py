"""Which words of a sentence are affirmed and which are denied.

"Use pnpm, not npm" affirms one and denies the other; "never commit without tests" affirms both, as
it asks for tests. Words are looked at in lower case, one after the other; a clause ends at a comma
or at a word that joins.
"""

from collections.abc import Iterator

from reverie.reconciliation.paraphrase.concept_vocabulary import (
    LIMB_BOUNDARIES,
    load_words,
    word_after,
)

_JOINTS, _NOT, _AUX, _AVOID = (
    load_words("JOINTS"),
    load_words("NOTS"),
    load_words("AUXILIARIES"),
    load_words("AVOIDS"),
)
_ENDS = load_words("ENDS")
# With what was done: "stopped drinking coffee".
_ENDED = ("stop", "stopped", "quit", "ceased")
_AFTERWARDS, _PREFERS = load_words("AFTERWARDS"), load_words("PREFERS")


def find_affirmed(lows: list[str]) -> list[bool]:
    """For each word, True if it is affirmed and False if it is denied."""
    signs = [True] * len(lows)
    for start, end in _split_clauses(lows):
        _deny_in_clause(lows, signs, start, end)
    return signs


def _split_clauses(lows: list[str]) -> Iterator[tuple[int, int]]:
    """The clauses as (start, end), in order."""
    start = 0
    for i, low in enumerate(lows):
        more = low == "and" and word_after(lows, i) in (*_NOT, "use", "always", "then")
        joins = more or low in _JOINTS or low in LIMB_BOUNDARIES
        if joins and i > start:
            yield start, i
            start = i
    yield start, len(lows)


def _deny_in_clause(lows: list[str], signs: list[bool], start: int, end: int) -> None:
    """Flip the signs of what a clause denies: what follows "not", "never", "instead of"; what
    stands around "is forbidden".
    """
    for i in range(start, end):
        for j in _find_denied_places(lows, i, start, end):
            signs[j] = not signs[j]


def _find_denied_places(lows: list[str], i: int, start: int, end: int) -> range:
    """The places of its clause that a word denies."""
    low = lows[i]
    if low in _AFTERWARDS:
        return range(start, end)
    if low == "worse":
        return range(start, i)
    # "Never this without that": that is wanted.
    if low == "without" and any(is_denial(lows, j) for j in range(i)):
        return range(0)
    if is_denial(lows, i):
        if _demands_order(lows, i, end):
            return range(0)
        # Where only auxiliaries follow, what stands before is denied.
        ends_clause = all(lows[j] in _AUX for j in range(i + 1, end))
        return range(start, i) if ends_clause else range(i + 1, end)
    return range(i + 1, _find_avoided_end(lows, i, start, end))


def _find_avoided_end(lows: list[str], i: int, start: int, end: int) -> int:
    """The end of what a word avoids or gives up behind it; i + 1 if nothing."""
    low = lows[i]
    if low == "NOLONGER" or (low in _ENDED and word_after(lows, i).endswith("ing")):
        return end
    prefers_other = low in ("over", "than", "to") and is_comparison(lows, start, i)
    if low in _NOT or low in _AVOID or prefers_other:
        return _find_reach(lows, i, end)
    return i + 1


def _find_reach(lows: list[str], i: int, end: int) -> int:
    """The end of what "instead of this" covers: not "in Go code" after it."""
    return next((j for j in range(i + 2, end) if lows[j] in _ENDS), end)


def is_comparison(lows: list[str], start: int, i: int) -> bool:
    """True if "over", "than" or "to" at this place sets one thing before another."""
    if lows[i] == "to":
        return any(low in ("prefer", "prefers") for low in lows[start : i - 1])
    return any(low in _PREFERS for low in lows[start:i])


def is_denial(lows: list[str], i: int) -> bool:
    """True if the word denies its whole clause: don't, never, is not.

    Not the other half of "this, not that".
    """
    low = lows[i]
    if low == "never":
        return i + 1 < len(lows) and lows[i + 1] not in ("with", "mind")
    if low not in ("not", "no", "nobody"):
        return False
    before = lows[i - 1] if i else "."
    if low == "nobody":
        return before in LIMB_BOUNDARIES
    if low == "no":
        return before in (".", "!", "?", "\n", "has", "have", "is", "are", "there", "with")
    return before in (".", "!", "?", "\n", "please", "but") or before in _AUX


def is_ban(lows: list[str], i: int) -> bool:
    """True if something is forbidden or avoided at this place."""
    starts = not i or lows[i - 1] in LIMB_BOUNDARIES or lows[i - 1] in _AUX
    return (
        is_denial(lows, i)
        or lows[i] == "FORBIDDEN"
        or (lows[i] in _AVOID and lows[i].islower() and starts)
    )


def _demands_order(lows: list[str], i: int, end: int) -> bool:
    """True for a denial of doing a thing too early: "never commit without tests" asks for tests."""
    rest = lows[i + 1 :]
    stop = next((j for j, low in enumerate(rest) if low in ",.;!?\n"), len(rest))
    is_early = any(low in ("without", "unless", "until", "BEFORE") for low in rest[:stop])
    return is_early and end > i + 1
