"""Who may index files now, and chunks without a vector, of notes and of code: they get it when no
memory waits for one, a few at a time, so that a turn is never held up.

A model may read less than a chunk holds: all-MiniLM-L6-v2 reads 256 tokens, some 1,100 characters,
and says nothing of the rest. So a long chunk is embedded in two halves, and the nearer one counts.
What that is worth is measured by `python -m bench.files`, for words from the beginning and from the
end of chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import accumulate

from reverie.embedding import Embedder
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import hold_lease
from reverie.pipeline.pending_vectors import embedding_model_of
from reverie.storage import Store
from reverie.storage.note_index_port import FileIndex

MAX_WHOLE_CHARS = 1_000  # characters that every model reads at once
INDEX_LEASE = "files"  # of who brings the index up to date: the work is done once
LEASE_SECONDS = 60.0
PATIENCE = 600.0  # seconds that a sync waits for another one


def hold_index_lease(
    store: Store, now: Callable[[], float], patience: float, lease: str = INDEX_LEASE
) -> AbstractContextManager[Callable[[], bool]]:
    """Nobody else brings the index of files, or with its lease that of code, up to date: see
    `leased`.
    """
    return hold_lease(
        store,
        lease,
        now,
        f"Another process is indexing {lease} and was not done in time. Try again later",
        seconds=LEASE_SECONDS,
        patience=patience,
    )


def embed_chunks(store: Store, embedder: Embedder, size: int) -> int:
    """Give up to so many texts of chunks their vectors, those of notes before those of code; how
    many got one.
    """
    return embed_index_batch(store.files, embedder, size) or embed_index_batch(
        store.code_chunks, embedder, size
    )


def embed_index_batch(index: FileIndex, embedder: Embedder, size: int) -> int:
    """The same of one index."""
    batch = index.unembedded_texts(embedder.model, size)
    if not batch:
        return 0
    halves = [split_in_halves(text) for _, text in batch]
    rows = embedder.embed([part for parts in halves for part in parts])
    ends = list(accumulate(map(len, halves)))
    index.put_vectors(
        embedder.model,
        {
            hash: rows[end - len(parts) : end]
            for (hash, _), parts, end in zip(batch, halves, ends, strict=True)
        },
    )
    return len(batch)


def has_waiting_chunks(work: WorkContext) -> bool:
    """Whether a chunk waits for a vector."""
    model = embedding_model_of(work.embedder)
    return model is not None and any(
        index.unembedded_texts(model, 1) for index in (work.store.files, work.store.code_chunks)
    )


def count_waiting_chunks(work: WorkContext) -> int:
    """How many chunks have no vector of our model yet. Looks at each: not to be asked
    all the time.
    """
    model = embedding_model_of(work.embedder)
    return (
        sum(
            index.count(None, model).waiting for index in (work.store.files, work.store.code_chunks)
        )
        if model
        else 0
    )


def split_in_halves(text: str) -> list[str]:
    """A text as it is embedded: whole, or cut at the line or word nearest to its middle."""
    if len(text) <= MAX_WHOLE_CHARS:
        return [text]
    middle = len(text) // 2
    for mark in ("\n", " "):
        places = [
            place for place in (text.rfind(mark, 0, middle), text.find(mark, middle)) if place > 0
        ]
        cut = min(places, key=lambda place: abs(place - middle), default=0)
        if abs(cut - middle) < len(text) // 4:
            return [text[:cut], text[cut + 1 :]]
    return [text[:middle], text[middle:]]
