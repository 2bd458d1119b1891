"""What the beginning of a host's JSON tells, where all of it is too long to look at: a prompt with
a file in it.
"""

import json
import re
from typing import Any

from reverie.interfaces.hooks.hook_event import PROMPT
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hosts.host_agent import HostAgent

# Bytes that are looked at, of many megabytes: parsing all of them takes too long.
HEAD_BYTES = 1_000_000
_TEXT = r'(?<!\\)"%s"\s*:\s*"((?:[^"\\]|\\.){0,100000})'


def parse_beginning(given: bytes, host: HostAgent) -> dict[str, Any]:
    """A host's prompt with its beginning, and what says whose it is; empty for what is no prompt or
    does not say so.
    """
    text = given[:HEAD_BYTES].decode("utf-8", "replace")
    event = find_text_value(text, host.event_field)
    if host.events.get(event) != PROMPT:
        return {}
    fields = {name: find_text_value(text, name) for name in host.prompt_fields}
    return {**fields, host.event_field: event}


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


def take_beginning(
    given: bytes, host: HostAgent, files: HookFiles, max_bytes: int
) -> dict[str, Any]:
    """What is read of a message that is larger than `max_bytes`; the log tells of it."""
    payload = parse_beginning(given, host)
    taken = "only its beginning is" if payload else "not"
    name = payload.get(host.event_field, "an event")
    files.log_trouble(f"{name}: larger than {max_bytes // 1_000_000} MB, {taken} taken in")
    return payload
