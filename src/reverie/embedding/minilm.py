"""all-MiniLM-L6-v2 in this process: 384 dimensions, 256 tokens, ONNX Runtime, no torch.

Opening costs nothing; the first text loads the model (and, once per machine, fetches it), and
`close` releases it. A vector depends on its text only: not on the texts beside it, their order or
the machine, up to the last digits of a float. Any text has a vector: an empty one, a broken one, a
megabyte of it.

One thread, on the processor: a second costs more than it saves (docs/why-embedding.md), and the
user's own work goes on beside us. A test compares with plain NumPy and would notice drift.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.atomic_file import write_atomically
from reverie.core.errors import BadInput, ExtraMissing, ModelUnavailable
from reverie.core.installation import advise_install
from reverie.embedding import bert_graph, model_weights
from reverie.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.embedding import Progress, Vectors

# precision → model identity
PRECISIONS = {
    "float32": "all-MiniLM-L6-v2/1",
    "int8": "all-MiniLM-L6-v2-int8/1",
}
# 256 tokens of prose are about 1,100 characters, of heavily indented code about 4,000.
MAX_CHARS = 10_000
CPU = "CPUExecutionProvider"
# An accelerator may replace the processor if its vectors have at least this cosine to ours.
MIN_AGREEMENT = 0.9999
# Token ids of a short and a longer text, to compare an accelerator with the processor.
PROBE_TOKENS = (
    (101, 2023, 2003, 1037, 3231, 102),
    (101, *range(2000, 2060), 102),
)
# Tokens of a batch, with padding. Measured: larger batches are slower (12.4 → 16 ms a text at
# 2,048).
BATCH_TOKENS = 256


class _LoadedModel(NamedTuple):
    session: Any
    vocabulary: Vocabulary


class MiniLM:
    """The local embedder, loaded at first use. Thread-safe, also with `close` meanwhile."""

    dims = bert_graph.HIDDEN

    def __init__(
        self,
        cache: Path,
        *,
        precision: str = "float32",
        progress: Progress | None = None,
        offline: bool = False,
        threads: int = 1,
        plan: model_weights.FetchPlan | None = None,
        providers: Sequence[str] = (),
    ) -> None:
        if precision not in PRECISIONS:
            raise BadInput(
                f"{precision!r} is not one of the precisions {', '.join(sorted(PRECISIONS))}."
            )
        self.model = PRECISIONS[precision]
        self._precision, self._threads, self._providers = precision, threads, tuple(providers)
        self._files = partial(
            model_weights.ensure_model_files,
            cache,
            progress=progress,
            offline=offline,
            plan=plan,
        )
        self._lock = Lock()
        self._loaded: _LoadedModel | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit-length row per text, in the order of the texts; loads the model if need be."""
        import numpy as np

        out = np.zeros(
            (len(texts), self.dims),
            dtype=np.float32,
        )
        if not texts:
            return out
        loaded = self._load()
        tokens = [
            loaded.vocabulary.encode(sanitise_text(text), bert_graph.MAX_TOKENS) for text in texts
        ]
        # int8 has one scale for a whole batch: a text goes alone, so as not to depend on others.
        budget = BATCH_TOKENS if self._precision == "float32" else 0
        for rows in batch_rows([len(ids) for ids in tokens], budget):
            out[rows] = _run_session(loaded.session, [tokens[row] for row in rows])
        return out

    def close(self) -> None:
        """Release the model, about 50 MB. Never waits: who embeds or loads now goes on."""
        self._loaded = None

    def _load(self) -> _LoadedModel:
        """The loaded model; one thread loads it, the others wait."""
        with self._lock:
            loaded = self._loaded
            if loaded is None:
                folder = self._files()
                session = _open_fastest_session(
                    ensure_graph_file(folder, self._precision),
                    self._threads,
                    self._providers,
                )
                self._loaded = loaded = _LoadedModel(session, Vocabulary(folder / "tokenizer.json"))
            return loaded


def sanitise_text(text: str) -> str:
    """The beginning of a text, as valid Unicode: half a surrogate pair becomes U+FFFD."""
    return text[:MAX_CHARS].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def batch_rows(
    lengths: Sequence[int],
    budget: int,
) -> Iterator[list[int]]:
    """Row numbers, short texts first, in groups of at most `budget` padded tokens or one row."""
    group: list[int] = []
    # Texts of like length stand together, so that little is padding.
    for row in sorted(
        range(len(lengths)),
        key=lambda row: lengths[row],
    ):
        if group and lengths[row] * (len(group) + 1) > budget:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _run_session(session: Any, tokens: Sequence[Sequence[int]]) -> Vectors:
    """The vectors of some texts' tokens, padded to the longest."""
    import numpy as np

    ids = np.zeros(
        (len(tokens), max(map(len, tokens))),
        dtype=np.int64,
    )
    mask = np.zeros_like(ids)
    for row, one in enumerate(tokens):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    vectors: Vectors = session.run(
        None,
        {"ids": ids, "mask": mask},
    )[0]
    return vectors


def ensure_graph_file(folder: Path, precision: str) -> Path:
    """The graph beside the weights, built anew if missing, damaged or of another build."""
    path, note = folder / f"{precision}.onnx", folder / f"{precision}.json"
    try:
        known = json.loads(note.read_text())
    except (OSError, ValueError):
        known = None
    found = model_weights.hash_weights_file(path)
    if found is not None and known == {"build": bert_graph.BUILD, "sha256": found}:
        return path
    graph = _build_graph(folder / "model.safetensors", precision)
    content = {"build": bert_graph.BUILD, "sha256": sha256(graph).hexdigest()}
    try:
        write_atomically(path, graph, mode=0o600)
        write_atomically(note, json.dumps(content).encode(), mode=0o600)
    except OSError as err:
        raise ModelUnavailable(
            f"The embedding model's graph cannot be kept: {err}. Words keep working."
        ) from err
    return path


def _build_graph(path: Path, precision: str) -> bytes:
    """The graph for the weights: the one in float32 comes with us, as it holds none of them."""
    if precision == "float32":
        return bert_graph.FLOAT32_FILE.read_bytes()
    try:
        import_module("onnx")
    except ImportError as err:
        raise ExtraMissing(
            "The embedding model in int8 is built once, by a package that is not installed: "
            f"{advise_install('int8')}"
        ) from err
    return bert_graph.build_bert_graph(path, precision)


def _import_package(name: str) -> Any:
    """A package that the local model needs; ExtraMissing if it is not installed."""
    try:
        return import_module(name)
    except ImportError as err:
        raise ExtraMissing(
            f"The local embedding model needs a package that is not installed: {name}."
        ) from err


def list_absent_providers(providers: Sequence[str]) -> list[str]:
    """The providers that the installed ONNX Runtime lacks: without them the processor computes."""
    there = _import_package("onnxruntime").get_available_providers()
    return [name for name in providers if name not in there]


def _open_fastest_session(
    path: Path,
    threads: int,
    providers: Sequence[str],
) -> Any:
    """A session on the first provider that computes the same vectors; else on the processor."""
    plain = open_session(path, threads, (CPU,))
    expected = None
    absent = list_absent_providers(providers) if providers else []
    for name in providers:
        if name in absent or name == CPU:
            continue
        try:
            session = open_session(path, threads, (name, CPU))
        except _start_errors():
            continue
        # Vectors are shared between machines, and an accelerator may compute in half precision.
        if expected is None:
            expected = _run_session(plain, PROBE_TOKENS)
        cosines = (_run_session(session, PROBE_TOKENS) * expected).sum(axis=1)
        if float(cosines.min()) >= MIN_AGREEMENT:
            return session
    return plain


def _start_errors() -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises for an accelerator without its driver or device."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return (state.Fail, state.EPFail, state.RuntimeException, RuntimeError)


def open_session(
    path: Path,
    threads: int,
    providers: Sequence[str],
) -> Any:
    """A session with settings that leave the machine to its user."""
    ort = _import_package("onnxruntime")
    options = ort.SessionOptions()
    # A second thread costs 14 % more processor time (docs/why-embedding.md).
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # errors arrive as exceptions; nothing may write to the user's terminal
    options.log_severity_level = 3
    # waiting must not burn the caller's cores
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(str(path), options, providers=list(providers))


def open(
    precision: str,
    *,
    cache: Path,
    progress: Progress | None = None,
    offline: bool = False,
    providers: Sequence[str] = (),
    **_unused: Any,
) -> MiniLM:
    """The embedder of that precision; nothing is loaded yet."""
    return MiniLM(
        cache,
        precision=precision or "float32",
        progress=progress,
        offline=offline,
        providers=providers,
    )
