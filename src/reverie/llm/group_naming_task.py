"""Names for groups of memories, and what a session's unanswered questions teach.

A cluster's name is a few plain words; one that is a sentence, or no words at all, is refused. For a
question that found nothing while the session went on (B82), the model may say what answered it
later in the session, as a note that rests on messages that were shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from reverie.llm.extraction_task import Extracted, windows
from reverie.llm.extraction_task import read as read_items
from reverie.llm.language_model import BadAnswer, Request
from reverie.llm.prompt_format import RULES, a_text, fenced, the_object
from reverie.text.host_messages import Said
from reverie.text.tokenization import short

MOST_MEMBERS, MEMBER_CHARS, MOST_NAME, MOST_GAPS = 20, 200, 40, 20

NAME = (
    "You name a group of notes in one to four plain words that tell it from other groups of the same project, such as "
    f'"release process" or "login tests". {RULES}\n'
    'Form: {"name": "…"}'
)
GAPS = (
    "You read a part of a conversation and questions for which no note was found while it went on. For each question "
    "that the conversation itself answers later, write that answer as a note that will help in other sessions. Leave "
    f"out the others. {RULES}\n"
    'Form: {"keep": [{"text": "…", "kind": "fact", "from": first message number, "to": last message number, '
    '"reason": "which question it answers"}]}'
)


def name_request(texts: Sequence[str]) -> Request:
    """The question for a group's name."""
    return Request(
        "name",
        NAME,
        fenced({"note": short(text, MEMBER_CHARS)} for text in texts[:MOST_MEMBERS]),
        most=300,
    )


def read_name(text: str) -> str:
    """The name of an answer: one to four words."""
    name = a_text(the_object(text, "name")["name"], MOST_NAME).lower().strip(" .\"'")
    if not 1 <= len(name.split()) <= 4 or not re.fullmatch(r"[\w][\w ./+#-]*", name):
        raise BadAnswer("a name of one to four words was wanted")
    return name


def gaps_request(questions: Sequence[str], said: Sequence[Said]) -> Request:
    """The question what the end of a session answers of what was not known."""
    window = newest_window(said)
    rows: list[dict[str, Any]] = [
        {"question": short(text, MEMBER_CHARS)} for text in questions[:MOST_GAPS]
    ]
    rows += [{"message": m.place, "role": m.role, "text": m.text} for m in window]
    return Request("gaps", GAPS, fenced(rows), most=2_000)


def read_gaps(text: str, said: Sequence[Said]) -> Extracted:
    """The notes of an answer, as those of an extraction."""
    return read_items(text, newest_window(said))


def newest_window(said: Sequence[Said]) -> tuple[Said, ...]:
    """The last part of a session."""
    parts = list(windows(said))
    return parts[-1] if parts else ()
