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
from reverie.text.text_signals import files_in
from reverie.text.time_expressions import recurring, understood

# some moment: whether words are a time does not depend on when they are said
SYNTAX = 1_760_000_000.0
MOST_WORDS = 8  # of a time
BEGINS = re.compile(
    r"(?:in|every|each|on|at|tomorrow|tonight|today|next|this|the day|mon|tue|wed|thu|fri|sat|sun|\d|"
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
BEFORE_A_NOUN = re.compile(
    r".*\b(?:for|by|until|till|before|after|since|from|of|the|in|on|at|to|and|than|about)",
    re.IGNORECASE,
)
AMOUNT = re.compile(
    r"\w+ ?(?:h|m|s|hours?|hrs?|minutes?|mins?|seconds?|secs?|days?|weeks?|months?|years?)\b.*",
    re.IGNORECASE,
)  # "wait 20 minutes" is no time; "in 20 minutes" is
TOUCH = (
    r"(?:(?:the )?next time|when(?:ever)?|once|as soon as) (?:we|you|i) (?:next )?(?:touch|edit|open|change|"
    r"modify|work on|get to|are in|go into) (?P<file>\S+?)"
)
AFTER_FILE = re.compile(
    rf"{TOUCH},? (?:please )?(?:remind (?:me|us)|don'?t forget|do not forget|remember) "
    r"(?:to |that |about )(?P<do>.+)",
    re.IGNORECASE,
)
BEFORE_FILE = re.compile(rf"(?:to |that |about )?(?P<do>.+?),? {TOUCH}[.!]?", re.IGNORECASE)
LEAD = re.compile(r"(?:(?P<lead>.+?),? )?(?:to|that|about) (?P<do>.+)", re.IGNORECASE)


class Later(NamedTuple):
    """What to do, and when: in the words for a time, for how it recurs, or the file that calls for
    it.
    """

    text: str
    when: str = ""
    every: str = ""
    file: str = ""


def later_in(what: str) -> Later | None:
    """What is to be done later and when, from what follows "remind me"; None where it does not
    plainly say.
    """
    said = what.strip(" .!,;:")
    for form in (AFTER_FILE, BEFORE_FILE):
        if (found := form.fullmatch(said)) and (files := files_in(found["file"])):
            return Later(found["do"], file=files[0])
    found = LEAD.fullmatch(said)
    if found is None:
        return None
    if found["lead"]:
        return timed(found["do"], found["lead"])
    words = found["do"].split()
    for start in range(max(1, len(words) - MOST_WORDS), len(words)):
        head, tail = " ".join(words[:start]).rstrip(","), " ".join(words[start:])
        if (
            BEGINS.match(tail)
            and not AMOUNT.fullmatch(tail)
            and not BEFORE_A_NOUN.fullmatch(head)
            and (one := timed(head, tail))
        ):
            return one
    return None


def timed(text: str, phrase: str) -> Later | None:
    """The thing to do with its time, if that is one."""
    try:
        if phrase.lower().startswith(("every ", "each ")):
            recurring(phrase, SYNTAX, "UTC")
            return Later(text, every=phrase)
        understood(phrase, SYNTAX, "UTC")
        return Later(text, when=phrase)
    except BadInput:
        return None
