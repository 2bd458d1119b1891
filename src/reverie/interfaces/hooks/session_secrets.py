"""The secrets that a session gave away, kept as keyed digests for as long as it lasts.

They stand in `sessions/<session>.known`, written by its hooks and by the MCP server that the same
host started, and go with the session's other files. Neither a secret nor a part of one can be read
from them.
"""

from __future__ import annotations

from contextlib import suppress

from reverie.core import clock
from reverie.interfaces.hooks.spool import HookFiles, read_json_object, write_json_object
from reverie.privacy.known_secrets import KnownSecrets


def load_session_secrets(files: HookFiles, session: str) -> KnownSecrets:
    """What is known of a session; of a new one nothing, under a key of its own."""
    found = read_json_object(files.session_file(session, "known"))
    if found is not None:
        with suppress(KeyError, TypeError, ValueError):
            known = KnownSecrets(bytes.fromhex(found["key"]))
            known.add_rows(found["rows"])
            return known
    return KnownSecrets(clock.new_key())


def save_session_secrets(
    files: HookFiles,
    session: str,
    known: KnownSecrets,
) -> None:
    """Keep what is known of a session. Where that cannot be, later texts are read without it."""
    # Two hooks of a session may run at once: what the other has added under the same key stays.
    latest = load_session_secrets(files, session)
    if latest.key == known.key:
        known.add_rows(latest.to_rows())
    value = {"key": known.key.hex(), "rows": known.to_rows()}
    try:
        write_json_object(files.session_file(session, "known"), value)
    except OSError as err:
        files.log_trouble(f"what a session gave away is not known later: {err}")
