"""Spans of OpenTelemetry for memory operations, after the convention for generative AI.

Nothing is sent unless the operator has installed an SDK and configured it, for one by starting the
server with `opentelemetry-instrument`; without one a span costs nothing. A span says which
operation ran, in which store, on how many memories, and whether recall abstained. What was asked,
kept or found is never in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from reverie import __version__
from reverie.core.model import Memory, Retrieved

# The convention's names of operations; the others are this project's own verbs.
OPERATIONS = {
    "recall": "search_memory",
    "hints": "search_memory",
    "retrieve": "search_memory",
    "browse": "search_memory",
    "similar": "search_memory",
    "neighbours": "search_memory",
    "remember": "create_memory",
    "remember_many": "create_memory",
    "remind": "create_memory",
    "learn": "create_memory",
    "revise": "update_memory",
    "tag": "update_memory",
    "feedback": "update_memory",
    "restore": "update_memory",
    "supersede": "update_memory",
    "forget": "delete_memory",
    "purge": "delete_memory",
}
SEARCH = "search_memory"


class MemorySpan(Protocol):
    """What of a span is used here."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Say something about the operation."""


class SilentSpan:
    """A span where nobody listens."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Do nothing."""


@contextmanager
def memory_span(verb: str, tenant: str) -> Iterator[MemorySpan]:
    """The span of one verb; errors are noted by their names."""
    operation = OPERATIONS.get(verb, verb)
    try:
        from opentelemetry import trace
    except ModuleNotFoundError:
        yield SilentSpan()
        return
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "reverie",
        "gen_ai.memory.store.id": tenant,
        "reverie.verb": verb,
    }
    tracer = trace.get_tracer("reverie", __version__)
    with tracer.start_as_current_span(
        f"{operation} {tenant}", attributes=attributes, record_exception=False
    ) as span:
        try:
            yield span
        except Exception as err:
            # The message of an error may quote what somebody asked.
            span.set_attribute("error.type", type(err).__name__)
            raise


def describe_answer(span: MemorySpan, verb: str, answer: Any) -> None:
    """Say how many memories an answer is about, and whether a search abstained."""
    count = count_records(answer)
    if count is None:
        return
    span.set_attribute("gen_ai.memory.record.count", count)
    if OPERATIONS.get(verb) == SEARCH:
        span.set_attribute("reverie.memory.abstained", count == 0)


def count_records(answer: Any) -> int | None:
    """How many memories an answer holds; None for one that holds none by its nature."""
    match answer:
        case Memory():
            return 1
        case Retrieved():
            return len(answer.memories)
        case list():
            return len(answer)
    return None
