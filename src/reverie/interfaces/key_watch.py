"""Notices that the key of an encrypted home is gone, so that a program that lives on closes it.

`reverie data lock`, the end of a time that was given, a key file that was taken away: whoever has
the home open then closes its databases within POLL_SECONDS, also if nobody asks it anything. Where
the keyring or the environment gives the key without a person, it is not gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from reverie.core.environment import is_encrypted
from reverie.core.errors import StoreError
from reverie.core.home_key import keeps_key_for_programs
from reverie.core.private_files import is_locked

POLL_SECONDS = 1.0  # between looks: some files are read, in a tenth of a millisecond


def has_home_key(home: Path) -> bool:
    """False for an encrypted home that was locked meanwhile, or whose time has run out.

    Nothing is asked for the key: what a person has just locked stays locked.
    """
    try:
        return not is_locked(home) or keeps_key_for_programs(home)
    except StoreError:  # `encryption.json` was damaged
        return False


class KeyWatch:
    """A thread that calls `close` once the key of a home is gone, and ends then. There is none for
    a home that is not encrypted: it cannot be encrypted while it is open.
    """

    def __init__(self, home: Path, close: Callable[[], object]) -> None:
        self._home, self._close = home, close
        self._over = threading.Event()
        if is_encrypted(home):
            threading.Thread(target=self._watch, name="reverie-key", daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            if not has_home_key(self._home):
                self._close()
                return

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
