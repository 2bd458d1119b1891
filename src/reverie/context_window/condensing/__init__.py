"""A conversation condensed: what is old leaves it, and one message says in few lines what it was
about.

`condense_strategies` says what leaves and how much room the summary has,
`summary_draft` decides and lays out, `summary_lines` names the most telling sentences without a
model; a model may write better ones (`llm.summary_task`). All pure: `conversation_summary` says
when, asks the model and writes down.

Always true: the last ten messages, the system prompt and what is sticky stay word for word; what
stays keeps its order; a tool's call is never parted from its result; where user and assistant took
turns they still do. Whether the result is within the target, or why not, it says itself. This is no
consolidation of memories.
"""
