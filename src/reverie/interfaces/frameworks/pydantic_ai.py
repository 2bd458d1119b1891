"""Pydantic AI: a capability that injects memory before each request, and a toolset to search it on
purpose.

    memory = MemoryCapability(mind, "me/shop")
    agent = Agent(model, capabilities=[memory])
    await agent.run("…", conversation_id="monday")

One capability serves all conversations of an agent, each by its `conversation_id`. Always true:
the block is part of one request and not of the message history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import (
    ApprovalRequired,
    CallDeferred,
    FunctionToolset,
    ModelRequest,
    ModelResponse,
    RunContext,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.exceptions import SkipToolExecution
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from reverie.core import clock
from reverie.core.authorship import Author
from reverie.interfaces.frameworks.agent_loop import Beside, ConversationPool

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind

# Raised by a tool that did not run, so it did not fail.
DEFERRED = (ApprovalRequired, CallDeferred, SkipToolExecution)


class MemoryCapability(AbstractCapability[Any]):
    """Memory beside each conversation of an agent. With `tools`, the model can search and keep
    something itself.
    """

    def __init__(
        self,
        mind: Mind,
        space: str | None = None,
        *,
        tools: bool = True,
    ) -> None:
        self.conversations = ConversationPool(mind, space)
        self.tools = tools

    @property
    def trouble(self) -> str:
        """What went wrong last, in one line; empty when all is well."""
        return self.conversations.trouble

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """The tools `recall` and `remember`, unless they were not wanted."""
        return build_toolset(self.conversations) if self.tools else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the injection block at the end of this request."""
        beside = await self._beside(ctx)
        messages = request_context.messages
        block = await asyncio.to_thread(beside.turn, convert_pydantic_messages(beside, messages))
        if not block or not isinstance(messages[-1], ModelRequest):
            return request_context
        # Copies: the objects that were given are the history itself.
        last = replace(
            messages[-1],
            parts=[*messages[-1].parts, UserPromptPart(block.text)],
        )
        return replace(request_context, messages=[*messages[:-1], last])

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        """Hand over the answer to be learned from."""
        beside = await self._beside(ctx)
        await asyncio.to_thread(
            beside.heed, convert_pydantic_messages(beside, [*ctx.messages, response])
        )
        return response

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run and record a tool; what it returns or raises goes on its way."""
        began = clock.ticks()
        try:
            result = await handler(args)
        # It did not run.
        except DEFERRED:
            raise
        except Exception as err:
            (await self._beside(ctx)).ran(
                call.tool_name,
                args,
                error=f"{type(err).__name__}: {read_tool_error(err)}",
                duration=clock.ticks() - began,
            )
            raise
        (await self._beside(ctx)).ran(
            call.tool_name,
            args,
            result,
            duration=clock.ticks() - began,
        )
        return result

    async def _beside(self, ctx: RunContext[Any]) -> Beside:
        return await asyncio.to_thread(self.conversations.for_session, ctx.conversation_id or "")

    async def close(self) -> None:
        """End all conversations."""
        await asyncio.to_thread(self.conversations.close)


def read_tool_error(error: Exception) -> str:
    """The message of an error; of one by which a tool asks the model to try again,
    what it sends.
    """
    part = getattr(error, "tool_retry", None) or getattr(error, "tool_failed", None)
    return str(getattr(part, "content", None) or error.__cause__ or error)


def build_toolset(conversations: ConversationPool) -> FunctionToolset[Any]:
    """Two tools by which a model searches memory and keeps something; trouble is
    answered in words.
    """
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool(description=Beside.recall.__doc__)
    def recall(ctx: RunContext[Any], question: str) -> str:
        return conversations.for_session(ctx.conversation_id or "").recall(question)

    @tools.tool(description=Beside.remember.__doc__)
    def remember(ctx: RunContext[Any], text: str) -> str:
        beside = conversations.for_session(ctx.conversation_id or "")
        # An agent may change its model from one run to the next.
        beside.author = Author("pydantic-ai", ctx.model.model_name, ctx.model.system)
        return beside.remember(text)

    return tools


def convert_pydantic_messages(
    beside: Beside, messages: Sequence[ModelMessage]
) -> list[dict[str, Any]]:
    """Messages in OpenAI's shape; none if their own shape is not known."""
    nothing: list[dict[str, Any]] = []
    return beside.guarded(nothing, lambda: list(to_openai_messages(messages)))


def to_openai_messages(messages: Sequence[ModelMessage]) -> Iterator[dict[str, Any]]:
    """Messages in OpenAI's shape."""
    for message in messages:
        if isinstance(message, ModelResponse):
            texts = [part.content for part in message.parts if isinstance(part, TextPart)]
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            yield {
                "role": "assistant",
                "content": "\n".join(texts),
                "tool_calls": [to_openai_call(call) for call in calls],
            }
        elif isinstance(message, ModelRequest):
            yield from filter(None, map(to_openai_message, message.parts))


def to_openai_call(part: ToolCallPart) -> Mapping[str, Any]:
    """A call of a tool in OpenAI's shape."""
    return {
        "id": part.tool_call_id,
        "type": "function",
        "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
    }


def to_openai_message(part: ModelRequestPart) -> dict[str, Any] | None:
    """One part of a request as a message; None for a part without a speaker."""
    match part:
        case UserPromptPart(content=str(text)):
            return {"role": "user", "content": text}
        case UserPromptPart(content=pieces):
            return {
                "role": "user",
                "content": "\n".join(
                    piece if isinstance(piece, str) else piece.content
                    for piece in pieces
                    if isinstance(piece, (str, TextContent))
                ),
            }
        case SystemPromptPart(content=text):
            return {"role": "system", "content": text}
        case ToolReturnPart():
            return {
                "role": "tool",
                "tool_call_id": part.tool_call_id,
                "content": part.model_response_str(),
            }
        case RetryPromptPart():
            return {
                "role": "tool",
                "tool_call_id": part.tool_call_id,
                "content": part.model_response(),
            }
    return None
