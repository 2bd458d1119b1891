"""How full a conversation's context is, read from the end of the host's own file of it; hooks are
not told.

Formats are the hosts' own and may change: what cannot be read is None, and nobody relies on more.
Claude Code writes a `usage` with each answer, Codex a `token_count` that names the window too.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# Share of the context from which on what it holds is read for memories, as in `companion.fit`.
FULL_SHARE = 0.8
# Bytes at the end of the file that are looked at; a transcript may have many megabytes.
TAIL_BYTES = 256_000
# Claude's usual context in tokens, and that of the models named […1m].
WINDOW_TOKENS, WIDE_WINDOW_TOKENS = 200_000, 1_000_000
USAGE_FIELDS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)


def read_context_usage(transcript: Path) -> float | None:
    """Which share of the context is used, by the newest answer; None where that cannot be told."""
    for row in read_rows_backwards(transcript):
        if used := usage_from_claude(row) or usage_from_codex(row):
            return used
    return None


def read_rows_backwards(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows at the end of a JSONL file, newest first; a row that was cut off or is being written
    is passed over.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, Mapping):
            yield row


def usage_from_claude(row: Mapping[str, Any]) -> float | None:
    """As Claude Code's transcripts have it; what subagents use is theirs."""
    message = row.get("message")
    if not isinstance(message, Mapping) or row.get("isSidechain"):
        return None
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return None
    # What was read from the cache fills the context like the rest.
    counts = [usage.get(name) for name in USAGE_FIELDS]
    used = sum(count for count in counts if isinstance(count, int))
    # Some names do not say […1m]; who uses more than the usual context has the wide one.
    wide = used > WINDOW_TOKENS or "[1m]" in str(message.get("model", ""))
    return used / (WIDE_WINDOW_TOKENS if wide else WINDOW_TOKENS) or None


def usage_from_codex(row: Mapping[str, Any]) -> float | None:
    """As Codex's rollout files have it."""
    payload = row.get("payload")
    if not isinstance(payload, Mapping) or payload.get("type") != "token_count":
        return None
    info = payload.get("info")
    if not isinstance(info, Mapping):
        return None
    last, window = info.get("last_token_usage"), info.get("model_context_window")
    used = last.get("total_tokens") if isinstance(last, Mapping) else None
    if not isinstance(used, int) or not isinstance(window, int) or window <= 0:
        return None
    return used / window
