"""Whether a statement is about a person's private matters: where they live, how they are, whom they
are with, how they are reached, what they like. What somebody does in a project is none.

Some things are said of people only; others also of software ("lives in", "prefers") and count
behind a person: a pronoun, a title, a name. The words stand in `languages/<code>.toml`, under
`about_person`. In doubt a statement counts as private: what is held back can still be shared by
whoever wants to.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from reverie.text.own_sentences import split_sentences
from reverie.text.prompt_phrases import (
    detect_scripts,
    list_languages,
    load_language,
    to_expression,
)

SECTION = "about_person"
# Characters of a statement that are looked at.
MAX_CHARS = 2_000
# Texts of which the answer is kept: a file is brought in step again and again.
MAX_KNOWN_TEXTS = 5_000
# Words between a person and what is said of them.
MAX_WORDS_BETWEEN = 3
# A name: a word with a capital, its genitive too; nothing with digits, dots or capitals within.
_NAME = re.compile(r"(?:\A|(?<=[\s(,;]))[A-ZÀ-Þ][a-zà-ÿ]+(?:['’]s|['’])?(?=[\s,]|\Z)")
# What stands before a thing and before no name.
_ARTICLE = re.compile(
    r"(?i)\b(?:the|an?|our|this|that|each|every|all|der|die|das|den|dem|des|ein|eine|einen|jede[rs]?"
    r"|unser|unsere|el|la|los|las|un|una|le|les|une|du|au|de la)\s+\Z|\b[ld]['’]\Z"
)


class PersonWords(NamedTuple):
    """How one language speaks of people and of software."""

    persons: re.Pattern[str]
    software: re.Pattern[str]
    certain: re.Pattern[str]
    private: re.Pattern[str]  # what is certain, and what is so behind a person
    common: frozenset[str]
    scripts: frozenset[str]


@lru_cache(maxsize=MAX_KNOWN_TEXTS)
def is_personal(text: str) -> bool:
    """True if a sentence of a text is about a person's private matters, in any language that has
    words for it.
    """
    sentences = [one for line in text[:MAX_CHARS].splitlines() for one in split_sentences(line)]
    return any(is_about_person(one, words) for one in sentences for words in languages_of(one))


def languages_of(sentence: str) -> Iterator[PersonWords]:
    """The words of every language in whose script a sentence is."""
    scripts = detect_scripts(sentence)
    for words in map(load_person_words, list_languages()):
        if words is not None and not scripts.isdisjoint(words.scripts):
            yield words


def is_about_person(sentence: str, words: PersonWords) -> bool:
    """True if a sentence is about a person's private matters, in one language."""
    said = [found.start() for found in words.private.finditer(sentence)]
    if not said:
        return False
    if words.certain.search(sentence) and not words.software.search(sentence):
        return True
    return any(stands_behind_person(sentence[:start], words) for start in said)


def stands_behind_person(before: str, words: PersonWords) -> bool:
    """True if what stands before something ends with a person, or nearly so."""
    clause = re.split(r"[.;:!?]\s", before)[-1]
    if words.software.search(clause):
        return False
    near = [match.end() for match in words.persons.finditer(clause)]
    if any(len(clause[end:].split()) <= MAX_WORDS_BETWEEN for end in near):
        return True
    # Between a name and its verb stand small words: "Business logic lives in" is about no Business.
    named = [match for match in _NAME.finditer(clause) if is_name(clause, match, words)]
    return any(
        (match[0][-1] in "s'’" and len(between) <= 1) or words.common.issuperset(between)
        for match in named
        if len(between := clause[match.end() :].lower().split()) <= MAX_WORDS_BETWEEN
    )


def is_name(clause: str, found: re.Match[str], words: PersonWords) -> bool:
    """True for a word with a capital that may be somebody's name."""
    is_common = found[0].lower() in words.common
    return not is_common and not _ARTICLE.search(clause[: found.start()])


@lru_cache
def load_person_words(code: str) -> PersonWords | None:
    """The words of one language; None for one that has none."""
    language = load_language(code)
    section: Mapping[str, Any] | None = language.get(SECTION)
    if section is None:
        return None

    def alternatives(*names: str) -> re.Pattern[str]:
        phrases = [phrase for name in names for phrase in section[name]]
        return re.compile("|".join(map(to_expression, phrases)), re.IGNORECASE)

    return PersonWords(
        alternatives("persons"),
        alternatives("software"),
        alternatives("certain"),
        alternatives("certain", "with_person"),
        frozenset(language.get("common_words", ())),
        frozenset(language["scripts"]),
    )
