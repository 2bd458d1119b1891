"""What the beginning of a host's JSON tells, where all of it is too long to look at: a prompt with
a file in it.
"""

import json
import re
from typing import Any

KEPT_NAMES = ("session_id", "conversation_id", "cwd", "hook_event_name")
PROMPT_EVENTS = ("UserPromptSubmit", "beforeSubmitPrompt")
# Bytes that are looked at, of many megabytes: parsing all of them takes too long.
HEAD_BYTES = 1_000_000
_TEXT = r'(?<!\\)"%s"\s*:\s*"((?:[^"\\]|\\.){0,100000})'


def parse_beginning(given: bytes) -> dict[str, Any]:
    """A prompt with its beginning, and what says whose it is; empty for what is no prompt or does
    not say so.
    """
    text = given[:HEAD_BYTES].decode("utf-8", "replace")
    values = {name: find_text_value(text, name) for name in KEPT_NAMES}
    payload: dict[str, Any] = {name: value for name, value in values.items() if value}
    if payload.get("hook_event_name") not in PROMPT_EVENTS:
        return {}
    return {**payload, "prompt": find_text_value(text, "prompt")}


def find_text_value(text: str, name: str) -> str:
    """The value of a name; of a long one the beginning, up to a whole character."""
    found = re.search(_TEXT % name, text)
    if not found:
        return ""
    raw = found[1]
    # A \uXXXX may be cut in two.
    for less in range(7):
        try:
            value: str = json.loads(f'"{raw[: len(raw) - less]}"', strict=False)
            return value
        except ValueError:
            continue
    return ""
