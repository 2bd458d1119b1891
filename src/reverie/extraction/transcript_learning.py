"""Learning from a whole conversation at once: one that is over, or whose process died.

Its messages are written down like turns (as `heard`), so that they can be read and searched later;
what they teach is kept in the same transaction. The same transcript twice adds nothing; one that
has grown adds what is new; another one of the same name is another conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.model import Add, Event, Memory
from reverie.extraction.past_conversations import SPOKEN, lines_of
from reverie.extraction.rule_extraction import Rejected, gleaned
from reverie.extraction.turn_learning import KNOWN, SHOWN, Source, decided, felt_in
from reverie.memory.memory_validation import moment
from reverie.pipeline.event_reader import Work
from reverie.privacy import MARK
from reverie.privacy.message_redaction import redacted
from reverie.text.host_messages import Said, listed, named, said_by
from reverie.text.tokenization import fingerprint

TOGETHER = 40  # messages in one event
MOST_EVENTS = 100_000  # of one conversation that are looked at


class Learned(NamedTuple):
    """What a conversation taught: the memories that are new, and what was left and why."""

    session: str
    memories: tuple[Memory, ...] = ()
    rejected: tuple[Rejected, ...] = ()  # `place` is the message's number
    messages: int = 0
    known: bool = False  # this very transcript was learned from before
    redacted: tuple[str, ...] = ()  # kinds of secrets that were taken out of it first


def learned_from(work: Work, transcript: Any, home: str, session: str) -> Learned:
    """Take in a conversation: its messages in OpenAI's or Anthropic's shape, each perhaps with `at`
    (seconds, 1970).

    Everything is decided on what may be written down, without secrets; all of it is one
    transaction.
    """
    found = listed(transcript)
    said = [one for number, message in enumerate(found) for one in said_by(message, number)]
    texts = redacted(said, work.policy)
    mark = fingerprint("\n".join(f"{one['role']}\0{one['text']}" for one in texts)).hex()
    session = session or f"transcript-{mark[:12]}"
    lines = [(one.place, text["role"], text["text"]) for one, text in zip(said, texts, strict=True)]
    moments = [moment(named(message, "at")) for message in found]
    at = next((when for when in reversed(moments) if when is not None), work.now)
    with work.store.alone():
        session = own_name(work, home, session, lines, mark)
        earlier = work.store.events(session=session, verbs=("learn",), limit=MOST_EVENTS)
        if any(event.payload.get("transcript") == mark for event in earlier):
            return Learned(session, messages=len(found), known=True)
        source = Source(
            home,
            session,
            at,
            [one.place for one in said],
            felt_in([(one["role"], one["text"]) for one in texts]),
        )
        return taken_in(work, source, said, texts, mark, moments)._replace(
            redacted=taken_out(said, texts)
        )


def own_name(
    work: Work, home: str, session: str, lines: Sequence[tuple[int, str, str]], mark: str
) -> str:
    """A conversation's name; with some digits behind it where another one, of other words, was
    taken in by that name.

    Files of one name in two folders are two conversations, and so is whatever comes next from
    stdin.
    """
    opening = fingerprint("\n".join(lines[0][1:])).hex() if lines else mark
    last = lines[-1][0] if lines else -1
    for name in (session, f"{session}-{opening[:6]}"):
        known = lines_of(
            work.store.events(session=name, verbs=("heard",), space=home, limit=MOST_EVENTS)
        )
        if {line[:3] for line in known if line.number <= last} <= set(lines):
            return name
    return f"{session}-{mark[:6]}"


def taken_out(said: Sequence[Said], texts: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The kinds of secrets that are marked in what may be written down, and were not in what was
    said.
    """
    marks = {
        mark
        for one, text in zip(said, texts, strict=True)
        for mark in {*MARK.findall(text["text"])} - {*MARK.findall(one.text)}
    }
    return tuple(sorted(mark.partition(":")[2].rstrip("]") for mark in marks))


def taken_in(
    work: Work,
    source: Source,
    said: Sequence[Said],
    texts: Sequence[Mapping[str, str]],
    mark: str,
    moments: Sequence[float | None],
) -> Learned:
    """Write down the messages that the log does not have, and keep what all of them teach."""
    gained = gleaned([(one["role"], one["text"]) for one in texts])
    decision = decided(work, gained, source)
    new = heard(work, source, said, texts, moments)
    if new:
        work.store.append(new)
    memories = tuple(
        dated(change.memory, moments) for change in decision.changes if isinstance(change, Add)
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
        Rejected(one.text, KNOWN, one.rule, one.last)
        for one in gained.found
        if one.text not in kept
    )
    left = tuple(
        one._replace(text=one.text[:SHOWN], place=source.places[one.place])
        for one in (*gained.rejected, *known)
    )
    return Learned(source.session, memories, left, len(moments))


def dated(memory: Memory, moments: Sequence[float | None]) -> Memory:
    """A memory with the time of its own message, where that is known."""
    when = moments[memory.messages[1]] if memory.messages else None
    return memory if when is None else memory._replace(at=when)


def heard(
    work: Work,
    source: Source,
    said: Sequence[Said],
    texts: Sequence[Mapping[str, str]],
    moments: Sequence[float | None],
) -> list[Event]:
    """Events for the messages that the log does not have yet."""
    known = work.store.events(
        session=source.session, verbs=SPOKEN, space=source.home, limit=MOST_EVENTS
    )
    after = max((line.number for line in lines_of(known)), default=-1)
    new = [(one.place, text) for one, text in zip(said, texts, strict=True) if one.place > after]
    events = []
    for start in range(0, len(new), TOGETHER):
        some = new[start : start + TOGETHER]
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
