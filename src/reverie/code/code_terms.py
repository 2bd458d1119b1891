"""Text and code → the terms that a plan compares: stems of the words within identifiers, and
identifiers as a whole.

`HTTPConnectionPool`, `http_connection_pool` and "the connection pools of HTTP" share `http`,
`connect` and `pool`; the first two share `httpconnectionpool` as well. Stems are those of the
Snowball stemmers for English and, in Cyrillic letters, Russian. Scripts that are written without
spaces come in overlapping pairs of characters, as in full-text search (`words`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from reverie.text.tokenization import STOP, names, pairs, stretches, unaccented

PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
LONGEST = 60  # characters; what is longer is data
MOST_PIECES = 8  # of an identifier; what has more is a hash or a key

ABOUT_WORK = frozenset(
    (
        "add",
        "added",
        "adding",
        "adds",
        "allow",
        "allows",
        "bug",
        "change",
        "changed",
        "changes",
        "check",
        "cleanup",
        "correct",
        "correctly",
        "could",
        "drop",
        "enable",
        "ensure",
        "ensures",
        "fail",
        "failed",
        "failing",
        "fails",
        "feature",
        "fix",
        "fixed",
        "fixes",
        "fixing",
        "get",
        "gets",
        "give",
        "handle",
        "handled",
        "handles",
        "handling",
        "implement",
        "implemented",
        "improve",
        "improved",
        "improvement",
        "improvements",
        "improves",
        "instead",
        "introduce",
        "issue",
        "issues",
        "keep",
        "let",
        "like",
        "make",
        "makes",
        "making",
        "method",
        "might",
        "minor",
        "missing",
        "more",
        "move",
        "moved",
        "must",
        "need",
        "needed",
        "needs",
        "new",
        "now",
        "patch",
        "please",
        "possible",
        "prevent",
        "problem",
        "properly",
        "provide",
        "put",
        "refactor",
        "remove",
        "removed",
        "removes",
        "removing",
        "rename",
        "renamed",
        "replace",
        "replaced",
        "resolve",
        "set",
        "should",
        "simplify",
        "simpler",
        "since",
        "some",
        "something",
        "still",
        "support",
        "supported",
        "supporting",
        "supports",
        "sure",
        "task",
        "test",
        "tests",
        "update",
        "updated",
        "updates",
        "updating",
        "upon",
        "use",
        "used",
        "useful",
        "user",
        "users",
        "uses",
        "using",
        "usage",
        "want",
        "way",
        "well",
        "work",
        "working",
        "works",
    )
)
"""What is said of any piece of work, and so tells none from another."""


@cache
def stemmer(language: str) -> Any:
    """A language's stemmer, loaded when the first word is stemmed."""
    from Stemmer import Stemmer

    return Stemmer(language)


def stem(word: str) -> str:
    """The stem of a word in lower case, going by its letters."""
    return str(stemmer("russian" if "\u0400" <= word[0] <= "\u04ff" else "english").stemWord(word))


@lru_cache(maxsize=400_000)
def terms_of(identifier: str) -> tuple[str, ...]:
    """The terms of one identifier or word: its parts' stems and, of several parts, all of it in
    lower case.

    >>> terms_of("getUserNames")
    ('get', 'user', 'name', 'getusernames')
    """
    found = pieces(identifier)
    stems = tuple(stem(part.lower()) for part in found if len(part) > 1 and not part.isdigit())
    if len(identifier) > LONGEST or len(found) > MOST_PIECES:
        return stems if any(unspaced for _, unspaced in stretches(identifier)) else ()
    return (*stems, plain(identifier)) if len(found) > 1 else stems


def pieces(identifier: str) -> list[str]:
    """The words within an identifier, as they are written; of a script without spaces, pairs of
    characters.

    >>> pieces("getUser2"), pieces("支付处理")
    (['get', 'User', '2'], ['支付', '付处', '处理'])
    """
    if identifier.isascii():
        return PIECE.findall(identifier)
    return [
        piece
        for stretch, unspaced in stretches(unaccented(identifier))
        for piece in (pairs(stretch) if unspaced else cased(stretch))
    ]


def cased(word: str) -> Iterator[str]:
    """The words within an identifier of any script that has spaces: capitals and digits tell, as
    they do in ASCII.
    """
    like = "".join(
        "A" if one.isupper() else "0" if one.isdigit() else "_" if one == "_" else "a"
        for one in word
    )
    return (word[piece.start() : piece.end()] for piece in PIECE.finditer(like))


def word_parts(words: Iterable[str]) -> Iterator[str]:
    """The words within identifiers that say something by themselves, in lower case: not those of
    two letters.
    """
    return (
        part.lower() for word in words for part in pieces(word) if len(part) > 2 or is_pair(part)
    )


def is_pair(part: str) -> bool:
    """Whether it is a pair of characters of a script without spaces."""
    return len(part) == 2 and not part.isascii() and next(stretches(part))[0] == ""


def plain(identifier: str) -> str:
    """An identifier without regard to how it is written: `http_pool`, `HttpPool` and `httppool` are
    one.
    """
    return unaccented(identifier).replace("_", "").lower()


def code_terms(text: str) -> Counter[str]:
    """The terms of some code, with how often they occur."""
    found: Counter[str] = Counter()
    for identifier, times in Counter(names(text)).items():
        for term in terms_of(identifier):
            found[term] += times
    return found


def told(text: str) -> Iterator[str]:
    """The words and identifiers of a task that tell it from others."""
    return (
        word
        for word in names(text)
        if len(word) > 1 and word.lower() not in STOP and word.lower() not in ABOUT_WORK
    )


def task_terms(text: str) -> Counter[str]:
    """The terms of what a task is called."""
    return Counter(term for word in told(text) for term in terms_of(word))


def path_terms(parts: Iterable[str]) -> Counter[str]:
    """The terms of parts of a path, without file endings."""
    return Counter(
        term for part in parts for word in re.split(r"[-.\s]", part) for term in terms_of(word)
    )


def looks_coded(word: str) -> bool:
    """Whether a word is written as only code is: with an underscore inside or a capital after the
    first letter.
    """
    return "_" in word.strip("_") or (
        any(letter.isupper() for letter in word[1:]) and not word.isupper()
    )
