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
from reverie.pipeline.event_reader import Work
from reverie.pipeline.leases import leased
from reverie.pipeline.pending_vectors import model_of
from reverie.storage import Store
from reverie.storage.note_index_port import FileIndex

WHOLE = 1_000  # characters that every model reads at once
LEASE = "files"  # of who brings the index up to date: the work is done once
LEASE_SECONDS = 60.0
PATIENCE = 600.0  # seconds that a sync waits for another one


def indexing(
    store: Store, now: Callable[[], float], patience: float, lease: str = LEASE
) -> AbstractContextManager[Callable[[], bool]]:
    """Nobody else brings the index of files, or with its lease that of code, up to date: see
    `leased`.
    """
    return leased(
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
    return embed_some(store.files, embedder, size) or embed_some(store.code_chunks, embedder, size)


def embed_some(index: FileIndex, embedder: Embedder, size: int) -> int:
    """The same of one index."""
    batch = index.waiting(embedder.model, size)
    if not batch:
        return 0
    halves = [halved(text) for _, text in batch]
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


def chunk_waits(work: Work) -> bool:
    """Whether a chunk waits for a vector."""
    model = model_of(work.embedder)
    return model is not None and any(
        index.waiting(model, 1) for index in (work.store.files, work.store.code_chunks)
    )


def chunks_left(work: Work) -> int:
    """How many chunks have no vector of our model yet. Looks at each: not to be asked
    all the time.
    """
    model = model_of(work.embedder)
    return (
        sum(
            index.count(None, model).waiting for index in (work.store.files, work.store.code_chunks)
        )
        if model
        else 0
    )


def halved(text: str) -> list[str]:
    """A text as it is embedded: whole, or cut at the line or word nearest to its middle."""
    if len(text) <= WHOLE:
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
