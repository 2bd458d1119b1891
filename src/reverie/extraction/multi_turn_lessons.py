"""Lessons that show only over several turns: an error, and what was done until it was gone.

The reader keeps no state of its own: what it has read of a conversation stands in the log, in its
own `gather` events. It looks when a conversation ends, before its context is compacted, when the
topic changes after at least four turns, and every twelve turns. A failure that nothing has overcome
yet is looked at again the next time, so that no fix is lost between two looks.

A conversation that just stops is not looked at here; sleep finds it by its turns that no `gather`
event covers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reverie.core.model import Event
from reverie.extraction.rule_extraction import (
    MIN_CONVERSATION_CHARS,
    ExtractionResult,
    extract_lessons,
)
from reverie.extraction.turn_learning import (
    ALREADY_KNOWN,
    SPEAKERS,
    LessonSource,
    decide_lessons,
)
from reverie.pipeline.conversation_events import lesson_space_of, numbered_messages, session_events
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.storage import Store
from reverie.text.tokenization import tokenize_query

TURNS = ("turn",)
# Hosts record these: the conversation is over, or its context is about to be shortened.
SESSION_ENDS = ("session_end", "compact")
# Turns of the user without a look, after which one is due.
TURN_INTERVAL = 12
# Turns after which a change of topic counts.
MIN_TOPIC_TURNS = 4
# Content words that a remark needs to begin a topic.
MIN_TOPIC_WORDS = 4
# Events that are looked at together.
MAX_EVENTS = 400


def extract_stretch_lessons(work: WorkContext, event: Event) -> ReaderDecision:
    """The fixes of errors in a stretch of conversation, if this event is where it ends."""
    home = lesson_space_of(event)
    if not event.session or work.settings.is_off(home, event.session):
        return ReaderDecision()
    reopened, unread = split_unread_turns(work.store, event)
    # An end has its own event; the turns before it may have been looked at already.
    if not unread or not (event.verb in SESSION_ENDS or is_extraction_due(unread)):
        return ReaderDecision()
    turns = [*reopened, *unread]
    if count_spoken_chars(turns) < MIN_CONVERSATION_CHARS:
        return ReaderDecision()
    return extract_observed_lessons(work, turns, event.seq)


def extract_observed_lessons(
    work: WorkContext,
    turns: Sequence[Event],
    upto: int,
) -> ReaderDecision:
    """What these turns of one conversation teach together; also for one whose process died.

    `upto` is the last event that was looked at; the payload's `from` is where the next look begins.
    """
    messages, numbers, seqs = [], [], []
    for turn in turns:
        for number, role, text in numbered_messages(turn):
            messages.append((role, text))
            numbers.append(number)
            seqs.append(turn.seq)
    found = extract_lessons(messages)
    observed = tuple(lesson for lesson in found.lessons if lesson.provenance in SPEAKERS)
    last = turns[-1]
    source = LessonSource(lesson_space_of(last), last.session, last.at, numbers)
    decision = decide_lessons(work, ExtractionResult(observed, (), found.open_failures), source)
    summary: Mapping[str, Any] = decision.payload
    payload: dict[str, Any] = {
        "kept": summary.get("kept", 0),
        "upto": upto,
        "from": min(
            (seqs[place] for place in found.open_failures),
            default=upto + 1,
        ),
    }
    # Turns with an open failure are read twice: what is known already was counted the first time.
    rejected = dict(summary.get("rejected") or {})
    rejected.pop(ALREADY_KNOWN, None)
    if rejected:
        payload["rejected"] = rejected
    return decision._replace(payload=payload)


def split_unread_turns(
    store: Store,
    event: Event,
) -> tuple[list[Event], list[Event]]:
    """(turns since the oldest open error, turns not read yet), up to this event."""
    upto = since = 0
    looks = session_events(
        store,
        event,
        "gather",
        newest=True,
        limit=1,
    )
    if looks:
        last_look = looks[0].payload
        upto = int(last_look.get("upto", 0))
        since = min(upto, int(last_look.get("from", upto + 1)) - 1)
    found = session_events(
        store,
        event,
        *TURNS,
        after=since,
        limit=MAX_EVENTS,
    )
    turns = [turn for turn in found if turn.seq <= event.seq]
    return [turn for turn in turns if turn.seq <= upto], [turn for turn in turns if turn.seq > upto]


def count_spoken_chars(turns: Sequence[Event]) -> int:
    """The length of all messages of these turns, in characters."""
    return sum(len(text) for turn in turns for _, _, text in numbered_messages(turn))


def is_extraction_due(turns: Sequence[Event]) -> bool:
    """True after TURN_INTERVAL turns of the user, or when the last one changes the topic."""
    remarks = list(filter(None, map(join_user_text, turns)))
    if len(remarks) >= TURN_INTERVAL:
        return True
    spoke_last = bool(join_user_text(turns[-1]))
    return len(remarks) > MIN_TOPIC_TURNS and spoke_last and is_new_topic(remarks)


def is_new_topic(asked: Sequence[str]) -> bool:
    """True if the last remark shares no content word with the MIN_TOPIC_TURNS before it."""
    last = set(tokenize_query(asked[-1]))
    if len(last) < MIN_TOPIC_WORDS:
        return False
    return all(last.isdisjoint(tokenize_query(text)) for text in asked[-1 - MIN_TOPIC_TURNS : -1])


def join_user_text(turn: Event) -> str:
    """The user's words in a turn."""
    return "\n".join(
        text for _, role, text in numbered_messages(turn) if role == "user" and text.strip()
    )


READER = EventReader(
    name="gather",
    verbs=(*TURNS, *SESSION_ENDS),
    verb="gather",
    decide=extract_stretch_lessons,
)
