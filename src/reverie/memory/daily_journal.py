"""A timeline by day: what happened, what was decided, which pieces of work, which conversations.
Pure.

Days are those of UTC, as everywhere in Reverie. A conversation stands under each day on which
something was said.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from reverie.core.kinds import JOURNAL_PARTS, kind_of
from reverie.core.model import Event, Memory
from reverie.text.tokenization import shorten_line

# Characters of a conversation's beginning that the journal shows.
MAX_OPENING_CHARS = 120


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
    episodes: tuple[Memory, ...]
    decisions: tuple[Memory, ...]
    tasks: tuple[Memory, ...]
    feelings: tuple[Memory, ...]
    conversations: tuple[JournalChat, ...]
    tools: int  # tool runs that were recorded


def utc_date(at: float) -> str:
    """The day of a moment, as "2026-03-15"."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def build_journal_days(
    memories: Iterable[Memory],
    chats: Iterable[JournalChat],
    tools: Iterable[Event],
) -> list[JournalDay]:
    """The days on which anything happened, the latest first; within a day, as it happened."""
    memories_of: dict[str, list[Memory]] = defaultdict(list)
    for memory in sorted(
        memories,
        key=lambda memory: (memory.at, memory.id),
    ):
        memories_of[utc_date(memory.at)].append(memory)
    chats_of: dict[str, list[JournalChat]] = defaultdict(list)
    for chat in sorted(
        chats,
        key=lambda chat: (chat.began, chat.session),
    ):
        chats_of[utc_date(chat.began)].append(chat)
    tools_of = Counter(utc_date(event.at) for event in tools)
    # Each of the three may have days that the others have not.
    dates = sorted({*memories_of, *chats_of, *tools_of}, reverse=True)
    return [
        build_journal_day(date, memories_of[date], tuple(chats_of[date]), tools_of[date])
        for date in dates
    ]


def build_journal_day(
    date: str,
    memories: Sequence[Memory],
    chats: tuple[JournalChat, ...],
    tools: int,
) -> JournalDay:
    """One day, its memories by part; `tools` is how many tool runs were recorded."""
    parts = {
        part: tuple(memory for memory in memories if kind_of(memory.kind).journal == part)
        for part in JOURNAL_PARTS
    }
    return JournalDay(
        date,
        conversations=chats,
        tools=tools,
        **parts,
    )


def group_chats(events: Sequence[Event]) -> list[JournalChat]:
    """The conversations in these events, each by day."""
    found: dict[tuple[str, str, str], list[Event]] = {}
    for event in events:
        if event.session:
            found.setdefault((event.space, event.session, utc_date(event.at)), []).append(event)
    return [summarize_chat(some) for some in found.values()]


def summarize_chat(events: Sequence[Event]) -> JournalChat:
    """One conversation on one day, from its events."""
    asked = []
    for event in events:
        for message in event.payload.get("messages") or ():
            text = " ".join(str(message.get("text", "")).split())
            if message.get("role") == "user" and text:
                asked.append(text)
    first = events[0]
    moments = [event.at for event in events]
    return JournalChat(
        first.session,
        first.space,
        min(moments),
        max(moments),
        len(asked),
        shorten_line(asked[0], MAX_OPENING_CHARS) if asked else "",
    )
