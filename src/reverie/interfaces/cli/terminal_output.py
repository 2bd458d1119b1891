"""Words on a terminal: what goes to stdout is the answer, what goes to stderr is about it.

The text of a memory is somebody's words. Before it is shown, everything in it that a terminal would
obey (control characters, marks that turn the direction of writing) is made visible, and it is never
read as Rich markup. With `--json` exactly one JSON document stands on stdout.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from reverie.core.model import Memory

# Characters that turn the direction of writing: what is shown would not be what is there.
DIRECTION_MARKS = frozenset(
    "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
KEPT_CONTROLS = frozenset("\n\t")
# Persian words and emoji need them.
JOINERS = frozenset("\u200c\u200d")


def escape_controls(text: str) -> str:
    """The text with everything that a terminal would obey written out, as \\x1b or \\u202e."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape_char, text.replace("\r\n", "\n")))


def _escape_char(ch: str) -> str:
    if ch in KEPT_CONTROLS or (ch.isprintable() and ch not in DIRECTION_MARKS):
        return ch
    category = unicodedata.category(ch)
    # Format characters (Cf) are marks that nobody sees, but an agent reads.
    is_invisible = category == "Cf" and ch not in JOINERS
    obeyed = ch in DIRECTION_MARKS or category in ("Cc", "Cs", "Zl", "Zp") or is_invisible
    return ch.encode("unicode_escape").decode() if obeyed else ch


def one_line(text: str, most: int = 0) -> str:
    """The text on one line, cut to `most` characters if that is not 0."""
    line = escape_controls(" ".join(text.split()))
    return line if not most or len(line) <= most else line[: most - 1].rstrip() + "…"


@cache
def get_console(stderr: bool = False) -> Console:
    """The one console of this process for stdout, or for stderr; it knows about colour
    and width.
    """
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_rich(*things: RenderableType) -> None:
    """Put something on stdout."""
    for thing in things:
        get_console().print(thing)


def print_line(text: str = "") -> None:
    """One plain line on stdout: never folded, so that it can be cut and searched."""
    print(escape_controls(text))


def print_note(text: str) -> None:
    """One line on stderr: about the answer, not part of it."""
    print(escape_controls(text), file=sys.stderr, flush=True)


def note_left_out(skipped: Mapping[str, int]) -> None:
    """Say on stderr what indexing left out: why, and how many of each."""
    if skipped:
        reasons = ", ".join(f"{count:,} {why}" for why, count in sorted(skipped.items()))
        print_note(f"Left out: {reasons}.")


def print_error(text: str) -> None:
    """What went wrong and what to do, on stderr."""
    print_note(f"reverie: {text}")


def print_json(value: Any, *, line: bool = False) -> None:
    """JSON on stdout: one document, or one line of many."""
    print(
        json.dumps(value, ensure_ascii=False, indent=None if line else 2, default=_to_json),
        flush=line,
    )


def _to_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    return str(value)


def memory_to_json(memory: Memory) -> dict[str, Any]:
    """A memory as JSON values, every field, times in seconds since 1970."""
    reinforcements = [said._asdict() for said in memory.reinforcements]
    return {**memory._asdict(), "details": dict(memory.details), "reinforcements": reinforcements}
