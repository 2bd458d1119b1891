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
from reverie.text.tokenization import find_code_names as names_in

QUOTED = re.compile(r"`([^`\n]{2,60})`")
MAX_TASK_CHARS = 4_000  # characters of a task that are read
MIN_JOINED_CHARS = 6  # letters of two words that may be one name


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
    """A task as it is looked for."""
    text = text[:MAX_TASK_CHARS]
    names = tuple(dict.fromkeys(word for word in names_in(text) if len(word) > 2))
    flat = [part.lower() for word in names_in(text) for part in word.strip("_").split("_") if part]
    pairs = (
        "".join(some)
        for length in (2, 3)
        for some in zip(*(flat[i:] for i in range(length)), strict=False)
    )
    return TaskQuery(
        text,
        tokenize_task(text),
        tokenize_task(text.partition("\n")[0]),
        names,
        tuple(word for word in names if is_code_like(word) or word[0].isupper()),
        tuple(
            dict.fromkeys(
                word
                for quoted in QUOTED.findall(text)
                for word in names_in(quoted)
                if len(word) > 2
            )
        ),
        tuple(dict.fromkeys(pair for pair in pairs if len(pair) >= MIN_JOINED_CHARS)),
        tuple(dict.fromkeys(split_into_word_parts(select_task_words(text)))),
    )


def to_whole_term(word: str) -> str:
    """The term that stands for all of a word."""
    found = tokenize_identifier(word)
    return found[-1] if found else normalize_identifier(word)
