"""The key to a server, in a file of the home that its owner alone may read.

It is in no database, so no export or backup holds it, and it is never printed. The environment's
key (`REVERIE_SERVER_KEY`) goes before it, for machines that have no home of their own.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from reverie.core.atomic_file import write_atomically
from reverie.core.errors import BadInput

FILE = "server-key"


class Credentials(NamedTuple):
    """A server and the key to it."""

    url: str
    key: str

    def __repr__(self) -> str:
        """Without the key: what is shown or logged by mistake must not give it away."""
        return f"Credentials({self.url!r})"


def credentials_file(home: Path) -> Path:
    """Where the key is."""
    return Path(home) / FILE


def load_credentials(home: Path) -> Credentials | None:
    """The server and key of a home; None for none. BadInput if the file cannot be read."""
    path = credentials_file(home)
    try:
        values = json.loads(path.read_text("utf-8"))
        return Credentials(str(values["url"]), str(values["key"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise BadInput(f"{path} cannot be read. Log in again: reverie login URL") from err


def save_credentials(home: Path, credentials: Credentials) -> None:
    """Keep a key."""
    data = json.dumps(credentials._asdict()).encode()
    write_atomically(credentials_file(home), data, mode=0o600)


def remove_credentials(home: Path) -> None:
    """Forget the key."""
    with suppress(FileNotFoundError):
        credentials_file(home).unlink()
