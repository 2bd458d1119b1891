"""News for the pages of a team: each reader is told of what they may read, and of nothing else.

One task a tenant looks for new events once a second, while anybody of that tenant listens. It says
to nobody what it saw: it rings, and each stream asks for itself, with the rights that its reader
has by then. So of what happens in spaces that one cannot read nothing comes, not even that it did;
and a sign-in that was revoked ends its streams with the next ring or the next sign of life.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from reverie.core.errors import RateLimited, ReverieError, Unauthenticated
from reverie.interfaces.server.caller_mind import open_caller_mind
from reverie.interfaces.web.live import MAX_EVENTS, MAX_IDS, SILENT_SECONDS
from reverie.storage.postgres.connection import EVERYTHING

if TYPE_CHECKING:
    from reverie.interfaces.server.deployment import Deployment

POLL_SECONDS = 1.0
MAX_STREAMS = 12  # of one sign-in: a browser opens six


class TenantBells:
    """What rings when something happened in a tenant, while somebody listens."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._bells: dict[str, set[asyncio.Event]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.is_stopped = False

    @contextmanager
    def listening(self, tenant: str) -> Iterator[asyncio.Event]:
        """A bell of one's own, for as long as the block runs."""
        bell = asyncio.Event()
        self._bells.setdefault(tenant, set()).add(bell)
        task = self._tasks.get(tenant)
        if task is None or task.done():
            self._tasks[tenant] = asyncio.create_task(self._watch(tenant))
        try:
            yield bell
        finally:
            self._bells[tenant].discard(bell)
            if not self._bells[tenant]:
                del self._bells[tenant]

    def stop(self) -> None:
        """End all streams, those that wait at once."""
        self.is_stopped = True
        for task in self._tasks.values():
            task.cancel()
        for bells in self._bells.values():
            ring(bells)

    async def _watch(self, tenant: str) -> None:
        """Ring for new events until nobody listens."""
        store = self._deployment.database.store(tenant, readable=EVERYTHING, writable=EVERYTHING)
        seen = -1
        while self._bells.get(tenant) and not self.is_stopped:
            # A database that is away, or a server that is full, is asked again.
            with suppress(ReverieError):
                last = await self._deployment.pool.run(store.last_event)
                if last != seen:
                    seen = last
                    ring(self._bells.get(tenant, set()))
            await asyncio.sleep(POLL_SECONDS)


def ring(bells: set[asyncio.Event]) -> None:
    """Ring all of them."""
    for bell in list(bells):
        bell.set()


class ReaderLive:
    """The streams of one sign-in."""

    def __init__(
        self, deployment: Deployment, bells: TenantBells, read_token: Callable[[Request], str]
    ) -> None:
        self._deployment, self._bells, self._read_token = deployment, bells, read_token
        self._open = 0

    async def serve(self, request: Request) -> Response:
        """The stream of one page, from the event on that it was made after."""
        if self._open >= MAX_STREAMS:
            raise RateLimited("Too many pages of this sign-in are open at once. Close some.")
        after = request.query_params.get("after", "")
        seen = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else -1
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        stream = self._stream(request.state.caller.tenant, self._read_token(request), seen)
        return StreamingResponse(stream, 200, headers=headers, media_type="text/event-stream")

    def stop(self) -> None:
        """Streams end with the server, or with their sign-in."""

    async def _stream(self, tenant: str, token: str, seen: int) -> AsyncIterator[str]:
        self._open += 1
        try:
            with self._bells.listening(tenant) as bell:
                yield "retry: 2000\n\n"
                while not self._bells.is_stopped:
                    bell.clear()
                    try:
                        told = await self._deployment.pool.run(partial(self._read, token, seen))
                    except Unauthenticated:
                        return
                    except ReverieError:  # it is asked again with the next ring
                        told = {}
                    if told and told["last"] != seen:
                        is_first, seen = seen < 0, told["last"]
                        if not is_first:
                            yield f"data: {json.dumps(told)}\n\n"
                    try:
                        await asyncio.wait_for(bell.wait(), SILENT_SECONDS)
                    except TimeoutError:
                        yield ": still here\n\n"
        finally:
            self._open -= 1

    def _read(self, token: str, seen: int) -> dict[str, Any]:
        """What the reader may know of what happened since: the verbs, and which memories."""
        deployment = self._deployment
        caller = deployment.access.authenticate(token, deployment.now())
        store = open_caller_mind(deployment, caller, "live").store
        if seen < 0:
            return {"last": store.last_event()}
        events = store.events(after=seen, limit=MAX_EVENTS)
        if not events:
            return {}
        ids = {record.memory_id for record in store.changes_after(seen)}
        return {
            "last": events[-1].seq,
            "verbs": sorted({event.verb for event in events}),
            "memories": sorted(ids)[:MAX_IDS],
        }
