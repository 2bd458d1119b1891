"""A span of text to hide, and a row of what is searched for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

# Begins a word, also after an escaped newline.
WORD_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"


class SecretSpan(NamedTuple):
    """A piece of the text to hide. Where two overlap, the lower `rank` names the mark."""

    start: int
    end: int
    rank: int
    kind: str


class SecretShape(NamedTuple):
    """A row: texts with one of `anchors` are searched for `pattern`, of which group `s` is secret.

    Without such a group all of a match is. Anchors of a *spoken* row are in lower case and may
    stand in short words; others stand in one long word.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    check: Callable[[str], bool] | None = None
    spoken: bool = False
