"""Sensitive files in conversations: tool calls in a message.

They are written as by `host_messages.format_tool_call`.

Apart from `sensitive_files`, which a hook needs and where nothing is loaded that it does not.
"""

from __future__ import annotations

import re

from reverie.core.privacy_policy import Policy
from reverie.privacy.sensitive_files import (
    find_sensitive_files,
    is_marked_sensitive,
    strip_arguments,
)
from reverie.text.host_messages import (
    TOOL_CALL_LINE,
    find_tool_calls,
    format_tool_call,
    parse_arguments,
)


def has_sensitive_call(text: str, policy: Policy) -> bool:
    """True if a tool call in a message is given a sensitive file."""
    return any(find_sensitive_files(given, policy) for _, given in find_tool_calls(text))


def strip_sensitive_calls(text: str, policy: Policy) -> str:
    """A message whose calls that are given a sensitive file hold no text of it."""

    def without(call: re.Match[str]) -> str:
        given = parse_arguments(call[2])
        touched = find_sensitive_files(given, policy)
        return format_tool_call(call[1], strip_arguments(given, touched)) if touched else call[0]

    return TOOL_CALL_LINE.sub(without, text)


def has_marked_answer(text: str) -> bool:
    """True if a tool answered with a text that says it is sensitive.

    The answer stands behind the calls in a message.
    """
    return is_marked_sensitive(TOOL_CALL_LINE.sub("", text).lstrip())
