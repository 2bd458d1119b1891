"""A team's server as the place through which sealed logs move.

It keeps the files of the user's own place and can read none of them; nobody else can list, read or
write them. A file of a log is written once: if another home writes under this device's number, the
second of them is refused, looks again and takes another number. What lies there under this device's
number and none of its homes wrote is replaced. What was cut off is sent again and
comes to the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reverie.core.errors import (
    AccessDenied,
    NotFound,
    Overwritten,
    ReverieError,
    ServerAway,
    ServerFull,
    Unauthenticated,
)
from reverie.sync.credentials import load_place_key
from reverie.sync.device_logs.batch_file import digest_file, is_sealed_file, owner_of
from reverie.sync.device_logs.log_folder import (
    MAKE_ROOM,
    CannotShow,
    PlaceAway,
    PlaceFull,
    own_folder,
)
from reverie.sync.server_client import ServerClient, Waits

WAITS = Waits(connect=3.0, answer=30.0, tries=2)
AGAIN = "reverie sync add {url} --sealed"


class ServerPlace:
    """The user's own sealed files on a server, seen from one device."""

    def __init__(self, url: str, home: Path) -> None:
        self.url, self.home = url, home
        self._client: ServerClient | None = None
        self._listed: dict[str, tuple[int, str]] = {}  # name → (size, digest)

    def open(self) -> None:
        """Look what lies there now."""
        key = load_place_key(self.home, self.url)
        if not key:
            raise PlaceAway(f"There is no key to {self.url} here. Log in: {self._how()}")
        if self._client is None:
            self._client = ServerClient(self.url, key, WAITS)
        with self._translating() as client:
            listed = client.list_files()
        self._listed = {name: one for name, one in listed.items() if owner_of(name)}

    def sizes(self) -> dict[str, int]:
        """The files of logs and keys by name, with their sizes."""
        return {name: size for name, (size, _) in self._listed.items()}

    def read(self, name: str) -> bytes:
        """What a file holds; this device's own comes from the home if it is the same there."""
        size, digest = self._listed.get(name, (0, ""))
        own = own_folder(self.home).path / name
        if own.is_file() and own.stat().st_size == size:
            data = own.read_bytes()
            if digest_file(data) == digest:
                return data
        with self._translating() as client:
            return client.read_file(name)

    def write(self, name: str, data: bytes) -> None:
        """Put a file there, whole, and durable when this returns."""
        if not is_sealed_file(name, data):
            raise PlaceAway(
                f"{name} is not sealed, so it is not shown to {self.url}. Nothing was sent"
            )
        _, before = self._listed.get(name, (0, ""))
        with self._translating() as client:
            # In place of what was listed: an earlier file of keys, or under a number of this
            # device's log one that none of its homes wrote, for which it was looked at before.
            client.write_file(name, data, before=before)
        self._listed[name] = (len(data), digest_file(data))

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        with self._translating() as client:
            client.remove_file(name)
        self._listed.pop(name, None)

    def erase_log(self, device: str) -> None:
        """Take away all files of a device."""
        for name in [name for name in self._listed if owner_of(name) == device]:
            self.remove(name)

    def finish(self) -> None:
        """Nothing: each file was durable when it was written."""

    def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _how(self) -> str:
        return AGAIN.format(url=self.url)

    @contextmanager
    def _translating(self) -> Iterator[ServerClient]:
        """The client; what goes wrong with it as PlaceAway, which says what to do."""
        if self._client is None:
            raise PlaceAway(f"{self.url} was not opened")
        try:
            yield self._client
        except Unauthenticated as err:
            raise PlaceAway(
                f"{self.url} does not accept this machine's key any more. Log in: {self._how()}"
            ) from err
        except NotFound as err:
            raise PlaceAway(f"A file is gone from {self.url}: it is looked at again") from err
        except Overwritten as err:
            raise PlaceAway(
                f"Another machine was quicker at {self.url}: it is looked at again"
            ) from err
        except ServerFull as err:
            raise PlaceFull(f"{err} {MAKE_ROOM}") from err
        except AccessDenied as err:
            raise CannotShow(f"{self.url} refuses it: {err}") from err
        except ServerAway as err:
            raise PlaceAway(str(err)) from err
        except ReverieError as err:
            raise PlaceAway(f"{self.url} refuses it: {err}") from err
