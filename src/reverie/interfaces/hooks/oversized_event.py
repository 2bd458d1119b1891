"""What the beginning of a host's JSON tells, where all of it is too long to look at: a prompt with
a file in it.
"""

import json
import re
from typing import Any

NAMED = ("session_id", "conversation_id", "cwd", "hook_event_name")
PROMPTS = ("UserPromptSubmit", "beforeSubmitPrompt")
HEAD = 1_000_000  # bytes that are looked at
_TEXT = r'(?<!\\)"%s"\s*:\s*"((?:[^"\\]|\\.){0,100000})'


def beginning(given: bytes) -> dict[str, Any]:
    """A prompt with its beginning, and what says whose it is; empty for what is no prompt or does
    not say so.
    """
    text = given[:HEAD].decode("utf-8", "replace")
    payload: dict[str, Any] = {name: value for name in NAMED if (value := text_of(text, name))}
    if payload.get("hook_event_name") not in PROMPTS:
        return {}
    return {**payload, "prompt": text_of(text, "prompt")}


def text_of(text: str, name: str) -> str:
    """The value of a name; of a long one the beginning, up to a whole character."""
    found = re.search(_TEXT % name, text)
    if not found:
        return ""
    raw = found[1]
    for less in range(7):  # a \uXXXX may be cut in two
        try:
            value: str = json.loads(f'"{raw[: len(raw) - less]}"', strict=False)
            return value
        except ValueError:
            continue
    return ""
