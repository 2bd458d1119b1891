"""What a hook says where config.toml cannot be used: memory is silent until it is mended, and the
person would not know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from reverie.core.errors import BadInput
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.spool import HookFiles, create_file
from reverie.interfaces.hosts import load_host
from reverie.interfaces.hosts.host_agent import read_host_event

# Characters of what is wrong: a list of all settings is too long for a line.
MAX_TOLD_CHARS = 200


def tell_bad_settings(
    err: BaseException, host_name: str, given: bytes, files: HookFiles
) -> Mapping[str, Any]:
    """What shows the person, once in a session, that config.toml cannot be used and so nothing is
    kept; empty for any other error.
    """
    if not isinstance(err, BadInput) or "config.toml" not in str(err):
        return {}
    host, payload = load_host(host_name), json.loads(given)
    event = read_host_event(host, payload)
    if event is None or event.kind not in (kinds.SESSION_START, kinds.PROMPT):
        return {}
    why = str(err)
    if len(why) > MAX_TOLD_CHARS:
        why = f"{why[:MAX_TOLD_CHARS]}…"
    line = f"Reverie: nothing is kept and nothing comes up until this is mended: {why}"
    marker = files.session_file(event.session, "unusable")
    return host.show(payload[host.event_field], line) if create_file(marker, os.O_EXCL) else {}
