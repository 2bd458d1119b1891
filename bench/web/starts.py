"""How long `reverie find`, `review` and `now` take to show something, at a terminal.

Processor time until the first screen with what was asked for is drawn, and until the program was
told to leave and has, beside that of `python -c pass`; and on the clock until that screen. The
package is compiled first, as an installed one is.
"""

import compileall
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import reverie

SPACE = "me/bench"
# What to start, the key that leaves it (without one it ends by itself), and what stands on the
# screen once it is there: a card with its keys, not that they are being looked for.
SCREENS: dict[str, tuple[Sequence[str], bytes, bytes]] = {
    "find": (("find",), b"\x1b", b""),
    "review": (("review",), b"q", b"q leave"),
    "now": (("now",), b"", b""),
}
# A screen that has drawn nothing for so long is whole.
DRAWN_SECONDS = 0.15
MOST_SECONDS = 30.0
COLUMNS, ROWS = 100, 30


class Start(NamedTuple):
    """What one start took, in seconds."""

    first_processor: float  # until the first screen
    processor: float  # in all
    first_screen: float  # on the clock


def measure_starts(home: Path, runs: int) -> dict[str, dict[str, float]]:
    """By name the medians in milliseconds."""
    compileall.compile_dir(str(Path(reverie.__file__).parent), quiet=2)
    taken: dict[str, list[Start]] = {}
    for _ in range(runs):
        taken.setdefault("pass", []).append(
            run_once([sys.executable, "-c", "pass"], b"", b"", home)
        )
        for name, (words, key, seen) in SCREENS.items():
            shared = ["--home", str(home), "--space", SPACE]
            command = [sys.executable, "-m", "reverie", *words, *shared]
            taken.setdefault(name, []).append(run_once(command, key, seen, home))
    bare = statistics.median(one.processor for one in taken["pass"])
    return {name: sum_up(some, bare) for name, some in taken.items()}


def sum_up(some: Sequence[Start], bare: float) -> dict[str, float]:
    """The medians of some starts; `bare` is what Python itself takes."""
    first = statistics.median(one.first_processor for one in some)
    return {
        "first_processor_ms": 1e3 * first,
        "processor_ms": 1e3 * statistics.median(one.processor for one in some),
        "first_screen_ms": 1e3 * statistics.median(one.first_screen for one in some),
        "of_pass": first / bare,
    }


def run_once(command: Sequence[str], key: bytes, seen: bytes, home: Path) -> Start:
    """One start at a terminal; `seen` is what stands on the screen that counts."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env={**os.environ, "TERM": "xterm"},
        cwd=home,
        start_new_session=True,
    )
    os.close(inner)
    shown, first, written = 0.0, 0.0, b""
    end = start + MOST_SECONDS
    while time.perf_counter() < end:
        ready, _, _ = select.select([outer], [], [], DRAWN_SECONDS)
        try:
            if ready and (part := os.read(outer, 65_536)):
                written += part
                if not shown and seen in written:
                    shown = time.perf_counter() - start
                    first = read_processor_seconds(process.pid)
                continue
        except OSError:  # the program has left its terminal
            break
        if shown and key:
            os.write(outer, key)
            key = b""
    else:
        process.kill()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    os.close(outer)
    spent = used.ru_utime + used.ru_stime
    return Start(first or spent, spent, shown or time.perf_counter() - start)


def read_processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    # The clock of another process, as clock_getcpuclockid(3) numbers it.
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it has ended
        return 0.0
