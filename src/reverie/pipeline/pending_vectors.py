"""Texts get their vectors. What waits goes on waiting while no model answers: words find it
meanwhile.
"""

from __future__ import annotations

from typing import Any

from reverie.core.errors import EmbedderUnavailable, ExtraMissing, ModelUnavailable
from reverie.embedding import Embedder
from reverie.storage import Store
from reverie.text.tokenization import fingerprint_text

EMBEDDING_BATCH = 64  # texts embedded at once
NO_VECTOR_ERRORS = (ModelUnavailable, EmbedderUnavailable, ExtraMissing)  # then words must do


def adopt_embedder(store: Store, embedder: Embedder) -> None:
    """On a change of model, queue every text for the new one. Until its turn comes, words find it.

    Vectors of the model before stay: another process may still use it, and who goes back embeds
    nothing twice.
    """
    store.await_vectors(embedder.model)


def embedding_model_of(embedder: Embedder | None) -> str | None:
    """What an embedder's vectors are called; None where there is none to be had."""
    try:
        return embedder.model if embedder is not None else None
    except NO_VECTOR_ERRORS:
        return None


def embed_pending(store: Store, embedder: Embedder, size: int = EMBEDDING_BATCH) -> int:
    """Give a batch of waiting texts their vectors, newest first; a text that was embedded before is
    looked up.
    """
    batch = store.unembedded_texts(size, embedder.model)
    if not batch:
        return 0
    hashes = {id: fingerprint_text(text) for id, text in batch}
    known = store.known_vectors(embedder.model, list(set(hashes.values())))
    fresh = {hashes[id]: text for id, text in batch if hashes[id] not in known}
    known.update(zip(fresh, embedder.embed(list(fresh.values())) if fresh else (), strict=True))
    return store.put_vectors(
        embedder.model, {id: known[hash] for id, hash in hashes.items()}, hashes
    )


def try_embed(embedder: Embedder | None, text: str) -> Any:
    """The vector of a text, or None where no model answers: then words must do."""
    if embedder is None:
        return None
    try:
        return embedder.embed([text])[0]
    except NO_VECTOR_ERRORS:
        return None


def cosine_similarity(vector: Any, last: Any) -> float | None:
    """The cosine of two contexts; None where one has no vector."""
    return None if vector is None or last is None else float(vector @ last)
