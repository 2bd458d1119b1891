"""Both ends of a text that is too long to be kept, or looked at, as a whole."""

from reverie.core.privacy_policy import Policy
from reverie.core.private_passages import GAP, SPARE
from reverie.privacy import only_private, redact


def ends(text: str, policy: Policy, head: int, tail: int) -> str:
    """The beginning and the end of a text longer than both with SPARE beside each, without secrets.

    Only so much is looked at. What then stands next to a cut is left out, as it may be half of a
    secret. What is private has to be taken out before (`hidden`): it may be longer.
    """
    first, last = (
        redact(text[: head + SPARE], policy)[0],
        redact(text[-(tail + SPARE) :], policy)[0],
    )
    for end in (first, last):
        if only_private(end):
            return end
    return first[:-SPARE][:head] + GAP + last[SPARE:][-tail:]
