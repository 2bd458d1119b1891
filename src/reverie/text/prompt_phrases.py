"""How something is put, in ten languages: does a prompt ask what anybody could answer, is it small
talk, a small edit of what is on the screen, or does it ask for what only this project knows? Does
it ask where we were; is something decided with it, or left open?

One file a language, `languages/<code>.toml`, with phrases and examples; its form is told in
`languages/en.toml`. A file is tried where its script occurs in the prompt. Phrases never decide
alone: they are some of the signals of `transcripts.talk_gate`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

# Characters of a prompt that are looked at.
MAX_PROMPT_CHARS = 1_000
# Characters that "…" in a phrase may stand for.
GAP = r"(?:[^.!?。！？\n]|[.!?](?=\S)){0,80}"

SCRIPTS = {
    "latin": (("A", "Z"), ("a", "z"), ("\u00c0", "\u024f")),
    "cyrillic": (("\u0400", "\u04ff"),),
    "han": (("\u3400", "\u9fff"),),
    "kana": (("\u3040", "\u30ff"),),
    "hangul": (("\uac00", "\ud7a3"),),
}
"""Characters that tell a script, by the name that language files use."""
_ASCII_LETTER = re.compile("[A-Za-z]")
PAIRED_SCRIPTS = {"han", "kana", "hangul"}
"""Those of which words are looked for in pairs of letters."""

TRAITS = ("general_question", "small_talk", "small_edit", "of_ours")
"""What a language file has phrases for that tell whether a prompt may bring up talk."""
WHERE_WERE_WE, DECIDES, LEFT_OPEN = "where_were_we", "decides", "left_open"
AMENDS = "amends"
SESSION_TRAITS = (WHERE_WERE_WE, DECIDES, LEFT_OPEN, AMENDS)
"""What it has phrases for that tell of what was said before (`has_trait`)."""


@lru_cache(maxsize=100)
def read_prompt_traits(prompt: str) -> frozenset[str]:
    """Which of TRAITS the prompt has in any language whose script it is written in."""
    text = prompt[:MAX_PROMPT_CHARS].strip()
    scripts = detect_scripts(text)
    found: set[str] = set()
    for code, language in load_phrases().items():
        if not scripts.isdisjoint(language["scripts"]):
            found |= match_traits(code, text)
    return frozenset(found)


def has_trait(text: str, trait: str) -> bool:
    """True if a text has one trait in any language whose script it is written in."""
    plain = text.strip()
    if not plain or len(plain) > MAX_PROMPT_CHARS:
        return False
    scripts, lower = detect_scripts(plain), plain.lower()
    return any(
        trait in language
        and not scripts.isdisjoint(language["scripts"])
        and matches_section(language[trait], plain, lower)
        for language in load_phrases().values()
    )


def match_traits(code: str, text: str) -> set[str]:
    """The traits of which a phrase of one language occurs in a text."""
    language = load_phrases()[code]
    lower = text.lower()
    return {
        trait
        for trait in TRAITS
        if trait in language and matches_section(language[trait], text, lower)
    }


def matches_section(section: Mapping[str, Any], text: str, lower: str) -> bool:
    """True if a phrase of a section occurs in a text; `lower` is the text in lower case."""
    if len(text) > section.get("longest", MAX_PROMPT_CHARS):
        return False
    # Expressions are compiled only for phrases whose parts stand there: a hook has no time.
    return any(
        has_parts(parts, lower) and compile_phrase(phrase, begins=begins).search(lower)
        for begins, phrases in ((True, "begins"), (False, "contains"))
        for phrase, *parts in section.get(phrases, ())
    )


def has_parts(parts: Sequence[Sequence[str]], lower: str) -> bool:
    """False if a phrase cannot stand in a text in lower case, by what `list_parts` says of it."""
    return all(any(way in lower for way in ways) for ways in parts)


def list_parts(phrase: str) -> list[list[str]]:
    """What must stand in a text for a phrase to stand there: of each of these, one.

    >>> list_parts("(switch|move)d? (… |)to Postgres")
    [['switch', 'move'], ['to postgres']]
    """
    parts, plain = [], ""
    rest = phrase.lower() + "…"
    while rest:
        letter, rest = rest[0], rest[1:]
        if letter not in "()…$?_":
            plain += letter
            continue
        # What stands before a question mark may be missing.
        plain = (plain[:-1] if letter == "?" else plain).strip()
        if plain:
            parts.append([plain])
        plain = ""
        if letter == "(":
            inner, rest = split_choice(rest)
            # Of each way its longest part; nothing need be there where one has none.
            ways = [max(list_parts(way) or [[""]], key=lambda part: len(part[0])) for way in inner]
            if not rest.startswith("?") and all(way != [""] for way in ways):
                parts.append([text for way in ways for text in way])
    return parts


def split_choice(rest: str) -> tuple[list[str], str]:
    """The ways of a choice whose bracket has been read, and what follows it."""
    depth, ways = 1, [""]
    for place, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return ways, rest[place + 1 :]
        if letter == "|" and depth == 1:
            ways.append("")
        else:
            ways[-1] += letter
    raise ValueError(f"{rest!r} ends no choice")


def detect_scripts(text: str) -> set[str]:
    """The scripts that occur in a text, by the names of SCRIPTS."""
    # Most texts are of these letters alone.
    if text.isascii():
        return {"latin"} if _ASCII_LETTER.search(text) else set()
    letters = set(text)
    return {
        name
        for name, ranges in SCRIPTS.items()
        if any(first <= letter <= last for first, last in ranges for letter in letters)
    }


@lru_cache(maxsize=1)
def load_phrases() -> dict[str, dict[str, Any]]:
    """The scripts and the sections of all traits of every language, by its code.

    A phrase comes with what `list_parts` says of it. From `languages/prompts.json`, which
    `python -m tools.languages` makes of the language files.
    """
    path = Path(__file__).with_name("languages") / "prompts.json"
    found: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found


@lru_cache(maxsize=500)
def compile_phrase(phrase: str, *, begins: bool) -> re.Pattern[str]:
    """A phrase as a regular expression for text in lower case, at its beginning or anywhere as
    whole words. To compile it for any case would take twice as long.
    """
    expression = to_expression(phrase.lower())
    return re.compile(rf"\A\W*{expression}" if begins else expression)


def to_expression(phrase: str) -> str:
    """A phrase of a language file as a regular expression.

    >>> to_expression("yes (please|thanks)")
    '\\\\byes\\\\ (?:please|thanks)\\\\b'
    """
    parts: Sequence[str] = re.split(r"(…|\(|\)|\||\?|\$|_)", phrase.strip())
    written = {"…": GAP, "(": "(?:", "$": r"\W*\Z", ")": ")", "|": "|", "?": "?", "_": r"[\w'-]+"}
    body = "".join(written.get(part) or re.escape(part) for part in parts)
    letters = phrase.strip("()|$?… ")
    starts = r"\b" if phrase[:1] != "…" and has_word_edge(letters[:1]) else ""
    ends = r"\b" if phrase[-1:] not in "…$" and has_word_edge(letters[-1:]) else ""
    return f"{starts}{body}{ends}"


def has_word_edge(letter: str) -> bool:
    """True for what ends where a word ends: Han, kana and Hangul write no spaces between words."""
    is_unspaced = "\u3040" <= letter <= "\ud7a3"
    return not is_unspaced and (letter.isalnum() or letter == "_")


@lru_cache(maxsize=1)
def list_languages() -> tuple[str, ...]:
    """The codes of the languages that there is a file of."""
    folder = Path(__file__).with_name("languages")
    return tuple(sorted(path.stem for path in folder.glob("*.toml")))


def load_language(code: str) -> dict[str, Any]:
    """What a language file says, without its examples."""
    return load_languages()[code]


@lru_cache(maxsize=1)
def load_languages() -> dict[str, dict[str, Any]]:
    """What all language files say, without their examples, by their codes.

    From `languages/languages.json`, which `python -m tools.languages` makes of them: to parse ten
    TOML files takes thirty times as long, and every process that settles would wait for it.
    """
    path = Path(__file__).with_name("languages") / "languages.json"
    found: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found
