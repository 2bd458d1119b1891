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

from reverie.text.tokenization import (
    STOP_WORDS,
    character_pairs,
    find_code_names,
    remove_accents,
    split_scripts,
)

PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
MAX_IDENTIFIER_CHARS = 60  # characters; what is longer is data
MAX_PIECES = 8  # of an identifier; what has more is a hash or a key

TASK_STOP_WORDS = frozenset(
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
def load_stemmer(language: str) -> Any:
    """A language's stemmer, loaded when the first word is stemmed."""
    from Stemmer import Stemmer

    return Stemmer(language)


def stem_word(word: str) -> str:
    """The stem of a word in lower case, going by its letters."""
    return str(
        load_stemmer("russian" if "\u0400" <= word[0] <= "\u04ff" else "english").stemWord(word)
    )


@lru_cache(maxsize=400_000)
def tokenize_identifier(identifier: str) -> tuple[str, ...]:
    """The terms of one identifier or word: its parts' stems and, of several parts, all of it in
    lower case.

    >>> terms_of("getUserNames")
    ('get', 'user', 'name', 'getusernames')
    """
    found = split_identifier(identifier)
    stems = tuple(stem_word(part.lower()) for part in found if len(part) > 1 and not part.isdigit())
    if len(identifier) > MAX_IDENTIFIER_CHARS or len(found) > MAX_PIECES:
        return stems if any(unspaced for _, unspaced in split_scripts(identifier)) else ()
    return (*stems, normalize_identifier(identifier)) if len(found) > 1 else stems


def split_identifier(identifier: str) -> list[str]:
    """The words within an identifier, as they are written; of a script without spaces, pairs of
    characters.

    >>> pieces("getUser2"), pieces("支付处理")
    (['get', 'User', '2'], ['支付', '付处', '处理'])
    """
    if identifier.isascii():
        return PIECE.findall(identifier)
    return [
        piece
        for stretch, unspaced in split_scripts(remove_accents(identifier))
        for piece in (character_pairs(stretch) if unspaced else split_by_case(stretch))
    ]


def split_by_case(word: str) -> Iterator[str]:
    """The words within an identifier of any script that has spaces: capitals and digits tell, as
    they do in ASCII.
    """
    like = "".join(
        "A" if one.isupper() else "0" if one.isdigit() else "_" if one == "_" else "a"
        for one in word
    )
    return (word[piece.start() : piece.end()] for piece in PIECE.finditer(like))


def split_into_word_parts(words: Iterable[str]) -> Iterator[str]:
    """The words within identifiers that say something by themselves, in lower case: not those of
    two letters.
    """
    return (
        part.lower()
        for word in words
        for part in split_identifier(word)
        if len(part) > 2 or is_unspaced_pair(part)
    )


def is_unspaced_pair(part: str) -> bool:
    """Whether it is a pair of characters of a script without spaces."""
    return len(part) == 2 and not part.isascii() and next(split_scripts(part))[0] == ""


def normalize_identifier(identifier: str) -> str:
    """An identifier without regard to how it is written: `http_pool`, `HttpPool` and `httppool` are
    one.
    """
    return remove_accents(identifier).replace("_", "").lower()


def tokenize_code(text: str) -> Counter[str]:
    """The terms of some code, with how often they occur."""
    found: Counter[str] = Counter()
    for identifier, times in Counter(find_code_names(text)).items():
        for term in tokenize_identifier(identifier):
            found[term] += times
    return found


def select_task_words(text: str) -> Iterator[str]:
    """The words and identifiers of a task that tell it from others."""
    return (
        word
        for word in find_code_names(text)
        if len(word) > 1 and word.lower() not in STOP_WORDS and word.lower() not in TASK_STOP_WORDS
    )


def tokenize_task(text: str) -> Counter[str]:
    """The terms of what a task is called."""
    return Counter(term for word in select_task_words(text) for term in tokenize_identifier(word))


def tokenize_path(parts: Iterable[str]) -> Counter[str]:
    """The terms of parts of a path, without file endings."""
    return Counter(
        term
        for part in parts
        for word in re.split(r"[-.\s]", part)
        for term in tokenize_identifier(word)
    )


def is_code_like(word: str) -> bool:
    """Whether a word is written as only code is: with an underscore inside or a capital after the
    first letter.
    """
    return "_" in word.strip("_") or (
        any(letter.isupper() for letter in word[1:]) and not word.isupper()
    )
