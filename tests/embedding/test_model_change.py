"""A change of the embedding model: vectors are never mixed, search by words goes on, all texts are
embedded anew.
"""

import json
import shutil
from contextlib import closing, suppress
from zlib import crc32

import numpy as np
import pytest

import reverie
from reverie.context_window.injection_history import InjectionHistory
from reverie.core.config import Settings
from reverie.core.errors import ModelUnavailable
from reverie.embedding import open_embedder
from reverie.embedding.toy import ToyEmbedder
from reverie.injection.first_turn import InjectionTurn
from reverie.injection.prepare_block import prepare_injection
from reverie.pipeline.model_change import (
    READY_META,
    find_model_change,
    list_ready_embedders,
)
from reverie.runtime.settle import run_settle_step
from reverie.storage.candidates import CandidateRequest
from reverie.testing import CountingEmbedder
from reverie.text.host_messages import HostMessage
from tests.embedding.test_sentence_model import write_model
from tests.support.helpers import run_command


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


# Words that nothing else has, so that settling compares no pairs.
TEXTS = [f"heron {n:b} {crc32(b'%d' % n):x}" for n in range(70)]


@pytest.fixture
def models(tmp_path):
    """The settings' names of two models with different vectors, and one home for both."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for seed, folder in enumerate(folders, 1):
        write_model(folder, seed=seed)
    return [f"onnx:{folder}" for folder in folders]


def open_with(tmp_path, name, **more):
    return reverie.open(settings=Settings(home=tmp_path / "home", embedder=name, **more))


def fill(tmp_path, name, texts=TEXTS):
    with open_with(tmp_path, name) as mind:
        mind.remember_many([{"text": text} for text in texts], space="me/x")
        mind.settle()


def answering(mind):
    """The setting of the embedder whose vector a question gets, which is checked."""
    given = mind.context.embed_query("heron")
    names = [mind.embedder.setting, *(one.setting for one in list_ready_embedders(mind.store))]
    for name in names:
        with (
            suppress(ModelUnavailable),
            closing(open_embedder(name, cache=mind.settings.cache)) as one,
        ):
            if one.model == given["model"]:
                assert np.allclose(one.embed(["heron"])[0], given["vector"], atol=1e-6)
                return name
    return None


def settle_partly(mind):
    run_settle_step(mind.work, batch=20)


def test_the_old_vectors_answer_until_the_new_ones_are_there(tmp_path, models):
    """After a change of the setting meaning is searched with the old model, until nearly every
    memory has a vector of the new one; what is kept meanwhile is found as well.
    """
    first, second = models
    fill(tmp_path, first)
    with open_with(tmp_path, second) as mind:
        assert answering(mind) == first
        assert mind.recall("heron", space="me/x", mode="dense", limit=3)
        settle_partly(mind)
        mind.remember("The kestrel nests on the crane.", space="me/x")
        assert mind.data.stats().waiting == 71 - 20
        assert answering(mind) == first
        assert any("kestrel" in text for text in found(mind, "where is the kestrel"))
        change = find_model_change(mind.store, mind.embedder)
        assert change is not None
        assert (change.waiting, change.memories, change.answering) == (51, 71, first)
        mind.settle()
        assert answering(mind) == second
        assert find_model_change(mind.store, mind.embedder) is None


def test_a_change_survives_a_crash_and_a_way_back(tmp_path, models):
    """A process that ends half way leaves the old model answering, and going back needs nothing."""
    first, second = models
    fill(tmp_path, first)
    with open_with(tmp_path, second) as mind:
        settle_partly(mind)
    with open_with(tmp_path, second) as mind:
        assert answering(mind) == first
    with open_with(tmp_path, first) as mind:
        assert answering(mind) == first
        assert mind.settle().embedded == 0
    with open_with(tmp_path, second) as mind:
        mind.settle()
        assert answering(mind) == second
    with open_with(tmp_path, first) as mind:
        assert answering(mind) == first


def test_a_model_left_long_ago_answers_again_once_it_has_caught_up(tmp_path, models):
    """Going back to a model that has missed half of the memories, the other answers meanwhile."""
    first, second = models
    fill(tmp_path, first)
    fill(tmp_path, second, [f"{text} {n}" for n in (1, 2) for text in TEXTS])
    with open_with(tmp_path, first) as mind:
        settle_partly(mind)
        assert answering(mind) == second
        mind.settle()
        assert answering(mind) == first


def test_two_processes_with_two_settings_each_ask_their_own_model(tmp_path, models):
    """Where both models have embedded everything, each setting is answered by its own."""
    fill(tmp_path, models[0])
    with open_with(tmp_path, models[0]) as a, open_with(tmp_path, models[1]) as b:
        b.settle()
        for mind in (a, b, a, b):
            mind.settle()
            assert answering(mind) == mind.embedder.setting
        assert [one.setting for one in list_ready_embedders(a.store)] == models


def test_an_old_model_that_is_gone_or_another_by_now_is_not_asked(tmp_path, models):
    """Without its files, or with other files in its folder, the new model answers at once."""
    first, second = models
    fill(tmp_path, first)
    folder = tmp_path / "first"
    shutil.rmtree(folder)
    with open_with(tmp_path, second) as mind:
        assert answering(mind) == second
        change = find_model_change(mind.store, mind.embedder)
        assert change is not None and change.answering == ""
        write_model(folder, seed=3)
        assert answering(mind) == second


def test_a_new_model_that_is_missing_leaves_the_old_one_answering(tmp_path, models):
    """A slip in the setting takes nothing away: the vectors that are there answer."""
    first, second = models
    fill(tmp_path, first)
    shutil.rmtree(tmp_path / "second")
    with open_with(tmp_path, second) as mind:
        assert "no model.onnx" in mind.settle().trouble
        assert mind.recall("heron", space="me/x", mode="dense")
        assert answering(mind) == first


def test_a_remote_model_that_was_left_is_sent_nothing_more(tmp_path, models):
    """Who has gone from a provider to a local model may have done so for what it is sent."""
    fill(tmp_path, models[0])
    with open_with(tmp_path, models[1]) as mind:
        mind.store.set_meta(READY_META, '[["openai", "openai/text-embedding-3-small/1536"]]')
        assert answering(mind) == models[1]


def test_without_a_model_words_answer_and_the_note_stays(tmp_path, models):
    """A home that is opened without a model searches words, and forgets no model's vectors."""
    fill(tmp_path, models[0])
    with open_with(tmp_path, "none") as mind:
        mind.settle()
        assert mind.context.embed_query("heron") == {}
        assert mind.recall("heron", space="me/x")
    with open_with(tmp_path, models[1]) as mind:
        assert answering(mind) == models[0]


def test_the_block_of_a_turn_is_searched_with_the_old_vectors(tmp_path, models):
    """What surfaces by itself is compared with the vectors that are there too."""
    fill(tmp_path, models[0])
    with open_with(tmp_path, models[1]) as mind:
        window = [HostMessage("user", "what does the heron's log say?")]
        turn = InjectionTurn(InjectionHistory("s"), "me/x", mind.context.now())
        made = prepare_injection(mind.store, mind.embedder, mind.settings, turn, window)
        (old,) = list_ready_embedders(mind.store)
        assert made.query is not None and made.embedded is not None
        assert (made.query.model, made.embedded.model) == (old.model, old.model)
        assert made.query.model != mind.embedder.model
        # Vectors of two models say nothing about a change of topic.
        mind.settle()
        turn = InjectionTurn(InjectionHistory("s"), "me/x", mind.context.now())
        after = prepare_injection(
            mind.store, mind.embedder, mind.settings, turn, window, made.embedded
        )
        assert after.embedded is not None
        assert after.embedded.model == mind.embedder.model


def test_status_and_doctor_say_how_many_wait(tmp_path, models, monkeypatch):
    """Both say that memories wait for the new model, and what answers until then."""
    fill(tmp_path, models[0])
    (tmp_path / "home" / "config.toml").write_text(f'embedder = "{models[1]}"\n')
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    status = json.loads(run_command("status", "--json").stdout)
    assert status["model_change"]["waiting"] == status["model_change"]["memories"] == 70
    said = (
        "70 of 70 memories wait for the new embedding model; until then the vectors of "
        f"{models[0]} answer"
    )
    for command, code in (("status", 0), ("doctor", 1)):  # no agent is wired
        assert "".join(said.split()) in "".join(run_command(command, code=code).stdout.split())
