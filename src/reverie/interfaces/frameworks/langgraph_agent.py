"""LangGraph and LangChain: memory is injected before each call of an agent's model.

    with AgentMemory(mind, "me/shop") as memory:
        agent = create_react_agent(model, tools, pre_model_hook=memory.before_model,
                                   post_model_hook=memory.after_model)
        agent.invoke({"messages": [("user", "…")]}, {"configurable": {"thread_id": "monday"}})

In a graph of one's own both are nodes: one before and one after the node that calls the model,
which sends it what then stands in `state["llm_input_messages"]`. One object serves all threads of
an agent, each by its `thread_id`. Always true: the block is in what the model is sent and not in
the state, so it does not pile up; in any trouble the model gets what it would have got without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, convert_to_openai_messages
from langchain_core.runnables import RunnableConfig

from reverie.interfaces.frameworks.agent_loop import Beside, ConversationPool


class AgentMemory(ConversationPool):
    """Memory beside the threads of an agent. Use it as a context manager, or call `close`."""

    def before_model(
        self, state: Mapping[str, Any], config: RunnableConfig
    ) -> dict[str, list[AnyMessage]]:
        """What to send to the model: the messages of the thread, with the block at their end."""
        beside = self._beside(config)
        messages = list(state["messages"])
        block = beside.turn(convert_graph_messages(beside, messages))
        # This key is sent and not kept; "messages" would add the block to the state.
        return {"llm_input_messages": [*messages, HumanMessage(block.text)] if block else messages}

    def after_model(
        self,
        state: Mapping[str, Any],
        config: RunnableConfig,
    ) -> dict[str, Any]:
        """Hand over the answer to be learned from; the state stays as it is."""
        beside = self._beside(config)
        beside.heed(convert_graph_messages(beside, state["messages"]))
        return {}

    def _beside(self, config: RunnableConfig) -> Beside:
        return self.for_session(str((config.get("configurable") or {}).get("thread_id", "")))


def convert_graph_messages(beside: Beside, messages: Sequence[Any]) -> list[Any]:
    """Messages in OpenAI's shape; none if their own shape is not known."""
    nothing: list[Any] = []
    return beside.guarded(nothing, lambda: list(convert_to_openai_messages(list(messages))))
