"""The index terms of text and code: stems of the words within identifiers, and whole identifiers.

`HTTPConnectionPool`, `http_connection_pool` and "the connection pools of HTTP" share `http`,
`connect` and `pool`; the first two share `httpconnectionpool` as well. Stems are those of the
Snowball stemmers for English and, in Cyrillic letters, Russian. Scripts that are written without
spaces come in overlapping pairs of characters, as in full-text search (`text.tokenization`).
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
# what is longer is data
MAX_IDENTIFIER_CHARS = 60
# what has more is a hash or a key
MAX_PIECES = 8

TASK_WORDS = """
    add added adding adds allow allows bug change changed changes check cleanup correct
    correctly could drop enable ensure ensures fail failed failing fails feature fix fixed
    fixes fixing get gets give handle handled handles handling implement implemented improve
    improved improvement improvements improves instead introduce issue issues keep let like
    make makes making method might minor missing more move moved must need needed needs new
    now patch please possible prevent problem properly provide put refactor remove removed
    removes removing rename renamed replace replaced resolve set should simplify simpler since
    some something still support supported supporting supports sure task test tests update
    updated updates updating upon use used useful user users uses using usage want way well
    work working works
"""
# What is said of any piece of work, and so tells no task from another.
TASK_STOP_WORDS = frozenset(TASK_WORDS.split())


@cache
def load_stemmer(language: str) -> Any:
    """A language's stemmer, loaded when the first word is stemmed."""
    from Stemmer import Stemmer

    return Stemmer(language)


def stem_word(word: str) -> str:
    """The stem of a word in lower case; its first letter decides between Russian and English."""
    language = "russian" if "\u0400" <= word[0] <= "\u04ff" else "english"
    return str(load_stemmer(language).stemWord(word))


@lru_cache(maxsize=400_000)
def tokenize_identifier(identifier: str) -> tuple[str, ...]:
    """The terms of an identifier or word: the stems of its parts and, if it has several, the whole.

    >>> tokenize_identifier("getUserNames")
    ('get', 'user', 'name', 'getusernames')
    """
    parts = split_identifier(identifier)
    stems = tuple(stem_word(part.lower()) for part in parts if len(part) > 1 and not part.isdigit())
    if len(identifier) > MAX_IDENTIFIER_CHARS or len(parts) > MAX_PIECES:
        # text without spaces may be long and still be words
        return stems if any(unspaced for _, unspaced in split_scripts(identifier)) else ()
    if len(parts) > 1:
        return (*stems, normalize_identifier(identifier))
    return stems


def split_identifier(identifier: str) -> list[str]:
    """The words within an identifier, as written; of a script without spaces, pairs of characters.

    >>> split_identifier("getUser2"), split_identifier("支付处理")
    (['get', 'User', '2'], ['支付', '付处', '处理'])
    """
    if identifier.isascii():
        return PIECE.findall(identifier)
    parts: list[str] = []
    for stretch, unspaced in split_scripts(remove_accents(identifier)):
        parts += character_pairs(stretch) if unspaced else split_by_case(stretch)
    return parts


def split_by_case(word: str) -> Iterator[str]:
    """The words within an identifier of any script that has capitals, split as in ASCII."""
    pattern = "".join(map(to_ascii_class, word))
    return (word[piece.start() : piece.end()] for piece in PIECE.finditer(pattern))


def to_ascii_class(letter: str) -> str:
    """The ASCII character that stands for a character's class in `PIECE`."""
    if letter.isupper():
        return "A"
    if letter.isdigit():
        return "0"
    return "_" if letter == "_" else "a"


def split_into_word_parts(words: Iterable[str]) -> Iterator[str]:
    """The telling words within identifiers, in lower case: longer than two letters, or a pair."""
    for word in words:
        for part in split_identifier(word):
            if len(part) > 2 or is_unspaced_pair(part):
                yield part.lower()


def is_unspaced_pair(part: str) -> bool:
    """True if it is a pair of characters of a script without spaces."""
    return len(part) == 2 and not part.isascii() and next(split_scripts(part))[0] == ""


def normalize_identifier(identifier: str) -> str:
    """An identifier however it is written: `http_pool`, `HttpPool` and `httppool` are one."""
    return remove_accents(identifier).replace("_", "").lower()


def count_terms(words: Iterable[str]) -> Counter[str]:
    """The terms of words and identifiers, with how often they occur."""
    terms: Counter[str] = Counter()
    for word, times in Counter(words).items():
        for term in tokenize_identifier(word):
            terms[term] += times
    return terms


def tokenize_code(text: str) -> Counter[str]:
    """The terms of some code, with how often they occur."""
    return count_terms(find_code_names(text))


def select_task_words(text: str) -> Iterator[str]:
    """The words and identifiers of a task that tell it from other tasks."""
    for word in find_code_names(text):
        lower = word.lower()
        if len(word) > 1 and lower not in STOP_WORDS and lower not in TASK_STOP_WORDS:
            yield word


def tokenize_task(text: str) -> Counter[str]:
    """The terms of a task's text, with how often they occur."""
    return count_terms(select_task_words(text))


def tokenize_path(parts: Iterable[str]) -> Counter[str]:
    """The terms of parts of a path, which come without file endings."""
    return count_terms(word for part in parts for word in re.split(r"[-.\s]", part))


def is_code_like(word: str) -> bool:
    """True if only code is written so: an underscore inside, or a capital that is not the first."""
    if "_" in word.strip("_"):
        return True
    return any(letter.isupper() for letter in word[1:]) and not word.isupper()
