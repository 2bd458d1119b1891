"""Text that every database and terminal can hold."""

from __future__ import annotations

import re

_BROKEN = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with lone surrogates as � and NUL as ␀.

    The same object if it has neither and is ASCII.
    """
    if text.isascii():
        return text.replace("\x00", "␀") if "\x00" in text else text
    return _BROKEN.sub("\ufffd", text.replace("\x00", "␀"))
