"""Words on a terminal: what goes to stdout is the answer, what goes to stderr is about it.

The text of a memory is somebody's words. Before it is shown, everything in it that a terminal would
obey (control characters, marks that turn the direction of writing) is made visible, and it is never
read as Rich markup. With `--json` exactly one JSON document stands on stdout.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from reverie.core.model import Memory
from reverie.interfaces.json_values import to_json_values

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    View = Iterator[RenderableType]  # what a person is shown, part by part
    Row = tuple[RenderableType, RenderableType]

P = ParamSpec("P")

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
def count_noun(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def get_console(stderr: bool = False) -> Console:
    """The one console of this process for stdout, or for stderr; it knows about colour
    and width.
    """
    from rich.console import Console

    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
    )


def style_text(text: str, style: str = "") -> Text:
    """A text in a style of Rich's, which is imported only now."""
    from rich.text import Text

    return Text(text, style)


def make_list(rows: Iterable[Row]) -> Table:
    """A list without lines: something narrow, then something that folds."""
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold", ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def list_view(list_rows: Callable[P, Iterator[Row]]) -> Callable[P, View]:
    """A function that yields the rows of a list as one that yields the list, if it has rows."""

    @wraps(list_rows)
    def render(*args: P.args, **options: P.kwargs) -> View:
        if rows := list(list_rows(*args, **options)):
            yield make_list(rows)

    return render


def print_view(view: str | Iterable[RenderableType]) -> bool:
    """Put every part of a view on stdout: a line as it is, all else by Rich. False if it has none.

    A view is a generator as a rule, so that what nobody looks at is not made.
    """
    is_any = False
    for part in [view] if isinstance(view, str) else view:
        if isinstance(part, str):
            print_line(part)
        else:
            print_part(part)
        is_any = True
    return is_any


def print_part(part: RenderableType) -> None:
    """Put what Rich renders on stdout; in a file or a pipe without the spaces that fill lines."""
    console = get_console()
    if console.is_terminal:
        console.print(part)
        return
    with console.capture() as captured:
        console.print(part)
    for line in captured.get().removesuffix("\n").split("\n"):
        print(line.rstrip())


def print_line(text: str = "") -> None:
    """One plain line on stdout: never folded, so that it can be cut and searched."""
    print(escape_controls(text))


def print_note(text: str) -> None:
    """One line on stderr: about the answer, not part of it."""
    print(
        escape_controls(text),
        file=sys.stderr,
        flush=True,
    )


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
        json.dumps(
            to_json_values(value),
            ensure_ascii=False,
            indent=None if line else 2,
        ),
        flush=line,
    )


def memory_to_json(memory: Memory) -> dict[str, Any]:
    """A memory as JSON values, every field, times in seconds since 1970."""
    return dict(to_json_values(memory))
