"""The lines of a summary, written by a model from what leaves a conversation.

It is shown the sentences that were chosen without it, at most MAX_SHOWN_CHARS, and writes lines
that each name the message they rest on. A line is believed only if every number, name and path in
it stands in what was shown. An answer that is cut off, has no line, names a message that was not
shown, or makes up more than half of its lines is refused as a whole: then the chosen sentences
themselves are the summary. Nothing is deleted because of an answer.
"""

from collections.abc import Sequence
from typing import Any

from reverie.llm.language_model import BadAnswer, LlmRequest
from reverie.llm.pair_task import extract_particulars
from reverie.llm.prompt_format import FENCE_RULES, fence_rows, read_json_object, require_text
from reverie.text.host_messages import HostMessage

TASK = "condense"
MAX_SHOWN_CHARS = 40_000  # about 10,000 tokens
MAX_LINES, MAX_LINE_CHARS = 80, 300
# Shorter than other calls: somebody waits for it.
SUMMARY_SECONDS = 30.0

INSTRUCTIONS = (
    "You condense the older part of a conversation between a user and an agent, so that the agent "
    "can go on without it. Write short lines: what the user asked for and decided, what was done, "
    "with which result, what is still open, and every name, number, path and command that may be "
    "needed again, letter by letter. Leave out greetings, plans that were carried out and what was "
    "corrected later. Each line names the one message that it rests on. "
    f"{FENCE_RULES}\n"
    'Form: {"lines": [{"message": number, "text": "…"}]}, in at most '
)


def build_summary_request(said: Sequence[HostMessage], room: int) -> LlmRequest:
    """The question for a summary of at most `room` tokens; `said` in the order of the
    conversation.
    """
    rows = [
        {
            "message": one.place,
            "role": one.role,
            "text": one.text,
        }
        for one in said
    ]
    return LlmRequest(
        TASK,
        f"{INSTRUCTIONS}{room} tokens.",
        fence_rows(rows),
        max_tokens=2 * room + 500,
        timeout_seconds=SUMMARY_SECONDS,
    )


def select_shown_messages(said: Sequence[HostMessage]) -> list[HostMessage]:
    """The best messages that fit the limit, in the order of the conversation.

    `said` has the best first.
    """
    chosen, size = [], 0
    for message in said:
        size += len(message.text)
        if size > MAX_SHOWN_CHARS:
            break
        chosen.append(message)
    return sorted(chosen, key=lambda message: message.place)


def read_summary(text: str, said: Sequence[HostMessage]) -> list[HostMessage]:
    """The lines of an answer that rest on what was shown; BadAnswer if it is refused as a whole."""
    rows = read_json_object(text, "lines")["lines"]
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_LINES:
        raise BadAnswer(f"1 to {MAX_LINES} lines were wanted")
    roles = {message.place: message.role for message in said}
    known = extract_particulars("\n".join(message.text for message in said))
    lines = [read_summary_line(row, roles) for row in rows]
    # A number or name that nobody said cannot be right.
    believed = [line for line in lines if extract_particulars(line.text) <= known]
    # A model that makes up most of its lines has not understood the rest either.
    if 2 * len(believed) < len(lines):
        raise BadAnswer(f"{len(lines) - len(believed)} of {len(lines)} lines say what nobody said")
    return believed


def read_summary_line(row: Any, roles: dict[int, str]) -> HostMessage:
    """One line of an answer, as a message in the place and role of the one it rests on."""
    row = row if isinstance(row, dict) else {}
    number = row.get("message")
    if type(number) is not int or number not in roles:
        raise BadAnswer("a line that rests on no message that was shown")
    return HostMessage(roles[number], require_text(row.get("text"), MAX_LINE_CHARS), number)
