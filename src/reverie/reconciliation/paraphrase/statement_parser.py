"""What a sentence states, as far as one can tell without understanding it.

`read_statement` turns a text into a `Statement`: its words in a common form, each with what sort of
word it is (content, value, name, light), whether it is affirmed or denied, and where it stands
(what is spoken of, what is said of it, where that holds); what comes before what; and marks for
hedges, limits, questions and announcements of change.

Always true: any text can be read, only its first MAX_CHARS count, the same text reads the same.
Readings are cached, as a memory is compared with many others.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from reverie.reconciliation.paraphrase.clause_structure import (
    AUXILIARIES,
    NOTS,
    find_adjacent_pairs,
    find_affirmed,
    find_condition,
    find_given_up_concepts,
    find_order,
    is_ban,
)
from reverie.reconciliation.paraphrase.concept_vocabulary import (
    LIGHT_CONCEPTS,
    LIMB_BOUNDARIES,
    PLACE_CONCEPTS,
    Concepts,
    Words,
    list_concepts,
    load_contrasts,
    load_phrase_marks,
    load_synonyms,
    load_words,
    read_value,
    replace_phrases,
    to_concept,
)
from reverie.text.tokenization import STOP_WORDS

# A longer memory is not one statement; its beginning decides.
MAX_CHARS = 2_000
MAX_TOKENS = 160
# Readings kept: settling 5,000 memories reads each of them once.
CACHE_SIZE = 8_192

CONTENT, VALUE, NAME, LIGHT = "content", "value", "name", "light"
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
    affirmed: Concepts  # content, values and names that are affirmed
    denied: Concepts  # those that are denied
    light: Concepts
    first: Concepts  # what comes before …
    then: Concepts  # … what comes after
    condition: Concepts  # what has to be the case …
    consequence: Concepts  # … for this to hold: if, when
    places: Concepts  # environments and systems that it names
    sited: Concepts  # those where it says that something holds
    hedges: Concepts
    limits: Concepts
    changes: Concepts  # words by which it says that something changed
    soft: Concepts  # words by which it may say so
    bound: frozenset[Concepts]  # content words that stand side by side
    given_up: Concepts  # what it says is no more: after "from", "instead of", "no longer"
    when: Concepts  # today, last week
    whose: Concepts  # other people's matters: her, my sister's
    stresses: bool  # whether its "only" limits nothing: "only small ones, please"
    is_truncated: bool  # whether there was more than was read
    is_question: bool
    is_future: bool  # told of the future
    is_ban: bool  # whether its main clause is denied
    sentence_count: int  # sentences
    verb: str  # the concept of its main verb; "" if there is none that one could tell
    has_agent: bool  # whether it is told in the passive, by somebody

    @property
    def concepts(self) -> Concepts:
        """All content, values and names, affirmed or denied."""
        return self.affirmed | self.denied


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
    r"\b(?:could|would|can|will) you\b|\bcan we (?:please|agree)\b|\b(?:should|can|could|"
    r"do)n't (?:we|you)\b|\bwhy (?:not|don't (?:we|you))\b",
    re.IGNORECASE,
)  # a wish, politely
_PERSON, _WHEN, _VERBS = load_words("PERSONS"), load_words("WHEN"), load_words("VERBS")
_SMALL, _SCOPES = load_words("SMALL"), load_words("SCOPES")
_ARTICLES = frozenset(("a", "an", "the", "our", "your", "my", "its"))


def read_statement(text: str) -> Statement:
    """The statement that a text makes."""
    return _read_cached(text[: MAX_CHARS + 1])


@lru_cache(maxsize=CACHE_SIZE)
def _read_cached(text: str) -> Statement:
    every = list(_split_tokens(replace_phrases(text[:MAX_CHARS])))
    tokens = every[:MAX_TOKENS]
    lows = [token.lower for token in tokens]
    low_set = frozenset(lows)
    concepts = list_concepts(lows)
    words = tuple(_classify_words(tokens, concepts))
    heavy = [word for word in words if word.sort != LIGHT]
    affirmed = frozenset(word.concept for word in heavy if word.affirmed)
    denied = frozenset(word.concept for word in heavy if not word.affirmed)
    first, then = find_order(lows, concepts)
    condition, consequence = find_condition(lows, concepts)
    main_verb = _find_main_verb(lows, concepts)
    verb = to_concept(lows[main_verb]) if main_verb >= 0 else ""
    wishes = bool(_REQUEST.search(text))
    # "Only small ones, please": an "only" that limits nothing.
    stresses = "only" in low_set and not verb and not low_set & _SCOPES
    limits = low_set & load_words("LIMITS")
    return Statement(
        plain=tuple(low for low in lows if low not in LIMB_BOUNDARIES),
        words=words,
        affirmed=affirmed,
        denied=denied - affirmed,
        light=frozenset(word.concept for word in words if word.sort == LIGHT),
        first=first,
        then=then,
        condition=condition,
        consequence=consequence,
        places=_places_among(words),
        sited=_places_among(word for word in words if word.place != SAID),
        hedges=_find_hedges(low_set, wishes),
        limits=limits - {"only"} if stresses else limits,
        changes=low_set & load_words("CHANGES"),
        soft=low_set & load_words("SOFT_CHANGES"),
        bound=find_adjacent_pairs(lows, concepts),
        given_up=find_given_up_concepts(lows, concepts),
        whose=low_set & _PERSON,
        when=low_set & _WHEN,
        is_truncated=len(text) > MAX_CHARS or len(every) > MAX_TOKENS,
        is_question=text.rstrip().endswith("?") and not wishes,
        is_future="will" in low_set,
        is_ban=any(is_ban(lows, i) for i in range(len(lows))),
        sentence_count=1 + sum(low in ".!?\n" for low in lows[:-1]),
        verb=verb,
        stresses=stresses,
        has_agent="by" in low_set,
    )


def _find_hedges(words: Concepts, wishes: bool) -> Concepts:
    """The words by which a text is less sure; in a polite wish "could" is none."""
    hedges = words & load_words("HEDGES")
    if "than" in words:
        hedges -= load_words("COMPARED")
    return hedges - {"could"} if wishes else hedges


def _places_among(words: Iterable[StatementWord]) -> Concepts:
    return PLACE_CONCEPTS.intersection(word.concept for word in words)


def _split_tokens(text: str) -> Iterator[_Token]:
    starts_sentence = True
    for match in _TOKEN.finditer(text):
        word = match[0]
        is_mark = word.isupper() and word in load_phrase_marks()
        yield _Token(word, word if is_mark else word.lower(), starts_sentence)
        starts_sentence = word in ".!?:\n" or (starts_sentence and word in LIMB_BOUNDARIES)


def _classify_words(tokens: list[_Token], concepts: Words) -> Iterator[StatementWord]:
    lows = [token.lower for token in tokens]
    signs = find_affirmed(lows)
    places = _find_sections(lows, concepts)
    skip = -1
    for i, token in enumerate(tokens):
        low = token.lower
        if low in LIMB_BOUNDARIES or i <= skip or low in load_phrase_marks():
            continue
        slot = signs[i], places[i], _concept_beside(lows, i, -1), _concept_beside(lows, i, 1)
        value, measure, used = read_value(lows, i)
        if value:
            skip = i + used
            yield StatementWord(value, VALUE, *slot, measure=measure)
        elif len(low) > 1 or not low.isascii():
            concept, sort = _classify_token(token)
            yield StatementWord(
                concept,
                sort,
                *slot,
                capital=token.text[0].isupper(),
            )


def _concept_beside(
    lows: Words,
    i: int,
    step: int,
) -> str:
    """The concept beside a word, over articles; "" where a limb of the sentence ends."""
    j = i + step
    while 0 <= j < len(lows) and lows[j] in _ARTICLES:
        j += step
    if not 0 <= j < len(lows) or lows[j] in LIMB_BOUNDARIES:
        return ""
    return to_concept(lows[j])


def _classify_token(token: _Token) -> tuple[str, str]:
    """(the common form of a word, its sort)."""
    low = token.lower
    concept = to_concept(low)
    named = token.text[0].isupper() and not token.starts and len(token.text) > 1
    is_light = concept in LIGHT_CONCEPTS or low in _PERSON or low in STOP_WORDS
    if is_light and not named:
        return concept, LIGHT
    is_known = low in load_synonyms() or concept in load_contrasts()
    if not is_known and _IDENTIFIER.search(token.text):
        return low.rstrip("."), NAME
    return concept, NAME if named else CONTENT


def _find_main_verb(lows: Words, concepts: Words) -> int:
    """Where the main verb stands, as far as one can tell; -1 if nowhere."""
    for i, low in enumerate(lows):
        if low in _VERBS:
            return i
    # Sends, depends: something with an s before a small word.
    for i in range(1, len(lows) - 1):
        if concepts[i - 1] and lows[i + 1] in _SMALL and _may_be_verb(lows[i]):
            return i
    return -1


def _may_be_verb(low: str) -> bool:
    """True for a word that ends as verbs do: with an s, but not with two."""
    return low.endswith("s") and not low.endswith("ss") and low not in STOP_WORDS


def _find_sections(lows: Words, concepts: Words) -> Words:
    """For each word SUBJECT (what is spoken of), SAID (what is said of it) or SCOPE (where that
    holds).
    """
    verb = _find_main_verb(lows, concepts)
    sections: Words = []
    # Content since the verb: only behind it can a scope begin.
    has_content = False
    where = SUBJECT if verb > 0 else SAID
    if lows and lows[0] in _SCOPES:
        where = SCOPE
    for i, low in enumerate(lows):
        if i == verb:
            where, has_content = SAID, False
        elif low in _SCOPES and where == SAID and has_content:
            where = SCOPE
        elif low in LIMB_BOUNDARIES:
            where, has_content = (SUBJECT if i < verb else SAID), False
        acts = verb < 0 and _begins_clause(lows, i)
        has_content = has_content or (i > verb and not acts and bool(concepts[i]))
        sections.append(where)
    return sections


def _begins_clause(lows: Words, i: int) -> bool:
    """True where an imperative may stand: first, or behind an auxiliary, a "not" or a mark."""
    before = lows[i - 1]
    return i == 0 or before in AUXILIARIES or before in NOTS or before in LIMB_BOUNDARIES
