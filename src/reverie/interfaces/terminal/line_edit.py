"""One line that somebody types, and the columns that text takes. Pure."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from reverie.interfaces.terminal.key_reading import Key

MAX_TYPED_CHARS = 1_000
ELLIPSIS = "…"


class LineEdit(NamedTuple):
    """What stands in the line, and before which character the cursor is."""

    text: str = ""
    cursor: int = 0

    @property
    def before(self) -> str:
        """What stands before the cursor."""
        return self.text[: self.cursor]

    @property
    def behind(self) -> str:
        """What stands behind it."""
        return self.text[self.cursor :]


def type_key(line: LineEdit, key: Key) -> LineEdit:
    """The line after a key; the same if the key is none of those that edit."""
    before, behind = line.before, line.behind
    match key.name:
        case "text":
            before = (before + key.text)[: MAX_TYPED_CHARS - len(behind)]
        case "backspace":
            before = before[:-1]
        case "delete" | "ctrl d":
            behind = behind[1:]
        case "left" | "ctrl b":
            return line._replace(cursor=max(0, line.cursor - 1))
        case "right" | "ctrl f":
            return line._replace(cursor=min(len(line.text), line.cursor + 1))
        case "home" | "ctrl a":
            return line._replace(cursor=0)
        case "end":
            return line._replace(cursor=len(line.text))
        case "ctrl u":
            before = ""
        case "ctrl k":
            behind = ""
        case "ctrl w":
            words = before.rstrip()
            before = words[: len(words) - len(words.split(" ")[-1])]
    return LineEdit(before + behind, len(before))


def measure_columns(text: str) -> int:
    """How many columns a text takes, as nearly all terminals draw it."""
    return len(text) if text.isascii() else sum(map(measure_char, text))


def measure_char(char: str) -> int:
    """The columns of a character: 0 of a mark on another one, 2 of an East Asian wide one."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut_columns(text: str, columns: int) -> str:
    """The text, cut to so many columns, with an ellipsis if anything is cut off."""
    if measure_columns(text) <= columns:
        return text
    kept, taken = [], 0
    for char in text:
        taken += measure_char(char)
        if taken > columns - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ELLIPSIS if columns > 0 else ""


def cut_start(text: str, columns: int) -> str:
    """The end of a text that takes at most so many columns."""
    while measure_columns(text) > columns:
        text = text[1:]
    return text


def fold_columns(text: str, columns: int, most: int = 0) -> list[str]:
    """The text in lines of at most so many columns, broken between words where that goes; at most
    `most` lines, if that is not 0, the last with an ellipsis if there is more.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            rest = word
            while measure_columns(rest) > columns:
                if line:
                    lines.append(line)
                    line = ""
                part = take_columns(rest, columns)
                lines.append(part)
                rest = rest[len(part) :]
            joined = f"{line} {rest}" if line else rest
            if measure_columns(joined) <= columns:
                line = joined
            else:
                lines.append(line)
                line = rest
        lines.append(line)
    if most and len(lines) > most:
        lines = [*lines[: most - 1], cut_columns(lines[most - 1] + " " + ELLIPSIS, columns)]
    return lines


def fold_hanging(line: str, columns: int) -> list[str]:
    """A line that may be indented, folded with the same indent and two more."""
    indent = " " * (len(line) - len(line.lstrip(" ")))
    first, *rest = fold_columns(line, max(1, columns - len(indent) - 2))
    return [indent + first, *(f"{indent}  {one}" for one in rest)]


def take_columns(text: str, columns: int) -> str:
    """As much of the beginning of a text as takes so many columns; a character at least."""
    taken = 0
    for place, char in enumerate(text):
        taken += measure_char(char)
        if taken > columns and place:
            return text[:place]
    return text
