"""What stands in the place of a long answer: one line (`lines`) in the message that held it.

Shortened is only what tools and the assistant answered, never what the user said: the order of
roles and the pairs of calls and results stay as they were, at a few tokens each. An assistant's
answer keeps its beginning, in its own words.
"""

from collections.abc import Mapping
from typing import Any

from reverie.context_window.message_parts import TOOLS, listed
from reverie.context_window.provider_messages import IN_WORDS, plain_answer
from reverie.text.host_messages import item_type, named, role_of


def shortened(message: Any, line: str) -> Any:
    """The message with `line` in place of what was answered in it; all else in it is as it was.

    Only mappings can be altered: an object of a host's own class is returned as it is.
    """
    if not isinstance(message, Mapping):
        return message
    content = named(message, "content")
    if any(named(part, "type") == "tool_result" for part in listed(content)):
        return {**message, "content": [with_line(part, line) for part in content]}
    if role_of(message) in TOOLS:
        kind = item_type(message)
        return (
            {**message, "content" if kind is None else "output": line}
            if kind in (None, *IN_WORDS)
            else message
        )
    if not plain_answer(message):
        return message
    if isinstance(content, str) or named(content[0], "type") == "text":
        return {**message, "content": line}
    return {**message, "content": [{"type": "output_text", "text": line, "annotations": []}]}


def with_line(part: Any, line: str) -> Any:
    """A part of a content, a tool's answer shortened."""
    return (
        {**part, "content": line}
        if isinstance(part, Mapping) and part.get("type") == "tool_result"
        else part
    )
