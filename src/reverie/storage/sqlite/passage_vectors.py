"""The vectors of passages: one byte a number, in memory by space."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

import numpy as np

from reverie.storage.column_cache import Floats

FRESH = """
    select v.rowid, c.space, v.vec
    from vector v join passage p on p.num = v.num join conversation c on c.num = p.conversation
    where v.model = ? order by v.num
"""


def to_bytes(vector: Floats) -> bytes:
    """A vector of unit length as signed bytes: each number times 127 over the largest."""
    largest = float(np.abs(vector).max()) or 1.0
    return bytes(np.rint(vector * (127.0 / largest)).astype(np.int8))


def from_bytes(packed: bytes) -> Floats:
    """A vector of unit length from its bytes."""
    numbers = np.frombuffer(packed, np.int8).astype(np.float32)
    return numbers / (np.linalg.norm(numbers) or 1.0)


class PassageVectors:
    """Unit vectors of passages by space. Immutable: `caught_up` gives a new one."""

    def __init__(self, model: str, seen: tuple[int, int] = (0, 0)) -> None:
        self.model, self.seen = model, seen
        self.nums: dict[str, np.ndarray] = {}
        self.rows: dict[str, Floats] = {}

    def caught_up(self, db: Connection) -> PassageVectors:
        """These vectors, or those of now if any came or went."""
        sql = "select count(*), ifnull(max(num), 0) from vector where model = ?"
        seen = db.execute(sql, (self.model,)).fetchone()
        if seen == self.seen:
            return self
        fresh = PassageVectors(self.model, seen)
        found: dict[str, tuple[list[int], list[bytes]]] = {}
        for num, space, packed in db.execute(FRESH, (self.model,)):
            nums, rows = found.setdefault(space, ([], []))
            nums.append(num)
            rows.append(packed)
        for space, (nums, rows) in found.items():
            numbers = np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), -1)
            floats = numbers.astype(np.float32)
            fresh.nums[space] = np.array(nums)
            fresh.rows[space] = floats / np.linalg.norm(floats, axis=1, keepdims=True)
        return fresh

    def nearest(self, vector: Floats, spaces: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """(number, cosine) of the nearest passages in these spaces, best first, ties by number."""
        found: list[tuple[int, float]] = []
        for space in spaces:
            if space not in self.rows or self.rows[space].shape[1] != len(vector):
                continue
            cosines = self.rows[space] @ vector
            best = np.argsort(-cosines, kind="stable")[:limit]
            found += zip(self.nums[space][best].tolist(), cosines[best].tolist(), strict=True)
        return sorted(found, key=lambda row: (-row[1], row[0]))[:limit]
