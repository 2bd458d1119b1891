"""What is asked of a plan: a task in words, as its terms. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from reverie.code.code_terms import (
    is_code_like,
    normalize_identifier,
    select_task_words,
    split_into_word_parts,
    tokenize_identifier,
    tokenize_task,
)
from reverie.text.tokenization import find_code_names

QUOTED = re.compile(r"`([^`\n]{2,60})`")
# characters of a task that are read
MAX_TASK_CHARS = 4_000
# letters of neighbouring words that may be one name
MIN_JOINED_CHARS = 6
MIN_NAME_CHARS = 3


class TaskQuery(NamedTuple):
    """A task and what can be looked for."""

    text: str
    terms: Mapping[str, float]
    title: Mapping[str, float]  # the terms of its first line
    names: tuple[str, ...]  # the words that may be names in code, as they are written
    coded: tuple[str, ...]  # those of them that look like it
    quoted: tuple[str, ...]  # words in backticks
    joined: tuple[str, ...]  # neighbouring words as one: "http cache" may mean httpcache
    words: tuple[str, ...]  # the parts of its telling words, in lower case


def parse_task(text: str) -> TaskQuery:
    """The terms and names of a task's text, by which it is searched."""
    text = text[:MAX_TASK_CHARS]
    names = find_long_names(text)
    quoted = (name for quote in QUOTED.findall(text) for name in find_long_names(quote))
    return TaskQuery(
        text,
        tokenize_task(text),
        tokenize_task(text.partition("\n")[0]),
        names,
        tuple(word for word in names if is_code_like(word) or word[0].isupper()),
        tuple(dict.fromkeys(quoted)),
        join_neighbours(text),
        tuple(dict.fromkeys(split_into_word_parts(select_task_words(text)))),
    )


def find_long_names(text: str) -> tuple[str, ...]:
    """The words that may be names, once each; not those of one or two letters."""
    names = dict.fromkeys(find_code_names(text))
    return tuple(name for name in names if len(name) >= MIN_NAME_CHARS)


def join_neighbours(text: str) -> tuple[str, ...]:
    """Two and three neighbouring words as one, in lower case, once each."""
    words = [
        part.lower()
        for word in find_code_names(text)
        for part in word.strip("_").split("_")
        if part
    ]
    joined: dict[str, None] = {}
    for length in (2, 3):
        for start in range(len(words) - length + 1):
            name = "".join(words[start : start + length])
            if len(name) >= MIN_JOINED_CHARS:
                joined[name] = None
    return tuple(joined)


def to_whole_term(word: str) -> str:
    """The term that stands for all of a word."""
    terms = tokenize_identifier(word)
    return terms[-1] if terms else normalize_identifier(word)
