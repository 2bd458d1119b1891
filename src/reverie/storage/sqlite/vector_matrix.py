"""The vectors of one model as a matrix in memory, for the index of files.

A row is a text, or a part of one, under the hash of the whole; of several parts the nearest counts.
Rows of deleted texts stay until the index is opened anew: callers look the hashes up, so they do no
harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from reverie.storage.arrays import Floats


class VectorMatrix:
    """Vectors by the hash of their text. Immutable: `caught_up` gives a new one."""

    def __init__(
        self,
        model: str,
        last: int = 0,
        hashes: tuple[bytes, ...] = (),
        rows: Floats | None = None,
    ) -> None:
        self.model, self.last, self.hashes = model, last, hashes
        self.rows = np.zeros((0, 0), np.float32) if rows is None else rows
        self.place: dict[bytes, list[int]] = {}
        for row, hash in enumerate(hashes):
            self.place.setdefault(hash, []).append(row)

    def caught_up(self, fresh: Iterable[tuple[int, bytes, bytes]]) -> VectorMatrix:
        """This matrix with further rows of (number, hash, vector)."""
        new = list(fresh)
        if not new:
            return self
        rows = np.stack([np.frombuffer(vector, "<f4") for _, _, vector in new])
        if len(self.rows):
            rows = np.concatenate([self.rows, rows])
        hashes = (*self.hashes, *(hash for _, hash, _ in new))
        return VectorMatrix(self.model, new[-1][0], hashes, rows)

    def _fits(self, vector: Floats) -> bool:
        return len(self.rows) > 0 and len(vector) == self.rows.shape[1]

    def best(
        self,
        vector: Floats,
        step: int,
        floor: float,
    ) -> Iterator[dict[bytes, float]]:
        """Hashes with their cosines, from the highest down to `floor`, in batches, each hash once.

        The first batch has `step` rows, each further one up to four times as many.
        """
        if not self._fits(vector):
            return
        cosines = self.rows @ vector
        left = np.flatnonzero(cosines >= floor)
        given: set[bytes] = set()
        while len(left):
            if len(left) > step:
                # The nearest, unordered: sorting all for the few that are looked at would be a
                # waste.
                order = np.argpartition(-cosines[left], step)
                batch, left = left[order[:step]], left[order[step:]]
            else:
                batch, left = left, left[:0]
            found: dict[bytes, float] = {}
            best_first = np.argsort(-cosines[batch], kind="stable")
            for row in batch[best_first].tolist():
                hash = self.hashes[row]
                if hash not in given:
                    given.add(hash)
                    found[hash] = float(cosines[row])
            yield found
            # Callers go on only where most of the nearest lie in other roots than theirs.
            step = min(4 * step, 10_000)

    def cosines(
        self,
        vector: Floats,
        hashes: Mapping[int, bytes],
    ) -> dict[int, float]:
        """The cosine of each text that has a vector, by the caller's numbers."""
        if not self._fits(vector):
            return {}
        found: dict[int, float] = {}
        for num, hash in hashes.items():
            if hash in self.place:
                parts = self.rows[self.place[hash]] @ vector
                found[num] = float(parts.max())
        return found
