"""Vectors from an OpenAI-compatible `/embeddings` endpoint: OpenAI, Ollama, llama.cpp, vLLM …

Opt-in: texts leave this machine, so only the user's own setting chooses this embedder. Each answer
is checked (as many vectors as texts, one length, finite numbers) and scaled to unit length. A busy
server (429, 5xx, no answer) is asked again, three times at most; then `EmbedderUnavailable` says
what happened. The key goes to the configured host only: a redirect is an error and never followed.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reverie.core import clock
from reverie.core.errors import BadInput, EmbedderUnavailable

if TYPE_CHECKING:
    from reverie.embedding import Vectors

BATCH = 100  # texts in one request: the most that Gemini takes
MAX_TRIES = 4  # the first, and three more
TIMEOUT = 30.0  # seconds
# Seconds; a server that wants more is as good as down.
MAX_WAIT = 20.0
# Where those are asked who are called by their short name, and by which model unless one is named.
PROVIDERS = {
    "openai": ("https://api.openai.com/v1", "text-embedding-3-small"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-embedding-001"),
}
KNOWN_DIMS = {
    "gemini-embedding-001": 3072,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class _ServerBusyError(Exception):
    """Worth asking again, after `wait` seconds if the server named a time."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: urllib would send the key along to wherever it is redirected."""

    def redirect_request(self, *_args: Any) -> None:
        return None


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class Endpoint:
    """Where to ask, and for what. The key never shows in a repr or an error."""

    base_url: str
    model: str
    dims: int | None = None  # None: learnt from the first answer
    api_key: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT

    @property
    def identity(self) -> str:
        """The model's name with its host: two servers may call different models by one name."""
        parts = urlsplit(self.base_url)
        return f"{self.model}@{parts.hostname}" + (f":{parts.port}" if parts.port else "")


class RemoteEmbedder:
    """Asks in batches, in the caller's thread; holds nothing between calls."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        pause: Callable[[float], None] = clock.sleep,
    ) -> None:
        self.endpoint = endpoint
        self.model = endpoint.identity
        # 0: not known before the first answer
        self.dims = endpoint.dims or KNOWN_DIMS.get(endpoint.model, 0)
        self._pause = pause
        self._opener = urllib.request.build_opener(_NoRedirect())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit-length row per text, in the order of the texts."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dims), dtype=np.float32)
        starts = range(0, len(texts), BATCH)
        return np.concatenate([self._embed_batch(texts[i : i + BATCH]) for i in starts])

    def close(self) -> None:
        """Nothing is held."""

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        answer = self._request([to_valid_text(text) for text in texts])
        vectors = parse_embeddings(answer, len(texts), self.dims)
        # Learnt from the first answer; from then on another length is an error.
        self.dims = vectors.shape[1]
        return vectors

    def _request(self, texts: list[str]) -> bytes:
        """The server's answer, asked for again while the server is busy."""
        for attempt in range(MAX_TRIES):
            try:
                return self._post(texts)
            except _ServerBusyError as err:
                # Half a second at first, then twice as long each time, unless the server says.
                wait = 0.5 * 2**attempt if err.wait is None else err.wait
                if attempt + 1 == MAX_TRIES or wait > MAX_WAIT:
                    raise EmbedderUnavailable(
                        f"{self.model} does not answer: {err}. Words keep working meanwhile."
                    ) from err
                self._pause(wait)
        raise AssertionError("unreachable")

    def _post(self, texts: list[str]) -> bytes:
        url = self.endpoint.base_url.rstrip("/") + "/embeddings"
        headers = {"Content-Type": "application/json"}
        if self.endpoint.api_key:
            headers["Authorization"] = f"Bearer {self.endpoint.api_key}"
        content = {
            "model": self.endpoint.model,
            "input": texts,
            "encoding_format": "float",
        }
        request = urllib.request.Request(
            url,
            json.dumps(content).encode(),
            headers,
        )
        try:
            with self._opener.open(request, timeout=self.endpoint.timeout) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as err:
            with err:
                raise self._to_error(err) from err
        except (OSError, http.client.HTTPException) as err:
            raise _ServerBusyError(str(err) or type(err).__name__) from err

    def _to_error(self, err: urllib.error.HTTPError) -> Exception:
        """The error that an HTTP status means: ask again, or give up."""
        message = f"HTTP {err.code}: {err.read(300).decode(errors='replace').strip()}"
        # With any other status the request is at fault, and asking again would not help.
        if err.code == 429 or err.code >= 500:
            return _ServerBusyError(message, parse_retry_after(err.headers.get("Retry-After")))
        hint = " Check the API key." if err.code in (401, 403) else ""
        return EmbedderUnavailable(
            f"{self.model} refused: {message}.{hint} Words keep working meanwhile."
        )


def parse_embeddings(
    answer: bytes,
    count: int,
    dims: int,
) -> Vectors:
    """The vectors of an answer in the order of their index, unit length; `dims` 0 is any length.

    Raises EmbedderUnavailable for an answer that is not in the OpenAI format, or not as asked.
    """
    import numpy as np

    try:
        # Gemini leaves an index of 0 out.
        rows = sorted(
            (row.get("index", place), row["embedding"])
            for place, row in enumerate(json.loads(answer)["data"])
        )
        vectors = np.asarray(
            [vector for _, vector in rows],
            dtype=np.float32,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise EmbedderUnavailable(
            f"The embedder's answer is not in the OpenAI format: {err}."
        ) from err
    # Nothing later would notice that two texts have got each other's vectors.
    if [index for index, _ in rows] != list(range(count)):
        raise EmbedderUnavailable(
            f"The embedder was asked for {count} vectors and gave {len(rows)}."
        )
    if vectors.ndim != 2 or vectors.shape[1] != (dims or vectors.shape[1]):
        raise EmbedderUnavailable(
            f"The embedder gave vectors of shape {vectors.shape[1:]}, not {dims} dimensions."
        )
    # Cosines are dot products everywhere else, so the length is taken out here.
    length = np.linalg.norm(
        vectors,
        axis=1,
        keepdims=True,
    )
    if not (np.isfinite(length).all() and length.all()):
        raise EmbedderUnavailable("The embedder gave a vector without direction.")
    return np.asarray(vectors / length, dtype=np.float32)


def to_valid_text(text: str) -> str:
    """A text as valid Unicode, and never empty."""
    # OpenAI refuses an empty input, and with it the whole batch.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") or " "


def parse_retry_after(retry_after: str | None) -> float | None:
    """The seconds that a server asks to wait; None for a date, which some send instead."""
    try:
        return max(0.0, float(retry_after)) if retry_after else None
    except ValueError:
        return None


def open(
    where: str,
    *,
    scheme: str = "openai",
    api_key: str | None = None,
    **_unused: Any,
) -> RemoteEmbedder:
    """An embedder for "", "model" or "model@dims" of a provider, or for "https://host/v1#model".

    An address stands before the model where it is not the provider's own.
    """
    usual_url, usual_model = PROVIDERS[scheme]
    base_url, mark, model = where.partition("#")
    if not mark:
        base_url, model = usual_url, where or usual_model
    model, _, dims = model.partition("@")
    is_url = urlsplit(base_url).scheme in ("http", "https")
    if not is_url or not model or "://" in model or not (dims or "1").isdecimal():
        raise BadInput(
            f"{where!r} is neither a model, such as {usual_model}, nor of the form "
            "https://host/v1#model; either may end in @dims."
        )
    return RemoteEmbedder(
        Endpoint(
            base_url=base_url,
            model=model,
            dims=int(dims) if dims else None,
            api_key=api_key,
        )
    )
