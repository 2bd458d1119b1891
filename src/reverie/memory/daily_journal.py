"""A timeline by day: what happened, what was decided, which pieces of work, which conversations. Pure.

Days are those of UTC, as everywhere in Reverie. A conversation stands under each day on which
something was said.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from reverie.core.model import Event, Memory
from reverie.text.tokenization import shorten_line

JOURNAL_KINDS = ("event", "task", "decision", "feeling")  # kinds of which the journal tells


class JournalChat(NamedTuple):
    """A conversation on one day."""

    session: str
    space: str
    began: float
    ended: float
    turns: int  # messages of the user on that day
    opening: str  # how it began on that day


class JournalDay(NamedTuple):
    """One day of the journal."""

    date: str  # "2026-03-15"
    episodes: tuple[Memory, ...] = ()
    decisions: tuple[Memory, ...] = ()
    tasks: tuple[Memory, ...] = ()
    feelings: tuple[Memory, ...] = ()
    conversations: tuple[JournalChat, ...] = ()
    tools: int = 0  # tool runs that were recorded


def utc_date(at: float) -> str:
    """The day on which a moment lies."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def build_journal_days(
    memories: Iterable[Memory], chats: Iterable[JournalChat], tools: Iterable[Event]
) -> list[JournalDay]:
    """The days on which anything happened, the latest first; within a day, as it happened."""
    there = sorted(memories, key=lambda memory: (memory.at, memory.id))
    talked = sorted(chats, key=lambda chat: (chat.began, chat.session))
    ran = [utc_date(event.at) for event in tools]
    dates = {
        *(utc_date(memory.at) for memory in there),
        *(utc_date(chat.began) for chat in talked),
        *ran,
    }
    return [
        build_journal_day(
            date,
            [memory for memory in there if utc_date(memory.at) == date],
            tuple(chat for chat in talked if utc_date(chat.began) == date),
            ran.count(date),
        )
        for date in sorted(dates, reverse=True)
    ]


def build_journal_day(
    date: str, memories: Sequence[Memory], chats: tuple[JournalChat, ...], tools: int
) -> JournalDay:
    """One day, its memories by kind."""
    episodes, tasks, decisions, feelings = (
        tuple(memory for memory in memories if memory.kind == kind) for kind in JOURNAL_KINDS
    )
    return JournalDay(date, episodes, decisions, tasks, feelings, chats, tools)


def group_chats(events: Sequence[Event], opening: int = 120) -> list[JournalChat]:
    """Conversations in these events that hold messages, each by day."""
    found: dict[tuple[str, str, str], list[Event]] = {}
    for event in events:
        if event.session:
            found.setdefault((event.space, event.session, utc_date(event.at)), []).append(event)
    return [summarize_chat(some, opening) for some in found.values()]


def summarize_chat(events: Sequence[Event], opening: int) -> JournalChat:
    """One conversation on one day."""
    asked = [
        " ".join(str(one.get("text", "")).split())
        for event in events
        for one in event.payload.get("messages") or ()
        if one.get("role") == "user"
    ]
    asked = [text for text in asked if text]
    moments = [event.at for event in events]
    return JournalChat(
        events[0].session,
        events[0].space,
        min(moments),
        max(moments),
        len(asked),
        shorten_line(asked[0], opening) if asked else "",
    )
