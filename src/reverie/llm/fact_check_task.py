"""Whether a note about code still holds, now that the code has changed (B112)."""

from __future__ import annotations

from reverie.llm.language_model import Request
from reverie.llm.prompt_format import RULES, fenced, one_of, the_object
from reverie.text.tokenization import short

VERDICTS = ("yes", "no", "unsure")
MOST_NOTE, MOST_WHY = 2_000, 200

STILL = (
    "A note was made about a piece of code, and the code has changed since. You see the note, the code as it was and "
    'the code as it is. Say whether what the note says holds for the code as it is: "yes" only if the code shows it, '
    f'"no" only if the code shows the contrary, else "unsure". {RULES}\n'
    'Form: {"still": "…", "why": "one short sentence"}'
)


def still_request(note: str, then: str, now: str) -> Request:
    """The question whether a note holds for the code as it is now."""
    return Request(
        "still",
        STILL,
        fenced(
            [{"note": short(note, MOST_NOTE)}, {"code as it was": then}, {"code as it is": now}]
        ),
        most=300,
    )


def read_still(text: str) -> tuple[str, str]:
    """(one of VERDICTS, why)."""
    found = the_object(text, "still")
    why = found.get("why")
    return one_of(found["still"], VERDICTS, "still"), short(why, MOST_WHY) if isinstance(
        why, str
    ) else ""
