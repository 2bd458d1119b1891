"""A thread beside the background in which a language model reads what was said: that takes a
minute, no turn may.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from reverie.pipeline.event_reader import WorkContext
from reverie.runtime.settle import has_llm_work, run_llm_step

ErrorGuard = Callable[[Callable[[], object]], None]  # calls something and keeps what goes wrong


class LlmThread:
    """At most one thread; a daemon, so that the end of the process waits for no model."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self.trouble = ""  # why the model did not answer the last time

    def begin(
        self, work: WorkContext, holder: str, guard: ErrorGuard, then: Callable[[], None]
    ) -> None:
        """Read what waits, unless that is being done, or nothing waits for a model that may be
        asked now.

        `then` is called when something was read.
        """
        if has_llm_work(work) and (self._thread is None or not self._thread.is_alive()):
            thread = threading.Thread(
                target=guard,
                args=(lambda: self._read(work, holder, then),),
                daemon=True,
                name="reverie-reader",
            )
            thread.start()
            # only now: who ends it meanwhile cannot wait for a thread that has not begun
            self._thread = thread

    def join(self, patience: float) -> None:
        """Wait for what is being read; who closes the model first waits for next to nothing."""
        if self._thread is not None:
            self._thread.join(patience)

    def _read(self, work: WorkContext, holder: str, then: Callable[[], None]) -> None:
        done = run_llm_step(work, holder)
        self.trouble = done.trouble
        if done.events:
            then()
