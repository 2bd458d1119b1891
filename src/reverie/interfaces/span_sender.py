"""The worker's side of spans: makes OpenTelemetry's spans of records and sends them, by OTLP over
HTTP, in a thread of the SDK's own.

Nothing waits for the collector: what it does not take in time is dropped by the SDK, and one line
in the log and in `reverie doctor` says so until it takes some again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from reverie import __version__
from reverie.core import config
from reverie.core.memory_spans import SpanRecord, emit_record

if TYPE_CHECKING:
    from reverie.core.config import Settings

SERVICE = "reverie"
# That the last spans of a worker have to be sent, and then to be given up; it ends then.
CLOSE_SECONDS = 2.0
MAX_REASON_CHARS = 200


class SpanSender:
    """Sends spans to one collector."""

    def __init__(
        self, target: str, settings: Settings, note_trouble: Callable[[str], None]
    ) -> None:
        headers = parse_headers(settings.otel_headers)
        self._exporter = WatchedExporter(target, headers, note_trouble)
        self._provider = TracerProvider(resource=describe_program(), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer(SERVICE, __version__)

    def send(self, record: SpanRecord) -> None:
        """Hand a span to the thread that sends; never waits for that."""
        emit_record(self._tracer, record)

    def close(self) -> None:
        """Send what is left, for CLOSE_SECONDS at most."""
        # A thread that the process does not wait for: the SDK itself would wait for half a minute.
        last = threading.Thread(target=self._provider.shutdown, name="spans", daemon=True)
        last.start()
        last.join(CLOSE_SECONDS)
        if last.is_alive():
            # It waits to try once more: now it gives up, and says why.
            self._exporter.shutdown()
            last.join(CLOSE_SECONDS)


class WatchedExporter(SpanExporter):
    """The exporter of the SDK, of which it is noted whether spans arrive."""

    def __init__(
        self, target: str, headers: dict[str, str] | None, note_trouble: Callable[[str], None]
    ) -> None:
        self._inner = OTLPSpanExporter(endpoint=target, headers=headers)
        self._place = config.hide_password(target)
        self._note_trouble, self._trouble = note_trouble, ""
        self._reasons = ReasonKeeper(target, self._place)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send some; trouble is noted once, and that it is over."""
        result = self._inner.export(spans)
        trouble = ""
        if result is not SpanExportResult.SUCCESS:
            trouble = f"Spans are not taken by {self._place}: {self._reasons.last or 'no answer'}"
        if bool(trouble) != bool(self._trouble):
            self._note_trouble(trouble)
        self._trouble = trouble
        return result

    def shutdown(self) -> None:
        """End the connection."""
        self._inner.shutdown()  # type: ignore[no-untyped-call]
        self._reasons.close()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits here."""
        return self._inner.force_flush(timeout_millis)


class ReasonKeeper(logging.Handler):
    """Keeps the last reason that the SDK logs, instead of having it printed."""

    def __init__(self, target: str, place: str) -> None:
        super().__init__(logging.WARNING)
        self.last, self._target, self._place = "", target, place
        self._logger = logging.getLogger("opentelemetry")
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its first words, without the password of an address."""
        text = record.getMessage().replace(self._target, self._place)
        self.last = " ".join(text.split())[:MAX_REASON_CHARS]

    def close(self) -> None:
        """Listen no longer."""
        self._logger.removeHandler(self)
        super().close()


def describe_program() -> Resource:
    """What sends: the environment's names for it go before ours."""
    ours = {"service.name": SERVICE, "service.version": __version__}
    return Resource.create(ours).merge(OTELResourceDetector().detect())


def parse_headers(setting: str) -> dict[str, str] | None:
    """The headers of the setting `otel_headers`; None leaves them to the SDK's own variable."""
    pairs = [pair.partition("=") for pair in setting.split(",") if pair.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs} or None
