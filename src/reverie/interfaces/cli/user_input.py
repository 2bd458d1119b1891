"""What people type, pipe in and edit, as values."""

import re
import sys
from collections.abc import Callable, Iterator

from reverie.core.errors import BadInput
from reverie.memory.memory_validation import (
    MAX_TEXT_CHARS,
    Moment,
    parse_moment,
    parse_moment_as_of,
)
from reverie.text.past_days import parse_past_day

SECONDS_PER_UNIT = {
    "s": 1.0,
    "min": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
    "w": 7 * 86_400.0,
    "mo": 30 * 86_400.0,
    "y": 365 * 86_400.0,
}
# Of what a text may hold in NUL and in bytes that are no UTF-8: one line of another encoding has a
# twentieth or so, pictures and archives a third and more.
MAX_BROKEN_SHARE = 0.2

SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w|mo|y)")


def read_text_or_stdin(words: list[str] | None) -> str:
    """The words as one text; "-" or nothing reads stdin."""
    if words and words != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise BadInput("There is nothing to remember. Give the text, or pipe it in")
    # A character has four bytes at most in UTF-8; one byte more shows that a text is too long.
    return decode_input(sys.stdin.buffer.read(MAX_TEXT_CHARS * 4 + 1)).rstrip("\r\n")


def read_stdin_lines() -> Iterator[str]:
    """The lines of stdin that say something."""
    for raw in sys.stdin.buffer:
        if line := decode_input(raw).strip():
            yield line


def decode_input(data: bytes) -> str:
    """Text from bytes: UTF-8, or UTF-16 if it says so; what is neither becomes �. Bytes that are no
    text at all, such as a picture, are a BadInput.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    text = data.decode("utf-8-sig", "replace")
    if "\0" in text and text.count("\0") + text.count("�") > MAX_BROKEN_SHARE * len(text):
        raise BadInput("What is piped in is binary, not text. Pipe in text, in UTF-8")
    return text


def parse_time_ago(
    text: str,
    now: float,
    what: str = "--at",
) -> float | None:
    """A time, or how long ago."""
    return _parse_time(text, now, -1.0, what)


def parse_time_ahead(
    text: str,
    now: float,
    what: str = "--expires",
) -> float | None:
    """A time, or how long from now."""
    return _parse_time(text, now, 1.0, what)


def parse_as_of_time(
    text: str,
    now: float,
    what: str = "--as-of",
) -> float | None:
    """A time, a day as people say it ("1 March", "yesterday", "last Friday"), or how long ago; a
    day means its end.
    """
    if day := parse_past_day(text, now):
        return parse_moment_as_of(day, what)
    try:
        return _parse_time(text, now, -1.0, what, parse_moment_as_of)
    except BadInput as err:
        raise BadInput(f"{err}, or a day such as 1 March, yesterday or last Friday") from err


def _parse_time(
    text: str,
    now: float,
    sign: float,
    what: str,
    read: Callable[[Moment, str], float | None] = parse_moment,
) -> float | None:
    text = text.strip()
    if span := SPAN.fullmatch(text):
        return now + sign * float(span[1]) * SECONDS_PER_UNIT[span[2]]
    try:
        return read(float(text) if re.fullmatch(r"\d{9,}(\.\d+)?", text) else text, what)
    except BadInput as err:
        raise BadInput(
            f"{what} {text!r} is not a time. Write 2026-03-15, 2026-03-15T09:30, or a span "
            "such as 3d or 12h"
        ) from err
