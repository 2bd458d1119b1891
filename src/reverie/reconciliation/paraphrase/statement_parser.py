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
    LIMB_BOUNDARIES,
    list_concepts,
    load_contrasts,
    load_light_concepts,
    load_phrase_marks,
    load_place_words,
    load_synonyms,
    load_words,
    read_value,
    replace_phrases,
    to_concept,
)
from reverie.reconciliation.paraphrase.negation import find_affirmed, is_ban
from reverie.reconciliation.paraphrase.ordering_relations import (
    find_adjacent_pairs,
    find_condition,
    find_given_up_concepts,
    find_order,
)
from reverie.text.tokenization import STOP_WORDS

MAX_CHARS = 2_000  # a longer memory is not one statement; its beginning decides
MAX_TOKENS = 160
CACHE_SIZE = 8_192  # readings kept: settling 5,000 memories reads each of them once

CONTENT, VALUE, NAME, LIGHT, MARK = "content", "value", "name", "light", "mark"
SUBJECT, SAID, SCOPE = "subject", "said", "scope"


class StatementWord(NamedTuple):
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
    words: tuple[StatementWord, ...]
    affirmed: frozenset[str]  # content, values and names that are affirmed
    denied: frozenset[str]  # those that are denied
    light: frozenset[str]
    first: frozenset[str]  # what comes before …
    then: frozenset[str]  # … what comes after
    condition: frozenset[str]  # what has to be the case …
    consequence: frozenset[str]  # … for this to hold: if, when
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
    is_truncated: bool  # whether there was more than was read
    is_question: bool
    is_future: bool  # told of the future
    is_ban: bool  # whether its main clause is denied
    sentence_count: int  # sentences
    verb: str  # the concept of its main verb; "" if there is none that one could tell
    has_agent: bool  # whether it is told in the passive, by somebody


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
_PERSON, _WHEN, _VERBS = load_words("PERSONS"), load_words("WHEN"), load_words("VERBS")
_ARTICLES = frozenset(("a", "an", "the", "our", "your", "my", "its"))
_SMALL, _SCOPES, _AUX, _NOT = (
    load_words("SMALL"),
    load_words("SCOPES"),
    load_words("AUXILIARIES"),
    load_words("NOTS"),
)


def read_statement(text: str) -> Statement:
    """The statement that a text makes."""
    return _read_cached(text[: MAX_CHARS + 1])


@lru_cache(maxsize=CACHE_SIZE)
def _read_cached(text: str) -> Statement:
    every = list(_split_tokens(replace_phrases(text[:MAX_CHARS])))
    tokens = every[:MAX_TOKENS]
    lows = [token.lower for token in tokens]
    concepts = list_concepts(lows)
    words = tuple(_classify_words(tokens, concepts))
    heavy = [word for word in words if word.sort != LIGHT]
    first, then = find_order(lows, concepts)
    given, follows = find_condition(lows, concepts)
    said = frozenset(lows)
    verb = next((to_concept(lows[i]) for i in [_find_main_verb(lows, concepts)] if i >= 0), "")
    wishes = bool(_REQUEST.search(text))
    stresses = "only" in said and not verb and not said & _SCOPES
    return Statement(
        plain=tuple(low for low in lows if low not in LIMB_BOUNDARIES),
        words=words,
        affirmed=frozenset(w.concept for w in heavy if w.affirmed),
        denied=frozenset(w.concept for w in heavy if not w.affirmed)
        - {w.concept for w in heavy if w.affirmed},
        light=frozenset(w.concept for w in words if w.sort == LIGHT),
        first=first,
        then=then,
        condition=given,
        consequence=follows,
        places=frozenset(w.concept for w in words if w.concept in load_place_words()),
        sited=frozenset(
            w.concept for w in words if w.concept in load_place_words() and w.place != SAID
        ),
        hedges=(said & load_words("HEDGES"))
        - (load_words("COMPARED") if "than" in said else set())
        - ({"could"} if wishes else set()),
        limits=(said & load_words("LIMITS")) - ({"only"} if stresses else set()),
        changes=said & load_words("CHANGES"),
        soft=said & load_words("SOFT_CHANGES"),
        bound=find_adjacent_pairs(lows, concepts),
        given_up=find_given_up_concepts(lows, concepts),
        whose=said & _PERSON,
        when=said & _WHEN,
        is_truncated=len(text) > MAX_CHARS or len(every) > MAX_TOKENS,
        is_question=text.rstrip().endswith("?") and not wishes,
        is_future="will" in said,
        is_ban=any(is_ban(lows, i) for i in range(len(lows))),
        sentence_count=1 + sum(1 for a in lows[:-1] if a in ".!?\n"),
        verb=verb,
        stresses=stresses,
        has_agent="by" in said,
    )


def _split_tokens(text: str) -> Iterator[_Token]:
    starts = True
    for match in _TOKEN.finditer(text):
        word = match[0]
        mark = word.isupper() and word in load_phrase_marks()
        yield _Token(word, word if mark else word.lower(), starts)
        starts = word in ".!?:\n" or (starts and word in LIMB_BOUNDARIES)


def _classify_words(tokens: list[_Token], concepts: list[str]) -> Iterator[StatementWord]:
    lows = [token.lower for token in tokens]
    signs, places = find_affirmed(lows), _find_sections(lows, concepts)
    skip = -1
    for i, token in enumerate(tokens):
        if token.lower in LIMB_BOUNDARIES or i <= skip or token.lower in load_phrase_marks():
            continue
        before, after = _concept_beside(lows, i, -1), _concept_beside(lows, i, 1)
        value, used = read_value(lows, i)
        if value:
            skip = i + used
            name, measure = value
            yield StatementWord(name, VALUE, signs[i], places[i], before, after, measure=measure)
        elif len(token.lower) > 1 or not token.lower.isascii():
            yield StatementWord(
                *_classify_token(token), signs[i], places[i], before, after, token.text[0].isupper()
            )


def _concept_beside(lows: list[str], i: int, step: int) -> str:
    """The concept beside a word, over articles; "" where a limb of the sentence ends."""
    j = i + step
    while 0 <= j < len(lows) and lows[j] in _ARTICLES:
        j += step
    return to_concept(lows[j]) if 0 <= j < len(lows) and lows[j] not in LIMB_BOUNDARIES else ""


def _classify_token(token: _Token) -> tuple[str, str]:
    """The common form of a word and what sort of word it is."""
    low = token.lower
    plain = to_concept(low)
    named = token.text[0].isupper() and not token.starts and len(token.text) > 1
    if not named and (plain in load_light_concepts() or low in _PERSON or low in STOP_WORDS):
        return plain, LIGHT
    if (
        low not in load_synonyms()
        and plain not in load_contrasts()
        and _IDENTIFIER.search(token.text)
    ):
        return low.rstrip("."), NAME
    return plain, NAME if named else CONTENT


def _find_main_verb(lows: list[str], concepts: list[str]) -> int:
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
            and lows[i] not in STOP_WORDS
            and concepts[i - 1]
        ),
        -1,
    )


def _find_sections(lows: list[str], concepts: list[str]) -> list[str]:
    """For each word whether it belongs to what is spoken of, to what is said of it, or to where
    that holds.
    """
    verb = _find_main_verb(lows, concepts)
    sections: list[str] = []
    heavy_since = False
    where = SCOPE if lows and lows[0] in _SCOPES else (SUBJECT if verb > 0 else SAID)
    for i, low in enumerate(lows):
        if i == verb:
            where, heavy_since = SAID, False
        elif low in _SCOPES and where == SAID and heavy_since:
            where = SCOPE
        elif low in LIMB_BOUNDARIES:
            where, heavy_since = (SUBJECT if i < verb else SAID), False
        acts = verb < 0 and (
            i == 0 or lows[i - 1] in _AUX or lows[i - 1] in _NOT or lows[i - 1] in LIMB_BOUNDARIES
        )
        heavy_since = heavy_since or (i > verb and not acts and bool(concepts[i]))
        sections.append(where)
    return sections
