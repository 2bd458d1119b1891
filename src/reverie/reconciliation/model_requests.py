"""Questions to a language model about stored memories; None where it has no useful answer.

None means: go on as without a model. The answer is checked by its task. An event can wait: of a
model that is away the answer is `ModelAway`, and the event is read when the model is back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from reverie.core.errors import ModelAway
from reverie.pipeline.event_reader import WorkContext

if TYPE_CHECKING:
    from reverie.core.model import Event, Memory
    from reverie.llm.extraction_task import ExtractionAnswer
    from reverie.llm.language_model import LanguageModel, LlmAnswer, LlmRequest
    from reverie.llm.pair_task import PairOpinion
    from reverie.text.host_messages import HostMessage

T = TypeVar("T")
# Timeouts about one event before it is given up: one that is never finished must not hold up all
# others.
MAX_TIMEOUTS = 3


def ask_about_event(
    work: WorkContext,
    llm: LanguageModel,
    event: Event,
    request: LlmRequest,
    read: Callable[[str], T],
) -> LlmAnswer[T]:
    """What a model answers about an event.

    Raises ModelAway if it is unavailable, so that the event waits, and BadAnswer once it has timed
    out MAX_TIMEOUTS times.
    """
    from reverie.llm.language_model import TIMEOUT, BadAnswer

    answer = llm.ask(
        request,
        read,
        space=event.space,
        session=event.session,
        about=event.seq,
    )
    if answer.outcome == TIMEOUT and count_timeouts(work, event) >= MAX_TIMEOUTS:
        raise BadAnswer(f"{llm.name} did not answer in time, {MAX_TIMEOUTS} times")
    if answer.unavailable:
        why = f" ({answer.why})" if answer.why else ""
        raise ModelAway(f"{llm.name}: {answer.outcome}{why}. What it was to read waits")
    return answer


def count_timeouts(work: WorkContext, event: Event) -> int:
    """How often the model has timed out about this event."""
    calls = work.store.events(
        session=event.session,
        space=event.space,
        verbs=("llm",),
        newest=True,
        limit=50,
    )
    return sum(
        call.payload.get("event") == event.seq and call.payload.get("outcome") == "timeout"
        for call in calls
    )


def ask_pair_opinion(
    work: WorkContext,
    event: Event,
    old: Memory,
    new: Memory,
) -> PairOpinion | None:
    """What the newer memory is to the older: same, near, contradicts, updates or apart."""
    if work.llm is None:
        return None
    from reverie.llm.pair_task import build_comparison_request, read_comparison

    request = build_comparison_request(old, new)
    return ask_about_event(work, work.llm, event, request, read_comparison).value


def ask_open_questions(
    work: WorkContext,
    event: Event,
    questions: Sequence[str],
    messages: Sequence[HostMessage],
) -> ExtractionAnswer | None:
    """What a session answers of the questions that found nothing while it went on."""
    if work.llm is None or not questions or not messages:
        return None
    from reverie.llm.group_naming_task import build_gaps_request, read_gap_answers

    request = build_gaps_request(questions, messages)
    return ask_about_event(
        work, work.llm, event, request, lambda text: read_gap_answers(text, messages)
    ).value
