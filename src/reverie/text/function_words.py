"""Words that say how a thing is asked and not what about, in languages other than English.

`tokenize_query` drops those of English. Those of a prompt in another language would count as what
it is about, for in the few conversations of a project each of them is as rare as a name. The lists
are those of the `stop-words` package, written to `languages/function_words.txt` by `python -m
tools.languages`, one language a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from reverie.text.tokenization import STOP_WORDS, tokenize_query

# A text is in a language of whose words so many occur in it, and so large a share of its terms.
MIN_WORDS, MIN_SHARE = 2, 0.2


def tokenize_content(text: str) -> list[str]:
    """The terms of a question but the function words of its language, unless nothing else is left.

    >>> tokenize_content("Warum haben wir den Cache verworfen?")
    ['cache', 'verworfen']
    """
    return drop_function_words(tokenize_query(text))


def count_telling_words(text: str) -> int:
    """How many different words of a question say what it is about."""
    terms = tokenize_query(text)
    words = find_function_words(terms) | STOP_WORDS
    return sum(term not in words for term in terms)


def drop_function_words(terms: Sequence[str]) -> list[str]:
    """The terms without the function words of their language, unless nothing else is left."""
    found = find_function_words(terms)
    return [term for term in terms if term not in found] or list(terms)


def find_function_words(terms: Sequence[str]) -> frozenset[str]:
    """The function words among some terms, of the language of which most occur; none in English."""
    found = max(
        (words.intersection(terms) for words in load_function_words().values()),
        key=len,
        default=frozenset[str](),
    )
    return found if len(found) >= max(MIN_WORDS, MIN_SHARE * len(terms)) else frozenset()


@lru_cache(maxsize=1)
def load_function_words() -> Mapping[str, frozenset[str]]:
    """The function words by the code of the language."""
    path = Path(__file__).with_name("languages") / "function_words.txt"
    lines = (line.split() for line in path.read_text("utf-8").splitlines())
    return {code: frozenset(words) for code, *words in lines}
