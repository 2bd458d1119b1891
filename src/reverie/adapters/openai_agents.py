"""OpenAI Agents SDK: memory comes up before each call of the model, runs of tools are recorded, history is kept.

    memory = AgentMemory(mind, "me/shop", session="monday")
    await Runner.run(agent, "…", session=memory.history, hooks=memory, run_config=memory.run_config())

Each of the three does its part without the others. Always true: what comes up is sent and not kept in the history, so
it does not pile up; what a session drops or clears stays in the log; secrets are not in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from agents import Agent, ModelResponse, RunConfig, RunContextWrapper, RunHooks, SessionSettings, Tool
from agents.run_config import CallModelData, ModelInputData

from reverie.adapters.beside import Beside
from reverie.errors import ReverieError
from reverie.lifecycle.intake import space_meant

if TYPE_CHECKING:
    from reverie.mind import Mind

Item = Any               # agents.TResponseInputItem: a mapping of one of twenty shapes

HISTORY = "history"      # the verb of an event: items were "added", one was "popped", or all were "cleared"
MOST_EVENTS = 100_000    # of one session that are read


class History:
    """What was said in one session, as the SDK's `Session` protocol wants it, in Reverie's log.

    Where memory is switched off, or in trouble, the session goes on in this process alone and `trouble` says so.
    """

    def __init__(self, mind: Mind, session: str, space: str | None = None) -> None:
        self.session_id = session
        self.session_settings: SessionSettings | None = None
        self.trouble = ""
        self._mind, self._space = mind, space_meant(space)
        self._items: list[Item] = []      # as they were last known

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The last so many items, or all, oldest first."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        items = await asyncio.to_thread(self._read)
        return items if most is None else items[-most:] if most > 0 else []

    async def add_items(self, items: Sequence[Item]) -> None:
        """These were said."""
        if items:
            plain = loads(dumps(list(items), default=str))
            await asyncio.to_thread(self._write, {"added": plain})

    async def pop_item(self) -> Item | None:
        """Take the last item back; None where there is none."""
        items = await asyncio.to_thread(self._read)
        if items:
            await asyncio.to_thread(self._write, {"popped": 1})
        return items[-1] if items else None

    async def clear_session(self) -> None:
        """Begin anew; the log keeps what was said."""
        await asyncio.to_thread(self._write, {"cleared": 1})

    def _read(self) -> list[Item]:
        if not self.trouble:
            try:
                self._items = self._logged()
            except ReverieError as err:
                self._goes_on_alone(err)
        return list(self._items)

    def _write(self, payload: dict[str, Any]) -> None:
        if self.trouble or not self._recorded(payload):
            go_on(self._items, payload)

    def _recorded(self, payload: dict[str, Any]) -> bool:
        try:
            self._mind.record(HISTORY, payload, space=self._space, session=self.session_id)
        except ReverieError as err:
            self._read()      # what was there before the trouble
            self._goes_on_alone(err)
            return False
        return True

    def _logged(self) -> list[Item]:
        events = self._mind.store.events(session=self.session_id, verbs=(HISTORY,), space=self._space,
                                         limit=MOST_EVENTS)
        items: list[Item] = []
        for event in events:
            go_on(items, event.payload)
        return items

    def _goes_on_alone(self, err: ReverieError) -> None:
        self.trouble = f"From here on this session is kept in this process only: {err}"


def go_on(items: list[Item], payload: Mapping[str, Any]) -> None:
    """Make of the items before an event, oldest first, those that it leaves."""
    if payload.get("cleared"):
        items.clear()
    elif payload.get("popped"):
        del items[-1:]
    items += payload.get("added", ())


class AgentMemory(RunHooks[Any]):
    """Memory of one conversation: give it to `Runner.run` as `hooks`."""

    def __init__(self, mind: Mind, space: str | None = None, *, session: str) -> None:
        self.beside = Beside(mind, space, session=session)
        self.history = History(mind, session, space)
        self._sent: list[Item] = []       # the conversation as it was when the model was last called

    @property
    def trouble(self) -> str:
        """What went wrong last, in one line; empty when all is well."""
        return self.beside.trouble or self.history.trouble

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """The configuration with memory in it; a filter that it has already runs first."""
        config = config or RunConfig()
        first = config.call_model_input_filter

        async def filtered(data: CallModelData[Any]) -> ModelInputData:
            given = first(data) if first else data.model_data
            return await self._prepared(given if isinstance(given, ModelInputData) else await given)
        return replace(config, call_model_input_filter=filtered)

    async def _prepared(self, data: ModelInputData) -> ModelInputData:
        self._sent = list(data.input)
        block = await asyncio.to_thread(self.beside.turn, self._sent)
        return replace(data, input=[*data.input, {"role": "user", "content": block.text}]) if block else data

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        """The answer is kept and learned from."""
        said: list[Item] = self.beside.spared([], lambda: list(response.to_input_items()))
        await asyncio.to_thread(self.beside.heed, [*self._sent, *said])

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object) -> None:
        """A tool ran."""
        self.beside.ran(tool.name, getattr(context, "tool_arguments", None), result)

    async def close(self) -> None:
        """The conversation is over."""
        await asyncio.to_thread(self.beside.close)
