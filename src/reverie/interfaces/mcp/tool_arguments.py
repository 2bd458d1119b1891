"""What is asked of a tool, checked before it runs: what is wrong with it is said in words that tell
what to do.

A name that a tool does not take is refused and not dropped: a question under a wrong name would be
answered as if nothing had been asked. Requests that are under way when a client closes our stdin
are answered before we leave.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, InputRequiredResult, Tool
from pydantic import ValidationError

LINGER_SECONDS = 20.0  # seconds that requests under way may take once stdin is closed
MAX_SHOWN_CHARS = 60  # characters of a wrong value that are repeated
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
"""What is wrong with an argument, by pydantic's name for it."""


class StrictServer(MCPServer[Any]):
    """A server whose tools take what they say and nothing else."""

    async def list_tools(self) -> list[Tool]:
        """The tools; none takes an argument that it does not name."""
        return [
            tool.model_copy(
                update={"input_schema": {**tool.input_schema, "additionalProperties": False}}
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; ToolError says what to do about arguments that it cannot use."""
        takes = next(
            (
                list(tool.input_schema.get("properties", ()))
                for tool in await super().list_tools()
                if tool.name == name
            ),
            None,
        )
        if takes is not None and (odd := [given for given in arguments if given not in takes]):
            raise ToolError(
                f"{name} takes no {', '.join(map(shorten_value, odd))}. It takes: {', '.join(takes) or 'nothing'}"
            )
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as err:
            if isinstance(err.__cause__, ValidationError):
                raise ToolError(
                    f"{name}: {'; '.join(dict.fromkeys(map(describe_argument_error, err.__cause__.errors())))}"
                ) from err
            raise

    async def run_stdio_async(self) -> None:
        """Serve over stdin and stdout until stdin is closed and what was asked is answered."""
        async with (
            stdio_server() as (incoming, outgoing),
            open_draining_streams(incoming, outgoing) as (reads, writes),
        ):
            await self._lowlevel_server.run(
                reads, writes, self._lowlevel_server.create_initialization_options()
            )


def describe_argument_error(error: Mapping[str, Any]) -> str:
    """One thing that is wrong with an argument."""
    where = ".".join(str(part) for part in error["loc"] if not str(part).endswith("]")) or "it"
    kind, context = error["type"], error.get("ctx", {})
    told = ERROR_SENTENCES[kind].format(**context) if kind in ERROR_SENTENCES else str(error["msg"])
    given = (
        "" if kind in ("missing", "string_too_long") else f", not {shorten_value(error['input'])}"
    )
    return f"{where} {told}{given}"


def shorten_value(value: object) -> str:
    """A value as it can be repeated."""
    text = ascii(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


@asynccontextmanager
async def open_draining_streams(incoming: Any, outgoing: Any) -> AsyncIterator[Sequence[Any]]:
    """The two streams of a connection, of which the first ends only when its requests are answered,
    or LINGER later.
    """
    under_way: set[Any] = set()
    answered = anyio.Event()
    to_us, reads = anyio.create_memory_object_stream[Any](0)
    writes, from_us = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        async with to_us:
            async for item in incoming:
                message: Any = getattr(item, "message", None)
                if hasattr(message, "method") and hasattr(message, "id"):
                    under_way.add(message.id)
                elif (
                    getattr(message, "method", "") == "notifications/cancelled"
                ):  # it gets no answer any more
                    under_way.discard((message.params or {}).get("requestId"))
                await to_us.send(item)
            with anyio.move_on_after(LINGER_SECONDS):
                while under_way:
                    await answered.wait()

    async def write() -> None:
        nonlocal answered
        async with outgoing:
            async for item in from_us:
                await outgoing.send(item)
                message = getattr(item, "message", None)
                if not hasattr(message, "method"):
                    under_way.discard(getattr(message, "id", None))
                    before, answered = answered, anyio.Event()
                    before.set()

    async with anyio.create_task_group() as writing, anyio.create_task_group() as reading:
        writing.start_soon(write)
        reading.start_soon(read)
        yield reads, writes
        reading.cancel_scope.cancel()
        await writes.aclose()
