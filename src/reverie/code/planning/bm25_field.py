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
Ints = npt.NDArray[np.int32]
LongInts = npt.NDArray[np.int64]

K1, B = 1.2, 0.75
# letters of a piece of a word
GRAM_LENGTH = 4
# as often as a term of the question counts, at most
MAX_QUERY_COUNT = 3.0


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
    def mean_size(self) -> float:
        """The mean size of a document."""
        return max(float(self.sizes.mean()), 1e-9) if len(self.sizes) else 1.0

    def having(self, term: str) -> tuple[Ints, Column]:
        """The documents that a term is in, and how often."""
        number = self.numbers.get(term)
        if number is None:
            return self.docs[:0], self.counts[:0]
        inside = slice(self.starts[number], self.starts[number + 1])
        return self.docs[inside], self.counts[inside]

    def rarity(self, holders: int) -> float:
        """What a term is worth that is in so many documents: BM25's, never negative."""
        return float(np.log(1.0 + (len(self.sizes) - holders + 0.5) / (holders + 0.5)))

    def bm25(self, question: Mapping[str, float]) -> Column:
        """How well each document answers; 0 for one without any of the terms."""
        scores = np.zeros(len(self.sizes))
        norm = K1 * (1.0 - B + B * self.sizes / self.mean_size)
        for docs, counts, worth in self.matches(question):
            scores[docs] += worth * counts * (K1 + 1.0) / (counts + norm[docs])
        return scores

    def matches(self, question: Mapping[str, float]) -> Iterator[tuple[Ints, Column, float]]:
        """(documents, counts, worth) of each term of the question that is in some document."""
        for term, times in question.items():
            docs, counts = self.having(term)
            if len(docs):
                yield docs, counts, self.rarity(len(docs)) * min(times, MAX_QUERY_COUNT)

    def coverage(self, question: Mapping[str, float]) -> Column:
        """The part of the question's rarity that each document has, 0..1."""
        scores, total = np.zeros(len(self.sizes)), 0.0
        for docs, _, _ in self.matches(question):
            worth = float(np.log1p(len(self.sizes) / len(docs)))
            scores[docs] += worth
            total += worth
        return scores / total if total else scores


def build_field(docs: Iterable[Mapping[str, float]]) -> Bm25Field:
    """The field of some documents, given by their terms."""
    numbers: dict[str, int] = {}
    rows, terms, counts, size = [], [], [], 0
    for place, doc in enumerate(docs):
        size = place + 1
        for term, count in doc.items():
            rows.append(place)
            terms.append(numbers.setdefault(term, len(numbers)))
            counts.append(count)
    return build_field_from_entries(
        numbers,
        size,
        np.array(rows, np.int32),
        np.array(terms, np.int64),
        np.array(counts, np.float64),
    )


def build_field_from_entries(
    numbers: Mapping[str, int], size: int, docs: Ints, terms: LongInts, counts: Column
) -> Bm25Field:
    """The field of entries that may name a document and a term more than once.

    `size` is how many documents there are.
    """
    term_count = max(numbers.values(), default=-1) + 1
    # one number for each pair, so that one sort groups them
    keys = terms * max(size, 1) + docs
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    totals = np.add.reduceat(counts, first) if len(first) else counts
    unique_terms, unique_docs = np.divmod(keys[first], max(size, 1))
    starts = np.searchsorted(unique_terms, np.arange(term_count + 1))
    sizes = np.bincount(unique_docs, totals, minlength=size).astype(np.float64)
    return Bm25Field(numbers, starts, unique_docs.astype(np.int32), totals, sizes)


class GramField:
    """Documents by the pieces of their words; only pieces that are asked for are looked up."""

    def __init__(self, docs: Iterable[Iterable[str]]) -> None:
        """Each document is given by its words, in lower case."""
        self._words = build_field(Counter(words) for words in docs)
        self._known = list(self._words.numbers)
        # all words, one a line, so that a piece is found by a search for it
        self._text = "\n".join(("", *self._known, ""))
        self._starts = list(accumulate((len(word) + 1 for word in self._known), initial=1))
        piece_counts = [max(1, len(word) - GRAM_LENGTH + 2) for word in self._known]
        pieces = np.array(piece_counts or [1], np.float64)
        words = np.repeat(np.arange(len(self._known)), np.diff(self._words.starts))
        self._sizes: Column = np.bincount(
            self._words.docs, self._words.counts * pieces[words], len(self._words.sizes)
        ).astype(np.float64)

    def bm25(self, question: Mapping[str, float]) -> Column:
        """How well each document answers a question in pieces, as `Bm25Field.bm25` says."""
        numbers = {piece: number for number, piece in enumerate(question)}
        docs, terms, counts = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for piece, number in numbers.items():
            for place, times in self._find_words(piece).items():
                holders, count = self._words.having(self._known[place])
                docs.append(holders)
                terms.append(np.full(len(holders), number))
                counts.append(count * times)
        field = build_field_from_entries(
            numbers,
            len(self._sizes),
            np.concatenate(docs),
            np.concatenate(terms),
            np.concatenate(counts),
        )
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
