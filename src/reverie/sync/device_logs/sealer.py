"""What stands between the bytes of a batch and the folder that others can read."""

from __future__ import annotations

from typing import Protocol

from reverie.core.errors import ReverieError


class CannotOpen(ReverieError):
    """A file of the devices' logs cannot be opened with the keys of this machine."""


class Sealer(Protocol):
    """Seals what is written for the user's devices, and opens what they wrote."""

    def seal(self, plain: bytes) -> bytes:
        """The bytes as they lie in the folder."""

    def open(self, sealed: bytes) -> bytes:
        """What was sealed; CannotOpen if it was not sealed for this machine, or altered."""


class PlainSealer:
    """Seals nothing: whoever can read the folder can read the memories."""

    def seal(self, plain: bytes) -> bytes:
        """The bytes as they are."""
        return plain

    def open(self, sealed: bytes) -> bytes:
        """The bytes as they are."""
        return sealed
