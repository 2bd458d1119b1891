"""What fits: both ends of a long text are kept, a tool's arguments without the files in them, and
of an answer whole lines. No secret is cut in two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reverie.core.privacy_policy import USUAL, Policy
from reverie.interfaces.hooks.host_adapters import MOST_CHARS

# characters kept of either end of a text that has more than WHOLE: 2 (KEEP + SPARE)
KEEP, WHOLE = (
    8_000,
    56_000,
)


def kept(text: str, policy: Policy = USUAL) -> str:
    """A text as it is, of a long one both ends, without secrets."""
    if len(text) <= WHOLE:
        return text
    from reverie.privacy import hidden
    from reverie.privacy.truncation import ends

    text = hidden(text)
    return ends(text, policy, KEEP, KEEP) if len(text) > WHOLE else text


def bounded(given: Any, policy: Policy = USUAL) -> Any:
    """What a tool is given, without the texts that are files."""
    if not isinstance(given, Mapping):
        return kept(given, policy) if isinstance(given, str) else None
    return {
        str(name): value if not isinstance(value, str) or len(value) <= KEEP else "…"
        for name, value in list(given.items())[:20]
        if isinstance(value, (str, int, float, bool))
    }


def fitting(text: str) -> str:
    """The text within what a host takes: whole lines, and the fence closed."""
    if len(text) <= MOST_CHARS:
        return text
    lines = text.splitlines()
    while len(lines) > 2 and sum(map(len, lines)) + len(lines) > MOST_CHARS:
        del lines[-2]
    return "\n".join(lines)[:MOST_CHARS]
