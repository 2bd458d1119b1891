"""The spans that a worker sends: of its own work, and of what commands and tools left in the spool.

Where nothing is to be sent, OpenTelemetry is not imported and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reverie.core import clock
from reverie.core.installation import advise_install
from reverie.core.memory_spans import (
    OPERATIONS,
    CollectedSpan,
    SpanRecord,
    find_record_sink,
)
from reverie.runtime.mind.verb_spans import context_attributes, describe_settling, describe_sleep
from reverie.runtime.settle import SettleReport
from reverie.runtime.span_spool import SpanSpool, find_target, is_sender_installed

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.consolidation.sleep_run import SleepReport
    from reverie.core.memory_spans import SpanSink
    from reverie.interfaces.span_sender import SpanSender
    from reverie.pipeline.event_reader import WorkContext

# Of one run of settling; a first import has thousands.
MAX_CHILDREN = 200


class SettleSpan:
    """What one run of settling did so far, for its span."""

    def __init__(self, *, is_told: bool) -> None:
        self.begun = clock.now()
        self.done = SettleReport()
        self.children: list[SpanRecord] = []
        self._is_told = is_told

    def with_spans(self, work: WorkContext) -> WorkContext:
        """The context in which what readers do belongs to this run."""
        return work._replace(spans=self._add_child if self._is_told else None)

    def _add_child(self, record: SpanRecord) -> None:
        if len(self.children) < MAX_CHILDREN:
            self.children.append(record)

    def add(self, step: SettleReport) -> None:
        """One more step of the run."""
        self.done = self.done.plus(step)


class WorkerSpans:
    """Sends spans, if the settings or the environment of this worker say where to."""

    def __init__(self, mind: Mind, log: Callable[[str], None] = lambda _: None) -> None:
        self._mind, self._log = mind, log
        self._spool = SpanSpool(mind.settings.home)
        self._sender: SpanSender | None = None
        mind.context.surface = "worker"
        # Its own provider, as started by `opentelemetry-instrument`, or else ours.
        self._sink = find_record_sink(None)
        if self._sink is None and (target := find_target(mind.settings)):
            self._sink = self._open_sender(target)
        mind.context.spans = self._sink

    def _open_sender(self, target: str) -> SpanSink | None:
        """What sends to a collector; None where the extra is missing, which is logged."""
        if not is_sender_installed():
            # Somebody else's variables in the environment are no wish of ours.
            if self._mind.settings.otel:
                self._log(f"otel is set, but nothing can be sent: {advise_install('otel')}")
            return None
        from reverie.interfaces.span_sender import SpanSender

        self._sender = SpanSender(target, self._mind.settings, self._note_trouble)
        return self._sender.send

    def _note_trouble(self, trouble: str) -> None:
        self._spool.note_trouble(trouble)
        self._log(trouble or "Spans are taken again.")

    def are_waiting(self) -> bool:
        """True if commands or tools have left spans that this worker would send."""
        return self._sink is not None and bool(self._spool.list_paths())

    def send_waiting(self) -> None:
        """Send what commands and tools have left."""
        if self._sink is not None:
            for record in self._spool.take():
                self._sink(record)

    @contextmanager
    def settling(self) -> Iterator[SettleSpan]:
        """A run of settling; it is told if it did anything."""
        run = SettleSpan(is_told=self._sink is not None)
        try:
            yield run
        finally:
            if self._sink is not None and (run.done or run.done.failed):
                span = CollectedSpan(context_attributes(self._mind.context))
                describe_settling(span, run.done)
                self._send("settle", run.begun, span, tuple(run.children))

    def tell_sleep(self, report: SleepReport, begun: float) -> None:
        """Tell of a run of sleep."""
        if self._sink is not None:
            span = CollectedSpan(context_attributes(self._mind.context))
            describe_sleep(span, report)
            self._send("sleep", begun, span)

    def _send(
        self, verb: str, begun: float, span: CollectedSpan, children: tuple[SpanRecord, ...] = ()
    ) -> None:
        assert self._sink is not None
        ended = max(begun, clock.now())
        self._sink(SpanRecord(verb, OPERATIONS[verb], begun, ended, span.attributes, children))

    def close(self) -> None:
        """Send what is left, in few seconds or not at all."""
        self.send_waiting()
        if self._sender is not None:
            self._sender.close()
