"""What a conversation's event holds: its messages, and the space that its lessons go to."""

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from reverie.core.model import Event
from reverie.storage import Store


def numbered_messages(event: Event) -> list[tuple[int, str, str]]:
    """The messages of a turn as (number in the conversation, role, text)."""
    messages = event.payload.get("messages", ())
    start = event.payload.get("first", 0)
    # `places` numbers messages one by one where some between them were not written down.
    numbers = event.payload.get("places") or range(start, start + len(messages))
    return [
        (number, message.get("role", ""), message.get("text", ""))
        for number, message in zip(numbers, messages, strict=True)
    ]


def iterate_messages(event: Event) -> Iterator[tuple[int, str, str, float]]:
    """The messages of an event that are still there, as (number, role, text, time)."""
    # A purge blanks messages and leaves their numbers, so the lists may differ in length.
    messages = event.payload.get("messages") or ()
    start = event.payload.get("first", 0)
    numbers = event.payload.get("places") or range(start, start + len(messages))
    # Those of a transcript were said at times of their own.
    moments = event.payload.get("moments") or repeat(event.at)
    for number, message, at in zip(numbers, messages, moments, strict=False):
        yield number, str(message.get("role", "")), str(message.get("text", "")), at


def list_payload_ids(event: Event, name: str) -> tuple[str, ...]:
    """A list of ids in an event, without those that a purge has blanked."""
    value = event.payload.get(name, ())
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(id for id in value if isinstance(id, str))


def session_events(
    store: Store,
    event: Event,
    *verbs: str,
    **more: Any,
) -> list[Event]:
    """The events of these verbs in the conversation of an event; `more` as in `Store.events`."""
    return store.events(
        session=event.session,
        space=event.space,
        verbs=verbs,
        **more,
    )


def lesson_space_of(event: Event) -> str:
    """The space that a conversation's lessons go to.

    A conversation with a space of its own (`own`) passes them to the space around it, where the
    next session has them.
    """
    around = event.space.rpartition("/")[0] if event.payload.get("own") else ""
    return around or event.space
