"""The tool set `anthropic`: one tool, `memory`, with the commands of Anthropic's memory tool
(`memory_20250818`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from reverie.interfaces.mcp.tool_context import ToolSet
from reverie.interfaces.mcp.tool_definition import DOES_ALL, ToolDefinition
from reverie.interfaces.memory_folder import MemoryFolder


class FileCommand(BaseModel):
    """What the tool is called with: a command, and what that command needs."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: Annotated[
        str | None, Field(description="A path under /memories; for all commands but rename.")
    ] = None
    view_range: Annotated[
        Sequence[int] | None, Field(description="view: from line to line, -1: the end.")
    ] = None
    file_text: Annotated[str | None, Field(description="create: the whole file.")] = None
    old_str: Annotated[
        str | None, Field(description="str_replace: what stands there exactly once.")
    ] = None
    new_str: Annotated[str | None, Field(description="str_replace: what takes its place.")] = None
    insert_line: Annotated[
        int | None, Field(description="insert: after this line; 0 is the beginning.")
    ] = None
    insert_text: Annotated[str | None, Field(description="insert: the lines.")] = None
    old_path: Annotated[str | None, Field(description="rename: from.")] = None
    new_path: Annotated[str | None, Field(description="rename: to.")] = None


class AnthropicTools(ToolSet):
    """The tool set of one tool."""

    def tools(self) -> list[ToolDefinition]:
        """The one tool."""
        return [
            ToolDefinition(
                self.memory,
                "Memory",
                DOES_ALL,
                always=True,
                structured=False,
            )
        ]

    def memory(self, given: FileCommand, ctx: Context | None = None) -> str:
        """Files under /memories that last from one conversation to the next.

        View /memories before you begin. Note there what you will need when this context is gone:
        what the user wants and dislikes, decisions, how far you are, what failed. Keep it in order:
        rewrite or delete what is out of date.
        """
        context = self.context
        session = self.context.session_of(ctx)
        folder = MemoryFolder(context.mind, context.space, session, context.author_of(ctx))
        answer = folder.run(given.model_dump())
        if given.command == "view":
            return answer
        context.request_settling()
        redacted = context.list_redactions(
            given.path, given.file_text, given.new_str, given.insert_text, given.new_path
        )
        if not redacted:
            return answer
        return f"{answer}\nSecrets were taken out of it: {', '.join(redacted)}"
