"""What settling and sleep may ask a language model about memories that are there; None where it has
no useful answer.

Each is one question. The answer is checked by its task; what follows from it, and whether it can be
undone, is for who asks. None means: go on as without a model. A question about an event can wait:
for those a model that is away is `ModelAway`, and the event is read when it is back.
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
MAX_TIMEOUTS = 3  # answers to one event that may fail to come in time


def ask_about_event(
    work: WorkContext,
    llm: LanguageModel,
    event: Event,
    request: LlmRequest,
    read: Callable[[str], T],
) -> LlmAnswer[T]:
    """What a model answers about an event. Raises ModelAway if it is away; after TRIES times that
    it did not answer in

    time it raises BadAnswer instead: an event that is never finished must not hold up all others.
    """
    from reverie.llm.language_model import TIMEOUT, BadAnswer

    answer = llm.ask(request, read, space=event.space, session=event.session, about=event.seq)
    if answer.outcome == TIMEOUT and count_timeouts(work, event) >= MAX_TIMEOUTS:
        raise BadAnswer(f"{llm.name} did not answer in time, {MAX_TIMEOUTS} times")
    if answer.unavailable:
        why = f" ({answer.why})" if answer.why else ""
        raise ModelAway(f"{llm.name}: {answer.outcome}{why}. What it was to read waits")
    return answer


def count_timeouts(work: WorkContext, event: Event) -> int:
    """How often the model did not answer in time about this event."""
    calls = work.store.events(
        session=event.session, space=event.space, verbs=("llm",), newest=True, limit=50
    )
    return sum(
        call.payload.get("event") == event.seq and call.payload.get("outcome") == "timeout"
        for call in calls
    )


def ask_pair_opinion(
    work: WorkContext, event: Event, old: Memory, new: Memory
) -> PairOpinion | None:
    """What the newer memory is to the older: same, near, contradicts, updates or apart."""
    if work.llm is None:
        return None
    from reverie.llm.pair_task import build_comparison_request, read_comparison

    return ask_about_event(
        work, work.llm, event, build_comparison_request(old, new), read_comparison
    ).value


def ask_open_questions(
    work: WorkContext, event: Event, questions: Sequence[str], said: Sequence[HostMessage]
) -> ExtractionAnswer | None:
    """What a session answers of the questions that found nothing while it went on (B82)."""
    if work.llm is None or not questions or not said:
        return None
    from reverie.llm.group_naming_task import build_gaps_request, read_gap_answers

    return ask_about_event(
        work,
        work.llm,
        event,
        build_gaps_request(questions, said),
        lambda text: read_gap_answers(text, said),
    ).value
