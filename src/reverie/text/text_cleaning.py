"""Text that every database and terminal can hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


_BROKEN = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Text that every database and terminal can hold: halves of characters become �,
    NUL becomes ␀.
    """
    if text.isascii():
        return text.replace("\x00", "␀") if "\x00" in text else text
    return _BROKEN.sub("\ufffd", text.replace("\x00", "␀"))
