"""Both ends of a text that is too long to be kept, or looked at, as a whole."""

from reverie.core.privacy_policy import Policy
from reverie.core.private_passages import CUT_MARGIN, CUT_MARK
from reverie.privacy import is_fully_redacted, redact


def redact_both_ends(text: str, policy: Policy, head: int, tail: int) -> str:
    """The beginning and the end of a text longer than both with SPARE beside each, without secrets.

    Only so much is looked at. What then stands next to a cut is left out, as it may be half of a
    secret. What is private has to be taken out before (`hidden`): it may be longer.
    """
    first, last = (
        redact(text[: head + CUT_MARGIN], policy)[0],
        redact(text[-(tail + CUT_MARGIN) :], policy)[0],
    )
    for end in (first, last):
        if is_fully_redacted(end):
            return end
    return first[:-CUT_MARGIN][:head] + CUT_MARK + last[CUT_MARGIN:][-tail:]
