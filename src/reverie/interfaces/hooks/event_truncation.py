"""What fits: both ends of a long text are kept, a tool's arguments without the files in them, and
of an answer whole lines. No secret is cut in two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.interfaces.hosts.host_agent import MAX_ANSWER_CHARS

if TYPE_CHECKING:
    from reverie.privacy.known_secrets import KnownSecrets

# Kept of either end of a long text: commands tell at the beginning what they do, and at the end
# what became of it.
MAX_END_CHARS = 8_000
# A text is long beyond 2 * (MAX_END_CHARS + CUT_MARGIN) characters, so that its ends with the
# margins beside the cut, which are redacted with them, do not overlap.
MAX_WHOLE_CHARS = 56_000
MAX_ARGUMENTS = 20


def truncate_text(
    text: str,
    policy: Policy = DEFAULT_POLICY,
    known: KnownSecrets | None = None,
) -> str:
    """A text as it is; of a long one both ends, and those without secrets."""
    if len(text) <= MAX_WHOLE_CHARS:
        return text
    # Imported here: most texts are short, and a hook has milliseconds.
    from reverie.privacy import hide_private_passages
    from reverie.privacy.truncation import redact_both_ends

    # First: a passage that is cut in two is no longer known to be private.
    text = hide_private_passages(text)
    if len(text) <= MAX_WHOLE_CHARS:
        return text
    return redact_both_ends(text, policy, MAX_END_CHARS, MAX_END_CHARS, known)


def truncate_arguments(
    given: Any,
    policy: Policy = DEFAULT_POLICY,
    known: KnownSecrets | None = None,
) -> Any:
    """What a tool is given, without the texts that are files; None for what is neither text nor
    names and values.
    """
    if isinstance(given, str):
        return truncate_text(given, policy, known)
    if not isinstance(given, Mapping):
        return None
    return {
        str(name): "…" if isinstance(value, str) and len(value) > MAX_END_CHARS else value
        for name, value in list(given.items())[:MAX_ARGUMENTS]
        if isinstance(value, (str, int, float, bool))
    }


def fit_answer(text: str) -> str:
    """The text within what a host takes: whole lines, and the fence closed."""
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    lines = text.splitlines()
    while len(lines) > 2 and sum(map(len, lines)) + len(lines) > MAX_ANSWER_CHARS:
        # The last line closes the fence, so the one before it goes.
        del lines[-2]
    return "\n".join(lines)[:MAX_ANSWER_CHARS]
