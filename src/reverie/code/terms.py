"""Text and code → the terms that a plan compares: stems of the words within identifiers, and identifiers as a whole.

`HTTPConnectionPool`, `http_connection_pool` and "the connection pools of HTTP" share `http`, `connect` and `pool`; the
first two share `httpconnectionpool` as well. Stems are those of the Snowball stemmer for English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from reverie.words import STOP

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
LONGEST = 60             # characters; what is longer is data
MOST_PIECES = 8          # of an identifier; what has more is a hash or a key

ABOUT_WORK = frozenset((
    "add", "added", "adding", "adds", "allow", "allows", "bug", "change", "changed", "changes", "check", "cleanup",
    "correct", "correctly", "could", "drop", "enable", "ensure", "ensures", "fail", "failed", "failing", "fails",
    "feature", "fix", "fixed", "fixes", "fixing", "get", "gets", "give", "handle", "handled", "handles", "handling",
    "implement", "implemented", "improve", "improved", "improvement", "improvements", "improves", "instead",
    "introduce", "issue", "issues", "keep", "let", "like", "make", "makes", "making", "method", "might", "minor",
    "missing", "more", "move", "moved", "must", "need", "needed", "needs", "new", "now", "patch", "please",
    "possible", "prevent", "problem", "properly", "provide", "put", "refactor", "remove", "removed", "removes",
    "removing", "rename", "renamed", "replace", "replaced", "resolve", "set", "should", "simplify", "simpler",
    "since", "some", "something", "still", "support", "supported", "supporting", "supports", "sure", "task", "test",
    "tests", "update", "updated", "updates", "updating", "upon", "use", "used", "useful", "user", "users", "uses",
    "using", "usage", "want", "way", "well", "work", "working", "works",
))
"""What is said of any piece of work, and so tells none from another."""


@cache
def stemmer() -> Any:
    """The stemmer, loaded when the first word is stemmed."""
    from Stemmer import Stemmer
    return Stemmer("english")


@lru_cache(maxsize=400_000)
def terms_of(identifier: str) -> tuple[str, ...]:
    """The terms of one identifier or word: its parts' stems and, of several parts, all of it in lower case.

    >>> terms_of("getUserNames")
    ('get', 'user', 'name', 'getusernames')
    """
    pieces = PIECE.findall(identifier)
    if len(identifier) > LONGEST or len(pieces) > MOST_PIECES:
        return ()
    parts = [part.lower() for part in pieces if len(part) > 1 and not part.isdigit()]
    stems = tuple(map(str, stemmer().stemWords(parts)))
    return (*stems, plain(identifier)) if len(pieces) > 1 else stems


def plain(identifier: str) -> str:
    """An identifier without regard to how it is written: `http_pool`, `HttpPool` and `httppool` are one."""
    return identifier.replace("_", "").lower()


def code_terms(text: str) -> Counter[str]:
    """The terms of some code, with how often they occur."""
    found: Counter[str] = Counter()
    for identifier, times in Counter(IDENTIFIER.findall(text)).items():
        for term in terms_of(identifier):
            found[term] += times
    return found


def told(text: str) -> Iterator[str]:
    """The words and identifiers of a task that tell it from others."""
    return (word for word in IDENTIFIER.findall(text)
            if len(word) > 1 and word.lower() not in STOP and word.lower() not in ABOUT_WORK)


def task_terms(text: str) -> Counter[str]:
    """The terms of what a task is called."""
    return Counter(term for word in told(text) for term in terms_of(word))


def path_terms(parts: Iterable[str]) -> Counter[str]:
    """The terms of parts of a path, without file endings."""
    return Counter(term for part in parts for word in re.split(r"[-.\s]", part) for term in terms_of(word))


def looks_coded(word: str) -> bool:
    """Whether a word is written as only code is: with an underscore inside or a capital after the first letter."""
    return "_" in word.strip("_") or (any(letter.isupper() for letter in word[1:]) and not word.isupper())
