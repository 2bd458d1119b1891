"""A message cut into passages: a few sentences each, what is pasted left out.

A passage is what comes back when its subject is spoken of again, so it must be short enough to be
worth its tokens and long enough to be understood. Code, tool calls and pasted logs are left out:
they are in the repository, and 57–67 % of what rules once kept of them was junk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reverie.core.lazy_patterns import compile_once
from reverie.text.injection_fence import remove_injections
from reverie.text.tokenization import tokenize_query

# Characters of a passage: sentences are taken together up to so many, …
PASSAGE_CHARS = 260
# … and a sentence that is longer is cut here.
MAX_PASSAGE_CHARS = 600
# Passages of one message; beyond that it is a document that somebody pasted, or a whole file.
MAX_PASSAGES = 40
# Characters of the message before it that a passage is indexed with.
CONTEXT_CHARS = 240
# A passage of the user's that is shorter leans on what it answers: "option 2", "ship it".
SHORT_CHARS = 120
# Terms that a passage and its context need together: less says nothing later.
MIN_TERMS = 5

SPOKEN = ("user", "assistant")

_FENCED = r"(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)"
# What hosts put into messages: caveats, commands and their output, notifications, attached files.
_HOST_BLOCK = (
    r"(?s)<(?P<tag>[a-z][a-z0-9]*(?:-[a-z0-9]+)+|context|attachment|file)(?:\s[^<>]{0,300})?>"
    r".*?(?:</(?P=tag)>|\Z)"
)
_HOST_MESSAGE = (
    r"\s*(?:\[Request interrupted|Caveat: |Base directory for this skill:|@agent |API Error"
    r"|This session is being continued from a previous conversation"
    r"|(?:# )?[A-Z]\w+ Command\n)"
)
# A tool call or its result, as hosts and exports write them in a line.
_TOOL_LINE = (
    r"^\s*(?:\[\w+ \{|<tool|</tool|Tool use:|Tool result|\|[-:| ]+\|\s*$|[-=*_]{3,}\s*$|diff --git"
    r"|@@ |\+\+\+ |--- a/|at \S+ \(|File \"|\$ |>>> |\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)"
)
_SENTENCE_END = r"(?<=[.!?…])[\"')\]]*\s+(?=\S)|(?<=[。！？])"
# How a host hands on, as a tool's result, what the person chose in its question dialogs and why a
# tool was refused, in its own words from the beginning: any program may print "rejected".
_ANSWERED = r"\s*(?:=> )?User has answered your questions?: (?=\")"
_ANSWERS_END = r"\.?\s*You can now continue with the user's answers in mind\.?\s*\Z"
_REFUSED = (
    r"\s*(?:=> )?(?:Error: )?"
    r"(?:The user doesn't want to proceed with|Permission for) this tool use(?: was denied)?"
    r"\. The tool use was rejected(?: \([^()\n]{0,200}\))?\.\s+"
    r"(?:To tell you how to proceed, )?[Tt]he user (?:said|provided the following reason for the "
    r"rejection):\s*"
)


class SpokenMessage(NamedTuple):
    """A message of a conversation; `number` counts from 0 there."""

    number: int
    role: str
    text: str
    at: float


def read_spoken_text(role: str, text: str) -> tuple[str, str]:
    """(who speaks, what was said), without what hosts put in; ("", "") for nobody's words.

    What a person answered in a dialog of the host, or said when refusing a tool, comes as a tool's
    result and is the person's all the same.
    """
    if role == "tool":
        told = read_dialog_answers(text) or read_refusal_words(text)
        return ("user", told) if told else ("", "")
    if role not in SPOKEN or compile_once(_HOST_MESSAGE).match(text):
        return "", ""
    spoken = compile_once(_HOST_BLOCK).sub("\n", remove_injections(text))
    return role, compile_once(_FENCED).sub("\n", spoken)


def read_dialog_answers(text: str) -> str:
    """What a person answered in a dialog of the host, of a tool's result; "" for another result."""
    found = compile_once(_ANSWERED).match(text)
    return compile_once(_ANSWERS_END).sub("", text[found.end() :]) if found else ""


def read_refusal_words(text: str) -> str:
    """What a person said when refusing a tool, of a tool's result; "" where nothing was said."""
    found = compile_once(_REFUSED).match(text)
    return text[found.end() :].strip() if found else ""


def cut_passages(text: str) -> list[str]:
    """The passages of a text, in order: sentences together up to PASSAGE_CHARS."""
    passages: list[str] = []
    current = ""
    for sentence in iterate_sentences(text):
        if current and len(current) + len(sentence) >= PASSAGE_CHARS:
            passages.append(current)
            current = ""
        current = f"{current} {sentence}" if current else sentence
        if len(current) > MAX_PASSAGE_CHARS:
            passages.append(current[:MAX_PASSAGE_CHARS])
            current = ""
        if len(passages) >= MAX_PASSAGES:
            return passages
    return [*passages, current] if current else passages


def iterate_sentences(text: str) -> Iterator[str]:
    """The sentences of a text, line by line, without lines that programs wrote."""
    is_tool_line = compile_once(_TOOL_LINE).match
    for line in text.split("\n"):
        if not line.strip() or is_tool_line(line):
            continue
        for sentence in compile_once(_SENTENCE_END).split(line):
            if sentence.strip():
                yield sentence.strip()


def find_context(message: SpokenMessage, before: Sequence[SpokenMessage]) -> str:
    """What a message answers: of the user's short one the end of what the assistant said before, of
    the assistant's the beginning of what the user had asked.
    """
    if message.role == "user":
        if len(message.text) > SHORT_CHARS or not before or before[-1].role == "user":
            return ""
        return " ".join(before[-1].text[-CONTEXT_CHARS:].split())
    asked = next((one.text for one in reversed(before) if one.role == "user"), "")
    return " ".join(asked[:CONTEXT_CHARS].split())


def is_telling(text: str, context: str) -> bool:
    """True if a passage says enough with its context to be of use later."""
    return len(tokenize_query(f"{text} {context}")) >= MIN_TERMS
