"""At the end of a session, what it was asked and had no answer to is held against what was said
later in it (B82).

A gap is a question for which memory had candidates and nothing fitting (`settle.gaps`). Where the
conversation itself answers it afterwards, a language model notes the answer, and the next session
has it. What it notes is "extracted", names the messages that it rests on, and is not kept if the
same words are there already.

A model that is away leaves the cursor where it is; an answer that cannot be read keeps nothing and
is counted.
"""

from __future__ import annotations

from reverie.core.model import Add, Event
from reverie.extraction.knowledge_gaps import VERB
from reverie.extraction.model_extraction import (
    MAX_TURNS,
    WINDOW_TOKENS,
    build_extracted_memory,
    collect_turn_evidence,
    list_spoken_messages,
    summarize_model_rejections,
)
from reverie.extraction.turn_learning import find_verbatim_duplicates
from reverie.pipeline.conversation_events import lesson_space_of
from reverie.pipeline.event_reader import MAX_EVENT_AGE, EventReader, ReaderDecision, WorkContext
from reverie.reconciliation import model_requests
from reverie.text.tokenization import fold_text

NAME = "answer"
SESSION_END = "session_end"  # a host says so with `record`, or the companion was closed
MAX_QUESTIONS = 20  # newest questions of a session


def can_answer_gaps(work: WorkContext, event: Event) -> bool:
    """Whether there is a model that may be asked now, or nothing to ask it."""
    return work.llm is not None and (
        work.llm.available(WINDOW_TOKENS) or not list_unreviewed_questions(work, event)
    )


def list_unreviewed_questions(work: WorkContext, event: Event) -> list[str]:
    """What was asked in this session up to this event without an answer, and was not reviewed
    before.
    """
    before = work.store.events(
        session=event.session, space=event.space, verbs=(NAME,), newest=True, limit=1
    )
    through = int(before[0].payload["event"]) if before else 0
    gaps = work.store.events(
        after=through,
        session=event.session,
        space=event.space,
        verbs=(VERB,),
        newest=True,
        limit=MAX_QUESTIONS,
    )
    asked = [gap.payload.get("asked") for gap in reversed(gaps) if gap.seq <= event.seq]
    return [text for text in dict.fromkeys(asked) if isinstance(text, str)]


def answer_session_gaps(work: WorkContext, event: Event) -> ReaderDecision:
    """What the session answers of its own questions."""
    if (
        work.llm is None
        or work.now - event.at > MAX_EVENT_AGE
        or work.settings.is_off(lesson_space_of(event), event.session)
    ):
        return ReaderDecision()
    asked = list_unreviewed_questions(work, event)
    turns = work.store.events(
        session=event.session, space=event.space, verbs=("turn",), newest=True, limit=MAX_TURNS
    )
    said = (
        list_spoken_messages([turn for turn in reversed(turns) if turn.seq <= event.seq])
        if asked
        else []
    )
    if not said:
        return ReaderDecision()
    extracted = model_requests.ask_open_questions(work, event, asked, said)
    if extracted is None:
        return ReaderDecision(payload={"kept": 0, "questions": len(asked)})
    known = collect_turn_evidence(work, event, turns)
    notes = (
        build_extracted_memory(work, work.llm, event, item, NAME, known) for item in extracted.items
    )
    memories = {fold_text(memory.text): memory for memory in notes}
    new = [
        Add(memory)
        for memory in memories.values()
        if not find_verbatim_duplicates(work.store, memory)
    ]
    return ReaderDecision(
        new,
        payload={
            "kept": len(new),
            "questions": len(asked),
            **summarize_model_rejections(extracted.rejected_items, work.policy),
        },
    )


READER = EventReader(
    name=NAME, verbs=(SESSION_END,), verb=NAME, decide=answer_session_gaps, is_ready=can_answer_gaps
)
