"""The kind of a text that somebody keeps without naming one.

What a rule of extraction takes a whole text for, it is; and what begins by forbidding something
that could be seen in a tool's call is a prohibition, so that it warns before it. In talk such a
sentence may be about the task at hand only, and is no lesson; who asks to have it kept means it.
Everything else is a fact. So is a correction: of what, is not said.
"""

from reverie.core.kinds import NEGATIVE
from reverie.extraction.rule_extraction import extract_lessons
from reverie.text.forbidden_words import find_forbidding_clauses
from reverie.text.learned_phrases import begins_as_wish
from reverie.text.text_signals import derive_triggers


def find_stated_kind(text: str) -> str:
    """The kind of a text as it is worded."""
    bare = text.strip()
    found = extract_lessons([("user", bare)], fixes=False).lessons
    if len(found) == 1 and found[0].text == bare and found[0].kind != "correction":
        return found[0].kind
    return NEGATIVE if begins_by_forbidding(bare) and derive_triggers(bare) else "fact"


def begins_by_forbidding(text: str) -> bool:
    """True if a text is a wish whose first words forbid."""
    first = next(find_forbidding_clauses(text), "")
    return bool(first) and text.startswith(first) and begins_as_wish(text)
