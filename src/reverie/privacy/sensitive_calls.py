"""Sensitive files in conversations: the calls of tools that stand in a message, as
`messages.called` writes them.

Apart from `sensitive`, which a hook needs and where nothing is loaded that it does not.
"""

from __future__ import annotations

import re

from reverie.core.privacy_policy import Policy
from reverie.privacy.sensitive_files import bare, is_marked, touched_by
from reverie.text.host_messages import CALL, arguments, called, tools_in


def touches(text: str, policy: Policy) -> bool:
    """Whether a call of a tool in a message is given a sensitive file."""
    return any(touched_by(given, policy) for _, given in tools_in(text))


def bare_calls(text: str, policy: Policy) -> str:
    """A message in which calls that are given a sensitive file hold no text of it."""

    def without(call: re.Match[str]) -> str:
        given = arguments(call[2])
        touched = touched_by(given, policy)
        return called(call[1], bare(given, touched)) if touched else call[0]

    return CALL.sub(without, text)


def is_marked_within(text: str) -> bool:
    """Whether a tool answered with a text that says it is sensitive: one that begins behind the
    calls in a message.
    """
    return is_marked(CALL.sub("", text).lstrip())
