"""Messages as they may be written down: without secrets, and not longer than anybody will read."""

from collections.abc import Sequence

from reverie.lifecycle.intake import clean, private
from reverie.messages import GAP, HEAD, MOST_CHARS, SPARE, TAIL, Said
from reverie.policy import Policy
from reverie.privacy import hidden, only_private, redact

MOST_ROLE = 32


def redacted(said: Sequence[Said], policy: Policy) -> list[dict[str, str]]:
    """Messages as they may be written down."""
    return [{"role": short_role(message.role, policy), "text": shortened(clean(message.text), policy)}
            for message in said]


def short_role(role: str, policy: Policy) -> str:
    """A role as it may be written down."""
    role = private(role, policy)
    return role if len(role) <= MOST_ROLE else "other"    # a part of it may be half of a secret


def shortened(text: str, policy: Policy) -> str:
    """A text without secrets, of a long one its beginning and its end. First redacted, then cut.

    Of a very long one only the ends are looked at: what then stands next to a cut is left out, as it may be half of a
    secret. What is private is taken out of the whole text.
    """
    text = hidden(text)
    if len(text) > MOST_CHARS + 2 * SPARE:
        head, tail = redact(text[:HEAD + SPARE], policy)[0], redact(text[-(TAIL + SPARE):], policy)[0]
        if only_private(head) or only_private(tail):
            return head if only_private(head) else tail
        head, tail = head[:-SPARE], tail[SPARE:]
        return head[:HEAD] + GAP + tail[-TAIL:]
    text = redact(text, policy)[0]
    return text if len(text) <= MOST_CHARS else text[:HEAD] + GAP + text[-TAIL:]
