"""Both ends of a text that is too long to be kept, or read, as a whole."""

from reverie.core.privacy_policy import Policy
from reverie.core.private_passages import CUT_MARGIN, CUT_MARK
from reverie.privacy import is_fully_redacted, redact
from reverie.privacy.known_secrets import KnownSecrets


def redact_both_ends(
    text: str,
    policy: Policy,
    head: int,
    tail: int,
    known: KnownSecrets | None = None,
) -> str:
    """The beginning and the end of a long text, without secrets.

    The text must be longer than both, with CUT_MARGIN beside each: only so much is read, and the
    margin is left out, as what stands next to a cut may be half of a secret. Private passages have
    to be taken out before (`hide_private_passages`): they may be longer.
    """
    first = redact(text[: head + CUT_MARGIN], policy, known=known)[0]
    last = redact(text[-(tail + CUT_MARGIN) :], policy, known=known)[0]
    # What the policy refuses in one end is a reason to keep nothing of the other.
    for end in (first, last):
        if is_fully_redacted(end):
            return end
    first, last = first[:-CUT_MARGIN], last[CUT_MARGIN:]
    return first[:head] + CUT_MARK + last[-tail:]
