"""Short texts without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.core.privacy_policy import Policy
from reverie.text.text_cleaning import clean_text

if TYPE_CHECKING:
    pass


def redact_short_text(text: str, policy: Policy) -> str:
    """A short text without secrets."""
    from reverie.privacy import redact

    return redact(clean_text(str(text)), policy)[0] if text else ""
