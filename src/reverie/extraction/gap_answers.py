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
from reverie.extraction.model_extraction import MOST_TURNS, ROOM, account, as_memory, heard, spoken
from reverie.extraction.turn_learning import known_as
from reverie.pipeline.conversation_events import home_of
from reverie.pipeline.event_reader import OLDEST, Decision, Reader, Work
from reverie.reconciliation import model_requests
from reverie.text.tokenization import folded

NAME = "answer"
ENDED = "session_end"  # a host says so with `record`, or the companion was closed
MOST = 20  # newest questions of a session


def may_ask(work: Work, event: Event) -> bool:
    """Whether there is a model that may be asked now, or nothing to ask it."""
    return work.llm is not None and (work.llm.available(ROOM) or not questions(work, event))


def questions(work: Work, event: Event) -> list[str]:
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
        limit=MOST,
    )
    asked = [gap.payload.get("asked") for gap in reversed(gaps) if gap.seq <= event.seq]
    return [text for text in dict.fromkeys(asked) if isinstance(text, str)]


def found(work: Work, event: Event) -> Decision:
    """What the session answers of its own questions."""
    if (
        work.llm is None
        or work.now - event.at > OLDEST
        or work.settings.is_off(home_of(event), event.session)
    ):
        return Decision()
    asked = questions(work, event)
    turns = work.store.events(
        session=event.session, space=event.space, verbs=("turn",), newest=True, limit=MOST_TURNS
    )
    said = spoken([turn for turn in reversed(turns) if turn.seq <= event.seq]) if asked else []
    if not said:
        return Decision()
    extracted = model_requests.answered(work, event, asked, said)
    if extracted is None:
        return Decision(payload={"kept": 0, "questions": len(asked)})
    known = heard(work, event, turns)
    notes = (as_memory(work, work.llm, event, item, NAME, known) for item in extracted.keep)
    memories = {folded(memory.text): memory for memory in notes}
    new = [Add(memory) for memory in memories.values() if not known_as(work.store, memory)]
    return Decision(
        new,
        payload={
            "kept": len(new),
            "questions": len(asked),
            **account(extracted.reject, work.policy),
        },
    )


READER = Reader(name=NAME, verbs=(ENDED,), verb=NAME, decide=found, ready=may_ask)
