"""Short texts without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.core.privacy_policy import Policy
from reverie.text.text_cleaning import clean

if TYPE_CHECKING:
    pass


def private(text: str, policy: Policy) -> str:
    """A short text without secrets."""
    from reverie.privacy import redact

    return redact(clean(str(text)), policy)[0] if text else ""
