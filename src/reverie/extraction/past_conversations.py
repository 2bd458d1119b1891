"""Past conversations, read back from the log: who said what, when, and what came of it.

A message has the number that it had in its conversation; one that was written down twice appears
once. Texts are as they were written down: redacted, and of very long ones the beginning and the
end.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.core.model import Event, Memory
from reverie.core.private_passages import CUT_MARK
from reverie.pipeline.conversation_events import iterate_messages
from reverie.privacy import MARK_PATTERN
from reverie.storage.erased_texts import PURGED
from reverie.text.tokenization import shorten_line

# Events that hold messages: as they came, or taken from a transcript.
MESSAGE_VERBS = ("turn", "heard")
# characters of a conversation's first words
MAX_OPENING_CHARS = 120
# What stands where something was taken out of a text.
_GAP = re.compile(f"{MARK_PATTERN.pattern}|{re.escape(PURGED)}|{re.escape(CUT_MARK)}")


class PastMessage(NamedTuple):
    """One message of a past conversation."""

    number: int
    role: str
    text: str
    at: float


class PastConversation(NamedTuple):
    """A past conversation: where and when, how it began, and what came of it."""

    session: str
    space: str
    began: float
    ended: float
    turns: int  # messages of the user
    opening: str
    memories: tuple[Memory, ...]
    lines: tuple[PastMessage, ...]


def collect_messages(events: Iterable[Event]) -> list[PastMessage]:
    """The messages in these events, by number, each once."""
    found: dict[tuple[int, str, str], PastMessage] = {}
    for event in events:
        for number, role, text, at in iterate_messages(event):
            found.setdefault((number, role, text), PastMessage(number, role, text, at))
    return sorted(found.values(), key=lambda message: message.number)


def has_gap(text: str) -> bool:
    """True if something was taken out of a text: a secret, what was erased, its middle."""
    return bool(_GAP.search(text))


def fits_text(written: str, text: str) -> bool:
    """True if `written` is the text, perhaps with gaps: what stands between them is in it."""
    text = text.strip()
    first, *pieces = _GAP.split(written.strip())
    if not pieces:
        return first == text
    if not text.startswith(first):
        return False
    place = len(first)
    for piece in pieces[:-1]:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return text[place:].endswith(pieces[-1])


def build_past_conversation(
    events: Sequence[Event], memories: tuple[Memory, ...]
) -> PastConversation:
    """The conversation that these events (at least one) hold, with the memories that came of it."""
    messages = collect_messages(events)
    asked = [
        message.text for message in messages if message.role == "user" and message.text.strip()
    ]
    times = [event.at for event in events] + [message.at for message in messages]
    last = events[-1]
    return PastConversation(
        last.session,
        last.space,
        min(times),
        max(times),
        len(asked),
        shorten_line(asked[0], MAX_OPENING_CHARS) if asked else "",
        memories,
        tuple(messages),
    )


def filter_messages(
    lines: Iterable[PastMessage],
    words: Sequence[str],
) -> list[PastMessage]:
    """The messages in which each of the words occurs, whatever their case."""
    wanted = [word.lower() for word in words]
    return [line for line in lines if all(word in line.text.lower() for word in wanted)]


def messages_around(
    lines: Sequence[PastMessage],
    first: int,
    last: int,
    more: int,
) -> list[PastMessage]:
    """The messages numbered `first` to `last`, and `more` before and after."""
    return [line for line in lines if first - more <= line.number <= last + more]
