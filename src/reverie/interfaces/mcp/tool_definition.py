"""How a method becomes a tool: its name, its effects, and how errors are answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from mcp_types import CallToolResult, TextContent, ToolAnnotations

from reverie.core.errors import ReverieError


class ToolDefinition(NamedTuple):
    """One tool of a set. Its docstring is what the model reads."""

    function: Callable[..., Any]
    name: str
    title: str
    hints: ToolAnnotations
    # Shown to the model from the start, where a host hides tools behind a search.
    always: bool = False
    structured: bool = True  # answers with values besides text


READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
COUNTS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
"""It reads and counts the use, so a second call answers another count."""
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
ALTERS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
DOES_ALL = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)


def answer_known_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, answering foreseen errors to the model: their messages say what to do.

    A parameter called `from_` is `from` on the wire.
    """

    @wraps(function)
    def called(**given: Any) -> Any:
        if "from" in given:
            given["from_"] = given.pop("from")
        try:
            return function(**given)
        except ReverieError as err:
            return CallToolResult(content=[TextContent(type="text", text=str(err))], is_error=True)

    return called
