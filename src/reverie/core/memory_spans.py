"""Spans of memory operations, after OpenTelemetry's convention for generative AI.

A span says which operation ran, in which store, on which and how many memories, and whether
something was given or held back. What was asked, kept or found is in one only where its owner asks
for that (`capture_content`), and then without secrets.

OpenTelemetry is never imported here: who has configured a provider has imported it, so where its
module is not loaded nobody listens, and an operation costs one look into a dictionary. Processes
that answer somebody and then end hand a `SpanRecord` to a `SpanSink` instead; the worker sends it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias

from reverie.core import clock
from reverie.core.model import Hint, Hit, Memory, Retrieved

SEARCH, CREATE, UPDATE = "search_memory", "create_memory", "update_memory"
DELETE, UPSERT = "delete_memory", "upsert_memory"
# The convention's names of what verbs do; "upsert" is what creates, changes or consolidates
# memories without the caller choosing which.
OPERATIONS = {
    "recall": SEARCH,
    "hints": SEARCH,
    "retrieve": SEARCH,
    "browse": SEARCH,
    "similar": SEARCH,
    "neighbours": SEARCH,
    "turn": SEARCH,
    "remember": CREATE,
    "remember_many": CREATE,
    "remind": CREATE,
    "learn": UPSERT,
    "settle": UPSERT,
    "sleep": UPSERT,
    "revise": UPDATE,
    "tag": UPDATE,
    "feedback": UPDATE,
    "restore": UPDATE,
    "supersede": UPDATE,
    "forget": DELETE,
    "purge": DELETE,
}
# Verdicts of the gate that decides whether memory speaks.
GIVEN, HELD_BACK, NOTHING = "given", "held back", "nothing found"
HELD_OUT = "held out"  # the gate of a conversation in which memory is silent, for comparison
# Ids that one span names; `gen_ai.memory.record.count` counts them all.
MAX_NAMED_IDS = 50
PROVIDER_MODULE = "opentelemetry.trace"

AttributeValue: TypeAlias = "str | bool | int | float | Sequence[str]"


class SpanRecord(NamedTuple):
    """A span that is over, to be sent by whoever sends spans."""

    verb: str  # of `Mind`, or what the worker did
    operation: str  # the convention's name for that
    started_at: float
    ended_at: float
    attributes: Mapping[str, AttributeValue]
    children: Sequence[SpanRecord] = ()


SpanSink: TypeAlias = Callable[[SpanRecord], object]


class MemorySpan(Protocol):
    """What of a span is used here."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Say something about the operation."""


class SilentSpan:
    """A span where nobody listens, or within one that tells of it already."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Do nothing."""


class CollectedSpan:
    """A span whose attributes are collected for a `SpanRecord`."""

    def __init__(self, attributes: Mapping[str, AttributeValue]) -> None:
        self.attributes = dict(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        """Keep it for the record."""
        self.attributes[key] = value


# True within an operation that has its span: verbs that others are made of get none of their own.
_is_told: ContextVar[bool] = ContextVar("reverie_is_told", default=False)


def may_be_observed(sink: SpanSink | None) -> bool:
    """False where certainly nobody listens."""
    return sink is not None or PROVIDER_MODULE in sys.modules


def find_tracer() -> Any | None:
    """A tracer of the provider that the process has configured; None where it has none."""
    trace = sys.modules.get(PROVIDER_MODULE)
    if trace is None or not hasattr(trace, "NoOpTracerProvider"):  # none, or half imported
        return None
    if isinstance(
        trace.get_tracer_provider(), (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
    ):
        return None
    # Of the package that this is a part of, and which imports, when it is asked, all the rest.
    return trace.get_tracer("reverie", sys.modules["reverie"].__version__)


def basic_attributes(verb: str, operation: str) -> dict[str, AttributeValue]:
    """What every span says."""
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "reverie",
        "reverie.verb": verb,
    }


@contextmanager
def memory_span(
    verb: str,
    attributes: Mapping[str, AttributeValue],
    sink: SpanSink | None = None,
) -> Iterator[MemorySpan]:
    """The span of one verb, for the process's own provider, or else for the sink; errors are noted
    by their names. Within another one it says nothing.
    """
    tracer = None if _is_told.get() else find_tracer()
    if _is_told.get() or (tracer is None and sink is None):
        yield SilentSpan()
        return
    operation = OPERATIONS.get(verb, verb)
    said = {**basic_attributes(verb, operation), **attributes}
    token = _is_told.set(True)
    try:
        if tracer is None:
            assert sink is not None
            with collect_span(verb, operation, said, sink) as collected:
                yield collected
        else:
            # The message of an error may quote what somebody asked.
            with tracer.start_as_current_span(
                operation, attributes=said, record_exception=False, set_status_on_exception=False
            ) as span:
                yield from note_error(span)
    finally:
        _is_told.reset(token)


def note_error(span: Any) -> Iterator[MemorySpan]:
    """The span, which is marked by the name of an error that is raised at the yield."""
    try:
        yield span
    except Exception as err:
        span.set_attribute("error.type", type(err).__name__)
        if not isinstance(span, CollectedSpan):
            span.set_status(sys.modules[PROVIDER_MODULE].StatusCode.ERROR)
        raise


@contextmanager
def collect_span(
    verb: str, operation: str, attributes: Mapping[str, AttributeValue], sink: SpanSink
) -> Iterator[MemorySpan]:
    """A span whose record goes to the sink."""
    span, begun = CollectedSpan(attributes), clock.now()
    try:
        yield from note_error(span)
    finally:
        # A clock that was set back makes no span of negative length.
        ended = max(begun, clock.now())
        sink(SpanRecord(verb, operation, begun, ended, span.attributes))


def emit_record(tracer: Any, record: SpanRecord) -> None:
    """Make a tracer's span of a record, with the times that it had, and of what happened within."""
    trace = sys.modules[PROVIDER_MODULE]
    span = tracer.start_span(
        record.operation,
        attributes={**basic_attributes(record.verb, record.operation), **record.attributes},
        start_time=to_nanoseconds(record.started_at),
    )
    if "error.type" in record.attributes:
        span.set_status(trace.StatusCode.ERROR)
    if record.children:
        with trace.use_span(span, end_on_exit=False):
            for child in record.children:
                emit_record(tracer, child)
    span.end(to_nanoseconds(record.ended_at))


def to_nanoseconds(at: float) -> int:
    """A moment in nanoseconds since 1970, exact to a microsecond."""
    return round(at * 1e6) * 1000


def find_record_sink(sink: SpanSink | None) -> SpanSink | None:
    """Where records go: to the process's own provider, or else to the sink."""
    tracer = find_tracer()
    return sink if tracer is None else lambda record: emit_record(tracer, record)


def describe_answer(span: MemorySpan, verb: str, answer: Any) -> None:
    """Say which memories an answer is about and how many, and whether a search abstained."""
    ids = list_answer_ids(answer)
    if ids is None:
        return
    describe_ids(span, ids)
    if OPERATIONS.get(verb) == SEARCH:
        span.set_attribute("reverie.memory.abstained", not ids)
        span.set_attribute("reverie.gate.verdict", GIVEN if ids else NOTHING)


def describe_block(span: MemorySpan, ids: Sequence[str], held: Mapping[str, str]) -> None:
    """Say what an agent was given unasked, and what was held back: id → the gate that stops it."""
    describe_ids(span, ids)
    span.set_attribute("reverie.memory.abstained", not ids)
    span.set_attribute("reverie.gate.verdict", GIVEN if ids else HELD_BACK if held else NOTHING)
    if held:
        span.set_attribute("reverie.gate.held_back.ids", list(held)[:MAX_NAMED_IDS])
        span.set_attribute("reverie.gate.held_back.gates", list(held.values())[:MAX_NAMED_IDS])


def describe_ids(span: MemorySpan, ids: Sequence[str]) -> None:
    """Name the memories that an operation was about, and count them."""
    span.set_attribute("gen_ai.memory.record.count", len(ids))
    if len(ids) == 1:
        span.set_attribute("gen_ai.memory.record.id", ids[0])
    if ids:
        span.set_attribute("reverie.record.ids", list(ids[:MAX_NAMED_IDS]))


def list_answer_ids(answer: Any) -> list[str] | None:
    """The ids of the memories in an answer; None for one that holds none by its nature."""
    match answer:
        case Memory() | Hint():
            return [answer.id]
        case Hit():
            return [answer.memory.id]
        case Retrieved():
            return [memory.id for memory in answer.memories]
        case list():
            return [id for one in answer for id in list_answer_ids(one) or ()]
    return None
