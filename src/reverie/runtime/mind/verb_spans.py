"""Spans of the verbs of `Mind`, where somebody listens: the provider that the application has
configured for OpenTelemetry, or the sink of an interface (`MindContext.spans`).

Always true: where nobody listens a verb costs one look into `sys.modules` more, and what is in a
span is never a secret; contents are in it only where its owner asks for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from reverie.core import environment
from reverie.core.errors import ReverieError
from reverie.core.memory_spans import (
    DELETE,
    OPERATIONS,
    UPDATE,
    AttributeValue,
    MemorySpan,
    describe_answer,
    describe_ids,
    may_be_observed,
    memory_span,
)
from reverie.core.model import Hint, Hit, Memory, Retrieved
from reverie.privacy.redacted_text import redact_short_text

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.runtime.mind.mind_context import MindContext

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# Verbs whose first argument is what somebody asks, and verbs that ask or keep somewhere.
ASKING = ("recall", "hints")
PLACED = (*ASKING, "retrieve", "browse", "remember", "remember_many", "remind", "learn")
# What the argument is called that names the memories of a verb.
IDS = ("ids", "id", "old")
IS_ID = re.compile(r"(mem|said)_[0-9a-z]{8,40}")
# Memories whose texts one span holds, where contents are asked for.
MAX_RECORDS = 20


def observed(verb: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """A verb of a mind, or of a group of its verbs, that has a span where somebody listens."""
    name = verb.__name__
    assert name in OPERATIONS

    @wraps(verb)
    def call(owner: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        context: MindContext = getattr(owner, "context", None) or owner._context  # type: ignore[attr-defined]
        if not may_be_observed(context.spans):
            return verb(owner, *args, **kwargs)
        with memory_span(name, call_attributes(context, name, kwargs), context.spans) as span:
            describe_targets(span, name, args[0] if args else None, kwargs)
            answer = verb(owner, *args, **kwargs)
            describe_result(span, name, answer)
            if captures_content(context.settings):
                question = args[0] if args else kwargs.get("query") or kwargs.get("prompt")
                asked = question if name in ASKING else None
                describe_content(span, asked, list_records(answer), context)
        return answer

    return call


def captures_content(settings: Settings) -> bool:
    """True if the owner asks for contents in spans."""
    return settings.otel_content or environment.captures_span_content()


def call_attributes(
    context: MindContext, name: str, kwargs: Mapping[str, Any]
) -> dict[str, AttributeValue]:
    """What is known of a call before it is made."""
    said = context_attributes(context)
    space, session = kwargs.get("space"), kwargs.get("session")
    # What is wrong with a space the verb itself will say.
    with suppress(ReverieError, OSError):
        if space is not None or name in PLACED:
            said["gen_ai.memory.store.id"] = context.resolve_space(space)
    if isinstance(session, str) and session:
        said["gen_ai.conversation.id"] = redact_short_text(session, context.policy)
    return said


def context_attributes(context: MindContext) -> dict[str, AttributeValue]:
    """The kind of store, and by which interface it is used."""
    is_postgres = ".postgres" in type(context.store).__module__
    return {
        "db.system.name": "postgresql" if is_postgres else "sqlite",
        "reverie.surface": context.surface,
    }


def describe_targets(span: MemorySpan, name: str, first: object, kwargs: Mapping[str, Any]) -> None:
    """Name the memories that a caller wants changed or deleted."""
    if OPERATIONS[name] not in (UPDATE, DELETE):
        return
    given = first if first is not None else next((kwargs[one] for one in IDS if one in kwargs), ())
    asked = [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else ()
    # A typing mistake could be anything, a secret too.
    describe_ids(span, [id for id in asked if isinstance(id, str) and IS_ID.fullmatch(id)])


def describe_result(span: MemorySpan, name: str, answer: Any) -> None:
    """Say what a verb did, in ids and numbers."""
    describe_answer(span, name, answer)
    if isinstance(answer, Memory):
        span.set_attribute("gen_ai.memory.store.id", answer.space)
    elif name == "learn":
        describe_ids(span, [memory.id for memory in answer.memories])
        span.set_attribute("reverie.record.rejected", len(answer.rejected))
    elif name == "settle":
        describe_settling(span, answer)
    elif name == "sleep":
        describe_sleep(span, answer)
    elif name == "purge":
        span.set_attribute("gen_ai.memory.record.count", answer.erased)


def describe_settling(span: MemorySpan, report: Any) -> None:
    """Say what settling did (a `SettleReport`)."""
    span.set_attribute("gen_ai.memory.record.count", report.learned)
    span.set_attribute("reverie.record.embedded", report.embedded)
    span.set_attribute("reverie.events.count", report.events)
    span.set_attribute("reverie.events.failed", report.failed)


def describe_sleep(span: MemorySpan, report: Any) -> None:
    """Say what a run of sleep did (a `SleepReport`): steps in all, and of each pass."""
    span.set_attribute("gen_ai.memory.record.count", report.steps)
    done = [f"{one.name}:{one.steps}" for one in report.passes if one.steps]
    span.set_attribute("reverie.sleep.passes", done)


def describe_content(
    span: MemorySpan,
    asked: object,
    records: Sequence[Mapping[str, Any]],
    context: MindContext,
) -> None:
    """Put what was asked and found into a span, without secrets."""
    policy = context.policy.masking
    if isinstance(asked, str) and asked:
        span.set_attribute("gen_ai.memory.query.text", redact_short_text(asked, policy))
    if records:
        safe = [
            {**one, "content": redact_short_text(one["content"], policy)}
            for one in records[:MAX_RECORDS]
        ]
        span.set_attribute("gen_ai.memory.records", json.dumps(safe, ensure_ascii=False))


def list_records(answer: Any) -> list[Mapping[str, Any]]:
    """The memories of an answer as the convention writes them."""
    match answer:
        case Memory():
            metadata = {"kind": answer.kind, "space": answer.space}
            return [{"id": answer.id, "content": answer.text, "metadata": metadata}]
        case Hit():
            return [{**list_records(answer.memory)[0], "score": round(answer.score, 4)}]
        case Hint():
            return [{"id": answer.id, "content": answer.title, "metadata": {"kind": answer.kind}}]
        case Retrieved():
            return list_records(answer.memories)
        case list():
            return [record for one in answer for record in list_records(one)]
    return []
