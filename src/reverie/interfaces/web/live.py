"""What happens in memory, told to open pages while it happens: server-sent events at `/live`.

One task looks for new events four times a second, and only while somebody listens; each page has a
queue of its own. A page that is slow loses the oldest, and asks for the rest when it is shown anew.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from reverie import Mind
from reverie.core.errors import ReverieError

POLL_SECONDS = 0.25
# Proxies and browsers take a stream that is silent for longer for a dead one.
SILENT_SECONDS = 15.0
MAX_QUEUED = 200
MAX_EVENTS = 200
MAX_IDS = 200


class LiveSource(Protocol):
    """Whatever serves `/live`."""

    async def serve(self, request: Request) -> Response:
        """The stream of one page."""

    def stop(self) -> None:
        """End all streams."""


class LiveEvents:
    """Those who listen, and the task that tells them."""

    def __init__(self, minds: Callable[[Request], AbstractContextManager[Mind]]) -> None:
        self._minds = minds
        self.listeners: set[asyncio.Queue[str | None]] = set()
        self._task: asyncio.Task[None] | None = None

    async def serve(self, request: Request) -> Response:
        """The stream of one page, from the event on that it was made after."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_QUEUED)
        self.listeners.add(queue)
        try:
            # First of all: what happens from here on the task tells, what happened before is read
            # now.
            seen = await run_in_threadpool(self._last_event, request)
            after = request.query_params.get("after", "")
            if after.isascii() and after.isdigit() and len(after) < 18:
                missed = await run_in_threadpool(self._read, request, int(after))
                if missed["last"] > int(after):
                    put_newest(queue, json.dumps(missed))
        except BaseException as err:
            self.listeners.discard(queue)
            if isinstance(err, ReverieError):  # such as a memory that was locked meanwhile
                return PlainTextResponse(str(err), 503)
            raise
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(request, seen))
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(
            self._stream(queue), 200, headers=headers, media_type="text/event-stream"
        )

    def stop(self) -> None:
        """End the task and all streams."""
        if self._task is not None:
            self._task.cancel()
        for queue in list(self.listeners):
            put_newest(queue, None)

    async def _stream(self, queue: asyncio.Queue[str | None]) -> AsyncIterator[str]:
        try:
            yield "retry: 2000\n\n"
            while True:
                try:
                    told = await asyncio.wait_for(queue.get(), SILENT_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if told is None:
                    return
                yield f"data: {told}\n\n"
        finally:
            self.listeners.discard(queue)

    async def _watch(self, request: Request, seen: int) -> None:
        """Tell listeners of what comes after the event `seen`, until there are none left."""
        while self.listeners:
            await asyncio.sleep(POLL_SECONDS)
            with suppress(Exception):  # a store that is busy is asked again
                last = await run_in_threadpool(self._last_event, request)
                if last > seen:
                    told = json.dumps(await run_in_threadpool(self._read, request, seen))
                    seen = last
                    for queue in list(self.listeners):
                        put_newest(queue, told)

    def _last_event(self, request: Request) -> int:
        with self._minds(request) as mind:
            return mind.store.last_event()

    def _read(self, request: Request, seen: int) -> dict[str, Any]:
        """What happened since: the verbs, and which memories were changed."""
        with self._minds(request) as mind:
            events = mind.store.events(after=seen, limit=MAX_EVENTS)
            ids = {record.memory_id for record in mind.store.changes_after(seen)}
        return {
            "last": events[-1].seq if events else seen,
            "verbs": sorted({event.verb for event in events}),
            "memories": sorted(ids)[:MAX_IDS],
        }


def put_newest(queue: asyncio.Queue[str | None], told: str | None) -> None:
    """Add to a queue; of a full one the oldest goes."""
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(told)
