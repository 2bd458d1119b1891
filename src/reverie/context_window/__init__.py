"""The context window: what the agent is shown of its memory, and what of its conversation stays
when room is short.

`block` renders what is injected. `fitting` makes a conversation fit: `parts` reads what messages
say, `shapes` takes them as items, `relevance` and `strategies` say how much each is worth,
`pruning` decides what goes, `stubs` puts a line in its place, in the words of `lines`. All pure.
"""

from reverie.context_window.injection_block import (
    EMPTY,
    HEAD,
    LABEL,
    LINE,
    SAID_BY,
    Block,
    age,
    hinted,
    line,
    render,
)
from reverie.text.escaping import escaped, harmless
from reverie.text.injection_fence import FENCE, FOOT, without_injections
from reverie.text.token_counts import tokens

__all__ = [
    "EMPTY",
    "FENCE",
    "FOOT",
    "HEAD",
    "LABEL",
    "LINE",
    "SAID_BY",
    "Block",
    "age",
    "escaped",
    "harmless",
    "hinted",
    "line",
    "render",
    "tokens",
    "without_injections",
]
