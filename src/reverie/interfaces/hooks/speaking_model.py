"""Which model speaks: what hooks were told of it, or what the host's own file of the conversation
says.

Codex and Cursor name the model with every event, Claude Code at the beginning of a session and with
each answer in its transcript. Who keeps something by MCP tells its own name only, so the note of
its host's newest session in the same project is looked at. What cannot be told is "".
"""

from __future__ import annotations

import os
from pathlib import Path

from reverie.interfaces.hooks.context_usage import read_rows_backwards
from reverie.interfaces.hooks.hook_event import SessionNote
from reverie.interfaces.hooks.spool import HookFiles, read_record

# Newest notes of sessions that are looked at: who asks has just spoken.
MAX_NOTES = 20


def find_speaking_model(
    files: HookFiles,
    client: str,
    space: str,
) -> str:
    """The model of a client's newest session in a space. Clients are named after their host:
    "codex-mcp-client".
    """
    paths = [path for path in files.list_files("sessions") if path.endswith(".json")]
    for path in sorted(
        paths,
        key=modified_at,
        reverse=True,
    )[:MAX_NOTES]:
        note = read_record(path, SessionNote)
        if note is None or not note.agent or note.space != space:
            continue
        if client.lower().startswith(note.agent):
            # The model may have been changed since the session began.
            return find_transcript_model(note.transcript) or note.model
    return ""


def modified_at(path: str) -> float:
    """When a file was written last; 0 if it is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def find_transcript_model(path: str) -> str:
    """The model of the newest answer in a transcript as Claude Code writes it; what subagents say
    is theirs.
    """
    for row in read_rows_backwards(Path(path)) if path else ():
        message = row.get("message")
        if not isinstance(message, dict) or row.get("isSidechain"):
            continue
        model = message.get("model") if message.get("role") == "assistant" else None
        # "<synthetic>" is the host itself.
        if isinstance(model, str) and model and not model.startswith("<"):
            return model
    return ""
