"""A program at a pseudo-terminal, and what its screen shows."""

import os
import re
import select
import signal
import struct
import subprocess
import sys
import time

import pytest

from tests.support.helpers import PATIENCE

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")
CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")


class TerminalProcess:
    """`reverie` at a terminal of so many columns. To be used as a context manager."""

    def __init__(self, *words, columns=80, rows=24, **environment):
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.settings = termios.tcgetattr(inner)
        self.outer, self.inner = outer, inner
        self.written = ""
        variables = {**os.environ, "TERM": "xterm", "COLUMNS": "", "LINES": "", **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reverie", *words],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env={name: value for name, value in variables.items() if value},
            start_new_session=True,
            # Ctrl-C comes from a terminal that is the process's own.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no threads
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(120)
        os.close(self.outer)
        os.close(self.inner)

    def press(self, keys):
        """Type keys."""
        os.write(self.outer, keys.encode())

    def read_once(self, seconds=0.05):
        """Take in what was written meanwhile."""
        ready, _, _ = select.select([self.outer], [], [], seconds)
        if ready:
            self.written += os.read(self.outer, 65_536).decode("utf-8", "replace")
        return bool(ready)

    def wait_for(self, text, seconds=PATIENCE):
        """Wait until the screen shows a text; what it shows then."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read_once()
            if text in self.screen:
                return self.screen
        pytest.fail(f"{text!r} never came:\n{self.screen}")

    def wait_for_end(self, seconds=PATIENCE):
        """The exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read_once()
        code = self.process.poll()
        assert code is not None, "it goes on"
        while self.read_once():
            pass
        return code

    @property
    def screen(self):
        """What the lines show, as a terminal draws what was written."""
        return "\n".join(draw_screen(self.written)).rstrip()


def draw_screen(written):
    """The lines that a terminal shows, of the few controls that we use."""
    lines, row, column = [""], 0, 0
    place = 0
    while place < len(written):
        char = written[place]
        found = CONTROL.match(written, place)
        place = found.end() if found else place + 1
        if found:
            count, what = int(found[1]) if found[1].isdigit() else 1, found[2]
            if what == "A":
                row = max(0, row - count)
            elif what == "C":
                column += count
            elif what == "J":
                lines[row:] = [lines[row][:column]]
        elif char == "\r":
            column = 0
        elif char == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        else:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + char + line[column + 1 :]
            column += 1
    return lines
