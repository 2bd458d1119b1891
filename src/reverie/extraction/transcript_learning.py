"""Learning from a whole conversation at once: one that is over, or whose process died.

Its messages are written down like turns (as `heard`), so that they can be read and searched later;
its lessons are kept in the same transaction. The same transcript twice adds nothing; one that has
grown adds what is new, and nothing of what was erased since; another one of the same name is
another conversation.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from reverie.core.model import Add, Event, Memory
from reverie.extraction.past_conversations import (
    MESSAGE_VERBS,
    PastMessage,
    collect_messages,
    fits_text,
    has_gap,
)
from reverie.extraction.rule_extraction import RejectedCandidate, extract_lessons
from reverie.extraction.turn_learning import (
    ALREADY_KNOWN,
    MAX_EXAMPLE_CHARS,
    LessonSource,
    decide_lessons,
    detect_feelings,
    reject_lesson,
)
from reverie.memory.memory_validation import parse_moment
from reverie.pipeline.event_reader import WorkContext
from reverie.privacy import MARK_PATTERN
from reverie.privacy.message_redaction import redact_messages
from reverie.text.host_messages import HostMessage, check_messages, get_field, split_message
from reverie.text.tokenization import fingerprint_text

MESSAGES_PER_EVENT = 40
# Events of one conversation that are looked at.
MAX_EVENTS = 100_000

Line = tuple[int, str, str]
"""A message as (number, role, text)."""


class LearnReport(NamedTuple):
    """What a conversation taught: the memories that are new, and what was rejected and why."""

    session: str
    memories: tuple[Memory, ...] = ()
    rejected: tuple[RejectedCandidate, ...] = ()  # `place` is the message's number
    messages: int = 0
    known: bool = False  # this very transcript was learned from before
    redacted: tuple[str, ...] = ()  # kinds of secrets that were taken out of it first


class Transcript(NamedTuple):
    """A conversation, as it came and as it may be written down."""

    messages: Sequence[HostMessage]
    lines: Sequence[Line]  # the same without secrets
    moments: Sequence[float | None]  # by message number, which counts those without text too
    digest: str

    @property
    def spoken(self) -> list[tuple[str, str]]:
        """The lines as role and text."""
        return [(role, text) for _, role, text in self.lines]


def learn_transcript(
    work: WorkContext,
    transcript: Any,
    home: str,
    session: str,
    folder: str = "",
    *,
    durable: bool = True,
) -> LearnReport:
    """Learn a conversation in OpenAI's or Anthropic's shape, each message perhaps with `at`.

    `at` is in seconds since 1970; `folder` is where the agent worked: what is ignored there is not
    kept. Everything is decided on the redacted text, and all of it is one
    transaction, `durable` as `Store.transaction` means it.
    """
    given = check_messages(transcript)
    messages: list[HostMessage] = []
    for number, message in enumerate(given):
        messages += (one for one in split_message(message, number) if one.text)
    policy = work.policy.within(home)._replace(folder=folder)
    lines = [
        (message.place, redacted["role"], redacted["text"])
        for message, redacted in zip(messages, redact_messages(messages, policy), strict=True)
    ]
    digest = fingerprint_text("\n".join(f"{role}\0{text}" for _, role, text in lines)).hex()
    moments = [parse_moment(get_field(message, "at")) for message in given]
    whole = Transcript(messages, lines, moments, digest)
    last_moment = next(
        (when for when in reversed(moments) if when is not None),
        work.now,
    )
    # One transaction: of two processes that learn the same file, one finds it known.
    with work.store.transaction(durable=durable):
        name = session or f"transcript-{digest[:12]}"
        session, last_known = choose_session_name(work, home, name, whole)
        earlier = work.store.events(
            session=session,
            verbs=("learn",),
            limit=MAX_EVENTS,
        )
        is_known = any(event.payload.get("transcript") == digest for event in earlier)
        if is_known or (lines and lines[-1][0] <= last_known):
            return LearnReport(
                session,
                messages=len(given),
                known=True,
            )
        numbers = [message.place for message in messages]
        feelings = detect_feelings(whole.spoken)
        source = LessonSource(home, session, last_moment, numbers, feelings)
        report = store_transcript(work, source, whole, last_known)
        return report._replace(redacted=list_redacted_kinds(whole))


def choose_session_name(
    work: WorkContext,
    home: str,
    session: str,
    transcript: Transcript,
) -> tuple[str, int]:
    """The session's name, with some digits behind it if another conversation was learned by it, and
    the number of the last message that was learned by that name, -1 for none.

    Files of one name in two folders are two conversations, and so is whatever comes next from
    stdin.
    """
    lines = transcript.lines
    opening = fingerprint_text("\n".join(lines[0][1:])).hex() if lines else transcript.digest
    # The name itself, if what is known by it is the beginning of this conversation.
    for name in (session, f"{session}-{opening[:6]}"):
        heard = work.store.events(
            session=name,
            verbs=("heard",),
            space=home,
            limit=MAX_EVENTS,
        )
        known = collect_messages(heard)
        if is_beginning(known, transcript):
            return name, known[-1].number if known else -1
    return f"{session}-{transcript.digest[:6]}", -1


def is_beginning(known: Sequence[PastMessage], transcript: Transcript) -> bool:
    """True if what the log has of a conversation is the beginning of this one.

    The log may have lost to an erasure what the transcript still has, and the rules by which
    secrets are taken out may have changed.
    """
    said: dict[int, list[tuple[str, str, str]]] = {}
    for message, (number, role, text) in zip(transcript.messages, transcript.lines, strict=True):
        said.setdefault(number, []).append((role, text, message.text))
    for one in known:
        # At the very same moment, a text with a gap is what has become of that message.
        same_time = one.number in said and transcript.moments[one.number] == one.at
        fits = (
            one.role == role
            and (
                any(fits_text(one.text, given) for given in (text, raw))
                or fits_text(text, one.text)
                or (same_time and (has_gap(one.text) or has_gap(text)))
            )
            for role, text, raw in said.get(one.number, ())
        )
        if one.number in said and not any(fits):
            return False
    return True


def list_redacted_kinds(transcript: Transcript) -> tuple[str, ...]:
    """The kinds of secrets that redaction has marked, without marks that were there before."""
    marks: set[str] = set()
    for message, (_, _, text) in zip(
        transcript.messages,
        transcript.lines,
        strict=True,
    ):
        marks |= {*MARK_PATTERN.findall(text)} - {*MARK_PATTERN.findall(message.text)}
    return tuple(sorted(mark.partition(":")[2].rstrip("]") for mark in marks))


def store_transcript(
    work: WorkContext,
    source: LessonSource,
    transcript: Transcript,
    last_known: int,
) -> LearnReport:
    """Write down the messages that the log does not have, and keep what teach those of them that
    come after the last one that was learned from.
    """
    # What was learned from may have been erased since: it is only what the rest refers to.
    gained = extract_lessons(transcript.spoken)
    numbers = source.message_numbers
    gained = gained._replace(
        lessons=tuple(one for one in gained.lessons if numbers[one.last] > last_known),
        rejected=tuple(one for one in gained.rejected if numbers[one.place] > last_known),
    )
    decision = decide_lessons(work, gained, source)
    new_events = build_heard_events(work, source, transcript)
    if new_events:
        work.store.append(new_events)
    memories, revisions = [], []
    for change in decision.changes:
        if isinstance(change, Add):
            memories.append(with_message_time(change.memory, transcript.moments))
        else:
            revisions.append(change)
    cause = Event(
        verb="learn",
        space=source.home,
        session=source.session,
        at=work.now,
        payload={**decision.payload, "transcript": transcript.digest},
    )
    work.store.apply([*map(Add, memories), *revisions], cause)
    kept = {memory.text for memory in memories}
    known = [
        reject_lesson(lesson, ALREADY_KNOWN) for lesson in gained.lessons if lesson.text not in kept
    ]
    rejected = []
    for candidate in (*gained.rejected, *known):
        number = source.message_numbers[candidate.place]
        rejected.append(candidate._replace(text=candidate.text[:MAX_EXAMPLE_CHARS], place=number))
    return LearnReport(
        source.session,
        tuple(memories),
        tuple(rejected),
        len(transcript.moments),
    )


def with_message_time(memory: Memory, moments: Sequence[float | None]) -> Memory:
    """The memory with the time of its own message, where that is known."""
    when = moments[memory.messages[1]] if memory.messages else None
    return memory if when is None else memory._replace(at=when)


def build_heard_events(
    work: WorkContext,
    source: LessonSource,
    transcript: Transcript,
) -> list[Event]:
    """Events for the messages after the last one that the log has."""
    known = work.store.events(
        session=source.session,
        verbs=MESSAGE_VERBS,
        space=source.home,
        limit=MAX_EVENTS,
    )
    after = max((line.number for line in collect_messages(known)), default=-1)
    # What the log has is not written down again, also of a transcript that has grown.
    new = [line for line in transcript.lines if line[0] > after]
    events = []
    for start in range(0, len(new), MESSAGES_PER_EVENT):
        batch = new[start : start + MESSAGES_PER_EVENT]
        numbers = [number for number, _, _ in batch]
        moments = fill_moments([transcript.moments[number] for number in numbers], source.at)
        at = moments[0]
        payload = {
            "messages": [{"role": role, "text": text} for _, role, text in batch],
            "first": numbers[0],
            "places": numbers,
        }
        if any(when != at for when in moments):
            payload["moments"] = moments
        events.append(Event("heard", source.home, at, source.session, payload))
    return events


def fill_moments(moments: Sequence[float | None], usual: float) -> list[float]:
    """The moments, each that is not known as the one before it; `usual` where none is."""
    last = next((when for when in moments if when is not None), usual)
    filled = []
    for when in moments:
        last = last if when is None else when
        filled.append(last)
    return filled
