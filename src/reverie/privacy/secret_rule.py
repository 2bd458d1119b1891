"""A span of text to hide, a row of what is searched for, and how tables of such rows are written.

A row of a table is a line with kind, check and anchors, two spaces apart, and perhaps "spoken";
below it, indented, the expression, perhaps in several pieces. The space that an anchor begins or
ends with is written as ␣.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reverie.privacy.secret_lookalikes import (
    holds_private_key,
    holds_random,
    is_login,
    is_long_random,
    is_mixed,
    is_random,
    is_strong,
    is_strong_and_random,
    is_varied,
    is_woven,
)

# Begins a word, also after an escaped newline.
WORD_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"


def start_behind(characters: int) -> str:
    """WORD_START as it is looked at from so many characters further on."""
    return WORD_START[:-1].replace(")", f"{'.' * characters})") + ")"


CHECKS: dict[str, Callable[[str], bool] | None] = {
    "any": None,
    "varied": is_varied,
    "random": is_random,
    "mixed": is_mixed,
    "strong": is_strong,
    "strong-random": is_strong_and_random,
    "login": is_login,
    "key": holds_private_key,
    "long-random": is_long_random,
    "woven": is_woven,
    "holds-random": holds_random,
}
# What stands in the tables for a longer expression.
ABBREVIATIONS = {
    "<start>": WORD_START,
    # The same, asked behind one letter or three: an expression that begins with letters is searched
    # far faster, and these two are tried on nearly every text.
    "<start-behind-1>": start_behind(1),
    "<start-behind-3>": start_behind(3),
    "<end>": r"(?![A-Za-z0-9])",
    "<any>": "[A-Za-z0-9_-]",
    "<alnum>": "[A-Za-z0-9]",
    "<hex>": "[a-f0-9]",
    "<low>": "[a-z0-9]",
    "<up>": "[A-Z0-9]",
    "<uuid>": "[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}",
}


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


def read_shapes(table: str) -> Iterator[SecretShape]:
    """The rows of a table of shapes."""
    for row in expand_table(table).replace("\n    ", "\t").split("\n"):
        head, *pieces = row.split("\t")
        kind, check, anchors, *spoken = head.split("  ")
        starts = tuple(anchors.replace("␣", " ").split(", "))
        yield SecretShape(
            kind,
            starts,
            "".join(pieces),
            CHECKS[check],
            bool(spoken),
        )


def expand_table(table: str) -> str:
    """A table with its abbreviations written out."""
    for short, expression in ABBREVIATIONS.items():
        table = table.replace(short, expression)
    return table.strip()
