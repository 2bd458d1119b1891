"""A few lines below the prompt that are drawn anew, and the keys that are pressed meanwhile.

Always true: what is drawn holds nothing that a terminal obeys but what stands here, no line is
wider than the terminal, and the terminal is left as it was found, whatever happens.
"""

from __future__ import annotations

import codecs
import os
import select
import shutil
import signal
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self, TextIO

from reverie.core import environment
from reverie.interfaces.cli.terminal_output import escape_controls
from reverie.interfaces.terminal.key_reading import Key, read_keys
from reverie.interfaces.terminal.line_edit import cut_columns, measure_columns

# Over ssh the bytes of one key may come apart; longer than this nobody waits for Esc to be seen.
SECONDS_TO_TELL_ESCAPE = 0.05
STYLES = {"bold": "1", "dim": "2", "chosen": "7", "good": "32", "bad": "31", "accent": "36"}
COLOURLESS = frozenset({"bold", "dim", "chosen"})


class Span(NamedTuple):
    """A piece of a line in a style, a key of STYLES."""

    text: str
    style: str = ""


Line = Sequence[Span] | str


def can_draw(out: TextIO) -> bool:
    """True if somebody sits at a terminal on which lines can be drawn anew."""
    try:
        import termios  # noqa: F401 - not on Windows
    except ModuleNotFoundError:
        return False
    return sys.stdin.isatty() and out.isatty() and not environment.is_dumb_terminal()


def find_terminal(query: str) -> TextIO | None:
    """Where a search may draw: stdout, or stderr where stdout is taken, as in `$(reverie find)`;
    None without a terminal. With a query whoever reads stdout gets the results.
    """
    if can_draw(sys.stdout):
        return sys.stdout
    return sys.stderr if not query.strip() and can_draw(sys.stderr) else None


class InlineScreen:
    """The lines and the keys. To be used as a context manager."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out: TextIO = out or sys.stdout
        self._input = sys.stdin.fileno()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._keys: list[Key] = []
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._saved: Any = None
        self._before: Any = None
        self._has_colour = not environment.has_variable("NO_COLOR")
        self._can_write = (self._out.encoding or "").lower().startswith("utf")

    def __enter__(self) -> Self:
        import termios
        import tty

        self._saved = termios.tcgetattr(self._input)
        tty.setraw(self._input)
        self._before = signal.signal(signal.SIGWINCH, lambda *_: self.wake())
        # A paste comes marked, so that a line feed in it is no Enter.
        self._write("\x1b[?2004h")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import termios

        self._write("\r\x1b[J\x1b[?2004l")
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._saved)
        signal.signal(signal.SIGWINCH, self._before)
        os.close(self._wake_read)
        os.close(self._wake_write)

    @property
    def size(self) -> os.terminal_size:
        """Columns and lines of the terminal."""
        try:
            size = os.get_terminal_size(self._out.fileno())
        except OSError:
            return shutil.get_terminal_size()
        # A serial line, or a container's terminal, may not know how large it is: 0 by 0.
        return size if size.columns > 0 and size.lines > 0 else shutil.get_terminal_size()

    def wake(self) -> None:
        """Have `wait_key` return None at once; from any thread."""
        try:
            os.write(self._wake_write, b".")
        except OSError:  # it is awake already, or gone
            return

    def wait_key(self, seconds: float | None = None) -> Key | None:
        """The next key; None if it was woken, or none came in that time. Ctrl-C is raised."""
        while not self._keys:
            patience = SECONDS_TO_TELL_ESCAPE if self._pending else seconds
            ready, _, _ = select.select([self._input, self._wake_read], [], [], patience)
            if self._input in ready:
                self._take(os.read(self._input, 4_096))
            elif self._wake_read in ready:
                os.read(self._wake_read, 4_096)
                return None
            elif self._pending:  # Esc, and nothing behind it
                self._keys.append(Key("escape"))
                self._pending = ""
            else:
                return None
        key = self._keys.pop(0)
        if key.name == "ctrl c":
            raise KeyboardInterrupt
        return key

    def _take(self, data: bytes) -> None:
        if not data:  # the terminal is gone
            raise KeyboardInterrupt
        keys, self._pending = read_keys(self._pending + self._decoder.decode(data))
        self._keys += keys

    def draw(self, lines: Sequence[Line], cursor: int | None = None) -> None:
        """Draw the lines in the place of those before; the cursor stays in the first, behind so
        many columns, or at its start.
        """
        columns = self.size.columns
        drawn = [self._render(line, columns - 1) for line in lines[: self.size.lines - 1]]
        up = f"\x1b[{len(drawn) - 1}A" if len(drawn) > 1 else ""
        right = f"\x1b[{cursor}C" if cursor else ""
        self._write("\r\x1b[J" + "\r\n".join(drawn) + up + "\r" + right)

    def _render(self, line: Line, columns: int) -> str:
        spans = [Span(line)] if isinstance(line, str) else line
        drawn, left = [], columns
        for span in spans:
            text = cut_columns(escape_controls(span.text.translate(ON_ONE_LINE)), left)
            left -= measure_columns(text)
            drawn.append(self._paint(text, span.style))
        return "".join(drawn)

    def _paint(self, text: str, style: str) -> str:
        if not text or style not in STYLES or not (self._has_colour or style in COLOURLESS):
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def _write(self, text: str) -> None:
        if not self._can_write:
            encoding = self._out.encoding or "ascii"
            text = text.translate(PLAIN).encode(encoding, "replace").decode(encoding)
        self._out.write(text)
        self._out.flush()


ON_ONE_LINE = str.maketrans("\n\t\r", "   ")
# What takes the place of our own signs where a terminal knows ASCII alone.
PLAIN = str.maketrans({"▸": ">", "·": "-", "…": "~", "—": "-", "“": '"', "”": '"', "↑": "^"})
