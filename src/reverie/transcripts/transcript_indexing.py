"""The event log read into the index of past conversations, and the passages embedded.

The index has its own cursor in the log. When the store is no longer what it was (after a purge, or
a restored backup), the log is read again from the beginning: passages that are still said stay with
their vectors, the others go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from json import dumps, loads

from reverie.core.config import Settings
from reverie.core.model import Event
from reverie.embedding import Embedder
from reverie.pipeline.conversation_events import iterate_messages, lesson_space_of
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import GENERATION, Store
from reverie.storage.indexed_transcripts import IndexedConversation, TranscriptPassage, id_to_key
from reverie.text.tokenization import fingerprint_text
from reverie.transcripts.message_passages import (
    SpokenMessage,
    cut_passages,
    find_context,
    is_telling,
    read_spoken_text,
)
from reverie.transcripts.passage_uses import LoggedAnswer, LoggedTurn, find_uses

MESSAGE_VERBS = ("turn", "heard")
# The name in `meta` of the conversations that an undone import withdrew, as JSON.
WITHDRAWN_SESSIONS = "withdrawn_sessions"
# Events that are read in one step.
EVENTS_PER_STEP = 200
# Newest events before a turn in which the message that it answers is looked for, and the passages
# that it may use.
EVENTS_BEFORE = 4


def name_reading(store: Store, settings: Settings) -> str:
    """What the index was read from: another name when all of the log has to be read again."""
    withdrawn = store.meta(WITHDRAWN_SESSIONS) or ""
    mark = fingerprint_text(withdrawn).hex()[:12] if withdrawn else ""
    return " ".join(f"{store.meta(GENERATION) or ''} {settings.talk_days or ''} {mark}".split())


def read_withdrawn(store: Store) -> set[tuple[str, str]]:
    """The (space, session) of conversations whose words are found no more."""
    return {(space, session) for space, session in loads(store.meta(WITHDRAWN_SESSIONS) or "[]")}


def set_withdrawn(store: Store, places: Iterable[tuple[str, str]]) -> None:
    """Leave out the words of these conversations, and of no others, from now on."""
    store.set_meta(WITHDRAWN_SESSIONS, dumps(sorted(places)) if places else "")


def has_unread_conversations(store: Store, settings: Settings) -> bool:
    """True if messages wait to be indexed."""
    cursor, generation = store.transcripts.cursor()
    if generation != name_reading(store, settings):
        cursor = 0
    return bool(store.events(after=cursor, verbs=MESSAGE_VERBS, limit=1))


def index_conversations(work: WorkContext, most: int = EVENTS_PER_STEP) -> int:
    """Read the next events with messages, at most so many; returns how many were read."""
    store, index = work.store, work.store.transcripts
    cursor, known = index.cursor()
    generation = name_reading(store, work.settings)
    after = cursor if known == generation else 0
    if work.settings.talk_days and known == generation:
        index.drop_before(work.now - work.settings.talk_days * 86_400.0)
    events = store.events(after=after, verbs=MESSAGE_VERBS, limit=most)
    if not events and known == generation:
        return 0
    # Where fewer came than were asked for, the log ends here.
    is_end = len(events) < most
    last = events[-1].seq if events else after
    conversations, answers = read_conversations(work, events)
    uses = find_uses(index, after, conversations, answers)
    # Another process may have read on meanwhile, or erased what was read here: then this is dropped
    # and the log read anew.
    index.replace(
        conversations,
        (after, last),
        generation,
        is_end=is_end,
        uses=uses,
        since=(cursor, known),
    )
    return len(events)


def read_conversations(
    work: WorkContext,
    events: Sequence[Event],
) -> tuple[list[IndexedConversation], list[LoggedAnswer]]:
    """The passages of the messages in some events, by event: those that are young enough. And what
    each event answers.
    """
    store, days = work.store, work.settings.talk_days
    oldest = work.now - days * 86_400.0 if days else float("-inf")
    found: list[IndexedConversation] = []
    answers: list[LoggedAnswer] = []
    recent: dict[tuple[str, str], list[LoggedTurn]] = {}
    withdrawn = read_withdrawn(store)
    for event in events:
        place = (event.space, event.session)
        if place in withdrawn:
            continue
        before = recent[place] if place in recent else read_turns_before(store, event)
        turn = read_turn(event)
        passages = make_passages(join_messages(before), turn.spoken)
        answers.append(LoggedAnswer(turn, before))
        recent[place] = [*before, turn][-EVENTS_BEFORE:]
        if passages and event.at >= oldest:
            found.append(
                IndexedConversation(lesson_space_of(event), event.session, event.seq, passages)
            )
    return found, answers


def read_messages_before(store: Store, event: Event) -> list[SpokenMessage]:
    """The last messages of a conversation before an event, in order."""
    return join_messages(read_turns_before(store, event))


def join_messages(turns: Sequence[LoggedTurn]) -> list[SpokenMessage]:
    """The last messages of some turns, in order."""
    return [message for one in turns for message in one.spoken][-EVENTS_BEFORE:]


def read_turns_before(store: Store, event: Event) -> list[LoggedTurn]:
    """The last turns of a conversation before an event, in order."""
    earlier = store.events(
        session=event.session,
        space=event.space,
        verbs=MESSAGE_VERBS,
        before=event.seq,
        newest=True,
        limit=EVENTS_BEFORE,
    )
    return list(map(read_turn, reversed(earlier)))


def read_turn(event: Event) -> LoggedTurn:
    """What was said in an event, and which passages were given with it."""
    given = event.payload.get("given") or ()
    # A purge blanks ids.
    keys = (id_to_key(id) for id in given if isinstance(id, str))
    passages = [key for key in keys if key is not None]
    return LoggedTurn(event.seq, read_spoken_messages(event), passages)


def read_spoken_messages(event: Event) -> list[SpokenMessage]:
    """What people and agents said in an event, without what tools and hosts put in."""
    spoken: list[SpokenMessage] = []
    for number, written_role, written, at in iterate_messages(event):
        role, text = read_spoken_text(written_role, written)
        if text.strip():
            spoken.append(SpokenMessage(number, role, text, at))
    return spoken


def make_passages(
    before: Sequence[SpokenMessage], spoken: Sequence[SpokenMessage]
) -> list[TranscriptPassage]:
    """The passages of some messages, with what each of them answers."""
    found: list[TranscriptPassage] = []
    earlier = list(before)
    for number, said in groupby(spoken, key=lambda message: message.number):
        # A message that held what a tool answered is two with one number.
        part = 0
        for message in said:
            context = find_context(message, earlier)
            for text in cut_passages(message.text):
                if is_telling(text, context):
                    found.append(
                        TranscriptPassage(number, part, message.role, message.at, text, context)
                    )
                    part += 1
            earlier.append(message)
    return found


def embed_passages(store: Store, embedder: Embedder, size: int) -> int:
    """Embed up to `size` passages, newest first; how many."""
    index = store.transcripts
    batch = index.unembedded_texts(size, embedder.model)
    if batch:
        vectors = embedder.embed([text for _, text in batch])
        index.put_vectors(
            embedder.model, {num: row for (num, _), row in zip(batch, vectors, strict=True)}
        )
    index.pack_vectors(embedder.model)
    return len(batch)
