"""Whether a prompt goes on with what lies ready for it, and whether it has words of its own to look
for.

A block was prepared for what was said before. Where the user thanks, or begins something else, it
waits: most turns need no memory. Words that nearly every working session says (`everyday`) tell
neither. What this is worth: `python -m bench.gate.hooked`.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from reverie.interfaces.hooks.tool_warnings import may_match
from reverie.text.domain_stopwords import domain_stop_stems, stems_of

MAX_PROMPT_CHARS = 4_000  # characters of a prompt
MAX_TOPIC_WORDS = 300  # words of what a block is about
CONTINUE_PATTERN = (
    r"\W*(?:(?:and|ok|okay|yes|yep|please|now|then|so|just)\W+)*"
    r"(?:go on|go ahead|continue|proceed|carry on|keep going|tell me more|what else|and|and (?:now|then)|"
    r"weiter|mach weiter|contin[uú]a|sigue|继续|続けて|繼續)(?:\W+(?:please|then|now|with (?:it|that)|bitte))*"
    r"\W*"
)
"""How somebody asks for more of the same and says nothing else."""


def extract_topic_words(text: str) -> frozenset[str]:
    """The words of a prompt that tell what it is about, without their endings."""
    return stems_of(text[:MAX_PROMPT_CHARS]) - domain_stop_stems()


def collect_topic_words(*texts: str) -> list[str]:
    """What a block is about, as `goes_on` compares it: what it was prepared for, and
    its memories.
    """
    return sorted(frozenset().union(*map(extract_topic_words, texts)))[:MAX_TOPIC_WORDS]


def continues_topic(text: str, known: Collection[str]) -> bool:
    """Whether a prompt goes on with what these words are about: it shares one, or asks for more of
    the same.
    """
    return not extract_topic_words(text).isdisjoint(known) or bool(
        re.fullmatch(CONTINUE_PATTERN, text[:MAX_PROMPT_CHARS], re.IGNORECASE)
    )


def is_worth_searching(text: str, guards: Mapping[str, Any] | None) -> bool:
    """Whether a prompt has words that may find something, or one that calls a memory up."""
    if extract_topic_words(text):
        return True
    low = text[:MAX_PROMPT_CHARS].lower()
    return any(
        may_match(one, low)
        for row in (guards or {}).get("rows", ())
        for one in row["triggers"]
        if not one.strip().startswith("tool:")
    )
