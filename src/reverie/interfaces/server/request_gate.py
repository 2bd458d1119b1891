"""The door: size, deadline, a place in the thread pool, a log line, and the metrics.

Always true: the event loop runs no verb; at most `threads` run at once and `waiting` more wait,
whoever comes then is told to come back; a request that takes longer than `seconds` is answered so,
and the database gives up its statement, so that its thread is soon free; a log line says who asked
for which route and how it ended, and nothing of what was said.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reverie.core import clock
from reverie.core.time_limit import limit_time
from reverie.interfaces.server.problems import (
    UNFORESEEN,
    BadArgument,
    OutOfTime,
    Overloaded,
    TooLarge,
    answer_problem,
    find_problem,
)
from reverie.interfaces.server.server_metrics import ServerMetrics

R = TypeVar("R")
log = logging.getLogger("reverie.server")
NO_ROUTE = "none"  # what an address is called that no route takes
REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# What the log may say of a request: set by whoever learns it.
LOGGED: ContextVar[dict[str, str] | None] = ContextVar("logged", default=None)


class RequestPool:
    """The threads in which requests are worked at: a bounded number, with a bounded queue."""

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        self.threads, self.waiting, self.seconds = threads, waiting, seconds
        self.under_way = 0
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="reverie-request")

    async def run(self, work: Callable[[], R]) -> R:
        """What `work` returns; Overloaded, or OutOfTime after `seconds`."""
        if self.under_way >= self.threads + self.waiting:
            raise Overloaded
        self.under_way += 1
        loop = asyncio.get_running_loop()
        with limit_time(self.seconds):
            context = copy_context()
        future: Future[R] = self._threads.submit(context.run, work)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._leave))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.seconds)
        except TimeoutError:
            # One that has begun ends with its statement; wait_for has cancelled one that waited.
            raise OutOfTime from None

    def _leave(self) -> None:
        self.under_way -= 1

    @property
    def queued(self) -> int:
        """How many requests wait for a thread."""
        return max(0, self.under_way - self.threads)

    def close(self) -> None:
        """Take no more work; what has begun is finished."""
        self._threads.shutdown(wait=True, cancel_futures=True)


async def read_body(request: Request, most: int) -> bytes:
    """A request's body; TooLarge beyond so many bytes."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLarge(f"The request has more than {most:,} bytes. Send less at once.")
        parts.append(part)
    return b"".join(parts)


async def read_json(request: Request, most: int) -> dict[str, Any]:
    """The JSON object in a request's body; TooLarge beyond so many bytes."""
    body = await read_body(request, most)
    if not body.strip():
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as err:
        raise BadArgument("The body is not JSON. Send one object of arguments.") from err
    if not isinstance(value, dict):
        raise BadArgument("The body must be a JSON object: arguments by name.")
    return value


def note_caller(**facts: str) -> None:
    """Have the log line of this request say who asked."""
    known = LOGGED.get()
    if known is not None:
        known.update(facts)


class RequestGate:
    """ASGI middleware around everything: request ids, problems, log lines, metrics."""

    def __init__(
        self, app: ASGIApp, metrics: ServerMetrics, challenge: Callable[[Scope], str]
    ) -> None:
        self.app, self.metrics, self.challenge = app, metrics, challenge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, id = clock.ticks(), choose_request_id(scope)
        scope.setdefault("state", {})["request_id"] = id
        # So that a router raises what it does not know instead of answering by itself.
        scope["app"] = self
        facts: dict[str, str] = {}
        LOGGED.set(facts)
        status = 0

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", [])
                message["headers"] = [*message["headers"], (b"x-request-id", id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, send_marked)
        except Exception as err:
            if find_problem(err) is UNFORESEEN:
                # Where it happened, not what was said: a message may quote a text.
                log.error("unforeseen", exc_info=err, extra={"request": id})
            if status:
                raise
            await answer_problem(err, id, self.challenge(scope))(scope, receive, send_marked)
        finally:
            self._note(scope, status, clock.ticks() - began, id, facts)

    def _note(
        self, scope: Scope, status: int, seconds: float, id: str, facts: dict[str, str]
    ) -> None:
        route = getattr(scope.get("route"), "path", NO_ROUTE)
        self.metrics.count_request(route, scope["method"], status, seconds)
        if "tenant" in facts:
            self.metrics.count_tenant(facts["tenant"])
        said = {
            "request": id,
            "method": scope["method"],
            "route": route,
            "status": status,
            "seconds": round(seconds, 4),
            **facts,
        }
        log.info("request", extra={"facts": said})


def choose_request_id(scope: Scope) -> str:
    """The id that a proxy gave, if it is one, or a new one."""
    given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
    return given if REQUEST_ID.fullmatch(given) else clock.new_id("req")


class JsonLines(logging.Formatter):
    """Log records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line: when, how grave, what, and the facts."""
        line = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__
            line["where"] = describe_place(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def describe_place(exc_info: Any) -> list[str]:
    """The files and lines of a traceback, without the values and texts in it."""
    import traceback

    return [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(exc_info[2])]
