"""Short texts without secrets."""

from __future__ import annotations

from reverie.core.privacy_policy import Policy
from reverie.text.text_cleaning import clean_text


def redact_short_text(text: str, policy: Policy) -> str:
    """A short value as clean text without secrets; "" stays ""."""
    from reverie.privacy import redact

    return redact(clean_text(str(text)), policy)[0] if text else ""
