"""Texts get their vectors in batches; until then only words find them."""

from typing import Any

from reverie.core.errors import EmbedderUnavailable, ExtraMissing, ModelUnavailable
from reverie.embedding import Embedder, embed_query, prepare_embedder
from reverie.storage import Store
from reverie.text.tokenization import fingerprint_text

EMBEDDING_BATCH = 64  # texts embedded at once
NO_VECTOR_ERRORS = (
    ModelUnavailable,
    EmbedderUnavailable,
    ExtraMissing,
)  # search goes by words alone


def adopt_embedder(store: Store, embedder: Embedder) -> None:
    """Queue every text that this embedder has given no vector yet.

    Vectors of the model before stay: another process may still use it, and whoever goes back to it
    embeds nothing twice.
    """
    prepare_embedder(embedder)
    store.await_vectors(embedder.model)


def embedding_model_of(embedder: Embedder | None) -> str | None:
    """The name of an embedder's vectors; None where none are to be had."""
    try:
        return embedder.model if embedder is not None else None
    except NO_VECTOR_ERRORS:
        return None


def embed_pending(
    store: Store,
    embedder: Embedder,
    size: int = EMBEDDING_BATCH,
) -> int:
    """Embed a batch of waiting texts, newest first, and return how many got their vectors.

    A text that was embedded before, in another memory say, is looked up instead.
    """
    batch = store.unembedded_texts(size, embedder.model)
    if not batch:
        return 0
    hashes = {id: fingerprint_text(text) for id, text in batch}
    vectors = store.known_vectors(embedder.model, list(set(hashes.values())))
    # Equal texts are embedded once.
    new_texts = {hashes[id]: text for id, text in batch if hashes[id] not in vectors}
    if new_texts:
        vectors.update(zip(new_texts, embedder.embed(list(new_texts.values())), strict=True))
    by_id = {id: vectors[hash] for id, hash in hashes.items()}
    return store.put_vectors(embedder.model, by_id, hashes)


def try_embed(embedder: Embedder | None, text: str) -> Any:
    """The vector of a text; None where no model answers."""
    if embedder is None:
        return None
    try:
        return embedder.embed([text])[0]
    except NO_VECTOR_ERRORS:
        return None


def try_embed_query(embedder: Embedder | None, text: str) -> Any:
    """The vector of a question; None where no model answers."""
    if embedder is None:
        return None
    try:
        return embed_query(embedder, text)
    except NO_VECTOR_ERRORS:
        return None


def cosine_similarity(vector: Any, other: Any) -> float | None:
    """The cosine of two unit vectors; None where one is missing."""
    return None if vector is None or other is None else float(vector @ other)
