"""Writing down what tools do, without being in their way: hand over, and go on (CC-75, D13).

`put` takes microseconds: the event stands in a queue, and a thread of ours takes secrets out of it
and appends it to the log. The thread lives only while there is something to write, so none is left
behind; it is no daemon, so the end of the program waits for what it has in hand. Nothing that goes
wrong there reaches whoever recorded: `lost` counts the events that could not be written, and
`trouble` says why the last one could not.

At most MOST events wait; what comes on top of that is lost, and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from reverie.core.model import Event
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import to_clean_json
from reverie.privacy.sensitive_files import drop_sensitive_contents

MAX_WAITING = 10_000  # events that wait
BATCH_SIZE = 200  # of one transaction
LINGER_SECONDS = 0.05  # seconds that the thread waits for more before it ends


class ActivityRecorder:
    """A queue in front of a log."""

    def __init__(
        self, append: Callable[[Sequence[Event]], object], policy: Callable[[], Policy]
    ) -> None:
        self._append, self._policy = append, policy
        self._waiting: deque[tuple[Event, bool]] = deque()  # with whether it is redacted
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = False
        self.lost, self.trouble = 0, ""

    def enqueue(self, event: Event, *, is_redacted: bool = False) -> None:
        """Have this written soon. Its payload is not to be altered any more."""
        with self._changed:
            if len(self._waiting) >= MAX_WAITING:
                self.lost, self.trouble = (
                    self.lost + 1,
                    f"more than {MAX_WAITING:,} events waited to be written",
                )
                return
            self._waiting.append((event, is_redacted))
            if self._is_running():
                self._changed.notify_all()
            else:
                self._start_thread()

    def flush(self, within: float = 30.0) -> bool:
        """Wait until everything is written; whether it is."""
        with self._changed:
            alone = not self._is_running()
        if alone:  # no thread could be started: the program is about to end, or has forked
            while self._waiting:
                self._write(
                    [self._waiting.popleft() for _ in range(min(BATCH_SIZE, len(self._waiting)))]
                )
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, within)

    def _is_running(self) -> bool:
        """Whether there is a thread; after a fork the parent's is none of ours."""
        return self._thread is not None and self._thread.is_alive()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="reverie-recorder", daemon=False)
        with suppress(RuntimeError):  # the interpreter is shutting down: `flush` writes what waits
            thread.start()
            self._thread, self._busy = thread, False

    def _run(self) -> None:
        while (batch := self._take_batch()) is not None:
            self._write(batch)
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _take_batch(self) -> list[tuple[Event, bool]] | None:
        """What is to be written next; None if nothing has come for a while, and then the thread
        ends.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._waiting), LINGER_SECONDS):
                self._thread = None
                return None
            self._busy = True
            return [self._waiting.popleft() for _ in range(min(BATCH_SIZE, len(self._waiting)))]

    def _write(self, batch: Sequence[tuple[Event, bool]]) -> None:
        try:
            policy = self._policy()
            self._append([redact_event(event, policy, done) for event, done in batch])
        except Exception as err:  # whatever it is, it is not the tool's fault
            self.lost, self.trouble = self.lost + len(batch), f"{type(err).__name__}: {err}"


def redact_event(event: Event, policy: Policy, is_redacted: bool = False) -> Event:
    """An event without secrets, and without what stands in sensitive files; long texts are cut
    after that. `is_redacted`: whoever handed it over has taken the secrets out.
    """
    from reverie.activity.activity_events import shorten_payload
    from reverie.privacy import redact_value

    safe = to_clean_json(dict(drop_sensitive_contents(event.payload, policy)))
    if not is_redacted:
        safe, _ = redact_value(safe, policy)
    return event._replace(payload=shorten_payload(safe))
