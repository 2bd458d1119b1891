"""Answers to gaps: at the end of a session, its open questions are held against its later turns.

A gap is a question for which memory had candidates and nothing fitting (`knowledge_gaps`). Where
the conversation itself answers it afterwards, a language model notes the answer for the next
session. The note is "extracted", names the messages that it rests on, and is not kept if the same
words are stored already.

A model that is away leaves the cursor where it is; an answer that cannot be read keeps nothing and
is counted.
"""

from reverie.core.model import Add, Event, Memory
from reverie.extraction.knowledge_gaps import VERB
from reverie.extraction.model_extraction import (
    MAX_TURNS,
    WINDOW_TOKENS,
    build_extracted_memory,
    collect_turn_evidence,
    find_usable_model,
    list_spoken_messages,
    summarize_model_rejections,
)
from reverie.extraction.turn_learning import find_verbatim_duplicates
from reverie.pipeline.conversation_events import session_events
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.reconciliation import model_requests
from reverie.text.tokenization import fold_text

NAME = "answer"
# A host says so with `record`, or the companion was closed.
SESSION_END = "session_end"
# Newest questions of a session.
MAX_QUESTIONS = 20


def can_answer_gaps(work: WorkContext, event: Event) -> bool:
    """True if a model is configured and has budget, or there is nothing to ask it."""
    return work.llm is not None and (
        work.llm.available(WINDOW_TOKENS) or not list_unreviewed_questions(work, event)
    )


def list_unreviewed_questions(work: WorkContext, event: Event) -> list[str]:
    """The unanswered questions of this session up to this event that no review has covered."""
    before = session_events(
        work.store,
        event,
        NAME,
        newest=True,
        limit=1,
    )
    through = int(before[0].payload["event"]) if before else 0
    gaps = session_events(
        work.store,
        event,
        VERB,
        after=through,
        newest=True,
        limit=MAX_QUESTIONS,
    )
    asked = [gap.payload.get("asked") for gap in reversed(gaps) if gap.seq <= event.seq]
    return [text for text in dict.fromkeys(asked) if isinstance(text, str)]


def answer_session_gaps(work: WorkContext, event: Event) -> ReaderDecision:
    """Memories that answer the session's own questions, from what was said in it."""
    llm = find_usable_model(work, event)
    questions = list_unreviewed_questions(work, event) if llm else []
    if llm is None or not questions:
        return ReaderDecision()
    turns = session_events(
        work.store,
        event,
        "turn",
        newest=True,
        limit=MAX_TURNS,
    )
    messages = list_spoken_messages([turn for turn in reversed(turns) if turn.seq <= event.seq])
    if not messages:
        return ReaderDecision()
    answer = model_requests.ask_open_questions(work, event, questions, messages)
    if answer is None:
        return ReaderDecision(payload={"kept": 0, "questions": len(questions)})
    evidence = collect_turn_evidence(work, event, turns)
    # One for each wording: several questions may have one answer.
    memories: dict[str, Memory] = {}
    for item in answer.items:
        memory = build_extracted_memory(work, llm.name, event, item, NAME, evidence)
        memories[fold_text(memory.text)] = memory
    new = [
        Add(memory)
        for memory in memories.values()
        if not find_verbatim_duplicates(work.store, memory)
    ]
    rejections = summarize_model_rejections(answer.rejected_items, work.policy)
    payload = {
        "kept": len(new),
        "questions": len(questions),
        **rejections,
    }
    return ReaderDecision(new, payload=payload)


READER = EventReader(
    name=NAME,
    verbs=(SESSION_END,),
    verb=NAME,
    decide=answer_session_gaps,
    is_ready=can_answer_gaps,
)
