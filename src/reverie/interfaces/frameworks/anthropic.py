"""Anthropic's SDK: the handler of its memory tool (`memory_20250818`), whose files are memories.

    client.beta.messages.tool_runner(..., tools=[MemoryTool(mind, "me/shop")])

What the commands do is told in `interfaces.memory_folder`. An error is an answer to the model, in
the words that it knows; what goes wrong in memory itself, such as a disk that is full, is one too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from reverie.core.errors import ReverieError
from reverie.interfaces.memory_folder import MemoryFolder
from reverie.memory.memory_validation import resolve_space

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind

MemoryCommand = (
    BetaMemoryTool20250818ViewCommand
    | BetaMemoryTool20250818CreateCommand
    | BetaMemoryTool20250818StrReplaceCommand
    | BetaMemoryTool20250818InsertCommand
    | BetaMemoryTool20250818DeleteCommand
    | BetaMemoryTool20250818RenameCommand
)


class MemoryTool(BetaAbstractMemoryTool):
    """The files under /memories of one space. `more` is what the SDK's own tools take, such as
    `cache_control`.
    """

    def __init__(
        self, mind: Mind, space: str | None = None, *, session: str = "", **more: Any
    ) -> None:
        super().__init__(**more)
        self.folder = MemoryFolder(mind, resolve_space(space), session)

    def execute(self, command: MemoryCommand) -> str:
        """The answer to a command."""
        return answer_in_words(self.folder.run, command.model_dump(exclude_unset=True))

    # The SDK has a method for each command, and the folder tells them apart itself.
    view = create = str_replace = insert = delete = rename = execute

    def clear_all_memory(self) -> str:
        """Delete every file; `reverie memory restore` brings them back."""
        return answer_in_words(self.folder.clear)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`MemoryTool` for the SDK's async client; it works in a thread beside the event loop."""

    def __init__(
        self, mind: Mind, space: str | None = None, *, session: str = "", **more: Any
    ) -> None:
        super().__init__(**more)
        self.folder = MemoryFolder(mind, resolve_space(space), session)

    async def execute(self, command: MemoryCommand) -> str:
        """The answer to a command."""
        given = command.model_dump(exclude_unset=True)
        return await asyncio.to_thread(answer_in_words, self.folder.run, given)

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Delete every file; `reverie memory restore` brings them back."""
        return await asyncio.to_thread(answer_in_words, self.folder.clear)


def answer_in_words(work: Callable[..., str], *given: Any) -> str:
    """The answer of some work; ToolError, which the SDK answers with, for what cannot be done."""
    try:
        return work(*given)
    except ReverieError as err:
        raise ToolError(str(err)) from err
