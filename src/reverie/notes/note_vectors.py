"""Vectors of chunks, of notes and of code, and the lease of who brings their index up to date.

Chunks get their vectors when no memory waits for one, a few at a time, so that a turn is never held
up. A model may read less than a chunk holds: all-MiniLM-L6-v2 reads 256 tokens, some 1,100
characters, and says nothing of the rest. So a long chunk is embedded in two halves, and the nearer
one counts. `python -m bench.files` measures what that is worth, for words from the beginning and
from the end of chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import chain

from reverie.embedding import Embedder
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import hold_lease
from reverie.pipeline.pending_vectors import embedding_model_of
from reverie.storage import Store
from reverie.storage.indexed_files import FileIndex

# characters that every model reads at once
MAX_WHOLE_CHARS = 1_000
# the lease of who brings the index up to date: the work is done once
INDEX_LEASE = "files"
LEASE_SECONDS = 60.0
# seconds that a sync waits for another one
PATIENCE = 600.0


def hold_index_lease(
    store: Store,
    now: Callable[[], float],
    patience: float,
    lease: str = INDEX_LEASE,
) -> AbstractContextManager[Callable[[], bool]]:
    """Hold the lease on the index of files, or with its own `lease` that of code: `hold_lease`."""
    return hold_lease(
        store,
        lease,
        now,
        f"Another process is indexing {lease} and was not done in time. Try again later",
        seconds=LEASE_SECONDS,
        patience=patience,
    )


def embed_chunks(
    store: Store,
    embedder: Embedder,
    size: int,
) -> int:
    """Embed up to `size` texts of chunks, those of notes before those of code; how many."""
    return embed_index_batch(store.files, embedder, size) or embed_index_batch(
        store.code_chunks, embedder, size
    )


def embed_index_batch(
    index: FileIndex,
    embedder: Embedder,
    size: int,
) -> int:
    """Embed up to `size` texts of one index's chunks; how many."""
    # a text that stands in several files is embedded once
    batch = index.unembedded_texts(size, embedder.model)
    if not batch:
        return 0
    halves = [split_in_halves(text) for _, text in batch]
    rows = embedder.embed(list(chain.from_iterable(halves)))
    vectors, start = {}, 0
    for (hash, _), parts in zip(batch, halves, strict=True):
        vectors[hash] = rows[start : start + len(parts)]
        start += len(parts)
    index.put_vectors(embedder.model, vectors)
    return len(batch)


def has_waiting_chunks(work: WorkContext) -> bool:
    """True if a chunk waits for a vector of our model."""
    model = embedding_model_of(work.embedder)
    indexes = (work.store.files, work.store.code_chunks)
    return model is not None and any(index.unembedded_texts(1, model) for index in indexes)


def count_waiting_chunks(work: WorkContext) -> int:
    """How many chunks have no vector of our model yet. Slow: it looks at each."""
    model = embedding_model_of(work.embedder)
    if not model:
        return 0
    indexes = (work.store.files, work.store.code_chunks)
    return sum(index.count(None, model).waiting for index in indexes)


def split_in_halves(text: str) -> list[str]:
    """A text as it is embedded: whole, or cut at the line or word nearest to its middle."""
    if len(text) <= MAX_WHOLE_CHARS:
        return [text]
    middle = len(text) // 2
    for mark in ("\n", " "):
        around = (text.rfind(mark, 0, middle), text.find(mark, middle))
        places = [place for place in around if place > 0]
        cut = min(
            places,
            key=lambda place: abs(place - middle),
            default=0,
        )
        if abs(cut - middle) < len(text) // 4:
            return [text[:cut], text[cut + 1 :]]
    return [text[:middle], text[middle:]]
