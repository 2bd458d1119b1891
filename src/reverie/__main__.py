"""The program `reverie`, also as `python -m reverie`.

Ctrl-C while it is still importing ends it as quietly as later.
"""

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


def main() -> None:
    """Load the command line and run it."""
    # A host asks for its status line at every turn, and waits.
    if sys.argv[1:] == ["statusline"]:
        from reverie.interfaces.hooks.status_line import main as say_status

        return say_status()
    # Nor does one wait for the SDK when it greets a server.
    if sys.argv[1:2] == ["mcp"]:
        from reverie.interfaces.mcp.early_answers import answer_early

        answer_early(sys.argv[2:], load_server)
    # A first answer while somebody types would wait longer for the command line than for memory.
    if sys.argv[1:2] in (["find"], ["review"], ["now"]):
        with leave_at_once():
            from reverie.interfaces.terminal import early_screens
        early_screens.SCREENS[sys.argv[1]](sys.argv[2:])
    with leave_at_once():
        from reverie.interfaces.cli.app import main as run
    try:
        run()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            atexit.register(hold_back_interrupts)
        raise


@contextmanager
def leave_at_once() -> Iterator[None]:
    """Ctrl-C within ends the process with code 130, there and then.

    As an exception it may be raised in a callback of the import system, which drops it: the
    program would go on as if nothing had been said. Nothing is open yet that could be lost.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # a host that has Ctrl-C ignored
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def hold_back_interrupts() -> None:
    """End with our exit code, also where Ctrl-C was raised in code made of a string (a dataclass).

    CPython holds such an interrupt for unhandled, though it was handled, and at its end sends
    SIGINT to itself; while that is held back, it ends with 130 instead (`exit_sigint`, main.c).
    """
    if hasattr(signal, "pthread_sigmask"):  # not on Windows, which has no such end
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def load_server() -> None:
    """Import what an MCP server and its command need."""
    import reverie.interfaces.cli.app
    import reverie.interfaces.mcp.server  # noqa: F401 - so that the first tool need not wait


if __name__ == "__main__":
    main()
