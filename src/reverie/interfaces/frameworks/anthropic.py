"""Anthropic's SDK: the handler of its memory tool (`memory_20250818`), whose files are memories.

    client.beta.messages.tool_runner(..., tools=[MemoryTool(mind, "me/shop")])

What the commands do is told in `interfaces.memory_folder`. An error is an answer to the model, in
the words that it knows; what goes wrong in memory itself, such as a disk that is full, is one too.
"""

from __future__ import annotations

import asyncio
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
        self.notebook = MemoryFolder(mind, resolve_space(space), session)

    def execute(self, command: MemoryCommand) -> str:
        """The answer to a command."""
        return run_memory_command(self.notebook, command)

    view = create = str_replace = insert = delete = rename = execute

    def clear_all_memory(self) -> str:
        """Delete every file; `reverie memory restore` brings them back."""
        return clear_memory_files(self.notebook)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`MemoryTool` for the SDK's async client; it works in a thread beside the event loop."""

    def __init__(
        self, mind: Mind, space: str | None = None, *, session: str = "", **more: Any
    ) -> None:
        super().__init__(**more)
        self.notebook = MemoryFolder(mind, resolve_space(space), session)

    async def execute(self, command: MemoryCommand) -> str:
        """The answer to a command."""
        return await asyncio.to_thread(run_memory_command, self.notebook, command)

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Delete every file; `reverie memory restore` brings them back."""
        return await asyncio.to_thread(clear_memory_files, self.notebook)


def run_memory_command(notebook: MemoryFolder, command: MemoryCommand) -> str:
    """The answer to a command; ToolError, which the SDK answers with, for what it cannot do."""
    try:
        return notebook.run(command.model_dump(exclude_unset=True))
    except ReverieError as err:
        raise ToolError(str(err)) from err


def clear_memory_files(notebook: MemoryFolder) -> str:
    """Delete every file; returns the answer."""
    try:
        return notebook.clear()
    except ReverieError as err:
        raise ToolError(str(err)) from err
