"""A change of the embedding model: until the new model's vectors are there, the old ones answer.

The store notes which embedders have given nearly every text a vector, by their names in the
settings. While the configured one is not among them, a question is embedded with the one that was
ready last and compared with its vectors, if that can be opened from what is on this machine. A
remote embedder is never asked again once the settings name another: who has left it may have left
it for what it is sent.

Broken, a question would be compared with vectors of another model, or with hardly any: the note
holds the model's identity beside the name, and tests/embedding/test_model_change.py walks a home
there and back.
"""

from collections.abc import Iterator
from json import dumps, loads
from typing import Any, NamedTuple

from reverie.embedding import Embedder, is_remote
from reverie.pipeline.pending_vectors import embedding_model_of, try_embed_query
from reverie.storage import Store

READY_META = "embedders.ready"
# The share of texts that may wait while a model's vectors answer. What waits is found by its words,
# and the few that come in while others are embedded must not keep an old model for ever.
MAX_WAITING_SHARE = 0.02
# So many may always wait: they are one batch, embedded within seconds.
MAX_WAITING = 64
MAX_NOTED = 4  # embedders


class ReadyEmbedder(NamedTuple):
    """An embedder that has given nearly every text its vector."""

    setting: str  # as in config.toml, such as "minilm"
    model: str  # the identity beside its vectors


class EmbeddedQuestion(NamedTuple):
    """A question's vector, (dims,), and the model whose vectors it may be compared with."""

    vector: Any
    model: str


class ModelChange(NamedTuple):
    """How far a change of the model has come."""

    waiting: int  # memories without a vector of the new model
    memories: int  # forgotten ones included
    answering: str  # the setting of the embedder whose vectors answer until then; "": words alone

    @property
    def said(self) -> str:
        """The change in a sentence."""
        until = f"the vectors of {self.answering}" if self.answering else "words"
        return (
            f"{self.waiting:,} of {self.memories:,} memories wait for the new embedding model; "
            f"until then {until} answer"
        )


def list_ready_embedders(store: Store) -> list[ReadyEmbedder]:
    """The embedders whose vectors are there, the one that was ready last at the end."""
    return [ReadyEmbedder(*one) for one in loads(store.meta(READY_META) or "[]")]


def iter_query_embedders(store: Store, embedder: Embedder) -> Iterator[Embedder]:
    """Embedders to ask for a question's vector, the next one if one gives none."""
    setting = getattr(embedder, "setting", "")
    ready = list_ready_embedders(store) if setting else []
    open_earlier = getattr(embedder, "open_earlier", None)
    is_ready = not ready or any(one.setting == setting for one in ready)
    if open_earlier is not None and not is_ready and not is_remote(ready[-1].setting):
        earlier = open_earlier(*ready[-1])
        if earlier is not None:
            yield earlier
    yield embedder


def embed_question(store: Store, embedder: Embedder | None, text: str) -> EmbeddedQuestion | None:
    """The vector of a question, of the model whose vectors answer; None where none can be had."""
    if embedder is None:
        return None
    for one in iter_query_embedders(store, embedder):
        vector = try_embed_query(one, text)
        if vector is not None:
            return EmbeddedQuestion(vector, one.model)
    return None


def note_embedded(store: Store, embedder: Embedder) -> None:
    """Note whether this embedder's vectors can answer, now that some texts have been embedded."""
    setting = getattr(embedder, "setting", "")
    if not setting:
        # Handed in by a program: nobody could open it again by a name.
        return
    own = ReadyEmbedder(setting, embedder.model)
    ready = list_ready_embedders(store)
    waiting = store.await_vectors(own.model)
    if own in ready:
        if len(ready) > 1 and waiting > MAX_WAITING and is_overtaken(store, ready, own, waiting):
            write_ready(store, gone=own)
    elif not waiting or (ready and waiting <= allowed_waiting(store)):
        write_ready(store, come=own)


def allowed_waiting(store: Store) -> float:
    """How many texts may wait for a model whose vectors answer."""
    counts = store.stats()
    return MAX_WAITING_SHARE * (counts.memories + counts.retired)


def is_overtaken(
    store: Store, ready: list[ReadyEmbedder], own: ReadyEmbedder, waiting: int
) -> bool:
    """True if an embedder was left for so long that another one's vectors answer better."""
    if waiting <= allowed_waiting(store):
        return False
    others = [store.stats(one.model).waiting for one in ready if one.setting != own.setting]
    return any(2 * count < waiting for count in others)


def write_ready(
    store: Store, *, come: ReadyEmbedder | None = None, gone: ReadyEmbedder | None = None
) -> None:
    """Add an embedder to the note, or take one out."""
    # Read again inside: another process may write the note as well.
    with store.transaction():
        changed = come or gone
        kept = [
            one
            for one in list_ready_embedders(store)
            if changed is None or one.setting != changed.setting
        ]
        noted = [*kept, come] if come else kept
        store.set_meta(READY_META, dumps(noted[-MAX_NOTED:]))


def find_model_change(store: Store, embedder: Embedder | None) -> ModelChange | None:
    """How far a change of the model has come; None where none is under way."""
    setting = getattr(embedder, "setting", "")
    ready = list_ready_embedders(store) if setting else []
    if embedder is None or not ready or any(one.setting == setting for one in ready):
        return None
    is_own = next(iter_query_embedders(store, embedder)) is embedder
    model = embedding_model_of(embedder)
    counts = store.stats(model)
    memories = waiting = counts.memories + counts.retired
    if model is not None:
        # A model that was not begun with yet has no queue.
        waiting = counts.waiting or len(store.unembedded_texts(memories, model))
    return ModelChange(waiting, memories, "" if is_own else ready[-1].setting)
