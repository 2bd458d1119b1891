"""An embedding cache: a text is embedded once, its vector kept by the text's hash and the model.

`known` is any mutable mapping of key to float32 bytes: a dict, or a table of the store, so that the
cache outlives the process. It is derived data: emptying it loses only time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

from reverie.embedding import embed_query, prepare_embedder

if TYPE_CHECKING:
    from reverie.embedding import Embedder, Vectors


class CachedEmbedder:
    """An embedder with a cache. Nothing but time tells it from the one inside."""

    def __init__(self, inner: Embedder, known: MutableMapping[str, bytes]) -> None:
        self.inner, self.known = inner, known

    def prepare(self) -> None:
        """Have the model inside on this machine: vectors are kept under its identity."""
        prepare_embedder(self.inner)

    @property
    def model(self) -> str:
        """The identity of the model inside."""
        return self.inner.model

    @property
    def dims(self) -> int:
        """The length of a vector."""
        return self.inner.dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text; only texts that are not in the cache are embedded."""
        import numpy as np

        self.prepare()
        keys = [vector_key(self.model, text) for text in texts]
        rows: dict[str, Any] = {}
        # Each text once, however often it was asked for.
        missing: dict[str, str] = {}
        for key, text in zip(keys, texts, strict=True):
            cached = None if key in rows else self.known.get(key)
            if cached is not None:
                rows[key] = np.frombuffer(cached, dtype="<f4")
            elif key not in rows:
                missing[key] = text
        fresh = self.inner.embed(list(missing.values())) if missing else ()
        for key, row in zip(missing, fresh, strict=True):
            rows[key] = row
            self.known[key] = row.astype("<f4").tobytes()
        return np.stack([rows[key] for key in keys]) if keys else self.inner.embed([])

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, (dims,)."""
        import numpy as np

        self.prepare()
        # Where a question is a text like others, one of them serves both.
        has_own = hasattr(self.inner, "embed_query")
        key = vector_key(f"{self.model}?" if has_own else self.model, text)
        cached = self.known.get(key)
        if cached is not None:
            return np.frombuffer(cached, dtype="<f4")
        row = embed_query(self.inner, text)
        self.known[key] = row.astype("<f4").tobytes()
        return row

    def close(self) -> None:
        """Close the embedder inside. The cache stays."""
        self.inner.close()


def vector_key(model: str, text: str) -> str:
    """The cache key of a text's vector. The model is part of it: no vector outlives a switch."""
    return f"{model}:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


class RecentVectors(MutableMapping[str, bytes]):
    """A cache of the MOST most recently used vectors, 1.5 KB each. Thread-safe."""

    MOST = 2_048

    def __init__(self) -> None:
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def __getitem__(self, key: str) -> bytes:
        with self._lock:
            # Looking something up counts as use.
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
