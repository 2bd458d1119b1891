"""What people type, pipe in and edit, as values."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.memory.memory_validation import MOST_TEXT, Moment, moment, moment_then
from reverie.text.text_cleaning import clean

UNITS = {
    "s": 1.0,
    "min": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
    "w": 7 * 86_400.0,
    "mo": 30 * 86_400.0,
    "y": 365 * 86_400.0,
}
SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w|mo|y)")
LINE = "-" * 20 + " text below this line " + "-" * 20


def given_or_stdin(words: list[str] | None) -> str:
    """The words as one text; "-" or nothing reads stdin."""
    if words and words != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise BadInput("There is nothing to remember. Give the text, or pipe it in")
    return decoded(sys.stdin.buffer.read(MOST_TEXT * 4 + 1)).rstrip("\r\n")


def stdin_lines() -> Iterator[str]:
    """The lines of stdin that say something."""
    for raw in sys.stdin.buffer:
        if line := decoded(raw).strip():
            yield line


def decoded(data: bytes) -> str:
    """Text from bytes: UTF-8, or UTF-16 if it says so; what is neither becomes �."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def moment_before(text: str, now: float, what: str = "--at") -> float | None:
    """A time, or how long ago."""
    return _moment(text, now, -1.0, what)


def moment_after(text: str, now: float, what: str = "--expires") -> float | None:
    """A time, or how long from now."""
    return _moment(text, now, 1.0, what)


def moment_to_look_from(text: str, now: float, what: str = "--as-of") -> float | None:
    """A time, or how long ago; a date means the end of that day."""
    return _moment(text, now, -1.0, what, moment_then)


def _moment(
    text: str,
    now: float,
    sign: float,
    what: str,
    read: Callable[[Moment, str], float | None] = moment,
) -> float | None:
    text = text.strip()
    if span := SPAN.fullmatch(text):
        return now + sign * float(span[1]) * UNITS[span[2]]
    try:
        return read(float(text) if re.fullmatch(r"\d{9,}(\.\d+)?", text) else text, what)
    except BadInput as err:
        raise BadInput(
            f"{what} {text!r} is not a time. Write 2026-03-15, 2026-03-15T09:30, or a span such as 3d or 12h"
        ) from err


def edited(memory: Memory) -> dict[str, Any]:
    """The fields of a memory after somebody had it in an editor."""
    before = f"title: {memory.title}\ntags: {', '.join(memory.tags)}\n{LINE}\n{memory.text}\n"
    after = in_editor(before)
    return {} if after == before else parsed(after)


def parsed(page: str) -> dict[str, Any]:
    """Title, tags and text of an edited page."""
    head, line, text = page.partition(LINE)
    if not line:
        raise BadInput("The line between the fields and the text is gone; nothing was changed")
    fields: dict[str, Any] = {"text": clean(text.strip("\r\n"))}
    for row in head.splitlines():
        name, _, value = row.partition(":")
        if name.strip() == "title":
            fields["title"] = value.strip()
        elif name.strip() == "tags":
            fields["tags"] = value.replace(",", " ").split()
    return fields


def in_editor(page: str) -> str:
    """The page after somebody edited it. The shell knows which editor ($VISUAL, $EDITOR, vi)."""
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        path = Path(folder) / "memory.md"
        path.write_text(page, "utf-8")
        program = (
            ["notepad", str(path)]
            if sys.platform == "win32"
            else ["sh", "-c", '${VISUAL:-${EDITOR:-vi}} "$1"', "edit", str(path)]
        )
        code = subprocess.run(program, check=False).returncode
        if code:
            raise BadInput(
                f"The editor ended with code {code}; nothing was changed. Set EDITOR, or use --text"
            )
        return path.read_text("utf-8", "replace")
