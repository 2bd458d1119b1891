"""A change of the embedding model: vectors are never mixed, search by words goes on, all texts are
embedded anew.
"""

import numpy as np
import pytest

import reverie
from reverie.core.config import Settings
from reverie.core.errors import ModelUnavailable
from reverie.embedding.toy import ToyEmbedder
from reverie.storage.candidates import CandidateRequest
from reverie.testing import CountingEmbedder


class Other(ToyEmbedder):
    """The toy under another name, with other vectors."""

    model = "other/1"

    def embed(self, texts):
        return np.ascontiguousarray(super().embed(texts)[:, ::-1])


class Gone(ToyEmbedder):
    """A model that is not to be had."""

    model = "gone/1"

    def embed(self, texts):
        raise ModelUnavailable


def settings(tmp_path):
    return Settings(home=tmp_path)


def filled(tmp_path):
    """A home with three memories embedded by the toy."""
    with reverie.open(settings=settings(tmp_path), embedder=ToyEmbedder()) as mind:
        texts = ("the heron is staging", "cats like fish", "ship on friday")
        mind.remember_many([{"text": text} for text in texts], space="me/x")
        mind.settle()
        assert mind.data.stats().waiting == 0


def ask_for_candidates(mind):
    vector = Other().embed(["heron"])[0]
    return mind.store.candidates(CandidateRequest(Other.model, vector, ("me/x",)))


def found(mind, query="which heron is staging"):
    return [hit.memory.text for hit in mind.recall(query, space="me/x")]


@pytest.mark.proves("CC-26", "X13")
def test_words_find_until_the_new_model_has_caught_up(tmp_path):
    """Right after a change of model nothing is compared with old vectors, and words still answer."""
    filled(tmp_path)
    with reverie.open(settings=settings(tmp_path), embedder=Other()) as mind:
        assert found(mind)[0] == "the heron is staging"
        assert ask_for_candidates(mind) is None


@pytest.mark.proves("X13")
def test_settling_embeds_everything_anew(tmp_path):
    """The change of model queues every text, and afterwards all vectors are of the new one."""
    filled(tmp_path)
    with reverie.open(settings=settings(tmp_path), embedder=Other()) as mind:
        assert mind.settle().embedded == 3
        assert np.isfinite(ask_for_candidates(mind).dense).sum() == 3
        assert found(mind)[0] == "the heron is staging"
        assert mind.data.verify() == []


@pytest.mark.proves("X13")
def test_going_back_works_too(tmp_path):
    """Switching there and back loses nothing."""
    filled(tmp_path)
    for embedder in (Other(), ToyEmbedder(), Other()):
        with reverie.open(settings=settings(tmp_path), embedder=embedder) as mind:
            assert mind.settle().waiting == 0
            assert found(mind)[0] == "the heron is staging"


@pytest.mark.proves("CC-26", "X13")
def test_two_models_in_one_home_embed_each_text_once_each(tmp_path):
    """Two minds with different models settle side by side: each text is embedded once by each,
    ever.
    """
    filled(tmp_path)
    one, other = CountingEmbedder(), CountingEmbedder("other/1")
    with (
        reverie.open(settings=settings(tmp_path), embedder=one) as a,
        reverie.open(settings=settings(tmp_path), embedder=other) as b,
    ):
        rounds = [[mind.settle().embedded for mind in (a, b)] for _ in range(2)]
        b.remember("a new one", space="me/x")
        rounds += [[mind.settle().embedded for mind in (a, b)] for _ in range(2)]
        waiting = [mind.settle().waiting for mind in (a, b)]

        assert (rounds, waiting) == ([[0, 3], [0, 0], [1, 1], [0, 0]], [0, 0])
        assert [len(model.asked) for model in (one, other)] == [1, 4]
        assert [found(mind, "a new one")[0] for mind in (a, b)] == ["a new one"] * 2
        assert (a.data.stats().vectors, a.data.verify(repair=True)) == (8, [])


@pytest.mark.proves("A98")
def test_a_model_that_is_gone_leaves_words(tmp_path):
    """Without weights or network texts wait, words find, and settle says why."""
    with reverie.open(settings=settings(tmp_path), embedder=Gone()) as mind:
        mind.remember("the heron is staging", space="me/x")
        done = mind.settle()
        assert (done.embedded, done.waiting) == (0, 1)
        assert "could not be fetched" in done.trouble
        assert found(mind) == ["the heron is staging"]
