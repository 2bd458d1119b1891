# mypy: no-check-untyped-defs
"""A collector of OpenTelemetry on loopback: takes OTLP over HTTP and keeps what it was sent."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.support.helpers import serve_http


class SentSpan(NamedTuple):
    """A span as it arrived."""

    name: str
    said: dict[str, Any]
    begun: float
    ended: float
    id: str
    parent: str
    failed: bool
    status: str
    events: int
    program: dict[str, Any]


class Collector:
    """What was sent to it."""

    def __init__(self):
        self.address = ""
        self.spans, self.bodies, self.headers, self.paths = [], [], [], []
        self.lock = threading.Lock()

    def take(self, path, headers, body):
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        with self.lock:
            self.paths.append(path)
            self.headers.append(dict(headers))
            self.bodies.append(body)
            for group in request.resource_spans:
                program = to_values(group.resource.attributes)
                for scope in group.scope_spans:
                    self.spans += [to_sent_span(span, program) for span in scope.spans]

    def find(self, **said):
        """The spans that say so; `surface="hook"` is the attribute `reverie.surface`."""
        with self.lock:
            return [
                span
                for span in self.spans
                if all(span.said.get(f"reverie.{name}") == value for name, value in said.items())
            ]


def to_values(attributes):
    """Attributes of protobuf as Python has them."""
    return {one.key: to_value(one.value) for one in attributes}


def to_value(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [to_value(one) for one in value.array_value.values]
    return getattr(value, kind)


def to_sent_span(span, program):
    return SentSpan(
        span.name,
        to_values(span.attributes),
        span.start_time_unix_nano / 1e9,
        span.end_time_unix_nano / 1e9,
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.status.code == 2,
        span.status.message,
        len(span.events),
        program,
    )


@contextmanager
def collecting():
    """A collector that listens."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(self.path, self.headers, body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with serve_http(Handler) as address:
        collector.address = address
        yield collector
