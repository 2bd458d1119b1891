"""Names for groups of memories, and what a session's unanswered questions teach.

A group's name is a few plain words; one that is a sentence, or no words at all, is refused. For a
question that found nothing while the session went on, the model may say what answered it later in
the session, as a note that rests on messages that were shown.
"""

import re
from collections.abc import Sequence
from typing import Any

from reverie.llm.extraction_task import ExtractionAnswer, split_windows
from reverie.llm.extraction_task import read_extraction as read_items
from reverie.llm.language_model import BadAnswer, LlmRequest
from reverie.llm.prompt_format import FENCE_RULES, fence_rows, read_json_object, require_text
from reverie.text.host_messages import HostMessage
from reverie.text.tokenization import shorten_line

# Memories of a group that are shown to the model, and characters of each.
MAX_MEMBERS, MAX_MEMBER_CHARS = 20, 200
MAX_NAME_CHARS = 40
# Questions without an answer that are asked about at once.
MAX_GAPS = 20

NAME_INSTRUCTIONS = (
    "You name a group of notes in one to four plain words that tell it from other groups of the "
    "same project, such as "
    f'"release process" or "login tests". {FENCE_RULES}\n'
    'Form: {"name": "…"}'
)
GAPS_INSTRUCTIONS = (
    "You read a part of a conversation and questions for which no note was found while it went on. "
    "For each question that the conversation itself answers later, write that answer as a note "
    "that will help in other sessions. Leave "
    f"out the others. {FENCE_RULES}\n"
    'Form: {"keep": [{"text": "…", "kind": "fact", "from": first message number, "to": last '
    'message number, "reason": "which question it answers"}]}'
)


def build_naming_request(texts: Sequence[str]) -> LlmRequest:
    """The question for a group's name."""
    return LlmRequest(
        "name",
        NAME_INSTRUCTIONS,
        fence_rows({"note": shorten_line(text, MAX_MEMBER_CHARS)} for text in texts[:MAX_MEMBERS]),
        max_tokens=300,
    )


def read_group_name(text: str) -> str:
    """The name of an answer: one to four words; BadAnswer if it is none."""
    name = (
        require_text(read_json_object(text, "name")["name"], MAX_NAME_CHARS).lower().strip(" .\"'")
    )
    # A sentence would not be a name that a person could type.
    if not 1 <= len(name.split()) <= 4 or not re.fullmatch(r"[\w][\w ./+#-]*", name):
        raise BadAnswer("a name of one to four words was wanted")
    return name


def build_gaps_request(questions: Sequence[str], said: Sequence[HostMessage]) -> LlmRequest:
    """The question what the end of a session answers of what was not known."""
    # Answers come after their questions, so the last window has most of them.
    window = select_newest_window(said)
    rows: list[dict[str, Any]] = [
        {"question": shorten_line(text, MAX_MEMBER_CHARS)} for text in questions[:MAX_GAPS]
    ]
    rows += [
        {
            "message": m.place,
            "role": m.role,
            "text": m.text,
        }
        for m in window
    ]
    return LlmRequest("gaps", GAPS_INSTRUCTIONS, fence_rows(rows), max_tokens=2_000)


def read_gap_answers(text: str, said: Sequence[HostMessage]) -> ExtractionAnswer:
    """The notes of an answer, as those of an extraction."""
    return read_items(text, select_newest_window(said))


def select_newest_window(said: Sequence[HostMessage]) -> tuple[HostMessage, ...]:
    """The last window of a session; empty if nothing was said."""
    parts = list(split_windows(said))
    return parts[-1] if parts else ()
