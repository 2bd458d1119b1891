"""A server that checks arguments before a tool runs, and says in words what to do about them.

Always true: a name that a tool does not take is refused and not dropped, for a question under a
wrong name would be answered as if nothing had been asked. Requests that are under way when a client
closes our stdin are answered before we leave, and a line that is no message gets an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    Tool,
)
from pydantic import ValidationError

from reverie.interfaces.mcp.early_answers import ANSWERED

# That requests under way may take once stdin is closed.
LINGER_SECONDS = 20.0
# Of a wrong value that is repeated: enough to know it again.
MAX_SHOWN_CHARS = 60
# Some of Pydantic's own sentences speak to programmers; a model should read what to do.
ERROR_SENTENCES = {
    "missing": "is needed",
    "string_type": "must be a text",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "literal_error": "must be one of {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "may have {max_length:,} characters at most: ask in fewer words",
    **dict.fromkeys(
        ("list_type", "tuple_type", "is_instance_of", "sequence_str"),
        'must be a list, such as ["one"]',
    ),
}
"""Pydantic's name of an error → what is wrong with the argument."""


class StrictServer(MCPServer[Any]):
    """A server whose tools take the arguments that they name and no others."""

    # Arguments as the tools may have them: without what their session gave away before.
    prepare_arguments: Callable[[dict[str, Any]], dict[str, Any]] = dict

    async def list_tools(self) -> list[Tool]:
        """All tools, with schemas that allow no other arguments."""
        return [
            tool.model_copy(
                update={"input_schema": {**tool.input_schema, "additionalProperties": False}}
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[Any, Any] | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; ToolError says what to do about arguments that it cannot use."""
        known = {tool.name: tool for tool in await super().list_tools()}
        # The SDK drops names that it does not know, and would answer another question.
        if name in known:
            taken = list(known[name].input_schema.get("properties", ()))
            if odd := [given for given in arguments if given not in taken]:
                raise ToolError(
                    f"{name} takes no {', '.join(map(shorten_value, odd))}. "
                    f"It takes: {', '.join(taken) or 'nothing'}"
                )
        try:
            return await super().call_tool(name, self.prepare_arguments(arguments), context)
        except ToolError as err:
            if isinstance(err.__cause__, ValidationError):
                errors = dict.fromkeys(map(describe_argument_error, err.__cause__.errors()))
                raise ToolError(f"{name}: {'; '.join(errors)}") from err
            raise

    async def run_stdio_async(self) -> None:
        """Serve over stdin and stdout until stdin is closed and all requests are answered."""
        async with (
            stdio_server() as (incoming, outgoing),
            open_draining_streams(incoming, outgoing) as (reads, writes),
        ):
            await self._lowlevel_server.run(
                reads, writes, self._lowlevel_server.create_initialization_options()
            )


def describe_argument_error(error: Mapping[str, Any]) -> str:
    """What is wrong with one argument, in words."""
    # Pydantic puts the branch of a union into the place, such as `list[str]`: nobody wrote that.
    where = ".".join(str(part) for part in error["loc"] if not str(part).endswith("]")) or "it"
    kind = error["type"]
    context = error.get("ctx", {})
    if kind in ERROR_SENTENCES:
        wrong = ERROR_SENTENCES[kind].format(**context)
    else:
        wrong = str(error["msg"])
    if kind in ("missing", "string_too_long"):
        return f"{where} {wrong}"
    return f"{where} {wrong}, not {shorten_value(error['input'])}"


def shorten_value(value: object) -> str:
    """A value as it can be repeated in a message: ASCII, cut."""
    text = ascii(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


@asynccontextmanager
async def open_draining_streams(incoming: Any, outgoing: Any) -> AsyncIterator[Sequence[Any]]:
    """The two streams of a connection; reading ends only when all requests are answered, or
    LINGER_SECONDS later.
    """
    under_way: set[Any] = set()
    answered = anyio.Event()
    to_us, reads = anyio.create_memory_object_stream[Any](0)
    writes, from_us = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        async with to_us:
            async for item in incoming:
                if isinstance(item, Exception):
                    # The SDK would pass over it, and its writer would wait for ever.
                    await outgoing.send(SessionMessage(describe_bad_line(item)))
                    continue
                message: Any = getattr(item, "message", None)
                if hasattr(message, "method") and hasattr(message, "id"):
                    under_way.add(message.id)
                # A cancelled request gets no answer any more.
                elif getattr(message, "method", "") == "notifications/cancelled":
                    under_way.discard((message.params or {}).get("requestId"))
                await to_us.send(item)
            with anyio.move_on_after(LINGER_SECONDS):
                while under_way:
                    await answered.wait()

    async def write() -> None:
        nonlocal answered
        async with outgoing:
            async for item in from_us:
                message: Any = getattr(item, "message", None)
                # A greeting that was answered before this server was loaded, and read once more.
                if not hasattr(message, "method") and getattr(message, "id", None) in ANSWERED:
                    ANSWERED.remove(message.id)
                else:
                    await outgoing.send(item)
                if not hasattr(message, "method"):
                    under_way.discard(getattr(message, "id", None))
                    # An event can be set once: whoever waits next waits for a new one.
                    previous = answered
                    answered = anyio.Event()
                    previous.set()

    async with anyio.create_task_group() as writing, anyio.create_task_group() as reading:
        writing.start_soon(write)
        reading.start_soon(read)
        yield reads, writes
        # Reading may wait for a line that never comes; writing ends with what is still to be sent.
        reading.cancel_scope.cancel()
        await writes.aclose()


def describe_bad_line(err: Exception) -> JSONRPCError:
    """What JSON-RPC answers to a line that is no JSON, or no message; its id is not known."""
    faults = err.errors(include_url=False) if isinstance(err, ValidationError) else []
    is_json = not any(fault["type"] == "json_invalid" for fault in faults)
    return JSONRPCError(
        jsonrpc="2.0",
        id=None,
        error=ErrorData(
            code=INVALID_REQUEST if is_json else PARSE_ERROR,
            message=(
                "This line is JSON, but no JSON-RPC 2.0 message: send one object a line, with "
                '"jsonrpc": "2.0" and a method'
                if is_json
                else "This line is no JSON: send one JSON-RPC 2.0 message a line"
            ),
        ),
    )
