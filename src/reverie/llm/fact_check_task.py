"""Whether a note about code still holds, now that the code has changed."""

from reverie.llm.language_model import LlmRequest
from reverie.llm.prompt_format import (
    FENCE_RULES,
    fence_rows,
    read_json_object,
    read_line,
    require_choice,
)
from reverie.text.tokenization import shorten_line

VERDICTS = ("yes", "no", "unsure")
MAX_NOTE_CHARS, MAX_WHY_CHARS = 2_000, 200

INSTRUCTIONS = (
    "A note was made about a piece of code, and the code has changed since. You see the note, the "
    "code as it was and the code as it is. Say whether what the note says holds for the code as it "
    'is: "yes" only if the code shows it, '
    f'"no" only if the code shows the contrary, else "unsure". {FENCE_RULES}\n'
    'Form: {"still": "…", "why": "one short sentence"}'
)


def build_fact_check_request(
    note: str,
    then: str,
    now: str,
) -> LlmRequest:
    """The question whether a note holds for the code as it is now."""
    # The note first: the code is read for what it says.
    rows = [
        {"note": shorten_line(note, MAX_NOTE_CHARS)},
        {"code as it was": then},
        {"code as it is": now},
    ]
    return LlmRequest("still", INSTRUCTIONS, fence_rows(rows), max_tokens=300)


def read_fact_check(text: str) -> tuple[str, str]:
    """(one of VERDICTS, why) of an answer."""
    found = read_json_object(text, "still")
    verdict = require_choice(found["still"], VERDICTS, "still")
    return verdict, read_line(found.get("why"), MAX_WHY_CHARS)
