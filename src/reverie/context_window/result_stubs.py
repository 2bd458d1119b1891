"""What stands in the place of a long answer: one line (`stub_lines`) in the message that held it.

Shortened is only what tools and the assistant answered, never what the user said: the order of
roles and the pairs of calls and results stay as they were, at a few tokens each. An assistant's
answer keeps its beginning, in its own words.
"""

from collections.abc import Mapping
from typing import Any

from reverie.context_window.message_parts import TOOL_ROLES, as_sequence
from reverie.context_window.provider_messages import TEXT_OUTPUT_TYPES, get_plain_answer
from reverie.text.host_messages import get_field, item_type_of, role_of


def replace_with_stub(message: Any, line: str) -> Any:
    """The message with `line` in place of what was answered in it; all else in it is as it was.

    Only mappings can be altered: an object of a host's own class is returned as it is.
    """
    if not isinstance(message, Mapping):
        return message
    content = get_field(message, "content")
    if any(get_field(part, "type") == "tool_result" for part in as_sequence(content)):
        return {**message, "content": [replace_part_content(part, line) for part in content]}
    if role_of(message) in TOOL_ROLES:
        kind = item_type_of(message)
        key = "content" if kind is None else "output"
        is_text = kind in (None, *TEXT_OUTPUT_TYPES)
        return {**message, key: line} if is_text else message
    if not get_plain_answer(message):
        return message
    if isinstance(content, str) or get_field(content[0], "type") == "text":
        return {**message, "content": line}
    return {
        **message,
        "content": [
            {
                "type": "output_text",
                "text": line,
                "annotations": [],
            }
        ],
    }


def replace_part_content(part: Any, line: str) -> Any:
    """A part of a content, a tool's answer replaced by a line."""
    is_result = isinstance(part, Mapping) and part.get("type") == "tool_result"
    return {**part, "content": line} if is_result else part
