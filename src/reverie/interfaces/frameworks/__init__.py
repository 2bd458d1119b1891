"""Memory in agents that are written with somebody's framework: a file for each, imported only when
it is used.

    agent_loop       any loop in Python: a context manager, or a decorator
    openai_agents    OpenAI Agents SDK: a session, hooks, and a filter of what the model is sent
    langgraph        LangGraph and LangChain: a `BaseStore`
    langgraph_agent  LangGraph and LangChain: hooks around an agent's model
    pydantic_ai      Pydantic AI: a capability, and a toolset
    anthropic        Anthropic's SDK: the handler of its memory tool
    claude_agent     Claude Agent SDK: hooks

Always true, but for what an agent asks of memory itself: no turn waits for memory, and no trouble
in memory reaches the agent. It gets what it would have got without, and `trouble` says why.
"""
