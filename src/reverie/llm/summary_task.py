"""The lines of a summary, written by a model from what leaves a conversation (C101; CC-71).

It is shown the sentences that were chosen without it, at most SHOWN characters, and writes lines
that each name the message they rest on. A line is believed only if every number, name and path in
it stands in what was shown. An answer that is cut off, has no line, names a message that was not
shown, or makes up more than half of its lines is refused as a whole: then the chosen sentences
themselves are the summary. Nothing is deleted because of an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reverie.llm.language_model import BadAnswer, Request
from reverie.llm.pair_task import particulars
from reverie.llm.prompt_format import RULES, a_text, fenced, the_object
from reverie.text.host_messages import Said

TASK = "condense"
SHOWN = 40_000  # characters of what is shown: 10,000 tokens
MOST_LINES, MOST_TEXT = 80, 300
SECONDS = 30.0  # somebody waits for it

INSTRUCTIONS = (
    "You condense the older part of a conversation between a user and an agent, so that the agent can go on without "
    "it. Write short lines: what the user asked for and decided, what was done, with which result, what is still open, "
    "and every name, number, path and command that may be needed again, letter by letter. Leave out greetings, plans "
    "that were carried out and what was corrected later. Each line names the one message that it rests on. "
    f"{RULES}\n"
    'Form: {"lines": [{"message": number, "text": "…"}]}, in at most '
)


def request(said: Sequence[Said], room: int) -> Request:
    """The question for a summary of at most `room` tokens; `said` in the order of the
    conversation.
    """
    rows = [{"message": one.place, "role": one.role, "text": one.text} for one in said]
    return Request(
        TASK, f"{INSTRUCTIONS}{room} tokens.", fenced(rows), most=2 * room + 500, seconds=SECONDS
    )


def shown(said: Sequence[Said]) -> list[Said]:
    """As much of what is best as may be shown, in the order of the conversation; `said` has the
    best first.
    """
    taken, size = [], 0
    for one in said:
        size += len(one.text)
        if size > SHOWN:
            break
        taken.append(one)
    return sorted(taken, key=lambda one: one.place)


def read(text: str, said: Sequence[Said]) -> list[Said]:
    """The lines of an answer that rest on what was shown."""
    rows = the_object(text, "lines")["lines"]
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_LINES:
        raise BadAnswer(f"1 to {MOST_LINES} lines were wanted")
    roles = {one.place: one.role for one in said}
    there = particulars("\n".join(one.text for one in said))
    lines = [line(row, roles) for row in rows]
    believed = [one for one in lines if particulars(one.text) <= there]
    if 2 * len(believed) < len(lines):
        raise BadAnswer(f"{len(lines) - len(believed)} of {len(lines)} lines say what nobody said")
    return believed


def line(row: Any, roles: dict[int, str]) -> Said:
    """One line of an answer."""
    row = row if isinstance(row, dict) else {}
    number = row.get("message")
    if type(number) is not int or number not in roles:
        raise BadAnswer("a line that rests on no message that was shown")
    return Said(roles[number], a_text(row.get("text"), MOST_TEXT), number)
