"""The history of one session of OpenAI's Agents SDK, kept in Reverie's event log.

It implements the SDK's `Session` protocol. Each change is an event; the items are what they leave.
Only events that came since the last look are read, so a turn costs the same however long the
conversation is, and what another process adds is seen. After a purge, or when a backup was put
back, the store's generation is another one and everything is read afresh: no text outlives its
purge here.
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

# agents.TResponseInputItem: a mapping of one of twenty shapes.
Item = Any

# Verb of the event that says that items were "added", one was "popped", or all were "cleared".
HISTORY = "history"
# Events that are read at once.
PAGE_SIZE = 1_000


class SessionHistory:
    """The items of one session. Where memory is switched off, or in trouble, they are kept in this
    process alone and `trouble` says so.
    """

    def __init__(
        self,
        mind: Mind,
        session: str,
        space: str | None = None,
    ) -> None:
        self.session_id = session
        self.session_settings: SessionSettings | None = None
        self.trouble = ""
        self._mind = mind
        self._space = resolve_space(space)
        # As of the event `_seen`, in the store's `_generation`.
        self._items: list[Item] = []
        self._seen, self._generation = 0, ""
        self._one_at_a_time = RLock()

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The last `limit` items, or all, oldest first."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        return await asyncio.to_thread(self._read_last, most)

    async def add_items(self, items: Sequence[Item]) -> None:
        """Append items."""
        if items:
            # The SDK's items may be objects; the log holds JSON.
            plain = loads(dumps(list(items), default=str))
            await asyncio.to_thread(self._write, {"added": plain})

    async def pop_item(self) -> Item | None:
        """Remove and return the last item; None where there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items; the log keeps what was said."""
        await asyncio.to_thread(self._write, {"cleared": 1})

    def _read_last(self, most: int | None) -> list[Item]:
        with self._one_at_a_time:
            self._catch_up()
            items = self._items
            if most is not None:
                items = items[-most:] if most > 0 else []
            return [copy_json(item) for item in items]

    def _pop(self) -> Item | None:
        """Pop in a transaction: of two processes that pop, each gets another item."""
        with self._one_at_a_time:
            try:
                if not self.trouble:
                    with self._mind.store.transaction():
                        return self._pop_last()
            except ReverieError as err:
                self._continue_alone(err)
            return self._pop_last()

    def _pop_last(self) -> Item | None:
        last = self._read_last(1)
        if last:
            self._write({"popped": 1})
        return last[0] if last else None

    def _write(self, payload: dict[str, Any]) -> None:
        with self._one_at_a_time:
            if self.trouble or not self._record(payload):
                apply_history_event(self._items, payload)

    def _record(self, payload: dict[str, Any]) -> bool:
        try:
            self._mind.record(
                HISTORY,
                payload,
                space=self._space,
                session=self.session_id,
            )
        except ReverieError as err:
            # What was there before the trouble.
            self._catch_up()
            self._continue_alone(err)
            return False
        return True

    def _catch_up(self) -> None:
        """Read the events since the last time."""
        if self.trouble:
            return
        try:
            generation = self._mind.store.meta(GENERATION) or ""
            # After a purge or a restored backup everything is read afresh.
            if generation != self._generation:
                self._items, self._seen, self._generation = [], 0, generation
            for event in self._iter_new_events():
                apply_history_event(self._items, event.payload)
                self._seen = event.seq
        except ReverieError as err:
            self._continue_alone(err)

    def _iter_new_events(self) -> Iterator[Event]:
        while True:
            page = self._mind.store.events(
                after=self._seen,
                session=self.session_id,
                verbs=(HISTORY,),
                space=self._space,
                limit=PAGE_SIZE,
            )
            yield from page
            # A page that is not full is the last one.
            if len(page) < PAGE_SIZE:
                return

    def _continue_alone(self, err: ReverieError) -> None:
        self.trouble = f"From here on this session is kept in this process only: {err}"


def apply_history_event(items: list[Item], payload: Mapping[str, Any]) -> None:
    """Change the items, oldest first, in place as an event says."""
    if payload.get("cleared"):
        items.clear()
    elif payload.get("popped"):
        del items[-1:]
    items += payload.get("added", ())


def copy_json(value: Any) -> Any:
    """A deep copy of a JSON value, so that a caller may alter it."""
    if isinstance(value, dict):
        return {name: copy_json(inner) for name, inner in value.items()}
    return [copy_json(inner) for inner in value] if isinstance(value, list) else value
