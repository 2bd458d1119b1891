"""Cosines of any model in ONNX form stand on the default's scale; the default stays as it is."""

import json

import numpy as np
import pytest

import reverie
from bench.embedding.own_sets import OWN_SETS, load_own, read_groups
from bench.gate.models import squeezed
from reverie.core.config import Settings
from reverie.embedding import embed_query, open_embedder
from reverie.embedding.likeness_scale import (
    MAX_COMMON,
    ScaledEmbedder,
    embed_triples,
    fit_common,
    load_triples,
    mean_cosines,
    measure_scale,
    scale_rows,
)
from reverie.embedding.sentence_model import SentenceModel
from reverie.embedding.toy import ToyEmbedder
from reverie.reconciliation import merge_rules
from reverie.testing import CountingEmbedder
from tests.embedding.test_sentence_model import write_model
from tests.support.helpers import TRICKY, run_in_threads


class Prefixed(ToyEmbedder):
    """A model whose questions share a word that texts have not."""

    model = "prefixed/1"

    def embed_query(self, text):
        return self.embed([f"query query query: {text}"])[0]


class Constant(ToyEmbedder):
    """A model that tells nothing apart."""

    model = "constant/1"

    def embed(self, texts):
        rows = np.zeros((len(texts), self.dims), np.float32)
        rows[:, 0] = 1.0
        return rows


@pytest.fixture(scope="module")
def embedder(model_cache):
    """The default model."""
    opened = open_embedder("minilm", cache=model_cache)
    yield opened
    opened.close()


def cosines(embedder):
    return mean_cosines(*embed_triples(embedder))


def error(embedder):
    """How far the triples' mean cosines are from the default's."""
    return np.abs(np.subtract(cosines(embedder), load_triples().default)).max()


@pytest.mark.model
def test_the_default_is_on_its_own_scale(embedder):
    """The figures that come with the package are the default's, and nothing is to be changed: its
    vectors would stay as they are.
    """
    np.testing.assert_allclose(cosines(embedder), load_triples().default, atol=1e-3)
    scale = measure_scale(embedder)
    assert scale.common < 1e-3 and np.abs(scale.text_offset).max() < 1e-3
    rows = embedder.embed(["The staging server is called heron."])
    np.testing.assert_allclose(scale.scale_texts(rows)[:, :-1], rows, atol=1e-3)


def test_the_default_and_remote_models_are_not_scaled(tmp_path):
    for name in ("minilm", "minilm:int8", "toy", "openai"):
        assert not isinstance(open_embedder(name, cache=tmp_path), ScaledEmbedder)


@pytest.mark.model
@pytest.mark.parametrize("least", [0.4, 0.6, 0.8])
def test_a_model_whose_cosines_begin_high_comes_down(embedder, tmp_path, least):
    """As it is, every text is a relative of every other; scaled, hardly one is, and the rest of the
    scale is the default's within a few hundredths.
    """
    high = squeezed(embedder, least)
    scaled = ScaledEmbedder(high, tmp_path)
    assert error(high) > 0.3 and error(scaled) < 0.02
    texts = [memory for _, memory, _ in load_triples().triples]
    others = ~np.eye(len(texts), dtype=bool)
    floor = merge_rules.MIN_COSINE
    as_it_is, on_scale = (rows @ rows.T for rows in (high.embed(texts), scaled.embed(texts)))
    if least >= floor:
        assert (as_it_is[others] >= floor).mean() > 0.9
    assert (on_scale[others] >= floor).mean() < 0.01


@pytest.mark.parametrize("inner", [ToyEmbedder(), Prefixed(), squeezed(ToyEmbedder(), 0.7)])
def test_a_scaled_model_is_nearer_to_the_default(tmp_path, inner):
    assert error(ScaledEmbedder(inner, tmp_path)) < error(inner)


def test_the_same_text_is_still_the_same(tmp_path):
    """Whatever is taken out: a text asked and kept has the cosine 1 where no prefix tells them
    apart, and every vector is of unit length.
    """
    scaled = ScaledEmbedder(squeezed(ToyEmbedder(), 0.7), tmp_path)
    rows = scaled.embed([*TRICKY, "heron " * 1_000])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows.shape[1] == scaled.dims and rows.dtype == np.float32
    np.testing.assert_allclose(embed_query(scaled, "heron"), scaled.embed(["heron"])[0], atol=1e-6)
    assert scaled.embed([]).shape == (0, scaled.dims)


def test_questions_with_a_prefix_lose_what_the_prefix_adds(tmp_path):
    raw, scaled = Prefixed(), ScaledEmbedder(Prefixed(), tmp_path)
    asked = np.stack([embed_query(raw, text) for text, _, _ in load_triples().triples])
    ours = np.stack([embed_query(scaled, text) for text, _, _ in load_triples().triples])
    assert (ours @ ours.T).mean() < (asked @ asked.T).mean()


def test_a_model_that_tells_nothing_apart_still_gives_vectors(tmp_path):
    rows = ScaledEmbedder(Constant(), tmp_path).embed(["one", "two"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_model_is_measured_once(tmp_path):
    """The scale outlives the process; a damaged file, or one of other dimensions, costs time
    alone.
    """
    counting = CountingEmbedder()
    first = ScaledEmbedder(counting, tmp_path)
    run_in_threads(*(lambda: first.embed(["heron"]) for _ in range(3)))
    expected, measured = first.embed(["heron"]), len(counting.asked)
    (path,) = tmp_path.iterdir()
    again = ScaledEmbedder(counting, tmp_path)
    np.testing.assert_array_equal(again.embed(["heron"]), expected)
    assert len(counting.asked) == measured + 1
    whole = json.loads(path.read_bytes())
    for damaged in ("", "[]", "{}", json.dumps({**whole, "text_offset": [1.0]})):
        path.write_text(damaged)
        np.testing.assert_allclose(
            ScaledEmbedder(counting, tmp_path).embed(["heron"]), expected, atol=1e-6
        )
        assert json.loads(path.read_bytes()) == whole


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    scaled = ScaledEmbedder(ToyEmbedder(), tmp_path / "file" / "scales")
    assert scaled.embed(["heron"]).shape == (1, scaled.dims)


def test_the_common_part_is_bounded():
    assert fit_common((1.0, 1.0), (0.1, 0.9))[0] == 0.0
    assert fit_common((0.5, 0.5), (0.1, 0.1))[0] == 0.0
    assert fit_common((0.0, 0.0), (1.0, 1.0))[0] == MAX_COMMON
    common, left = fit_common((0.0, 0.5), (0.2, 0.6))
    assert (round(common, 6), round(left, 6)) == (0.2, 0.0)


def test_the_order_of_cosines_stays_where_only_something_is_put_in():
    rows = ToyEmbedder().embed(["the staging server", "staging is heron", "boil the pasta"])
    ours = scale_rows(rows, np.zeros(64, np.float32), 0.3)
    np.testing.assert_allclose(ours @ ours.T, 0.3 + 0.7 * (rows @ rows.T), atol=1e-5)


def test_a_home_with_a_model_in_onnx_form_has_scaled_vectors(tmp_path):
    """By the setting alone: what is kept and what is asked stand on the scale."""
    folder, _, _ = write_model(tmp_path / "m")
    settings = Settings(home=tmp_path / "home", embedder=f"onnx:{folder}")
    with reverie.open(settings=settings) as mind:
        kept = mind.remember("The staging server is called heron.", space="me/x")
        mind.settle()
        given = mind.context.embed_query("heron")
        scaled = ScaledEmbedder(SentenceModel("m", lambda: folder), tmp_path / "elsewhere")
        assert given["model"] == scaled.model != scaled.inner.model
        np.testing.assert_allclose(given["vector"], embed_query(scaled, "heron"), atol=1e-6)
        (row,) = mind.store.vectors(scaled.model, [kept.id]).values()
        np.testing.assert_allclose(row, scaled.embed([kept.text])[0], atol=1e-3)
        assert list((settings.cache / "scales").iterdir())


@pytest.mark.parametrize("name", OWN_SETS)
def test_query_sets_are_whole(name):
    """At least forty questions over two hundred different passages, each with its answer there."""
    found = load_own(name)
    rows = found.corpora[name]
    assert len(found.questions) >= 40 and len({row.text for row in rows}) == len(rows) >= 200
    assert all(one.gold and one.gold <= {row.id for row in rows} for one in found.questions)
    assert len({one.text for one in found.questions}) == len(found.questions)


def test_a_line_of_a_query_set_that_says_nothing_is_told():
    with pytest.raises(ValueError, match="line 2"):
        read_groups("german", "? Wer?\nniemand\n")
    with pytest.raises(ValueError, match="line 1"):
        read_groups("german", "= Ohne Frage\n")
