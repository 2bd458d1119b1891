"""A thread beside the background thread in which a language model reads events.

That takes a minute, and no turn may wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from reverie.pipeline.event_reader import WorkContext
from reverie.runtime.settle import has_llm_work, run_llm_step

# Calls a function and records what it raises.
ErrorGuard = Callable[[Callable[[], object]], None]


class LlmThread:
    """At most one thread; a daemon, so that the end of the process does not wait for a model."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self.trouble = ""  # why the model did not answer the last time

    def begin(
        self,
        work: WorkContext,
        holder: str,
        guard: ErrorGuard,
        then: Callable[[], None],
    ) -> None:
        """Start reading, unless a thread is at it or no event waits for the model.

        `then` is called when something was read.
        """
        # Asked for a thread before asking the store: this is called after every settling.
        is_running = self._thread is not None and self._thread.is_alive()
        if is_running or not has_llm_work(work):
            return
        thread = threading.Thread(
            target=guard,
            args=(lambda: self._read(work, holder, then),),
            daemon=True,
            name="reverie-reader",
        )
        thread.start()
        # Set only now: `join` cannot wait for a thread that has not begun.
        self._thread = thread

    def join(self, patience: float) -> None:
        """Wait for the thread. Close the model first, so that it answers at once."""
        if self._thread is not None:
            self._thread.join(patience)

    def _read(
        self,
        work: WorkContext,
        holder: str,
        then: Callable[[], None],
    ) -> None:
        report = run_llm_step(work, holder)
        self.trouble = report.trouble
        if report.events:
            then()
