"""What fits: both ends of a long text are kept, a tool's arguments without the files in them, and of an answer whole
lines. No secret is cut in two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reverie.policy import USUAL, Policy
from reverie.surfaces.hooks.hosts import MOST_CHARS

KEEP, SPARE = 8_000, 20_000    # characters kept of either end of a text; looked at beyond each cut for secrets
GAP = "\n…\n"


def kept(text: str, policy: Policy = USUAL) -> str:
    """Both ends of a long text, without secrets: each is looked at beyond its cut, so that none is cut in two."""
    from reverie.privacy import hidden, only_private, redact

    if len(text) <= 2 * (KEEP + SPARE):
        return text
    text = hidden(text)
    if len(text) <= 2 * (KEEP + SPARE):
        return text
    head, tail = redact(text[: KEEP + SPARE], policy)[0], redact(text[-KEEP - SPARE :], policy)[0]
    if only_private(head) or only_private(tail):
        return head if only_private(head) else tail
    return head[: min(KEEP, len(head) - SPARE)] + GAP + tail[max(SPARE, len(tail) - KEEP) :]


def bounded(given: Any, policy: Policy = USUAL) -> Any:
    """What a tool is given, without the texts that are files."""
    if not isinstance(given, Mapping):
        return kept(given, policy) if isinstance(given, str) else None
    return {str(name): value if not isinstance(value, str) or len(value) <= KEEP else "…"
            for name, value in list(given.items())[:20] if isinstance(value, (str, int, float, bool))}  # fmt: skip


def fitting(text: str) -> str:
    """The text within what a host takes: whole lines, and the fence closed."""
    if len(text) <= MOST_CHARS:
        return text
    lines = text.splitlines()
    while len(lines) > 2 and sum(map(len, lines)) + len(lines) > MOST_CHARS:
        del lines[-2]
    return "\n".join(lines)[:MOST_CHARS]
