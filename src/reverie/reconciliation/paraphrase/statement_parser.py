"""What a sentence states, as far as one can tell without understanding it.

`read` turns a text into a `Statement`: its words in a common form, each with what sort of word it
is (content, value, name, light), whether it is affirmed or denied, and where it stands (what is
spoken of, what is said of it, where that holds); what comes before what; and marks for hedges,
limits, questions and announcements of change.

Always true: any text can be read, only its first MOST_CHARS count, the same text reads the same.
Readings are cached, as a memory is compared with many others.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from reverie.reconciliation.paraphrase.concept_vocabulary import (
    BOUND,
    among,
    concept,
    concepts_of,
    contrasts,
    light,
    marks,
    phrased,
    places,
    synonyms,
    value_at,
)
from reverie.reconciliation.paraphrase.negation import bars, signs_of
from reverie.reconciliation.paraphrase.ordering_relations import (
    bound_in,
    condition_of,
    given_up_in,
    order_of,
)
from reverie.text.tokenization import STOP

MOST_CHARS = 2_000  # a longer memory is not one statement; its beginning decides
MOST_TOKENS = 160
READ = 8_192  # readings kept: settling 5,000 memories reads each of them once

CONTENT, VALUE, NAME, LIGHT, MARK = "content", "value", "name", "light", "mark"
SUBJECT, SAID, SCOPE = "subject", "said", "scope"


class Word(NamedTuple):
    """One word of a statement that carries something."""

    concept: str  # its common form: what means the same is the same
    sort: str  # CONTENT, VALUE, NAME or LIGHT
    affirmed: bool  # False: denied, avoided, given up
    place: str  # SUBJECT, SAID or SCOPE
    before: str  # the words on both sides, in common form: its slot
    after: str
    capital: bool = False
    measure: str = ""  # what a value measures: "time", "bytes", "version"; "" for a plain number


class Statement(NamedTuple):
    """One text, read."""

    plain: tuple[str, ...]  # all its words in lower case
    words: tuple[Word, ...]
    pro: frozenset[str]  # content, values and names that are affirmed
    con: frozenset[str]  # those that are denied
    light: frozenset[str]
    first: frozenset[str]  # what comes before …
    then: frozenset[str]  # … what comes after
    given: frozenset[str]  # what has to be the case …
    follows: frozenset[str]  # … for this to hold: if, when
    places: frozenset[str]  # environments and systems that it names
    sited: frozenset[str]  # those where it says that something holds
    hedges: frozenset[str]
    limits: frozenset[str]
    changes: frozenset[str]  # words by which it says that something changed
    soft: frozenset[str]  # words by which it may say so
    bound: frozenset[frozenset[str]]  # content words that stand side by side
    given_up: frozenset[str]  # what it says is no more: after "from", "instead of", "no longer"
    when: frozenset[str]  # today, last week
    whose: frozenset[str]  # other people's matters: her, my sister's
    stresses: bool  # whether its "only" limits nothing: "only small ones, please"
    cut: bool  # whether there was more than was read
    asks: bool
    will: bool  # told of the future
    bars: bool  # whether its main clause is denied
    parts: int  # sentences
    verb: str  # the concept of its main verb; "" if there is none that one could tell
    agent: bool  # whether it is told in the passive, by somebody


class _Token(NamedTuple):
    text: str  # as it stands there
    lower: str
    starts: bool  # a sentence begins here


_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)+(?:-\w+)*|\d+[a-zA-Z]{1,3}\b|[^\W_][\w]*(?:[-_./:@+#]+\w+)*(?:\(\))?[+#]*|_\w+"
    r"|[/~.]?[\w.-]*/[\w./-]*\w|[.,;:!?()–—|\n]"
)
_IDENTIFIER = re.compile(
    r"[A-Za-z].*\d|\d.*[A-Za-z]|\w_\w|[a-z][A-Z]|[/@#]\w|\w\.\w|\(\)$|\w:\w|^[A-Z]{2,}$"
)
_REQUEST = re.compile(
    r"\b(?:could|would|can|will) you\b|\bcan we (?:please|agree)\b"
    r"|\b(?:should|can|could|do)n't (?:we|you)\b"
    r"|\bwhy (?:not|don't (?:we|you))\b",
    re.IGNORECASE,
)  # a wish, politely
_PERSON, _WHEN, _VERBS = among("PERSONS"), among("WHEN"), among("VERBS")
_ARTICLES = frozenset(("a", "an", "the", "our", "your", "my", "its"))
_SMALL, _SCOPES, _AUX, _NOT = among("SMALL"), among("SCOPES"), among("AUXILIARIES"), among("NOTS")


def read(text: str) -> Statement:
    """The statement that a text makes."""
    return _read(text[: MOST_CHARS + 1])


@lru_cache(maxsize=READ)
def _read(text: str) -> Statement:
    every = list(_tokens(phrased(text[:MOST_CHARS])))
    tokens = every[:MOST_TOKENS]
    lows = [token.lower for token in tokens]
    concepts = concepts_of(lows)
    words = tuple(_words(tokens, concepts))
    heavy = [word for word in words if word.sort != LIGHT]
    first, then = order_of(lows, concepts)
    given, follows = condition_of(lows, concepts)
    said = frozenset(lows)
    verb = next((concept(lows[i]) for i in [_main_verb(lows, concepts)] if i >= 0), "")
    wishes = bool(_REQUEST.search(text))
    stresses = "only" in said and not verb and not said & _SCOPES
    return Statement(
        plain=tuple(low for low in lows if low not in BOUND),
        words=words,
        pro=frozenset(w.concept for w in heavy if w.affirmed),
        con=frozenset(w.concept for w in heavy if not w.affirmed)
        - {w.concept for w in heavy if w.affirmed},
        light=frozenset(w.concept for w in words if w.sort == LIGHT),
        first=first,
        then=then,
        given=given,
        follows=follows,
        places=frozenset(w.concept for w in words if w.concept in places()),
        sited=frozenset(w.concept for w in words if w.concept in places() and w.place != SAID),
        hedges=(said & among("HEDGES"))
        - (among("COMPARED") if "than" in said else set())
        - ({"could"} if wishes else set()),
        limits=(said & among("LIMITS")) - ({"only"} if stresses else set()),
        changes=said & among("CHANGES"),
        soft=said & among("SOFT_CHANGES"),
        bound=bound_in(lows, concepts),
        given_up=given_up_in(lows, concepts),
        whose=said & _PERSON,
        when=said & _WHEN,
        cut=len(text) > MOST_CHARS or len(every) > MOST_TOKENS,
        asks=text.rstrip().endswith("?") and not wishes,
        will="will" in said,
        bars=any(bars(lows, i) for i in range(len(lows))),
        parts=1 + sum(1 for a in lows[:-1] if a in ".!?\n"),
        verb=verb,
        stresses=stresses,
        agent="by" in said,
    )


def _tokens(text: str) -> Iterator[_Token]:
    starts = True
    for match in _TOKEN.finditer(text):
        word = match[0]
        mark = word.isupper() and word in marks()
        yield _Token(word, word if mark else word.lower(), starts)
        starts = word in ".!?:\n" or (starts and word in BOUND)


def _words(tokens: list[_Token], concepts: list[str]) -> Iterator[Word]:
    lows = [token.lower for token in tokens]
    signs, places = signs_of(lows), _sections(lows, concepts)
    skip = -1
    for i, token in enumerate(tokens):
        if token.lower in BOUND or i <= skip or token.lower in marks():
            continue
        before, after = _beside(lows, i, -1), _beside(lows, i, 1)
        value, used = value_at(lows, i)
        if value:
            skip = i + used
            name, measure = value
            yield Word(name, VALUE, signs[i], places[i], before, after, measure=measure)
        elif len(token.lower) > 1 or not token.lower.isascii():
            yield Word(*_sorted(token), signs[i], places[i], before, after, token.text[0].isupper())


def _beside(lows: list[str], i: int, step: int) -> str:
    """The concept beside a word, over articles; "" where a limb of the sentence ends."""
    j = i + step
    while 0 <= j < len(lows) and lows[j] in _ARTICLES:
        j += step
    return concept(lows[j]) if 0 <= j < len(lows) and lows[j] not in BOUND else ""


def _sorted(token: _Token) -> tuple[str, str]:
    """The common form of a word and what sort of word it is."""
    low = token.lower
    plain = concept(low)
    named = token.text[0].isupper() and not token.starts and len(token.text) > 1
    if not named and (plain in light() or low in _PERSON or low in STOP):
        return plain, LIGHT
    if low not in synonyms() and plain not in contrasts() and _IDENTIFIER.search(token.text):
        return low.rstrip("."), NAME
    return plain, NAME if named else CONTENT


def _main_verb(lows: list[str], concepts: list[str]) -> int:
    """Where the main verb stands, as far as one can tell; -1 if nowhere."""
    known = next((i for i, low in enumerate(lows) if low in _VERBS), -1)
    if known >= 0:
        return known  # else: sends, depends; something with an s before a small word
    return next(
        (
            i
            for i in range(1, len(lows) - 1)
            if lows[i].endswith("s")
            and not lows[i].endswith("ss")
            and lows[i + 1] in _SMALL
            and lows[i] not in STOP
            and concepts[i - 1]
        ),
        -1,
    )


def _sections(lows: list[str], concepts: list[str]) -> list[str]:
    """For each word whether it belongs to what is spoken of, to what is said of it, or to where
    that holds.
    """
    verb = _main_verb(lows, concepts)
    sections: list[str] = []
    heavy_since = False
    where = SCOPE if lows and lows[0] in _SCOPES else (SUBJECT if verb > 0 else SAID)
    for i, low in enumerate(lows):
        if i == verb:
            where, heavy_since = SAID, False
        elif low in _SCOPES and where == SAID and heavy_since:
            where = SCOPE
        elif low in BOUND:
            where, heavy_since = (SUBJECT if i < verb else SAID), False
        acts = verb < 0 and (
            i == 0 or lows[i - 1] in _AUX or lows[i - 1] in _NOT or lows[i - 1] in BOUND
        )
        heavy_since = heavy_since or (i > verb and not acts and bool(concepts[i]))
        sections.append(where)
    return sections
