"""Any sentence-transformers model in ONNX form: `onnx:FOLDER`, `onnx:owner/model`, `onnx:NAME`.

The model's own files say how a text becomes a vector: the vocabulary and how many tokens of a text
count, whether the first token, the last, the mean or the largest of all stands for the text, and
what a question or a passage is preceded by. The identity of the model holds a digest of those
files: another file is another model, and its vectors are never compared with these. Its cosines
are brought onto the scale of the default's (`likeness_scale`).

Opening costs nothing; the first text loads the model, and fetches it where it is the hub's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.errors import BadInput, ExtraMissing, ModelUnavailable
from reverie.embedding import sentence_files
from reverie.embedding.likeness_scale import ScaledEmbedder
from reverie.embedding.minilm import CPU, batch_rows, open_session, sanitise_text
from reverie.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from reverie.embedding import Progress, Vectors

# Tokens of a text that count, if a model allows more: time grows with their square, and a memory
# is short. The same as of the default model's passages (docs/why-embedding.md).
MAX_TOKENS = 512
BATCH_TOKENS = 512  # with padding; larger batches are slower on a processor
# Names under which exports give one vector for each text, and one for each token.
SENTENCE_OUTPUTS = ("sentence_embedding", "pooler_output_normalized")
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
POOLINGS = {
    "pooling_mode_cls_token": "first",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
    # as later versions write it
    "cls": "first",
    "mean": "mean",
    "max": "max",
    "lasttoken": "last",
}
MODULES = ("Transformer", "Pooling", "Normalize")  # steps that are known; all vectors become units


class TextRules(NamedTuple):
    """How a model's files say that texts become vectors."""

    pooling: str  # "first", "last", "mean", "max"
    tokens: int  # of a text, with those around it
    query_prefix: str = ""
    text_prefix: str = ""


class LoadedModel(NamedTuple):
    """What the first text loads."""

    session: Any
    vocabulary: Vocabulary
    rules: TextRules
    inputs: tuple[str, ...]
    output: str
    is_pooled: bool  # the graph gives one vector for each text
    dims: int


class SentenceModel:
    """The embedder of a folder that `find_folder` finds or fetches, and `find_here` finds only.
    Thread-safe.
    """

    def __init__(
        self,
        name: str,
        find_folder: Callable[[], Path],
        find_here: Callable[[], Path] | None = None,
        *,
        threads: int = 1,
    ) -> None:
        self.name = name
        self._find_folder, self._threads = find_folder, threads
        self._find_here = find_here or find_folder
        self._lock = Lock()
        self._identity = ""
        self._loaded: LoadedModel | None = None

    @property
    def model(self) -> str:
        """The name with a digest of the model's files. Fetches nothing: ModelUnavailable where they
        are not on this machine.
        """
        with self._lock, told_as_unavailable():
            return self._read_identity(self._find_here)

    def prepare(self) -> None:
        """Have the model's files on this machine, fetched if need be."""
        with self._lock, told_as_unavailable():
            self._read_identity(self._find_folder)

    @property
    def dims(self) -> int:
        """The length of a vector."""
        return self._load().dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit-length row per text, in the order of the texts."""
        rules = self._load().rules
        return self._embed([rules.text_prefix + sanitise_text(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, with what the model wants before one: (dims,)."""
        row: Vectors = self._embed([self._load().rules.query_prefix + sanitise_text(text)])[0]
        return row

    def close(self) -> None:
        """Release the model. Never waits: who embeds or loads now goes on."""
        self._loaded = None

    def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        loaded = self._load()
        out = np.zeros((len(texts), loaded.dims), dtype=np.float32)
        tokens = [loaded.vocabulary.encode(text, loaded.rules.tokens) for text in texts]
        for rows in batch_rows([len(ids) for ids in tokens], BATCH_TOKENS):
            out[rows] = run_model(loaded, [tokens[row] for row in rows])
        return out

    def _load(self) -> LoadedModel:
        """The loaded model; one thread loads it, the others wait."""
        with self._lock, told_as_unavailable():
            loaded = self._loaded
            if loaded is None:
                folder = self._find_folder()
                self._read_identity(lambda: folder)
                self._loaded = loaded = load_model(folder, self._threads)
            return loaded

    def _read_identity(self, find_folder: Callable[[], Path]) -> str:
        if not self._identity:
            self._identity = f"{self.name}/{sentence_files.digest_model(find_folder())}"
        return self._identity


@contextmanager
def told_as_unavailable() -> Iterator[None]:
    """Within it, what is wrong with a model's files keeps vectors away and not words."""
    try:
        yield
    except BadInput as err:
        raise ModelUnavailable(f"{err}. Words keep working meanwhile") from err


def load_model(folder: Path, threads: int) -> LoadedModel:
    """The model of a folder; BadInput that says what is wrong with it."""
    graph = sentence_files.find_graph(folder)
    rules, vocabulary = read_rules(folder), Vocabulary(folder / "tokenizer.json")
    try:
        session = open_session(graph, threads, (CPU,))
    except ExtraMissing:
        raise
    except Exception as err:  # the runtime raises many kinds for a file that it cannot run
        raise BadInput(f"{graph} cannot be run: {err}") from err
    outputs = {one.name: one.shape for one in session.get_outputs()}
    name = next(
        (one for one in (*SENTENCE_OUTPUTS, *TOKEN_OUTPUTS) if one in outputs),
        next(iter(outputs)),
    )
    inputs = tuple(one.name for one in session.get_inputs())
    if unknown := set(inputs) - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}:
        raise BadInput(f"{graph} wants inputs that no text gives: {', '.join(sorted(unknown))}")
    is_pooled = len(outputs[name]) == 2
    dims = outputs[name][-1]
    if not isinstance(dims, int):
        dims = 0  # the probe tells
    loaded = LoadedModel(session, vocabulary, rules, inputs, name, is_pooled, dims)
    try:
        probed = run_model(loaded, [vocabulary.encode("probe", rules.tokens)])
    except Exception as err:
        raise BadInput(f"{graph} cannot be run: {err}") from err
    return loaded._replace(dims=probed.shape[1])


def read_rules(folder: Path) -> TextRules:
    """What the settings in a model's folder say; BadInput for a step that is not known."""
    modules = sentence_files.read_modules(folder)
    kinds = [str(row.get("type", "")).rpartition(".")[2] for row in modules]
    if unknown := [kind for kind in kinds if kind not in MODULES]:
        raise BadInput(
            f"{folder} has a step {unknown[0]} after the network, which is not supported. "
            f"Known are {', '.join(MODULES)}"
        )
    pooling = "mean"
    for path in sentence_files.pooling_configs(modules):
        pooling = choose_pooling(sentence_files.read_json(folder, path)) or pooling
    prompts = sentence_files.read_json(folder, "config_sentence_transformers.json")
    named = prompts.get("prompts") or {}
    if not isinstance(named, Mapping):
        raise BadInput(f"The prompts in {folder} are not a JSON object")
    text_prefix = first_text(named, ("document", "passage"))
    return TextRules(
        pooling,
        read_token_limit(folder),
        first_text(named, ("query", "retrieval.query")) or text_prefix,
        text_prefix,
    )


def choose_pooling(config: Mapping[str, Any]) -> str:
    """The way that a pooling's settings choose, "" if they say nothing; BadInput for several, or
    one that is not known.
    """
    modes = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    modes += [one for one in [config.get("pooling_mode")] if isinstance(one, str)]
    if len(modes) > 1 or any(mode not in POOLINGS for mode in modes):
        raise BadInput(f"The pooling {', '.join(modes)} is not supported")
    return POOLINGS[modes[0]] if modes else ""


def first_text(named: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first prompt that there is by one of the names; "" for none."""
    return next((str(named[name]) for name in names if named.get(name)), "")


def read_token_limit(folder: Path) -> int:
    """How many tokens of a text count."""
    own = sentence_files.read_json(folder, "sentence_bert_config.json").get("max_seq_length")
    most = sentence_files.read_json(folder, "config.json").get("max_position_embeddings")
    limits = [int(one) for one in (own, most) if isinstance(one, int) and one > 0]
    return min([MAX_TOKENS, *limits])


def run_model(loaded: LoadedModel, tokens: Sequence[Sequence[int]]) -> Vectors:
    """The unit vectors of some texts' tokens, padded to the longest."""
    import numpy as np

    ids = np.zeros((len(tokens), max(1, *map(len, tokens))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, one in enumerate(tokens):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    given = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": np.zeros_like(ids),
        "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
    }
    found = loaded.session.run([loaded.output], {name: given[name] for name in loaded.inputs})[0]
    rows = found.astype(np.float32)
    if not loaded.is_pooled:
        rows = pool_tokens(rows, mask, loaded.rules.pooling)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    vectors: Vectors = rows / np.maximum(lengths, 1e-12)
    return vectors


def pool_tokens(
    rows: Any,
    mask: Any,
    pooling: str,
) -> Any:
    """One vector for each text, (n, h), of those of its tokens, (n, t, h); mask is (n, t)."""
    import numpy as np

    if pooling == "first":
        return rows[:, 0]
    if pooling == "last":
        return rows[np.arange(len(rows)), np.maximum(mask.sum(axis=1) - 1, 0)]
    there = mask[:, :, None].astype(np.float32)
    if pooling == "max":
        return np.where(there > 0, rows, -np.inf).max(axis=1)
    return (rows * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1e-9)


def open(
    name: str,
    *,
    cache: Path,
    progress: Progress | None = None,
    offline: bool = False,
    **_unused: Any,
) -> ScaledEmbedder:
    """The embedder of a folder or of a hub's model; nothing is loaded or fetched yet."""
    if not name:
        raise BadInput("Which model? onnx:FOLDER, onnx:owner/model or onnx:bge-small-en-v1.5")
    folder = sentence_files.find_local_folder(name)
    if folder is not None:
        model = SentenceModel(folder.resolve().name, lambda: folder)
    else:
        hub = sentence_files.parse_hub_name(name)

        def fetch() -> Path:
            return sentence_files.ensure_hub_model(hub, cache, progress=progress, offline=offline)

        model = SentenceModel(hub.name, fetch, lambda: sentence_files.find_fetched(hub, cache))
    return ScaledEmbedder(model, cache / "scales")
