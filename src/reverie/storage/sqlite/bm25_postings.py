"""BM25 of whole shards, from FTS5's own index but without FTS5's ranking.

FTS5 needs 2.8 µs for each row it ranks, because it reads every row's size; the bare postings cost
0.5 µs. So the postings are read (term, row, one line for each occurrence), and the formula is
computed on columns. Document frequencies are those of the memories that the reader may see: another
project's texts do not shift the weights here.
"""

from collections.abc import Iterator, Sequence
from sqlite3 import Connection

import numpy as np

from reverie.storage import Names
from reverie.storage.arrays import Floats, Ints
from reverie.storage.column_cache import Shard
from reverie.storage.column_scores import Postings, score_postings
from reverie.storage.index_tokens import TermStemmer
from reverie.storage.sqlite.connection import fetch_value

# Occurrences that one query may read: the rarest terms first, at least one. What does not fit
# occurs in more than a few thousand memories each and would move little. Measured at 100,000
# memories by `python -m bench.scale`.
MAX_OCCURRENCES = 2_000

# Common words that are looked up in small spaces of a large file, and the memories looked at.
MAX_COMMON_TERMS = 4
MAX_COMMON_ROWS = 40_000
NUMBERS = """
    select group_concat(row, ' ')
    from (select rowid as row from words where words match ? and rowid between ? and ?
          order by rowid desc limit ?)
"""


def score_shards(
    db: Connection,
    stemmer: TermStemmer,
    terms: Names,
    shards: Sequence[Shard],
) -> list[Floats]:
    """BM25 of every row of every shard; 0 where no term occurs."""
    queries = sorted({stemmer.tokens(term) for term in terms} - {()})
    return score_postings(select_postings(db, stemmer, queries, shards), shards)


def select_postings(
    db: Connection,
    stemmer: TermStemmer,
    queries: Sequence[tuple[str, ...]],
    shards: Sequence[Shard],
) -> Iterator[Postings]:
    """The postings of the terms that can be afforded, each term as its tokens.

    Those are the rarest ones, with at most MAX_OCCURRENCES together, and at least one. What is
    common in the file may be rare in the spaces asked for: where these are the smaller part of the
    file, some further terms are looked up in them.
    """
    read: list[tuple[int, tuple[str, ...], Postings]] = []
    common: list[tuple[str, ...]] = []
    for tokens in queries:
        postings = read_affordable_postings(db, stemmer, tokens)
        if postings is None:
            common.append(tokens)
        else:
            read.append((count_occurrences(postings), tokens, postings))
    spent = 0
    for occurrences, tokens, postings in sorted(read, key=lambda item: item[:2]):
        if not spent or spent + occurrences <= MAX_OCCURRENCES:
            spent += occurrences
            yield postings
        else:
            common.append(tokens)
    if common and not spent:
        counts = {tokens: min(count_token(db, token) for token in tokens) for tokens in common}
        rarest = min(common, key=lambda tokens: (counts[tokens], tokens))
        common.remove(rarest)
        yield read_term_postings(db, rarest)
    if common and is_smaller_part(db, shards):
        for tokens in common[:MAX_COMMON_TERMS]:
            yield read_newest_postings(db, tokens, shards)


def read_affordable_postings(
    db: Connection,
    stemmer: TermStemmer,
    tokens: Names,
) -> Postings | None:
    """The postings of a term, or None if one of its tokens is too common."""
    if stemmer.is_common(tokens):
        return None
    found = None
    for token in tokens:
        # Reading up to the limit: counting first would cost as much again.
        postings = read_token_postings(db, token, MAX_OCCURRENCES + 1)
        if count_occurrences(postings) > MAX_OCCURRENCES:
            stemmer.found_common(token)
            return None
        found = postings if found is None else intersect_postings(found, postings)
    return found


def count_occurrences(postings: Postings) -> int:
    """How often a term occurs in all."""
    return int(postings[1].sum())


def intersect_postings(one: Postings, other: Postings) -> Postings:
    """Where two tokens occur together, and how often each of them at least does."""
    numbers, here, there = np.intersect1d(
        one[0],
        other[0],
        assume_unique=True,
        return_indices=True,
    )
    return numbers, np.minimum(
        one[1][here],
        other[1][there],
    )


def is_smaller_part(db: Connection, shards: Sequence[Shard]) -> bool:
    """True if most memories of the file are in other spaces."""
    last = fetch_value(db, "select max(num) from memory") or 0
    total = sum(shard.n for shard in shards)
    return 0 < total < last / 2


def read_newest_postings(
    db: Connection,
    tokens: Names,
    shards: Sequence[Shard],
) -> Postings:
    """The newest memories with a term, once each, from about the range of these shards."""
    ends = [shard.ends() for shard in shards]
    first = min(first for first, _ in ends)
    last = max(last for _, last in ends)
    phrase = f'"{" ".join(tokens)}"'
    limit = MAX_COMMON_ROWS // MAX_COMMON_TERMS
    found = fetch_value(db, NUMBERS, phrase, first, last, limit)
    numbers = np.sort(parse_numbers(found))
    return numbers, np.ones(len(numbers), np.int64)


def count_token(db: Connection, token: str) -> int:
    """How often a token occurs in the whole file."""
    return fetch_value(db, "select cnt from vocabulary where term = ?", token) or 0


def read_term_postings(db: Connection, tokens: Names) -> Postings:
    """The postings of one term; of several tokens, where all of them occur."""
    found = read_token_postings(db, tokens[0])
    for token in tokens[1:]:
        found = intersect_postings(found, read_token_postings(db, token))
    return found


# One long text is three times faster than a row each: no Python object is made of any number.
POSTINGS = "select group_concat(doc, ' ') from (select doc from occurrence where term = ? limit ?)"


def read_token_postings(
    db: Connection,
    token: str,
    most: int = -1,
) -> Postings:
    """The postings of one token, from its first `most` occurrences; -1 for all."""
    # One number for each occurrence, in ascending order.
    numbers = parse_numbers(fetch_value(db, POSTINGS, token, most))
    if not len(numbers):
        return numbers, numbers
    is_first = np.concatenate([[True], numbers[1:] != numbers[:-1]])
    starts = np.flatnonzero(is_first)
    return numbers[starts], np.diff(starts, append=len(numbers))


def parse_numbers(joined: str | None) -> Ints:
    """The numbers in a text with spaces between them; None for none."""
    return np.fromstring(joined or "", np.int64, sep=" ")
