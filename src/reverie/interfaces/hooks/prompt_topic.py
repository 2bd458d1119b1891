"""Topic words of prompts and blocks: does a prompt go on with the block that waits, and has it
words of its own to look for?

A block was prepared for what was said before. Where the user thanks, or begins something else, it
waits: most turns need no memory. Words that nearly every working session says
(`text.domain_stopwords`) tell neither. What this is worth: `python -m bench.gate.hooked`.
"""

import re
from collections.abc import Collection, Iterable

from reverie.interfaces.hooks.hook_event import ToolWarning
from reverie.text.domain_stopwords import domain_stop_stems, stems_of

# Characters of a prompt that are looked at: what is pasted below tells little of the question.
MAX_PROMPT_CHARS = 4_000
# Words of what a block is about.
MAX_TOPIC_WORDS = 300
# How somebody asks for more of the same and says nothing else.
CONTINUE_PATTERN = (
    r"\W*(?:(?:and|ok|okay|yes|yep|please|now|then|so|just)\W+)*"
    r"(?:go on|go ahead|continue|proceed|carry on|keep going|tell me more|what else|and"
    r"|and (?:now|then)|weiter|mach weiter|contin[uú]a|sigue|继续|続けて|繼續)"
    r"(?:\W+(?:please|then|now|with (?:it|that)|bitte))*"
    r"\W*"
)


def extract_topic_words(text: str) -> frozenset[str]:
    """The words of a prompt that tell what it is about, without their endings."""
    return stems_of(text[:MAX_PROMPT_CHARS]) - domain_stop_stems()


def collect_topic_words(*texts: str) -> list[str]:
    """What a block is about, for `continues_topic`: of what it was prepared for and of its
    memories.
    """
    return sorted(frozenset().union(*map(extract_topic_words, texts)))[:MAX_TOPIC_WORDS]


def continues_topic(text: str, known: Collection[str]) -> bool:
    """True if a prompt goes on with what these words are about: it shares one, or asks for more of
    the same.
    """
    if not extract_topic_words(text).isdisjoint(known):
        return True
    return bool(re.fullmatch(CONTINUE_PATTERN, text[:MAX_PROMPT_CHARS], re.IGNORECASE))


def is_worth_searching(text: str, warnings: Iterable[ToolWarning]) -> bool:
    """True if a prompt has words that may find something, or one that calls a memory up."""
    if extract_topic_words(text):
        return True
    from reverie.interfaces.hooks.tool_warnings import may_match  # 4 ms that few prompts need

    lower = text[:MAX_PROMPT_CHARS].lower()
    patterns = [pattern for row in warnings for pattern in row.triggers]
    # What is said before a tool is not called up by words.
    spoken = [pattern for pattern in patterns if not pattern.strip().startswith("tool:")]
    return any(may_match(pattern, lower) for pattern in spoken)
