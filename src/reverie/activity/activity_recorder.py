"""Writing down what tools do, without being in their way.

`enqueue` takes microseconds: the event waits in a queue, and a thread of ours takes secrets out of
it and appends it to the log. The thread lives only while there is something to write, so none is
left behind; it is no daemon, so the end of the program waits for what it has in hand.

Always true: nothing that goes wrong there reaches whoever recorded. `lost` counts the events that
could not be written, or were more than MAX_WAITING, and `trouble` says why the last one was not.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from reverie.core.model import Event
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import to_clean_json
from reverie.privacy.sensitive_files import drop_sensitive_contents

# Events that wait; what comes on top of that is lost, and counted.
MAX_WAITING = 10_000
# Events of one transaction.
BATCH_SIZE = 200
# How long the thread waits for more before it ends.
LINGER_SECONDS = 0.05


class ActivityRecorder:
    """A queue in front of the event log."""

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
                self.lost += 1
                self.trouble = f"more than {MAX_WAITING:,} events waited to be written"
                return
            self._waiting.append((event, is_redacted))
            if self._is_running():
                self._changed.notify_all()
            else:
                self._start_thread()

    def flush(self, within: float = 30.0) -> bool:
        """Wait until everything is written, `within` seconds at most; True if it is."""
        with self._changed:
            alone = not self._is_running()
        # Without a thread the program is about to end, or has forked: the caller writes.
        if alone:
            while self._waiting:
                self._write(self._pop_batch())
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, within)

    def _is_running(self) -> bool:
        """True if there is a thread; after a fork the parent's is none of ours."""
        return self._thread is not None and self._thread.is_alive()

    def _start_thread(self) -> None:
        thread = threading.Thread(
            target=self._run,
            name="reverie-recorder",
            daemon=False,
        )
        # While the interpreter shuts down no thread can be started: `flush` writes what waits.
        with suppress(RuntimeError):
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
            return self._pop_batch()

    def _pop_batch(self) -> list[tuple[Event, bool]]:
        return [self._waiting.popleft() for _ in range(min(BATCH_SIZE, len(self._waiting)))]

    def _write(self, batch: Sequence[tuple[Event, bool]]) -> None:
        try:
            policy = self._policy()
            self._append([redact_event(event, policy, done) for event, done in batch])
        # Whatever it is, it is not the tool's fault.
        except Exception as err:
            self.lost += len(batch)
            self.trouble = f"{type(err).__name__}: {err}"


def redact_event(
    event: Event,
    policy: Policy,
    is_redacted: bool = False,
) -> Event:
    """An event without secrets, and without what stands in sensitive files; long texts are cut
    after that. `is_redacted`: whoever handed it over has taken the secrets out.
    """
    from reverie.activity.activity_events import shorten_payload
    from reverie.privacy import redact_value

    policy = policy.within(event.space)
    safe = to_clean_json(dict(drop_sensitive_contents(event.payload, policy)))
    if not is_redacted:
        safe, _ = redact_value(safe, policy)
    return event._replace(payload=shorten_payload(safe))
