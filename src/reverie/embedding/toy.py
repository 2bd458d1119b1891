"""A deterministic embedder for tests: words and letter trigrams, hashed with a sign into 64
numbers.

It knows spelling and nothing of meaning, needs no file, and gives the same vector in every process
and on every machine (CRC-32, not `hash()`, which Python salts per process).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from reverie.embedding import Vectors


class ToyEmbedder:
    """An embedder for which similar spelling means similar vectors."""

    model = "toy/1"
    dims = 64

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit-length row per text, in the order of the texts."""
        import numpy as np

        out = np.zeros(
            (len(texts), self.dims),
            dtype=np.float32,
        )
        for row, text in zip(out, texts, strict=True):
            for feature in iter_features(text):
                # Place and sign from one hash: collisions cancel out on average.
                bits = crc32(feature.encode("utf-8", "surrogatepass"))
                row[bits % self.dims] += 1.0 if bits & 0x8000 else -1.0
            # No words, or features that cancelled out: any fixed direction will do.
            if not row.any():
                row[0] = 1.0
        out /= np.linalg.norm(
            out,
            axis=1,
            keepdims=True,
        )
        return out

    def close(self) -> None:
        """Nothing is held."""


def iter_features(text: str) -> Iterator[str]:
    """Each word, twice so that it outweighs each of its parts, and the trigrams within it."""
    for word in re.findall(r"\w+", text.lower()):
        yield from (f"w{word}", f"v{word}")
        padded = f"<{word}>"
        yield from (padded[i : i + 3] for i in range(len(padded) - 2))


def open(_rest: str, **_unused: Any) -> ToyEmbedder:
    """The toy embedder; there is only one."""
    return ToyEmbedder()
