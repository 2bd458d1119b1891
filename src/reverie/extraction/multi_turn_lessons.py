"""What shows only over several turns: an error, and what was done until it was gone.

A reader that needs no memory of its own: what it has read of a conversation stands in the log, in
its own `gather` events. It looks when a conversation ends, before its context is compacted, when
its topic changes after at least four turns, and every twelve turns (CONSTANTS: extraction triggers;
B103, X17). A failure that has not been overcome yet is looked at again the next time, so that no
fix is lost at a seam.

A conversation that just stops is not looked at here; sleep finds it by its turns that no `gather`
event covers.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.model import Event
from reverie.extraction.rule_extraction import (
    MIN_CONVERSATION_CHARS,
    ExtractionResult,
    extract_lessons,
)
from reverie.extraction.turn_learning import ALREADY_KNOWN, LessonSource, decide_lessons
from reverie.pipeline.conversation_events import lesson_space_of, numbered_messages
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.storage import Store
from reverie.text.tokenization import tokenize_query

TURNS = ("turn",)
# recorded by hosts: the conversation is over, or about to be shortened
SESSION_ENDS = (
    "session_end",
    "compact",
)
TURN_INTERVAL = 12  # turns of the user (CONSTANTS: extraction triggers)
MIN_TOPIC_TURNS = 4  # turns after which a change of topic counts
MIN_TOPIC_WORDS = 4  # content words that a remark needs to begin a topic
MAX_EVENTS = 400  # events that are looked at together


def extract_stretch_lessons(work: WorkContext, event: Event) -> ReaderDecision:
    """What a stretch of conversation teaches, if this event is where it ends."""
    home = lesson_space_of(event)
    if not event.session or work.settings.is_off(home, event.session):
        return ReaderDecision()
    before, new = split_unread_turns(work.store, event)
    if (
        not new
        or not (event.verb in SESSION_ENDS or is_extraction_due(new))
        or count_spoken_chars([*before, *new]) < MIN_CONVERSATION_CHARS
    ):
        return ReaderDecision()
    return extract_observed_lessons(work, [*before, *new], event.seq)


def extract_observed_lessons(
    work: WorkContext, turns: Sequence[Event], upto: int
) -> ReaderDecision:
    """What these turns of one conversation teach together. Also for conversations whose process
    died.
    """
    said = [
        (seq, *one)
        for turn in turns
        for seq, one in ((turn.seq, line) for line in numbered_messages(turn))
    ]
    found = extract_lessons([(role, text) for _, _, role, text in said])
    observed = ExtractionResult(
        tuple(one for one in found.lessons if one.provenance == "observed"), (), found.open_failures
    )
    last = turns[-1]
    source = LessonSource(
        lesson_space_of(last), last.session, last.at, [place for _, place, _, _ in said]
    )
    decision = decide_lessons(work, observed, source)
    account = decision.payload
    again = min((said[place][0] for place in found.open_failures), default=upto + 1)
    left = {
        reason: n
        for reason, n in (account.get("rejected") or {}).items()  # type: ignore[attr-defined]
        if reason != ALREADY_KNOWN
    }
    return decision._replace(
        payload={
            "kept": account.get("kept", 0),
            "upto": upto,
            "from": again,
            **({"rejected": left} if left else {}),
        }
    )


def split_unread_turns(store: Store, event: Event) -> tuple[list[Event], list[Event]]:
    """The turns of a conversation up to this event: those of errors that were still open, and those
    not looked at.
    """
    done = find_last_gathering(store, event)
    upto = int(done.payload.get("upto", 0)) if done else 0
    since = min(upto, int(done.payload.get("from", upto + 1)) - 1) if done else 0
    found = store.events(
        after=since, verbs=TURNS, session=event.session, space=event.space, limit=MAX_EVENTS
    )
    turns = [turn for turn in found if turn.seq <= event.seq]
    return [turn for turn in turns if turn.seq <= upto], [turn for turn in turns if turn.seq > upto]


def count_spoken_chars(turns: Sequence[Event]) -> int:
    """Characters that were said."""
    return sum(len(text) for turn in turns for _, _, text in numbered_messages(turn))


def find_last_gathering(store: Store, event: Event) -> Event | None:
    """The last look at this conversation, if there was one."""
    looks = store.events(
        verbs=("gather",), session=event.session, space=event.space, newest=True, limit=1
    )
    return looks[0] if looks else None


def is_extraction_due(turns: Sequence[Event]) -> bool:
    """Whether enough has been said since the last look, or something else is talked about now."""
    asked = [text for turn in turns if (text := join_user_text(turn))]
    return len(asked) >= TURN_INTERVAL or (
        len(asked) > MIN_TOPIC_TURNS and bool(join_user_text(turns[-1])) and is_new_topic(asked)
    )


def is_new_topic(asked: Sequence[str]) -> bool:
    """Whether the last remark shares no content word with those before it."""
    last = set(tokenize_query(asked[-1]))
    return len(last) >= MIN_TOPIC_WORDS and last.isdisjoint(
        word for text in asked[-1 - MIN_TOPIC_TURNS : -1] for word in tokenize_query(text)
    )


def join_user_text(turn: Event) -> str:
    """What the user says in a turn."""
    return "\n".join(
        text for _, role, text in numbered_messages(turn) if role == "user" and text.strip()
    )


READER = EventReader(
    name="gather", verbs=(*TURNS, *SESSION_ENDS), verb="gather", decide=extract_stretch_lessons
)
