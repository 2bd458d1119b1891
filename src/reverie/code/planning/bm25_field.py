"""Documents by their terms, and BM25 over them (Robertson & Zaragoza, 2009; k1 = 1.2, b = 0.75).

A document is a file, a part of one, the names in it, its path, or a past task; counts may be
weighted. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.float64]
# documents of a field, which may have millions of entries: half the memory of 64 bits
Ints = npt.NDArray[np.int32]
LongInts = npt.NDArray[np.int64]

# how often which terms occur, perhaps weighted
TermCounts = Mapping[str, float]
# a number for each file, by the name of what it says
Signals = dict[str, Column]

# Robertson & Zaragoza's own values; nothing here was tuned
K1, B = 1.2, 0.75
# letters of a piece of a word
GRAM_LENGTH = 4
# as often as a term of the question counts, at most: a word that a long task repeats ten times
# would drown all others
MAX_QUERY_COUNT = 3.0


class TermEntries(NamedTuple):
    """How often which terms are in which documents: entry i of all three columns is one of these.

    A document and a term may come more than once: their counts add up.
    """

    docs: npt.ArrayLike
    terms: npt.ArrayLike  # by number
    counts: npt.ArrayLike


class Bm25Field(NamedTuple):
    """Some documents: for each term the documents that it is in. Entries are ordered by term."""

    # term → its number
    numbers: Mapping[str, int]
    # entries of term i: starts[i] up to starts[i + 1]
    starts: LongInts
    docs: Ints
    counts: Column
    # of each document: the sum of its counts
    sizes: Column

    @property
    def terms(self) -> LongInts:
        """The term of each entry, by number."""
        return number_members(self.starts)

    def having(self, term: str) -> tuple[Ints, Column]:
        """The documents that a term is in, and how often."""
        number = self.numbers.get(term)
        if number is None:
            return self.docs[:0], self.counts[:0]
        inside = slice(self.starts[number], self.starts[number + 1])
        return self.docs[inside], self.counts[inside]

    def rarity(self, holders: int) -> float:
        """What a term is worth that is in so many documents: BM25's, never negative."""
        others = len(self.sizes) - holders
        return float(np.log(1.0 + (others + 0.5) / (holders + 0.5)))

    def bm25(self, question: TermCounts) -> Column:
        """How well each document answers; 0 for one without any of the terms."""
        scores = np.zeros(len(self.sizes))
        mean_size = max(float(self.sizes.mean()), 1e-9) if len(scores) else 1.0
        norm = K1 * (1.0 - B + B * self.sizes / mean_size)
        for docs, counts, times in self.matches(question):
            worth = self.rarity(len(docs)) * min(times, MAX_QUERY_COUNT)
            scores[docs] += worth * counts * (K1 + 1.0) / (counts + norm[docs])
        return scores

    def matches(self, question: TermCounts) -> Iterator[tuple[Ints, Column, float]]:
        """(documents, counts, times) of each term of the question that is in some document.

        `times` is how often the question says it.
        """
        for term, times in question.items():
            docs, counts = self.having(term)
            if len(docs):
                yield docs, counts, times

    def coverage(self, question: TermCounts) -> Column:
        """The part of the question's rarity that each document has, 0..1."""
        scores = np.zeros(len(self.sizes))
        total = 0.0
        for docs, _, _ in self.matches(question):
            worth = float(np.log1p(len(scores) / len(docs)))
            scores[docs] += worth
            total += worth
        return scores / total if total else scores


def build_field(docs: Iterable[TermCounts]) -> Bm25Field:
    """The field of some documents, given by their terms."""
    numbers: dict[str, int] = {}
    rows: list[int] = []
    terms: list[int] = []
    counts: list[float] = []
    size = 0
    for place, doc in enumerate(docs):
        size = place + 1
        rows += [place] * len(doc)
        terms += [numbers.setdefault(term, len(numbers)) for term in doc]
        counts += doc.values()
    return build_field_from_entries(numbers, size, TermEntries(rows, terms, counts))


def build_field_from_entries(
    numbers: Mapping[str, int],
    size: int,
    entries: TermEntries,
) -> Bm25Field:
    """The field of `size` documents."""
    docs, terms = (np.asarray(column, np.int64) for column in entries[:2])
    counts = np.asarray(entries.counts, np.float64)
    # one number for each pair, so that one sort groups them
    keys = terms * max(size, 1) + docs
    # stable, so that floats are always summed in the order of the entries
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    totals = np.add.reduceat(counts, first) if len(first) else counts
    terms, docs = np.divmod(keys[first], max(size, 1))
    term_count = max(numbers.values(), default=-1) + 1
    starts = np.searchsorted(terms, np.arange(term_count + 1))
    sizes = np.bincount(docs, totals, minlength=size).astype(np.float64)
    return Bm25Field(numbers, starts, docs.astype(np.int32), totals, sizes)


def number_members(starts: LongInts) -> LongInts:
    """For each member the number of its group, where group i is from starts[i] to starts[i + 1].

    >>> number_members(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(
        np.arange(len(starts) - 1),
        np.diff(starts),
    )


def count_within_groups(sizes: LongInts) -> LongInts:
    """0, 1, 2, … for the members of each group, where groups of these sizes follow each other.

    >>> count_within_groups(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    starts = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) - np.repeat(starts, sizes)


class GramField:
    """Documents by the pieces of their words; only pieces that are asked for are looked up."""

    def __init__(self, docs: Iterable[Iterable[str]]) -> None:
        """Each document is given by its words, in lower case."""
        field = self._words = build_field(Counter(words) for words in docs)
        self._known = list(field.numbers)
        # all words, one a line, so that a piece is found by a search for it
        self._text = "\n".join(("", *self._known, ""))
        self._starts = list(accumulate((len(word) + 1 for word in self._known), initial=1))
        piece_counts = [max(1, len(word) - GRAM_LENGTH + 2) for word in self._known]
        pieces = np.array(piece_counts, np.float64)[field.terms]
        sizes = np.bincount(
            field.docs,
            field.counts * pieces,
            len(field.sizes),
        )
        self._sizes: Column = sizes.astype(np.float64)

    def bm25(self, question: TermCounts) -> Column:
        """How well each document answers a question in pieces, as `Bm25Field.bm25` says."""
        # rows: documents, terms, counts
        columns = [np.zeros((3, 0))]
        for number, piece in enumerate(question):
            for place, times in self._find_words(piece).items():
                holders, count = self._words.having(self._known[place])
                terms = np.full(len(holders), number)
                columns.append(np.vstack([holders, terms, count * times]))
        entries = TermEntries(*np.concatenate(columns, axis=1))
        numbers = {piece: number for number, piece in enumerate(question)}
        field = build_field_from_entries(numbers, len(self._sizes), entries)
        # a document is as long as all its pieces, not only as those that were looked up
        return field._replace(sizes=self._sizes).bm25(question)

    def _find_words(self, piece: str) -> Counter[int]:
        """The places of the words that have a piece, with how often."""
        is_beginning = piece.startswith("^")
        if is_beginning:
            sought = f"\n{piece[1:]}"
        elif len(piece) >= GRAM_LENGTH:
            sought = piece
        else:
            # a word too short to have pieces is one itself
            sought = f"\n{piece}\n"
        found: Counter[int] = Counter()
        start = self._text.find(sought)
        while start >= 0:
            place = bisect_right(self._starts, start + sought.startswith("\n")) - 1
            if not is_beginning or len(self._known[place]) >= GRAM_LENGTH:
                found[place] += 1
            start = self._text.find(sought, start + 1)
        return found


def split_grams(word: str) -> list[str]:
    """The pieces of a word that words of the same root share: `config` and `configuration`.

    >>> split_grams("parser")
    ['^par', 'pars', 'arse', 'rser']
    """
    word = word.lower()
    inner = [word[start : start + GRAM_LENGTH] for start in range(len(word) - GRAM_LENGTH + 1)]
    return [f"^{word[:3]}", *inner] if inner else [word]


def count_grams(words: Iterable[str]) -> Counter[str]:
    """The pieces of some words."""
    return Counter(piece for word in words for piece in split_grams(word))
