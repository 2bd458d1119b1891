"""What stands between the bytes of a batch and the folder that others can read."""

from __future__ import annotations

from typing import Protocol

from reverie.core.errors import CannotOpen
from reverie.core.private_files import SEALED_HEADER

SEALED = (
    "is sealed, and the logs of this memory are not: reverie sync remove PLACE, then add it again "
    "to be paired"
)
LIES_OPEN = "is not sealed: whoever has the place can read it, and it is not read here"


class Sealer(Protocol):
    """Seals what is written for the user's devices, and opens what they wrote."""

    def seal(self, plain: bytes) -> bytes:
        """The bytes as they lie in the folder."""

    def open(self, sealed: bytes, device: str, number: int) -> bytes:
        """What a device sealed in its file of this number; CannotOpen if it was not sealed for this
        machine, was altered, or is not to be believed.
        """


class PlainSealer:
    """Seals nothing: whoever can read the folder can read the memories."""

    def seal(self, plain: bytes) -> bytes:
        """The bytes as they are."""
        return plain

    def open(self, sealed: bytes, _device: str, _number: int) -> bytes:
        """The bytes as they are; CannotOpen if somebody sealed them."""
        if sealed.startswith(SEALED_HEADER):
            raise CannotOpen(SEALED)
        return sealed
