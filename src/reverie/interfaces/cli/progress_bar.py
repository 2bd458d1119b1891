"""A bar on stderr for what takes longer than a moment. It vanishes when the work is done.

It appears by itself, even if a stage has nothing to report for long. Nothing is drawn where nobody
looks (stderr is no terminal): there, a stage that is still at work after a moment is named once, so
that a log says what took so long.
"""

from __future__ import annotations

import sys
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Self

from reverie.core import clock
from reverie.interfaces.cli.terminal_output import get_console, print_note

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BEFORE_BAR = 0.4  # of work that needs no bar


class ProgressBar:
    """Call it with (stage, done, total or None); `clear` it before something is printed."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._stage, self._since, self._task = "", 0.0, 0
        self._done: tuple[int, int | None] = (0, None)  # of how much in all
        self._bar: Progress | None = None
        self._named = False
        self._timer: Timer | None = None
        self._lock = Lock()  # of the timer's thread and the caller's

    def __call__(
        self,
        stage: str,
        done: int,
        total: int | None,
    ) -> None:
        """Report how much of this stage is done."""
        if self._quiet:
            return
        if stage != self._stage:
            self.clear()
            self._stage, self._since = stage, clock.ticks()
        self._done = done, total
        # A stage that cannot tell how far it is fetches something: that is said at once.
        fetching = total is None and done == 0
        is_due = fetching or clock.ticks() - self._since > SECONDS_BEFORE_BAR
        if sys.stderr.isatty():
            if is_due:
                self._draw(stage)
            elif self._timer is None:
                self._timer = Timer(SECONDS_BEFORE_BAR, self._draw, (stage,))
                self._timer.daemon = True
                self._timer.start()
        elif is_due and not self._named:
            self._named = True
            print_note(f"{stage} …")

    def _draw(self, stage: str) -> None:
        with self._lock:
            if stage != self._stage:  # it was cleared meanwhile
                return
            done, total = self._done
            if self._bar is None:
                self._bar = make_progress(in_bytes=bool(total and total > 1_000_000))
                self._task = self._bar.add_task(stage, total=total)
                self._bar.start()
            self._bar.update(
                self._task,  # type: ignore[arg-type]
                completed=done,
                total=total,
            )

    def clear(self) -> None:
        """Take the bar away; the next call begins anew."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
            self._bar, self._timer, self._stage, self._named = None, None, "", False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


def make_progress(in_bytes: bool) -> Progress:
    """How progress looks."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns: tuple[Any, ...] = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(
        *columns,
        console=get_console(stderr=True),
        transient=True,
    )
