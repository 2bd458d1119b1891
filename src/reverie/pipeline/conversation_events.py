"""What an event of a conversation says: its messages, and the space that its lessons go to."""

from __future__ import annotations

from reverie.core.model import Event


def numbered_messages(event: Event) -> list[tuple[int, str, str]]:
    """The messages of a turn as (number in the conversation, role, text)."""
    messages = event.payload.get("messages", ())
    start = event.payload.get("first", 0)
    places = event.payload.get("places") or range(start, start + len(messages))
    return [
        (place, one.get("role", ""), one.get("text", ""))
        for place, one in zip(places, messages, strict=True)
    ]


def lesson_space_of(event: Event) -> str:
    """Where a conversation's lessons go: the space that its own space lies in, so that the next
    session has them.
    """
    return (
        event.space.rpartition("/")[0] or event.space if event.payload.get("own") else event.space
    )
