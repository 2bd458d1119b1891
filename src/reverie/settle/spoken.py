"""Messages as they may be written down: without secrets, and not longer than anybody will read."""

from collections.abc import Sequence

from reverie.lifecycle.intake import clean, private
from reverie.messages import GAP, HEAD, MOST_CHARS, SPARE, TAIL, Said
from reverie.privacy import redact
from reverie.window import FENCE, without_injections

MOST_ROLE = 32


def redacted(said: Sequence[Said]) -> list[dict[str, str]]:
    """Messages as they may be written down; what a tool gave back, without what it had from Reverie (CC-62)."""
    return [{"role": short_role(message.role), "text": shortened(clean(news_in(message)))} for message in said]


def news_in(message: Said) -> str:
    """What a message says. An answer of `recall` is an echo: only what stands around it is new."""
    answered = message.role == "tool" and FENCE in message.text
    return without_injections(message.text).strip() if answered else message.text


def short_role(role: str) -> str:
    """A role as it may be written down."""
    role = private(role)
    return role if len(role) <= MOST_ROLE else "other"    # a part of it may be half of a secret


def shortened(text: str) -> str:
    """A text without secrets, of a long one its beginning and its end. First redacted, then cut.

    Of a very long one only the ends are looked at: what then stands next to a cut is left out, as it may be half of a
    secret.
    """
    if len(text) > MOST_CHARS + 2 * SPARE:
        head, tail = redact(text[:HEAD + SPARE])[0][:-SPARE], redact(text[-(TAIL + SPARE):])[0][SPARE:]
        return head[:HEAD] + GAP + tail[-TAIL:]
    text = redact(text)[0]
    return text if len(text) <= MOST_CHARS else text[:HEAD] + GAP + text[-TAIL:]
