"""Vectors as pgvector sends and receives its `halfvec`: two numbers of 16 bits, then halves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.storage.postgres.connection import HalfVector

if TYPE_CHECKING:
    import numpy as np

HEADER_BYTES = 4


def to_half_vector(vector: np.ndarray) -> HalfVector:
    """A vector to be stored."""
    import numpy as np

    header = np.array([len(vector), 0], ">i2").tobytes()
    return HalfVector(header + vector.astype(">f2").tobytes())


def read_stored_numbers(data: bytes) -> np.ndarray:
    """The numbers of a stored vector as they are: float32, of nearly unit length."""
    import numpy as np

    return np.frombuffer(data, ">f2", offset=HEADER_BYTES).astype("<f4")


def read_half_vector(data: bytes) -> np.ndarray:
    """A stored vector: float32, unit length, read-only."""
    import numpy as np

    vector = read_stored_numbers(data)
    length = np.linalg.norm(vector)
    if length:
        vector /= length
    vector.flags.writeable = False
    return vector


def read_half_rows(data: bytes, dims: int) -> np.ndarray:
    """Stored vectors of one length, one behind the other, as rows of halves: their numbers as they
    are.
    """
    import numpy as np

    rows = np.frombuffer(data, ">f2").reshape(-1, HEADER_BYTES // 2 + dims)
    return rows[:, HEADER_BYTES // 2 :].astype("<f2")
