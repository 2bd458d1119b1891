"""Whether a preference is the person's own and goes with them from project to project: how they are
answered ("keep your answers short"), or what they themselves like ("I prefer tabs").

What names something of one project ("the", "our", "here", a path, a number) stays there, and so
does what "we" do. The words stand in `languages/<code>.toml`, under `own_preference`. In doubt it
is the project's: a wish that is missed is said again, one in the wrong project misleads.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from reverie.text.prompt_phrases import list_languages, load_language, to_expression

SECTION = "own_preference"
# Longer ones tell of more than a taste.
MAX_CHARS = 160
# A path, an identifier, a number, a quoted name: something of a project.
_TECHNICAL = re.compile(r"[\d`/\\_@]|\w\.\w|\w[A-Z]|--")


def is_own_preference(text: str) -> bool:
    """True if a preference is about the person or how they are answered, and names no project."""
    if len(text) > MAX_CHARS or _TECHNICAL.search(text):
        return False
    return any(
        own.search(text) and not unless.search(text)
        for own, unless in map(load_own_words, list_languages())
        if own is not None
    )


@lru_cache
def load_own_words(code: str) -> tuple[re.Pattern[str] | None, re.Pattern[str]]:
    """What tells a person's own preference in one language, and what speaks against it."""
    section: Mapping[str, Any] = load_language(code).get(SECTION, {})
    begins = "|".join(map(to_expression, section.get("begins", ())))
    contains = "|".join(map(to_expression, section.get("contains", ())))
    unless = "|".join(map(to_expression, section.get("unless", ()))) or r"(?!)"
    parts = [rf"\A\W*(?:{begins})" if begins else "", contains]
    own = "|".join(filter(None, parts))
    return (
        re.compile(own, re.IGNORECASE) if own else None,
        re.compile(unless, re.IGNORECASE),
    )
