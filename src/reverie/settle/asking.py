"""What settling and sleep may ask a language model about memories that are there; None where it has
no useful answer.

Each is one question. The answer is checked by its task; what follows from it, and whether it can be
undone, is for who asks. None means: go on as without a model. A question about an event can wait:
for those a model that is away is `ModelAway`, and the event is read when it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from reverie.errors import ModelAway
from reverie.settle.reading import Work

if TYPE_CHECKING:
    from reverie.lifecycle.sleep.pairs import Relate
    from reverie.llm import Answer, Llm, Request
    from reverie.llm.extract import Extracted
    from reverie.llm.pairs import Opinion
    from reverie.messages import Said
    from reverie.model import Event, Memory
    from reverie.settle.sleeping import Wish
    from reverie.settle.sleeping.run import Still

T = TypeVar("T")
TRIES = 3  # answers to one event that may fail to come in time
MOST_RELATED = 50  # pairs of one night that a model is asked about: 70,000 tokens at most
MOST_STILL = 30  # facts about code of one night: 45,000 tokens at most


def about(
    work: Work, llm: Llm, event: Event, request: Request, read: Callable[[str], T]
) -> Answer[T]:
    """What a model answers about an event. Raises ModelAway if it is away; after TRIES times that
    it did not answer in

    time it raises BadAnswer instead: an event that is never finished must not hold up all others.
    """
    from reverie.llm import TIMEOUT, BadAnswer

    answer = llm.ask(request, read, space=event.space, session=event.session, about=event.seq)
    if answer.outcome == TIMEOUT and timeouts(work, event) >= TRIES:
        raise BadAnswer(f"{llm.name} did not answer in time, {TRIES} times")
    if answer.away:
        why = f" ({answer.why})" if answer.why else ""
        raise ModelAway(f"{llm.name}: {answer.outcome}{why}. What it was to read waits")
    return answer


def timeouts(work: Work, event: Event) -> int:
    """How often the model did not answer in time about this event."""
    calls = work.store.events(
        session=event.session, space=event.space, verbs=("llm",), newest=True, limit=50
    )
    return sum(
        call.payload.get("event") == event.seq and call.payload.get("outcome") == "timeout"
        for call in calls
    )


def opinion(work: Work, event: Event, old: Memory, new: Memory) -> Opinion | None:
    """What the newer memory is to the older: same, near, contradicts, updates or apart."""
    if work.llm is None:
        return None
    from reverie.llm.pairs import compare_request, read_comparison

    return about(work, work.llm, event, compare_request(old, new), read_comparison).value


def advised(work: Work, wish: Wish) -> Wish:
    """A wish to sleep with what a model may do in it: write texts of two, name groups, say what
    belongs together.
    """
    if work.llm is None:
        return wish
    from reverie.settle.sleeping.run import SPACELESS

    return wish._replace(
        merge_text=wish.merge_text or merging_text(work, SPACELESS),
        relate=relating(work),
        still=holding(work),
        name_group=lambda texts, space: group_name(work, texts, space),
    )


def relating(work: Work) -> Relate | None:
    """How two memories belong together; "none" is an answer. MOST_RELATED pairs a night are asked
    about, each once.
    """
    llm = work.llm
    if llm is None:
        return None
    from reverie.llm.pairs import read_relation, relate_request

    known: dict[tuple[str, str], Opinion | None] = {}

    def related(first: Memory, second: Memory) -> Opinion | None:
        both = first.text, second.text
        if both not in known and len(known) < MOST_RELATED:
            known[both] = llm.ask(
                relate_request(first, second), read_relation, space=second.space
            ).value
        return known.get(both)

    return related


def holding(work: Work) -> Still | None:
    """Whether a memory still holds for code that has changed. MOST_STILL memories a night are asked
    about.
    """
    llm, left = work.llm, MOST_STILL
    if llm is None:
        return None
    from reverie.llm.facts import read_still, still_request

    def holds(memory: Memory, then: str, now: str) -> tuple[str, str] | None:
        nonlocal left
        left -= 1
        asked = still_request(memory.text, then, now)
        return llm.ask(asked, read_still, space=memory.space).value if left >= 0 else None

    return holds


def merging_text(work: Work, space: str) -> Callable[[str, str], str] | None:
    """Puts two texts into one that keeps every number, name and path of both; "" where it does not.

    The same two are asked about once.
    """
    llm = work.llm
    if llm is None:
        return None
    from reverie.llm.pairs import merge_request, read_merged

    @cache
    def merged(one: str, other: str) -> str:
        both = (one, other)
        return (
            llm.ask(merge_request(both), lambda text: read_merged(text, both), space=space).value
            or ""
        )

    return merged


def group_name(work: Work, texts: Sequence[str], space: str) -> str | None:
    """One to four words for a group of memories."""
    if work.llm is None:
        return None
    from reverie.llm.groups import name_request, read_name

    return work.llm.ask(name_request(texts), read_name, space=space).value


def answered(
    work: Work, event: Event, questions: Sequence[str], said: Sequence[Said]
) -> Extracted | None:
    """What a session answers of the questions that found nothing while it went on (B82)."""
    if work.llm is None or not questions or not said:
        return None
    from reverie.llm.groups import gaps_request, read_gaps

    return about(
        work, work.llm, event, gaps_request(questions, said), lambda text: read_gaps(text, said)
    ).value
