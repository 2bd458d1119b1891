"""The kind, and the space, of a text that somebody keeps without naming one.

What a rule of extraction takes a whole text for, it is; and what begins by forbidding something
that could be seen in a tool's call is a prohibition, so that it warns before it. In talk such a
sentence may be about the task at hand only, and is no lesson; who asks to have it kept means it.
Everything else is a fact. So is a correction: of what, is not said.
"""

from reverie.core.config import ME
from reverie.core.kinds import NEGATIVE
from reverie.extraction.rule_extraction import extract_lessons
from reverie.reconciliation.paraphrase.claim_reading import read_claim
from reverie.text.forbidden_words import find_forbidding_clauses
from reverie.text.learned_phrases import REASSURES, begins_as_wish, fits_section
from reverie.text.own_preferences import is_for_every_project
from reverie.text.prompt_phrases import load_language
from reverie.text.text_signals import derive_triggers


def find_stated_kind(text: str) -> str:
    """The kind of a text as it is worded."""
    bare = text.strip()
    if fits_section(bare, REASSURES):
        return "fact"
    found = extract_lessons([("user", bare)], fixes=False).lessons
    if len(found) == 1 and found[0].text == bare and found[0].kind != "correction":
        kind = found[0].kind
    else:
        kind = NEGATIVE if begins_by_forbidding(bare) and derive_triggers(bare) else "fact"
    return "fact" if kind == NEGATIVE and tells_an_end(bare) else kind


def find_stated_space(text: str, space: str) -> str:
    """Where a text belongs that is kept from a project: what is said of all projects is the
    user's.
    """
    return ME if space.startswith(f"{ME}/") and is_for_every_project(text) else space


def tells_an_end(text: str) -> bool:
    """True if a text tells that we do something no longer: news, which ends what was known."""
    claim = read_claim(text)
    if claim is None or not claim.ends:
        return False
    # In Spanish the verb alone says who.
    ended = tuple(load_language(claim.language)["claim"]["ended"])
    return claim.owner == "mine" or (text.lower().startswith(ended) and not begins_as_wish(text))


def begins_by_forbidding(text: str) -> bool:
    """True if a text is a wish whose first words forbid."""
    first = next(find_forbidding_clauses(text), "")
    return bool(first) and text.startswith(first) and begins_as_wish(text)
