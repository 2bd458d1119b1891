"""The context window: what the agent is shown of its memory, and what stays of its conversation
when room is short.

`injection_block` renders what is injected, `injection_history` knows what one conversation has been
shown. `window_fitting` makes a conversation fit: `message_parts` reads what messages say,
`provider_messages` takes them as items, `pruning_strategies` say how much each is worth, `pruning`
decides what goes, `result_stubs` puts a line in its place, in the words of `stub_lines`.
`condensing` makes a summary of what leaves, `evicted_excerpts` makes it memory.
"""

from reverie.context_window.injection_block import (
    EMPTY_BLOCK,
    HEAD,
    LABEL,
    MAX_LINE_CHARS,
    SAID_BY,
    Block,
    format_time_ago,
    render_block,
    render_memory_hints,
    render_memory_line,
)

__all__ = [
    "EMPTY_BLOCK",
    "HEAD",
    "LABEL",
    "MAX_LINE_CHARS",
    "SAID_BY",
    "Block",
    "format_time_ago",
    "render_block",
    "render_memory_hints",
    "render_memory_line",
]
