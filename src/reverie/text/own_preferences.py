"""Whether a preference is the person's own and goes with them from project to project: how they are
answered ("keep your answers short"), or what they themselves like ("I prefer tabs").

What names something of one project ("the", "our", "here", a path, a number) stays there, and so
does what "we" do. The words stand in `languages/<code>.toml`, under `own_preference`. In doubt it
is the project's: a wish that is missed is said again, one in the wrong project misleads.

What is said of all projects in so many words ("in all my projects …") is known in all of them,
whatever it is: `every_project`.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from reverie.text.prompt_phrases import list_languages, load_language, to_expression

SECTION = "own_preference"
EVERY_PROJECT = "every_project"
# Longer ones tell of more than a taste.
MAX_CHARS = 160
# A path, an identifier, a number, a quoted name: something of a project.
_TECHNICAL = re.compile(r"[\d`/\\_@]|\w\.\w|\w[A-Z]|--")


def is_own_preference(text: str) -> bool:
    """True if a preference is about the person or how they are answered, and names no project."""
    if len(text) > MAX_CHARS or _TECHNICAL.search(text):
        return False
    return fits_words(text, SECTION)


def is_for_every_project(text: str) -> bool:
    """True if something is said of all that the person works on."""
    return fits_words(text, EVERY_PROJECT)


def fits_words(text: str, name: str) -> bool:
    """True if words of a section stand in a text, in any language, and none that speak against."""
    return any(
        own.search(text) and not unless.search(text)
        for own, unless in (load_own_words(code, name) for code in list_languages())
        if own is not None
    )


@cache
def load_own_words(code: str, name: str) -> tuple[re.Pattern[str] | None, re.Pattern[str]]:
    """The words of a section in one language, and what speaks against it."""
    section: Mapping[str, Any] = load_language(code).get(name, {})
    begins = "|".join(map(to_expression, section.get("begins", ())))
    contains = "|".join(map(to_expression, section.get("contains", ())))
    unless = "|".join(map(to_expression, section.get("unless", ()))) or r"(?!)"
    parts = [rf"\A\W*(?:{begins})" if begins else "", contains]
    own = "|".join(filter(None, parts))
    return (
        re.compile(own, re.IGNORECASE) if own else None,
        re.compile(unless, re.IGNORECASE),
    )
