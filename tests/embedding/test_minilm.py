"""The real model: agrees with plain NumPy, finds meaning rather than spelling, and takes any text.
Needs the weights (91 MB, fetched once): REVERIE_TEST_CACHE names a folder that keeps them between
runs.
"""

import math
import os
import re
import shutil
import sys
from itertools import pairwise

import numpy as np
import pytest

from reverie.core.errors import ExtraMissing
from reverie.core.installation import advise_install
from reverie.embedding import bert_graph, model_weights
from reverie.embedding.minilm import (
    MiniLM,
    batch_rows,
    ensure_graph_file,
    list_absent_providers,
    sanitise_text,
)
from tests.support.helpers import TRICKY, run_in_threads


@pytest.fixture(scope="session")
def minilm(model_cache):
    return MiniLM(model_cache)


@pytest.fixture
def own_cache(model_cache, tmp_path):
    """A cache of one's own to damage; the files are links to the shared ones where they can be."""
    folder = tmp_path / "models" / model_weights.NAME
    folder.mkdir(parents=True)
    for name in model_weights.SHA256:
        shared = model_cache / "models" / model_weights.NAME / name
        try:
            os.link(shared, folder / name)
        except OSError:  # on another disk
            shutil.copy(shared, folder / name)
    return tmp_path


def reference(path, ids):
    """BERT in plain NumPy (Devlin et al., 2019), one text, no padding: short enough to check by
    eye.
    """
    at = bert_graph.locate_tensors(path)

    def weight(name):
        return np.asarray(bert_graph.map_tensor(path, at[name]))

    def dense(x, name):
        return x @ weight(f"{name}.weight").T + weight(f"{name}.bias")

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weight(f"{name}.weight") + weight(f"{name}.bias")

    def heads(x, name):
        return dense(x, name).reshape(len(ids), 12, 32).transpose(1, 0, 2)

    x = (
        weight("embeddings.word_embeddings.weight")[ids]
        + weight("embeddings.position_embeddings.weight")[: len(ids)]
    )
    x = norm(x + weight("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
    for i in range(6):
        layer = f"encoder.layer.{i}"
        query, key, value = (
            heads(x, f"{layer}.attention.self.{part}") for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(32))
        mixed = (
            (scores / scores.sum(-1, keepdims=True) @ value)
            .transpose(1, 0, 2)
            .reshape(len(ids), 384)
        )
        x = norm(
            x + dense(mixed, f"{layer}.attention.output.dense"),
            f"{layer}.attention.output.LayerNorm",
        )
        inner = dense(x, f"{layer}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x.mean(0) / np.linalg.norm(x.mean(0))


TEXTS = [
    "The staging server is called heron.",
    "def parse(line: str) -> list[str]:\n    return line.split(',')",
    "Ärger mit Umlauten, 日本語 and 👩‍👩‍👧",
    "word " * 400,
    "",
]

KNOWN = [0.016047, -0.059834, -0.099666, -0.06747]  # of the first text, first four numbers


@pytest.mark.model
@pytest.mark.proves("A5", "A90", "A91", "C74")
def test_agrees_with_plain_numpy(minilm, model_cache):
    """The graph is the published model: one standard model, 384 dimensions, in-process."""
    from tokenizers import Tokenizer

    folder = model_cache / "models" / model_weights.NAME
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    expected = np.stack(
        [reference(folder / "model.safetensors", tokenizer.encode(text).ids) for text in TEXTS]
    )

    got = minilm.embed(TEXTS)
    assert got.shape == (len(TEXTS), 384)
    assert (got * expected).sum(1).min() > 0.999999
    np.testing.assert_allclose(got, expected, atol=2e-5)


@pytest.mark.model
def test_the_graph_that_comes_along_is_that_of_the_weights(model_cache):
    """Built anew from the published weights it is the same to the byte."""
    weights = model_cache / "models" / model_weights.NAME / "model.safetensors"
    built = bert_graph.build_bert_graph(weights, "float32")
    assert built == bert_graph.FLOAT32_FILE.read_bytes()


@pytest.mark.model
def test_float32_needs_no_onnx_and_int8_says_what_to_install(model_cache, tmp_path, monkeypatch):
    shutil.copytree(
        model_cache / "models", tmp_path / "models", ignore=lambda *_: {"int8.onnx", "float32.onnx"}
    )
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert MiniLM(tmp_path).embed(["heron"]).shape == (1, 384)
    with pytest.raises(ExtraMissing, match=re.escape(advise_install("int8"))):
        MiniLM(tmp_path, precision="int8").embed(["heron"])


@pytest.mark.model
@pytest.mark.proves("A94")
def test_known_numbers(minilm):
    """The same text has the same vector on every machine, up to the last digits."""
    first = minilm.embed(["The staging server is called heron."])[0, :4]
    np.testing.assert_allclose(first, KNOWN, atol=2e-5)


@pytest.mark.model
@pytest.mark.proves("A5")
def test_texts_of_like_meaning_are_near(minilm):
    """The nearest text by meaning has no word in common with the question."""
    texts = [
        "My automobile broke down on the motorway.",
        "The pasta needs nine minutes.",
        "He carved a wooden spoon.",
    ]
    assert (
        int(np.argmax(minilm.embed(texts) @ minilm.embed(["car trouble on the highway"])[0])) == 0
    )


@pytest.mark.model
def test_any_text_has_a_vector(minilm):
    """Empty, broken, control characters, a megabyte: unit length, no NaN."""
    tricky = [*TRICKY, "x" * 1_000_000]
    tricky.append("prose " * 170_000)
    np.testing.assert_allclose(np.linalg.norm(minilm.embed(tricky), axis=1), 1, atol=1e-5)
    assert minilm.embed([]).shape == (0, 384)


@pytest.mark.model
@pytest.mark.proves("A94")
def test_a_vector_does_not_depend_on_its_neighbours(minilm):
    """Alone or in a batch, at any place: the same vector, in the order of the texts."""
    texts = [f"note {i} " + "about the build " * (i * 7 % 23) for i in range(60)]
    together = minilm.embed(texts)
    alone = np.concatenate([minilm.embed([text]) for text in texts])

    np.testing.assert_allclose(together, alone, atol=2e-6)


@pytest.mark.model
@pytest.mark.proves("X13")
def test_int8_stays_close_and_is_another_model(model_cache, minilm):
    """The smaller variant agrees to a cosine of 0.97, and says that it is not the same."""
    small = MiniLM(model_cache, precision="int8")
    texts = TEXTS[:3]

    assert (small.embed(texts) * minilm.embed(texts)).sum(1).min() > 0.97
    assert small.model != minilm.model
    np.testing.assert_array_equal(small.embed(texts)[1], small.embed([texts[1]])[0])


@pytest.mark.model
@pytest.mark.proves("A99")
def test_many_threads_and_a_close_between(model_cache):
    """Background embedding while somebody else embeds, loads or closes."""
    embedder = MiniLM(model_cache)
    expected, wrong = embedder.embed(["heron"]), []

    def work():
        for _ in range(6):
            if not np.allclose(embedder.embed(["heron"]), expected, atol=1e-6):
                wrong.append(1)
            embedder.close()

    run_in_threads(work, work, work)
    assert wrong == []


@pytest.mark.model
@pytest.mark.proves("A98")
def test_runs_on_the_processor_without_any_accelerator(model_cache, monkeypatch):
    """Nothing but the CPU is asked for, so nothing but the CPU is needed."""
    import onnxruntime

    start, asked = onnxruntime.InferenceSession, []

    def record_providers(*args, **options):
        asked.append(options["providers"])
        return start(*args, **options)

    monkeypatch.setattr(onnxruntime, "InferenceSession", record_providers)
    MiniLM(model_cache).embed(["heron"])
    assert asked == [["CPUExecutionProvider"]]


@pytest.mark.model
@pytest.mark.proves("A95", "A96", "A97")
def test_an_accelerator_that_is_not_there_is_done_without(model_cache, minilm):
    """The processor computes, to the same vectors, and what is missing can be named."""
    wanted = ("CUDAExecutionProvider", "OpenVINOExecutionProvider", "CoreMLExecutionProvider")
    absent = list_absent_providers(wanted)
    assert [] == list_absent_providers(["CPUExecutionProvider"])
    for providers in (absent, ["AzureExecutionProvider"], ["CPUExecutionProvider"]):
        found = MiniLM(model_cache, providers=providers).embed(
            ["The staging server is called heron."]
        )
        np.testing.assert_allclose(
            found, minilm.embed(["The staging server is called heron."]), atol=1e-6
        )


@pytest.mark.model
@pytest.mark.parametrize("damage", [b"", b"not a graph", None])
def test_a_damaged_graph_is_built_again(own_cache, damage):
    """Cut short, overwritten or gone: noticed before it is used."""
    folder = own_cache / "models" / model_weights.NAME
    path = ensure_graph_file(folder, "float32")
    good = path.read_bytes()
    path.unlink() if damage is None else path.write_bytes(damage)

    assert MiniLM(own_cache, offline=True).embed(["heron"]).shape == (1, 384)
    assert path.read_bytes() == good
    assert not list(folder.glob(".writing*"))


@pytest.mark.model
def test_another_build_of_the_graph_is_replaced(own_cache, monkeypatch):
    """A new version of the package does not run the graph of the old one."""
    folder = own_cache / "models" / model_weights.NAME
    ensure_graph_file(folder, "float32")
    monkeypatch.setattr(bert_graph, "BUILD", bert_graph.BUILD + 1)
    ensure_graph_file(folder, "float32")
    assert f'"build": {bert_graph.BUILD}' in (folder / "float32.json").read_text()


@pytest.mark.model
def test_safetensors_is_read_as_its_own_library_would(model_cache):
    """Ten lines of ours against the format's own library, where it is installed."""
    library = pytest.importorskip("safetensors.numpy")
    path = model_cache / "models" / model_weights.NAME / "model.safetensors"
    theirs = library.load_file(path)
    ours = bert_graph.locate_tensors(path)

    assert set(ours) == {name for name, value in theirs.items() if value.dtype == np.float32}
    for name, at in ours.items():
        np.testing.assert_array_equal(bert_graph.map_tensor(path, at), theirs[name])


def test_batches_waste_little():
    """Every row once, within the budget, and rows of like length together."""
    lengths = [5, 250, 7, 6, 250, 5, 1000]
    groups = list(batch_rows(lengths, 500))

    assert sorted(row for group in groups for row in group) == list(range(7))
    assert all(
        len(group) == 1 or max(lengths[row] for row in group) * len(group) <= 500
        for group in groups
    )
    assert all(
        max(lengths[r] for r in a) <= min(lengths[r] for r in b) for a, b in pairwise(groups)
    )


def test_sanitised_text_is_valid_and_short():
    """Half a pair becomes U+FFFD, a whole pair one character, and a megabyte is cut."""
    assert sanitise_text("a\ud83d") == "a\ufffd"
    assert sanitise_text("\ud83d\ude00") == "😀"
    assert len(sanitise_text("x" * 1_000_000)) == 10_000
