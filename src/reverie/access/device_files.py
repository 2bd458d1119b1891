"""Files that a user's devices leave for each other on the server, sealed so that it cannot read
them.

A user has one place, in their private root; nobody else can list, read or write it, whatever their
rights. A file of a log is written once: who writes another one under its name is refused, so that
of two homes with one number the second notices. What a device removes is erased, unless a legal
hold keeps what is the user's: then it is shown to nobody until the hold is lifted.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from reverie.access.actions import AccessActions, audit_entry
from reverie.access.callers import Caller
from reverie.access.retention import hold_on_place
from reverie.access.rights import EVERYTHING
from reverie.core.errors import NotFound, Overwritten, QuotaExceeded
from reverie.storage.access_records import DeviceFile, DevicePlace, Right

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from reverie.storage.postgres.access_tables import AccessTables, AccessTransaction

VERB = "sync/files"
MAX_FILES = 20_000  # of one user: a device that is in step has about 150
MAX_PLACE_BYTES = 2_000_000_000  # of one user: 100,000 memories have 6 MB
SEEN_EVERY = 86_400.0  # seconds between notes that somebody looked


class DeviceFiles(AccessActions):
    """The files of one caller's own place."""

    def list_files(self, caller: Caller, now: float) -> list[DeviceFile]:
        """What lies there, by name."""
        caller.check(Right.READ, caller.private_root)
        with self._open(caller) as rows:
            rows.note_place_seen(caller.private_root, now, every=SEEN_EVERY)
            return rows.device_files(caller.private_root)

    def read_file(self, caller: Caller, name: str) -> bytes:
        """What a file holds; NotFound if there is none."""
        caller.check(Right.READ, caller.private_root)
        with self._open(caller) as rows:
            found = rows.device_file(caller.private_root, name)
        if found is None:
            raise NotFound(f"There is no file {name} of your devices")
        return found[1]

    def size_of(self, caller: Caller, name: str) -> int:
        """The bytes of a file that lies there; 0 if there is none."""
        caller.check(Right.READ, caller.private_root)
        with self._open(caller) as rows:
            return rows.device_file_size(caller.private_root, name)

    def write_file(
        self, caller: Caller, name: str, data: bytes, now: float, *, before: str = ""
    ) -> str:
        """Put a file there, the first of its name, or in the place of the one with the digest
        `before`; the digest. Done twice it comes to the same.

        Overwritten if another one lies there, QuotaExceeded if the user has too many.
        """
        space, digest = caller.private_root, hashlib.sha256(data).hexdigest()
        caller.check(Right.WRITE, space)
        with self._open(caller) as rows:
            check_room(rows.device_places(space), len(data) - rows.device_file_size(space, name))
            if before and rows.replace_device_file(space, name, digest, data, now, before=before):
                rows.audit(audit_entry(caller, VERB, now, space=space, count=1))
                return digest
            known = rows.add_device_file(space, name, digest, data, now)
            if known is None:
                rows.audit(audit_entry(caller, VERB, now, space=space, count=1))
            elif known.digest != digest:
                raise Overwritten(f"Another file {name} lies there. Read it before you replace it")
        return digest

    def remove_file(self, caller: Caller, name: str, now: float) -> bool:
        """Take a file away; False if there was none."""
        space = caller.private_root
        caller.check(Right.WRITE, space)
        with self._open(caller) as rows:
            if hold_on_place(space, rows.holds()):
                gone = rows.hide_device_file(space, name, now)
            else:
                gone = rows.remove_device_file(space, name)
            if gone:
                rows.audit(audit_entry(caller, VERB, now, space=space, count=1))
        return gone

    def _open(self, caller: Caller) -> AbstractContextManager[AccessTransaction]:
        return self.tables.keeping_files(
            caller.tenant,
            readable=caller.rights.readable_regex,
            writable=caller.rights.writable_regex,
        )


def check_room(places: list[DevicePlace], growth: int) -> None:
    """QuotaExceeded if a user has as many files, or as large ones, as they may. One that grows
    nothing, as when a file is replaced by a smaller one, is always taken.
    """
    files, total = (places[0].files, places[0].bytes) if places else (0, 0)
    if growth > 0 and (files >= MAX_FILES or total + growth > MAX_PLACE_BYTES):
        raise QuotaExceeded(
            f"Your devices keep as much here as they may ({MAX_FILES:,} files, "
            f"{MAX_PLACE_BYTES:,} bytes). Remove devices that you no longer have"
        )


def erase_place(tables: AccessTables, tenant: str, space: str) -> int:
    """Erase all that the devices of a user left, for whoever may; how many files there were."""
    with tables.keeping_files(tenant, readable=EVERYTHING, writable=EVERYTHING) as rows:
        return rows.erase_device_files(space)
