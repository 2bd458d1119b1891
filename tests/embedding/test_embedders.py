"""What holds for every embedder: names, shapes, unit length, order; the toy; the cache; a light
import.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reverie.core.errors import BadInput, UnknownScheme
from reverie.embedding import open_embedder
from reverie.embedding.toy import ToyEmbedder
from reverie.embedding.vector_cache import CachedEmbedder, RecentVectors, vector_key
from reverie.testing import CountingEmbedder
from tests.support.helpers import TRICKY

SRC = Path(__file__).parents[2] / "src"


def python(probe, **env):
    """Another interpreter that runs `probe`."""
    return subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "PYTHONPATH": str(SRC), **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def toy():
    return ToyEmbedder()


@pytest.mark.proves("A5")
def test_rows_are_unit_length_and_in_order(toy):
    """Every text has a vector of length one, in the order of the texts."""
    texts = [*TRICKY, "the staging server"]
    vectors = toy.embed(texts)

    assert vectors.shape == (len(texts), toy.dims)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(vectors[-1], toy.embed(["the staging server"])[0])


def test_no_texts_no_rows(toy):
    """No texts give an array of no rows, with the right number of columns."""
    assert toy.embed([]).shape == (0, 64)


def test_similar_spelling_similar_vector(toy):
    """The toy embedder gives similar vectors to similar spellings: enough to test search with."""
    near, far, query = toy.embed(
        ["staging server heron", "boil the pasta", "which server is staging"]
    )
    assert near @ query > far @ query + 0.2


@pytest.mark.proves("A94")
def test_the_toy_is_the_same_in_every_process():
    """The toy embedder gives the same vectors in every process: nothing is salted."""
    probe = "from reverie.embedding.toy import ToyEmbedder; print(ToyEmbedder().embed(['heron runs staging']).tobytes().hex())"
    outputs = {python(probe, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}

    assert outputs == {ToyEmbedder().embed(["heron runs staging"]).tobytes().hex() + "\n"}


def test_importing_and_opening_load_nothing(tmp_path):
    """Neither the package nor an opened embedder imports anything heavy before the first text."""
    probe = (
        "import sys, pathlib, reverie.embedding as e\n"
        "assert not {'numpy', 'urllib.request', 'subprocess'} & set(sys.modules)\n"
        f"e.open_embedder('minilm', cache=pathlib.Path({str(tmp_path)!r}))\n"
        "print({'numpy', 'onnx', 'onnxruntime', 'kitoken'} & set(sys.modules))"
    )
    done = python(probe)

    assert (done.stdout.strip(), done.stderr) == ("set()", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("toy", "toy/1"),
        ("minilm", "all-MiniLM-L6-v2/1"),
        ("minilm:int8", "all-MiniLM-L6-v2-int8/1"),
        (
            "openai:http://localhost:11434/v1#nomic-embed-text@768",
            "nomic-embed-text@localhost:11434",
        ),
    ],
)
@pytest.mark.proves("X13", "C3")
def test_each_embedder_says_which_model_it_is(name, model, tmp_path):
    """The identity kept beside each vector differs wherever vectors do; providers are rows of one
    table.
    """
    assert open_embedder(name, cache=tmp_path).model == model


def test_an_unknown_name_lists_the_known_ones(tmp_path):
    """The message tells what would have worked."""
    with pytest.raises(UnknownScheme, match="minilm, onnx, openai, toy"):
        open_embedder("word2vec", cache=tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "minilm:float16",
        "openai:#m",
        "openai:ftp://x#m",
        "openai:http://x/v1",
        "openai:http://x#m@big",
    ],
)
def test_a_misspelt_name_is_refused_at_once(name, tmp_path):
    """A misspelt name of an embedder is an error when it is opened, not at the first text."""
    with pytest.raises(BadInput):
        open_embedder(name, cache=tmp_path)


@pytest.mark.proves("C71")
def test_a_text_is_embedded_once():
    """A text seen before, or twice in one call, costs nothing."""
    inner = CountingEmbedder()
    known: dict[str, bytes] = {}
    first = CachedEmbedder(inner, known).embed(["a", "b", "a"])
    again = CachedEmbedder(inner, known).embed(["b", "c"])

    assert inner.asked == ["a", "b", "c"]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first[1], again[0])
    assert CachedEmbedder(inner, known).embed([]).shape == (0, 64)


@pytest.mark.proves("X13")
def test_the_cache_keeps_models_apart():
    """After a switch of models nothing of the old one is used."""
    known: dict[str, bytes] = {}
    CachedEmbedder(CountingEmbedder("old/1"), known).embed(["a"])
    new = CountingEmbedder("new/1")
    CachedEmbedder(new, known).embed(["a"])

    assert new.asked == ["a"]
    assert set(known) == {vector_key("old/1", "a"), vector_key("new/1", "a")}


def test_the_cache_evicts_the_least_recently_used(monkeypatch):
    """A look-up counts as use, and the least recently used text is evicted first."""
    monkeypatch.setattr(RecentVectors, "MOST", 2)
    inner, known = CountingEmbedder(), RecentVectors()
    cached = CachedEmbedder(inner, known)
    for texts in (["a"], ["b"], ["a"], ["c"], ["a"], ["b"]):
        cached.embed(texts)

    assert inner.asked == ["a", "b", "c", "b"]
    assert list(known) == [vector_key("toy/1", "a"), vector_key("toy/1", "b")]
    del known[vector_key("toy/1", "a")]
    assert len(known) == 1
