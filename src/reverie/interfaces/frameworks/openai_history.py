"""What was said in one session of OpenAI's Agents SDK, as its `Session` protocol wants it, in
Reverie's log.

Each change is an event; the items are what they leave. Only events that came since the last look
are read, so a turn costs the same however long the conversation is, and what another process adds
is seen. After a purge, or when a backup was put back, the store's generation is another one and
everything is read afresh: no text outlives its purge here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from json import dumps, loads
from threading import RLock
from typing import TYPE_CHECKING, Any

from agents import SessionSettings

from reverie.core.errors import ReverieError
from reverie.core.model import Event
from reverie.memory.memory_validation import resolve_space
from reverie.storage import GENERATION

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind

Item = Any  # agents.TResponseInputItem: a mapping of one of twenty shapes

# the verb of an event: items were "added", one was "popped", or all were "cleared"
HISTORY = "history"
PAGE_SIZE = 1_000  # events that are read at once


class SessionHistory:
    """The conversation of one session. Where memory is switched off, or in trouble, it goes on in
    this process alone and `trouble` says so.
    """

    def __init__(self, mind: Mind, session: str, space: str | None = None) -> None:
        self.session_id = session
        self.session_settings: SessionSettings | None = None
        self.trouble = ""
        self._mind, self._space = mind, resolve_space(space)
        # as they were last known: after the event `_seen`, in `_generation`
        self._items: list[Item] = []
        self._seen, self._generation = 0, ""
        self._one_at_a_time = RLock()

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The last so many items, or all, oldest first."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        return await asyncio.to_thread(self._last, most)

    async def add_items(self, items: Sequence[Item]) -> None:
        """These were said."""
        if items:
            plain = loads(dumps(list(items), default=str))
            await asyncio.to_thread(self._write, {"added": plain})

    async def pop_item(self) -> Item | None:
        """Take the last item back; None where there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Begin anew; the log keeps what was said."""
        await asyncio.to_thread(self._write, {"cleared": 1})

    def _last(self, most: int | None) -> list[Item]:
        with self._one_at_a_time:
            self._catch_up()
            items = self._items if most is None else self._items[-most:] if most > 0 else []
            return [copy_json(item) for item in items]

    def _pop(self) -> Item | None:
        """Of two processes that pop, each gets another item."""
        with self._one_at_a_time:
            try:
                if not self.trouble:
                    with self._mind.store.transaction():
                        return self._popped()
            except ReverieError as err:
                self._goes_on_alone(err)
            return self._popped()

    def _popped(self) -> Item | None:
        last = self._last(1)
        if last:
            self._write({"popped": 1})
        return last[0] if last else None

    def _write(self, payload: dict[str, Any]) -> None:
        with self._one_at_a_time:
            if self.trouble or not self._recorded(payload):
                apply_history_event(self._items, payload)

    def _recorded(self, payload: dict[str, Any]) -> bool:
        try:
            self._mind.record(HISTORY, payload, space=self._space, session=self.session_id)
        except ReverieError as err:
            self._catch_up()  # what was there before the trouble
            self._goes_on_alone(err)
            return False
        return True

    def _catch_up(self) -> None:
        """Know what happened since the last look."""
        if self.trouble:
            return
        try:
            now = self._mind.store.meta(GENERATION) or ""
            if now != self._generation:
                self._items, self._seen, self._generation = [], 0, now
            for event in self._news():
                apply_history_event(self._items, event.payload)
                self._seen = event.seq
        except ReverieError as err:
            self._goes_on_alone(err)

    def _news(self) -> Iterator[Event]:
        while page := self._mind.store.events(
            after=self._seen,
            session=self.session_id,
            verbs=(HISTORY,),
            space=self._space,
            limit=PAGE_SIZE,
        ):
            yield from page
            if len(page) < PAGE_SIZE:
                return

    def _goes_on_alone(self, err: ReverieError) -> None:
        self.trouble = f"From here on this session is kept in this process only: {err}"


def apply_history_event(items: list[Item], payload: Mapping[str, Any]) -> None:
    """Make of the items before an event, oldest first, those that it leaves."""
    if payload.get("cleared"):
        items.clear()
    elif payload.get("popped"):
        del items[-1:]
    items += payload.get("added", ())


def copy_json(value: Any) -> Any:
    """A JSON value of the caller's own: what is altered in it is not altered here."""
    if isinstance(value, dict):
        return {name: copy_json(inner) for name, inner in value.items()}
    return [copy_json(inner) for inner in value] if isinstance(value, list) else value
