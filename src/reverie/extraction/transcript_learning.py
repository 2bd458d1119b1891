"""Learning from a whole conversation at once: one that is over, or whose process died.

Its messages are written down like turns (as `heard`), so that they can be read and searched later;
what they teach is kept in the same transaction. The same transcript twice adds nothing; one that
has grown adds what is new; another one of the same name is another conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.model import Add, Event, Memory
from reverie.extraction.past_conversations import MESSAGE_VERBS, collect_messages
from reverie.extraction.rule_extraction import RejectedCandidate, extract_lessons
from reverie.extraction.turn_learning import (
    ALREADY_KNOWN,
    MAX_EXAMPLE_CHARS,
    LessonSource,
    decide_lessons,
    detect_feelings,
)
from reverie.memory.memory_validation import parse_moment
from reverie.pipeline.event_reader import WorkContext
from reverie.privacy import MARK_PATTERN
from reverie.privacy.message_redaction import redact_messages
from reverie.text.host_messages import HostMessage, check_messages, get_field, split_message
from reverie.text.tokenization import fingerprint_text

MESSAGES_PER_EVENT = 40  # messages in one event
MAX_EVENTS = 100_000  # of one conversation that are looked at


class LearnReport(NamedTuple):
    """What a conversation taught: the memories that are new, and what was left and why."""

    session: str
    memories: tuple[Memory, ...] = ()
    rejected: tuple[RejectedCandidate, ...] = ()  # `place` is the message's number
    messages: int = 0
    known: bool = False  # this very transcript was learned from before
    redacted: tuple[str, ...] = ()  # kinds of secrets that were taken out of it first


def learn_transcript(work: WorkContext, transcript: Any, home: str, session: str) -> LearnReport:
    """Take in a conversation: its messages in OpenAI's or Anthropic's shape, each perhaps with `at`
    (seconds, 1970).

    Everything is decided on what may be written down, without secrets; all of it is one
    transaction.
    """
    found = check_messages(transcript)
    said = [one for number, message in enumerate(found) for one in split_message(message, number)]
    texts = redact_messages(said, work.policy)
    mark = fingerprint_text("\n".join(f"{one['role']}\0{one['text']}" for one in texts)).hex()
    session = session or f"transcript-{mark[:12]}"
    lines = [(one.place, text["role"], text["text"]) for one, text in zip(said, texts, strict=True)]
    moments = [parse_moment(get_field(message, "at")) for message in found]
    at = next((when for when in reversed(moments) if when is not None), work.now)
    with work.store.transaction():
        session = choose_session_name(work, home, session, lines, mark)
        earlier = work.store.events(session=session, verbs=("learn",), limit=MAX_EVENTS)
        if any(event.payload.get("transcript") == mark for event in earlier):
            return LearnReport(session, messages=len(found), known=True)
        source = LessonSource(
            home,
            session,
            at,
            [one.place for one in said],
            detect_feelings([(one["role"], one["text"]) for one in texts]),
        )
        return store_transcript(work, source, said, texts, mark, moments)._replace(
            redacted=list_redacted_kinds(said, texts)
        )


def choose_session_name(
    work: WorkContext, home: str, session: str, lines: Sequence[tuple[int, str, str]], mark: str
) -> str:
    """A conversation's name; with some digits behind it where another one, of other words, was
    taken in by that name.

    Files of one name in two folders are two conversations, and so is whatever comes next from
    stdin.
    """
    opening = fingerprint_text("\n".join(lines[0][1:])).hex() if lines else mark
    last = lines[-1][0] if lines else -1
    for name in (session, f"{session}-{opening[:6]}"):
        known = collect_messages(
            work.store.events(session=name, verbs=("heard",), space=home, limit=MAX_EVENTS)
        )
        if {line[:3] for line in known if line.number <= last} <= set(lines):
            return name
    return f"{session}-{mark[:6]}"


def list_redacted_kinds(
    said: Sequence[HostMessage], texts: Sequence[Mapping[str, str]]
) -> tuple[str, ...]:
    """The kinds of secrets that are marked in what may be written down, and were not in what was
    said.
    """
    marks = {
        mark
        for one, text in zip(said, texts, strict=True)
        for mark in {*MARK_PATTERN.findall(text["text"])} - {*MARK_PATTERN.findall(one.text)}
    }
    return tuple(sorted(mark.partition(":")[2].rstrip("]") for mark in marks))


def store_transcript(
    work: WorkContext,
    source: LessonSource,
    said: Sequence[HostMessage],
    texts: Sequence[Mapping[str, str]],
    mark: str,
    moments: Sequence[float | None],
) -> LearnReport:
    """Write down the messages that the log does not have, and keep what all of them teach."""
    gained = extract_lessons([(one["role"], one["text"]) for one in texts])
    decision = decide_lessons(work, gained, source)
    new = build_heard_events(work, source, said, texts, moments)
    if new:
        work.store.append(new)
    memories = tuple(
        with_message_time(change.memory, moments)
        for change in decision.changes
        if isinstance(change, Add)
    )
    again = [change for change in decision.changes if not isinstance(change, Add)]
    work.store.apply(
        [*(Add(memory=memory) for memory in memories), *again],
        Event(
            verb="learn",
            space=source.home,
            session=source.session,
            at=work.now,
            payload={**decision.payload, "transcript": mark},
        ),
    )
    kept = {memory.text for memory in memories}
    known = tuple(
        RejectedCandidate(one.text, ALREADY_KNOWN, one.rule, one.last)
        for one in gained.lessons
        if one.text not in kept
    )
    left = tuple(
        one._replace(text=one.text[:MAX_EXAMPLE_CHARS], place=source.message_numbers[one.place])
        for one in (*gained.rejected, *known)
    )
    return LearnReport(source.session, memories, left, len(moments))


def with_message_time(memory: Memory, moments: Sequence[float | None]) -> Memory:
    """A memory with the time of its own message, where that is known."""
    when = moments[memory.messages[1]] if memory.messages else None
    return memory if when is None else memory._replace(at=when)


def build_heard_events(
    work: WorkContext,
    source: LessonSource,
    said: Sequence[HostMessage],
    texts: Sequence[Mapping[str, str]],
    moments: Sequence[float | None],
) -> list[Event]:
    """Events for the messages that the log does not have yet."""
    known = work.store.events(
        session=source.session, verbs=MESSAGE_VERBS, space=source.home, limit=MAX_EVENTS
    )
    after = max((line.number for line in collect_messages(known)), default=-1)
    new = [(one.place, text) for one, text in zip(said, texts, strict=True) if one.place > after]
    events = []
    for start in range(0, len(new), MESSAGES_PER_EVENT):
        some = new[start : start + MESSAGES_PER_EVENT]
        when = next((at for place, _ in some if (at := moments[place]) is not None), source.at)
        events.append(
            Event(
                verb="heard",
                space=source.home,
                session=source.session,
                at=when,
                payload={
                    "messages": [dict(text) for _, text in some],
                    "first": some[0][0],
                    "places": [place for place, _ in some],
                },
            )
        )
    return events
