"""Texts to vectors: a small model in this process, a remote endpoint, or a toy for tests.

Every embedder has the same names: `model`, `dims`, `embed`, `close`. A vector is a unit-length
float32 row, and the model's identity is stored beside it: vectors of different models are never
compared. Importing this package loads nothing; an embedder that was opened loads its model at the
first text.

A broken embedder would give rows that are not of unit length, or not in the order of the texts: one
contract test runs over every row of `OPENERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from reverie.core.errors import ReverieError, UnknownScheme

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

# Called with (what is being done, how much is done, how much there is or None).
Progress = Callable[[str, int, int | None], None]

OPENERS = {
    "gemini": "remote",
    "minilm": "minilm",
    "onnx": "sentence_model",
    "openai": "remote",
    "toy": "toy",
}  # scheme → module in this package


class Embedder(Protocol):
    """Turns texts into vectors, comparable with other vectors of the same `model`."""

    @property
    def model(self) -> str:
        """The identity stored beside each vector, such as "all-MiniLM-L6-v2/1"."""

    @property
    def dims(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit-length float32 row per text, in the order of the texts. Thread-safe."""

    def close(self) -> None:
        """Release memory and connections. A later `embed` takes them up again."""


def embed_query(embedder: Embedder, text: str) -> Vectors:
    """The vector of a question, (dims,): some models want a prefix before one, and have a method
    `embed_query` for it; to the others a question is a text.
    """
    own = getattr(embedder, "embed_query", None)
    row: Vectors = own(text) if own is not None else embedder.embed([text])[0]
    return row


def prepare_embedder(embedder: Embedder) -> None:
    """Have the model's files on this machine, fetched if need be, before texts are embedded.

    Where a model's identity is a digest of them, it is not known before; asking for it alone
    fetches nothing. ModelUnavailable where they cannot be had.
    """
    prepare = getattr(embedder, "prepare", None)
    if prepare is not None:
        prepare()


class LazyEmbedder:
    """An embedder that is opened at the first use: a search by words waits for no model.

    `setting` is its name in the settings, and `make_earlier` opens one by such a name: one that was
    in use before answers until this one's vectors are there (`pipeline.model_change`).
    """

    def __init__(
        self,
        make: Callable[[], Embedder],
        setting: str = "",
        make_earlier: Callable[[str], Embedder] | None = None,
    ) -> None:
        self._make, self._make_earlier = make, make_earlier
        self.setting = setting
        self._opened: Embedder | None = None
        self._earlier: dict[str, Embedder] = {}
        self._lock = Lock()

    def _embedder(self) -> Embedder:
        with self._lock:
            if self._opened is None:
                self._opened = self._make()
            return self._opened

    def prepare(self) -> None:
        """Have the model on this machine."""
        prepare_embedder(self._embedder())

    @property
    def model(self) -> str:
        """The model's identity."""
        return self._embedder().model

    @property
    def dims(self) -> int:
        """The length of a vector."""
        return self._embedder().dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return self._embedder().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question."""
        return embed_query(self._embedder(), text)

    def open_earlier(self, setting: str, model: str) -> Embedder | None:
        """The embedder of an earlier setting; None if that names another model by now, or none."""
        if self._make_earlier is None:
            return None
        try:
            with self._lock:
                if setting not in self._earlier:
                    self._earlier[setting] = self._make_earlier(setting)
                earlier = self._earlier[setting]
            return earlier if earlier.model == model else None
        except (ReverieError, OSError):
            # Its files are gone: the next question looks again.
            return None

    def close(self) -> None:
        """Close what was opened of this embedder and of earlier ones."""
        # Not opened for being closed.
        if self._opened is not None:
            self._opened.close()
        with self._lock:
            earlier, self._earlier = self._earlier, {}
        for one in earlier.values():
            one.close()


def is_remote(name: str) -> bool:
    """True if the embedder of this name sends texts to somebody else."""
    return OPENERS.get(name.partition(":")[0]) == "remote"


def open_embedder(
    name: str,
    *,
    cache: Path,
    progress: Progress | None = None,
    offline: bool = False,
    api_key: str | None = None,
    providers: Sequence[str] = (),
) -> Embedder:
    """The embedder called `name`, such as "minilm", "minilm:int8" or "toy".

    One in ONNX form is "onnx:FOLDER", "onnx:owner/model[@revision]" of the model hub, or
    "onnx:NAME" of a few.

    A remote one is "openai" or "gemini", "openai:model[@dims]", or, at another address than the
    provider's, "openai:https://host/v1#model[@dims]". Nothing is loaded or fetched yet.
    `offline` forbids fetching, not the use of what is in `cache`. `providers` are ONNX Runtime's,
    best first, for the local model.
    """
    scheme, _, rest = name.partition(":")
    if scheme not in OPENERS:
        raise UnknownScheme(f"{scheme!r} is not one of the embedders {', '.join(sorted(OPENERS))}.")
    # Only the module of this scheme: the others have imports of their own.
    module = import_module(f".{OPENERS[scheme]}", __name__)
    embedder: Embedder = module.open(
        rest,
        scheme=scheme,
        cache=cache,
        progress=progress,
        offline=offline,
        api_key=api_key,
        providers=providers,
    )
    return embedder
