"""What is to be done later, as people say it: "remind me tomorrow at 9 to call Ann", "when we touch
a.py, remind me …".

Only what plainly says when is taken: a time at the beginning or at the end, or a file that will be
touched. "Remind me of the port" asks for an answer, "prepare the slides for Monday" is no time to
be reminded at. The time is kept in the words in which it was said: what they mean depends on when
that was.
"""

import re
from typing import NamedTuple

from reverie.core.errors import BadInput
from reverie.text.text_signals import find_file_names
from reverie.text.time_expressions import parse_recurrence, parse_time_expression

# Any moment would do: whether words are a time does not depend on when they are said.
ANY_MOMENT = 1_760_000_000.0
MAX_TIME_WORDS = 8  # of a time
BEGINS = re.compile(
    r"(?:in|every|each|on|at|tomorrow|tonight|today|next|this|the day|mon|tue|wed|thu|fri|sat|sun"
    r"|\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
BEFORE_A_NOUN = re.compile(
    r".*\b(?:for|by|until|till|before|after|since|from|of|the|in|on|at|to|and|than|about)",
    re.IGNORECASE,
)
# "wait 20 minutes" is no time; "in 20 minutes" is.
AMOUNT = re.compile(
    r"\w+ ?(?:h|m|s|hours?|hrs?|minutes?|mins?|seconds?|secs?|days?|weeks?|months?|years?)\b.*",
    re.IGNORECASE,
)
TOUCH = (
    r"(?:(?:the )?next time|when(?:ever)?|once|as soon as) (?:we|you|i) (?:next )?(?:touch|edit"
    r"|open|change|modify|work on|get to|are in|go into) (?P<file>\S+?)"
)
AFTER_FILE = re.compile(
    rf"{TOUCH},? (?:please )?(?:remind (?:me|us)|don'?t forget|do not forget|remember) "
    r"(?:to |that |about )(?P<do>.+)",
    re.IGNORECASE,
)
BEFORE_FILE = re.compile(rf"(?:to |that |about )?(?P<do>.+?),? {TOUCH}[.!]?", re.IGNORECASE)
LEAD = re.compile(r"(?:(?P<lead>.+?),? )?(?:to|that|about) (?P<do>.+)", re.IGNORECASE)


class ReminderPhrase(NamedTuple):
    """What to do, and when: in the words for a time, for how it recurs, or the file that calls for
    it.
    """

    text: str
    when: str = ""
    every: str = ""
    file: str = ""


def parse_reminder_phrase(what: str) -> ReminderPhrase | None:
    """What is to be done and when, from what follows "remind me"; None if it does not plainly
    say.
    """
    said = what.strip(" .!,;:")
    for form in (AFTER_FILE, BEFORE_FILE):
        found = form.fullmatch(said)
        files = find_file_names(found["file"]) if found else ()
        if found and files:
            return ReminderPhrase(found["do"], file=files[0])
    found = LEAD.fullmatch(said)
    if found is None:
        return None
    if found["lead"]:
        return parse_timed_task(found["do"], found["lead"])
    words = found["do"].split()
    # The longest tail that is a time wins: "call Ann" "tomorrow at 9", not "… tomorrow" "at 9".
    for start in range(
        max(1, len(words) - MAX_TIME_WORDS),
        len(words),
    ):
        head, tail = " ".join(words[:start]).rstrip(","), " ".join(words[start:])
        may_be_time = BEGINS.match(tail) and not AMOUNT.fullmatch(tail)
        if may_be_time and not BEFORE_A_NOUN.fullmatch(head):
            phrase = parse_timed_task(head, tail)
            if phrase is not None:
                return phrase
    return None


def parse_timed_task(text: str, phrase: str) -> ReminderPhrase | None:
    """The thing to do with its time, or None if the phrase is no time."""
    try:
        if phrase.lower().startswith(("every ", "each ")):
            parse_recurrence(phrase, ANY_MOMENT, "UTC")
            return ReminderPhrase(text, every=phrase)
        parse_time_expression(phrase, ANY_MOMENT, "UTC")
        return ReminderPhrase(text, when=phrase)
    except BadInput:
        return None
