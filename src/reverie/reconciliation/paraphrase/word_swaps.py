"""Pairs of words of two statements that stand in each other's place: tabs / spaces, 5 s / 9 s.

A swap names what one says where the other says something else, and how surely that is meant: equal
measures, opposites and known alternatives before names and equal surroundings. Each word is in one
swap at most.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from reverie.reconciliation.paraphrase.concept_vocabulary import (
    MIN_SHARED_LETTERS,
    WEAK_CONCEPTS,
    Concepts,
    find_opposite_pairs,
    load_contrasts,
    load_opposites,
    load_words,
    to_concept,
)
from reverie.reconciliation.paraphrase.statement_parser import (
    NAME,
    SAID,
    SCOPE,
    VALUE,
    Statement,
    StatementWord,
)

SWAP_KINDS = ("value", "measure", "opposite", "contrast", "name", "slot", "end slot", "half slot")
# Told by signs and not by swaps: "never without" is "always with".
ALWAYS_NEVER = frozenset(map(to_concept, ("always", "never")))


class WordSwap(NamedTuple):
    """Words of one statement that stand where the other has different ones."""

    old: str
    new: str
    how: str  # a member of SWAP_KINDS
    place: str  # SUBJECT, SAID or SCOPE


def find_opposite_swaps(old: Statement, new: Statement) -> Iterator[WordSwap]:
    """Opposites of which a light word is one: on / off, love / hate."""
    mine, theirs = old.light | old.concepts, new.light | new.concepts
    for pair in sorted(find_opposite_pairs(mine) & find_opposite_pairs(theirs), key=sorted):
        gone, come = pair & mine - theirs, pair & theirs - mine
        if len(gone) != 1 or len(come) != 1 or pair == ALWAYS_NEVER:
            continue
        # Two content words are a swap of `find_swaps`.
        if not (gone <= old.concepts and come <= new.concepts):
            yield WordSwap(min(gone), min(come), "opposite", SAID)


def find_swaps(
    old: Sequence[StatementWord],
    new: Sequence[StatementWord],
    missing: Concepts,
    extra: Concepts,
) -> Iterator[WordSwap]:
    """Pairs of what is missing and what came instead, the surest first."""
    old_weak, new_weak = _weak_concepts_of(old), _weak_concepts_of(new)
    gone = [*first_occurrences(old, missing), *first_occurrences(old, old_weak - new_weak)]
    come = [*first_occurrences(new, extra), *first_occurrences(new, new_weak - old_weak)]
    ranked = []
    for i, a in enumerate(gone):
        for j, b in enumerate(come):
            if found := _rank_swap(a, b):
                rank, how = found
                ranked.append((rank, i, j, how))
    used_gone: set[int] = set()
    used_come: set[int] = set()
    for _, i, j, how in sorted(ranked):
        if i in used_gone or j in used_come:
            continue
        used_gone.add(i)
        used_come.add(j)
        a, b = gone[i], come[j]
        yield WordSwap(a.concept, b.concept, how, _shared_place(a, b))


def first_occurrences(
    words: Sequence[StatementWord], concepts: Collection[str]
) -> Collection[StatementWord]:
    """The first occurrence of each of these concepts."""
    found: dict[str, StatementWord] = {}
    for word in words:
        if word.concept in concepts:
            found.setdefault(word.concept, word)
    return found.values()


def _shared_place(a: StatementWord, b: StatementWord) -> str:
    """Where a swap stands, if its two words stand in different places."""
    if a.place == b.place:
        return a.place
    return SAID if SAID in (a.place, b.place) else SCOPE


def _weak_concepts_of(words: Sequence[StatementWord]) -> Concepts:
    """Words of little weight that may still be what differs: sorted by date, sorted by name."""
    return WEAK_CONCEPTS.intersection(word.concept for word in words)


def _rank_swap(a: StatementWord, b: StatementWord) -> tuple[int, str] | None:
    """(rank, kind) of how one word can stand for the other, the surest 0; None if it cannot."""
    same_slot = a.before == b.before and a.after == b.after and bool(a.before or a.after)
    by_slot = (3, "slot" if a.after else "end slot") if same_slot else None
    if not WEAK_CONCEPTS.isdisjoint((a.concept, b.concept)):
        return by_slot
    if a.sort != b.sort and VALUE in (a.sort, b.sort):
        return None
    if a.sort == VALUE:
        return (0, "value") if a.measure == b.measure else (3, "measure")
    return _rank_by_meaning(a, b) or by_slot or _rank_by_surroundings(a, b)


def _rank_by_meaning(a: StatementWord, b: StatementWord) -> tuple[int, str] | None:
    """(rank, kind) of two opposites, alternatives or names."""
    if {a.concept, b.concept} in load_opposites() or _is_negated_form(a.concept, b.concept):
        return 0, "opposite"
    contrasts = load_contrasts()
    known = a.concept in contrasts and b.concept in contrasts
    if known and contrasts[a.concept] & contrasts[b.concept]:
        return 1, "contrast"
    return (2, "name") if a.sort == b.sort == NAME else None


def _rank_by_surroundings(a: StatementWord, b: StatementWord) -> tuple[int, str] | None:
    """(rank, kind) of a name beside a capital, or of equal neighbours on one side."""
    if (a.sort == NAME and b.capital) or (b.sort == NAME and a.capital):
        return 5, "name"
    same_left = a.before == b.before and a.before
    same_right = a.after == b.after and a.after
    return (4, "half slot") if same_left or same_right else None


def _is_negated_form(a: str, b: str) -> bool:
    """True if one is the other with a prefix that makes it the opposite: sorted, unsorted."""
    short, long = sorted((a, b), key=len)
    prefix = long.removesuffix(short).rstrip("-")
    return (
        len(short) >= MIN_SHARED_LETTERS
        and long.endswith(short)
        and prefix in load_words("PREFIXES")
    )
