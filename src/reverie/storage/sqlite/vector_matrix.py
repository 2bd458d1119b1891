"""The vectors of one model as a matrix in memory, grown as vectors are written: for the index of
files.

A row stands for a text, or a part of one, by the hash of the whole; the nearest part counts. Rows
of texts that are gone stay until the index is opened anew; whoever asks looks the hashes up, so
they do no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from reverie.storage.column_cache import Floats


class VectorMatrix:
    """Vectors by the hash of their text. Readers keep what they were given: catching up makes a new
    one.
    """

    def __init__(
        self, model: str, last: int = 0, hashes: tuple[bytes, ...] = (), rows: Floats | None = None
    ) -> None:
        self.model, self.last, self.hashes = model, last, hashes
        self.rows = np.zeros((0, 0), np.float32) if rows is None else rows
        self.place: dict[bytes, list[int]] = {}
        for row, hash in enumerate(hashes):
            self.place.setdefault(hash, []).append(row)

    def caught_up(self, fresh: Iterable[tuple[int, bytes, bytes]]) -> VectorMatrix:
        """This, with further (number, hash, vector)."""
        new = list(fresh)
        if not new:
            return self
        rows = np.stack([np.frombuffer(vector, "<f4") for _, _, vector in new])
        return VectorMatrix(
            self.model,
            new[-1][0],
            (*self.hashes, *(hash for _, hash, _ in new)),
            np.concatenate([self.rows, rows]) if len(self.rows) else rows,
        )

    def _fits(self, vector: Floats) -> bool:
        return len(self.rows) > 0 and len(vector) == self.rows.shape[1]

    def best(self, vector: Floats, step: int, floor: float) -> Iterator[dict[bytes, float]]:
        """The hashes with their cosines from the highest down to `floor`, some at a time, each
        once.
        """
        if not self._fits(vector):
            return
        cosines = self.rows @ vector
        left = np.flatnonzero(cosines >= floor)
        given: set[bytes] = set()
        while len(left):
            if len(left) > step:
                order = np.argpartition(-cosines[left], step)
                some, left = left[order[:step]], left[order[step:]]
            else:
                some, left = left, left[:0]
            found: dict[bytes, float] = {}
            for row in some[np.argsort(-cosines[some], kind="stable")].tolist():
                if self.hashes[row] not in given:
                    given.add(self.hashes[row])
                    found[self.hashes[row]] = float(cosines[row])
            yield found
            step = min(4 * step, 10_000)

    def cosines(self, vector: Floats, hashes: Mapping[int, bytes]) -> dict[int, float]:
        """The cosine of each text that has a vector, by the caller's numbers."""
        if not self._fits(vector):
            return {}
        return {
            num: float((self.rows[self.place[hash]] @ vector).max())
            for num, hash in hashes.items()
            if hash in self.place
        }
