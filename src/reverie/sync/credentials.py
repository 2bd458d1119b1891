"""The keys to servers, in files of the home that their owner alone may read: that to the server
which the home is in step with, and those to servers that only keep sealed files for it.

They are in no database, so no export or backup holds them, and they are never printed. The
environment's key (`REVERIE_SERVER_KEY`) goes before the first, for machines that have no home of
their own.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from reverie.core.errors import BadInput
from reverie.core.private_files import read_private_bytes, write_private_bytes

FILE = "server-key"
PLACES_FILE = "place-keys"


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
        values = json.loads(read_private_bytes(home, path))
        return Credentials(str(values["url"]), str(values["key"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise BadInput(f"{path} cannot be read. Log in again: reverie login URL") from err


def save_credentials(home: Path, credentials: Credentials) -> None:
    """Keep a key."""
    data = json.dumps(credentials._asdict()).encode()
    write_private_bytes(home, credentials_file(home), data)


def remove_credentials(home: Path) -> None:
    """Forget the key."""
    with suppress(FileNotFoundError):
        credentials_file(home).unlink()


def load_place_key(home: Path, url: str) -> str:
    """The key to a server that keeps sealed files; "" for none. BadInput if the file cannot be
    read.
    """
    return load_place_keys(home).get(url, "")


def load_place_keys(home: Path) -> dict[str, str]:
    """The keys to servers that keep sealed files, by address."""
    path = Path(home) / PLACES_FILE
    try:
        values = json.loads(read_private_bytes(home, path))
        return {str(url): str(key) for url, key in values.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as err:
        raise BadInput(
            f"{path} cannot be read. Remove it and log in again: reverie sync add URL --sealed"
        ) from err


def save_place_key(home: Path, url: str, key: str) -> None:
    """Keep the key to a server that keeps sealed files; "" forgets it."""
    known = {name: one for name, one in load_place_keys(home).items() if name != url}
    if key:
        known[url] = key
    path = Path(home) / PLACES_FILE
    if known:
        write_private_bytes(home, path, json.dumps(known).encode())
    else:
        with suppress(FileNotFoundError):
            path.unlink()
