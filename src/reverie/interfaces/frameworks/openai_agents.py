"""OpenAI Agents SDK: memory is injected before each call of the model, tool runs are recorded, and
the history is kept.

    async with AgentMemory(mind, "me/shop", session="monday") as memory:
        await Runner.run(agent, "…", session=memory.history, hooks=memory,
                         run_config=memory.run_config())

Each of the three does its part without the others. What must be known of a tool, and what once
fixed its failure, is sent with the model's next call; a tool that has `memory.guard` among its
`tool_input_guardrails` is warned of before it runs. Always true: the block is sent and not kept
in the history, so it does not pile up; what a session drops or clears stays in the log; secrets are
not in it.

The SDK tells hooks only that a tool has ended. That it failed is known from the formatter of errors
(for a tool with the default handler), from the trace (where tracing is on), from the default texts
of errors, and from `async with` if the error ends the run. A handler of one's own, where tracing is
off, makes a failure an answer like others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from inspect import isawaitable
from json import loads
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from agents import (
    Agent,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Tool,
    ToolErrorFormatterArgs,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    default_tool_error_function,
    get_current_span,
)
from agents.run_config import CallModelData, ModelInputData

from reverie.core import clock
from reverie.core.kinds import NEGATIVE
from reverie.interfaces.frameworks.agent_loop import Beside
from reverie.interfaces.frameworks.openai_history import Item, SessionHistory

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind

# As the SDK words it: by this answer alone a timeout is known.
TIMEOUT_TEXT = "Tool '{}' timed out after {:g} seconds."
CUT_OFF_ERROR = "The run ended before the tool did"
SAID_ONCE = "It did not run. Call it again if it should run all the same: this is said once."


class ToolCall(NamedTuple):
    """A call of a tool."""

    tool: str
    given: Any  # its arguments, by name where they are JSON
    began: float  # on `clock.ticks`, in seconds
    error: str = ""


class AgentMemory(RunHooks[Any]):
    """Memory of one conversation: give it to `Runner.run` as `hooks`. Use it as a context manager,
    or call `close`.
    """

    def __init__(
        self,
        mind: Mind,
        space: str | None = None,
        *,
        session: str,
    ) -> None:
        self.beside = Beside(mind, space, session=session)
        self.history = SessionHistory(mind, session, space)
        self.guard: ToolInputGuardrail[Any] = ToolInputGuardrail(self._guarded, "reverie")
        self._sent: list[Item] = []  # the conversation as it was when the model was last called
        self._running: dict[str, ToolCall] = {}  # by the id of the call
        self._errors: dict[str, str] = {}  # of calls that are not over
        self._ended: list[ToolCall] = []  # since the model was last called

    @property
    def trouble(self) -> str:
        """What went wrong last, in one line; empty when all is well."""
        return self.beside.trouble or self.history.trouble

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """The configuration with memory in it; its own filter and formatter of errors stay."""
        config = config or RunConfig()
        own_filter, formatter = config.call_model_input_filter, config.tool_error_formatter

        async def filtered(data: CallModelData[Any]) -> ModelInputData:
            given = own_filter(data) if own_filter else data.model_data
            if not isinstance(given, ModelInputData):
                given = await given
            return await self._inject(given)

        async def failed(args: ToolErrorFormatterArgs[Any]) -> str | None:
            if args.error is not None:
                self._errors[args.call_id] = format_error_line(args.error)
            said = formatter(args) if formatter else None
            return await said if isawaitable(said) else said

        return replace(
            config,
            call_model_input_filter=filtered,
            tool_error_formatter=failed,
        )

    async def _inject(self, data: ModelInputData) -> ModelInputData:
        self._sent = list(data.input)
        # Each tool is spoken of once, with the call of the model that follows it.
        ended, self._ended = self._ended, []
        texts = await asyncio.to_thread(self._collect_texts, ended)
        if not texts:
            return data
        message: Item = {"role": "user", "content": "\n\n".join(texts)}
        return replace(data, input=[*data.input, message])

    def _collect_texts(self, ended: list[ToolCall]) -> list[str]:
        """What to inject now, about the conversation and about the tools called last."""
        texts = [self.beside.turn(self._sent).text]
        for call in ended:
            texts.append(self.beside.warned(call.tool, call.given))
            texts.append(self.beside.fixed(call.error) if call.error else "")
        return [text for text in texts if text]

    async def on_llm_end(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        response: ModelResponse,
    ) -> None:
        """Hand over the answer to be learned from."""
        said: list[Item] = self.beside.guarded(
            [],
            lambda: list(response.to_input_items()),
        )
        await asyncio.to_thread(self.beside.heed, [*self._sent, *said])

    async def on_tool_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        tool: Tool,
    ) -> None:
        """Note that a tool is about to run."""
        self._running[find_call_id(context, tool)] = ToolCall(
            tool.name, read_call_arguments(context), clock.ticks()
        )

    async def on_tool_end(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        tool: Tool,
        result: object,
    ) -> None:
        """Record a tool that ran, or failed and had its error made an answer."""
        id = find_call_id(context, tool)
        # Hooks may have been given to the run only when the tool was running already.
        call = self._running.pop(
            id, ToolCall(tool.name, read_call_arguments(context), clock.ticks())
        )
        noted = self._errors.pop(id, "")
        error = self.beside.guarded(
            noted,
            lambda: noted or find_tool_error(tool, context, result),
        )
        self._record(call._replace(error=error), None if error else result)

    def _record(self, call: ToolCall, result: object = None) -> None:
        self.beside.ran(
            call.tool,
            call.given,
            result,
            error=call.error or None,
            duration=clock.ticks() - call.began,
        )
        self._ended.append(call)

    def _guarded(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Answer with what must never be done in the place of a tool's result, once."""
        warning = self.beside.warned(
            data.context.tool_name, read_call_arguments(data.context), kinds=(NEGATIVE,)
        )
        if not warning:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(f"{warning}\n{SAID_ONCE}")

    async def close(self) -> None:
        """End the conversation."""
        self._record_unfinished(None)
        await asyncio.to_thread(self.beside.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _type: object,
        err: BaseException | None,
        _trace: object,
    ) -> None:
        self._record_unfinished(err)
        await self.close()

    def _record_unfinished(self, err: BaseException | None) -> None:
        """Record tools that never ended; one of them may have raised what ended the run."""
        while self._running:
            id, call = self._running.popitem()
            error = self._errors.pop(id, "")
            # The last one left is to blame, or one that the error names.
            is_blamed = err is not None and (not self._running or call.tool in str(err))
            if not error and err is not None and is_blamed:
                error = format_error_line(err.__cause__ or err)
            self._record(call._replace(error=error or CUT_OFF_ERROR))


def find_call_id(context: RunContextWrapper[Any], tool: Tool) -> str:
    """The id of a call; of a tool that is no function, its name."""
    return str(getattr(context, "tool_call_id", None) or tool.name)


def read_call_arguments(context: RunContextWrapper[Any]) -> Any:
    """The arguments of a call by name, or their text if that is no JSON object."""
    text = getattr(context, "tool_arguments", None) or ""
    try:
        values = loads(text)
    except (TypeError, ValueError, RecursionError):
        return text
    return values if isinstance(values, Mapping) else text


def format_error_line(error: BaseException) -> str:
    """An error as text: its class and its message."""
    return f"{type(error).__name__}: {error}"


def find_tool_error(
    tool: Tool,
    context: RunContextWrapper[Any],
    result: object,
) -> str:
    """Why a tool failed, as far as its trace or its answer tells; "" if it succeeded."""
    span = get_current_span()
    if span is not None and span.error:
        why = (span.error.get("data") or {}).get("error")
        return str(why or result or span.error["message"])
    seconds = getattr(tool, "timeout_seconds", None)
    texts = [default_tool_error_function(context, Exception())]
    texts += [TIMEOUT_TEXT.format(tool.name, seconds)] if seconds is not None else []
    return str(result) if result in texts else ""
