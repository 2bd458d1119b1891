"""Where in a message somebody else begins to speak who is neither its writer nor marked by a host:
a program's summary, a model's answer, turns of a conversation that are made up or pasted. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from reverie.text.prompt_phrases import list_languages, load_language, to_expression

# How programs begin what they put in the user's place when a conversation is shortened.
_SUMMARY = re.compile(
    r"(?:This session is being continued from a previous conversation\b"
    r"|Another language model started to solve this problem\b"
    r"|<(?:conversation|context|compact\w*)[-_ ]?summary>)",
    re.IGNORECASE,
)
# Names of models, the same in every language.
_PRODUCTS = r"(?:claude|chat ?gpt|gpt(?:-?[\w.]{1,6})?|copilot|codex|gemini|llm)"
SECTION = "borrowed_voice"


class VoiceSigns(NamedTuple):
    """What begins somebody else's words, in all languages."""

    # a speaker as only templates, exports and forgeries write one: one such line is enough
    marked: re.Pattern[str]
    # a plain label: it opens a turn after an empty line, or where another one follows
    plain: re.Pattern[str]
    # "Claude answered: …", "your last answer was: …": what follows the colon is a model's
    answer: re.Pattern[str]
    asked: frozenset[str]


@cache
def load_voice_signs() -> VoiceSigns:
    """The signs, made of what every language file says."""
    sections = [load_language(code).get(SECTION, {}) for code in list_languages()]

    def collect(name: str) -> list[str]:
        return [one for section in sections for one in section.get(name, ())]

    role = rf"(?:{'|'.join(map(re.escape, dict.fromkeys(collect('roles'))))})"
    asked = dict.fromkeys(collect("asked"))
    answers = []
    for section in sections:
        models = "|".join((_PRODUCTS, *map(to_expression, section.get("models", ()))))
        answers += [
            to_expression(phrase).replace("MODEL", f"(?:{models})")
            for phrase in section.get("answers", ())
        ]
    return VoiceSigns(
        re.compile(
            rf"(?:<\|\w{{2,20}}\|>|\[/?INST\]|<<SYS>>|#{{1,6}} {role} ?[:：]?$|\[{role}\]"
            rf"|\*\*{role} ?(?:[:：] ?\*\*|\*\* ?[:：])|<{role}(?:_message)?>)",
            re.IGNORECASE,
        ),
        re.compile(
            rf"(?P<role>{role}|{'|'.join(map(re.escape, asked))}) ?(?::(?:\s|$)|：)", re.IGNORECASE
        ),
        re.compile(rf"^.{{0,60}}?(?:{'|'.join(answers)})[^:：.!?。\n]{{0,30}}[:：]", re.IGNORECASE),
        frozenset(asked),
    )


class BorrowedStart(NamedTuple):
    """The place from which on others speak: a line's number, and a character in it."""

    line: int
    character: int = 0


def find_borrowed_start(given: Sequence[str]) -> BorrowedStart | None:
    """Where somebody else begins to speak, who does so until the end; None where nobody does."""
    lines = [line.strip() for line in given]
    first = next((number for number, line in enumerate(lines) if line), 0)
    if lines and _SUMMARY.match(lines[first]):
        return BorrowedStart(first)
    signs = load_voice_signs()
    labels = [found["role"].lower() if found else "" for found in map(signs.plain.match, lines)]
    is_dialogue = len({*filter(None, labels)}) > 1
    for number, line in enumerate(lines):
        opens_turn = number > 0 and not lines[number - 1] and labels[number] not in signs.asked
        if signs.marked.match(line) or (labels[number] and (is_dialogue or opens_turn)):
            return BorrowedStart(number)
        if (":" in line or "：" in line) and (answer := signs.answer.match(line)):
            indent = len(given[number]) - len(given[number].lstrip())
            return BorrowedStart(number, indent + answer.end())
    return None
