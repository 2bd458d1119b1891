"""The same text is embedded once: vectors kept by the text's hash and the model's identity.

`known` is any mutable mapping of key to float32 bytes: a dict, or a table of the store, so that the
cache outlives the process. It is derived data: empty it at any time and only time is lost.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reverie.embedding import Embedder, Vectors


class CachedEmbedder:
    """An embedder that looks before it works. Other than time, nothing tells it from the one
    inside.
    """

    def __init__(self, inner: Embedder, known: MutableMapping[str, bytes]) -> None:
        self.inner, self.known = inner, known

    @property
    def model(self) -> str:
        """The model inside."""
        return self.inner.model

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return self.inner.dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text; only what was never seen is worked out."""
        import numpy as np

        keys = [vector_key(self.model, text) for text in texts]
        rows = {
            k: np.frombuffer(kept, dtype="<f4")
            for k in set(keys)
            if (kept := self.known.get(k)) is not None
        }
        new = {k: text for k, text in zip(keys, texts, strict=True) if k not in rows}
        for k, row in zip(new, self.inner.embed(list(new.values())) if new else (), strict=True):
            rows[k] = row
            self.known[k] = row.astype("<f4").tobytes()
        return np.stack([rows[k] for k in keys]) if keys else self.inner.embed([])

    def close(self) -> None:
        """Close the embedder inside. What is known stays."""
        self.inner.close()


def vector_key(model: str, text: str) -> str:
    """What a vector is kept under. The model is part of it: no vector outlives a
    switch of models.
    """
    return f"{model}:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


class RecentVectors(MutableMapping[str, bytes]):
    """A mapping that keeps what was used last: MOST vectors, 1.5 KB each. Safe to use from many
    threads.
    """

    MOST = 2_048

    def __init__(self) -> None:
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def __getitem__(self, key: str) -> bytes:
        with self._lock:
            self._kept.move_to_end(key)
            return self._kept[key]

    def __setitem__(self, key: str, value: bytes) -> None:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self.MOST:
                self._kept.popitem(last=False)

    def __delitem__(self, key: str) -> None:
        with self._lock:
            del self._kept[key]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._kept))

    def __len__(self) -> int:
        return len(self._kept)
