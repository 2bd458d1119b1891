# mypy: no-check-untyped-defs
"""What a conversation was told already, or waits to be told, is judged with the rest: the next best
does not take its place.
"""

import pytest

from reverie.core.model import Hit
from reverie.injection import prepare_block
from reverie.injection.first_turn import take_places
from reverie.testing import make_memory, memory

SPACE = "me/demo"
# Some memories of a project, two of which a question names; only the first answers it.
STORES = {
    "en": (
        "which staging server do deploys go to",
        "Let me have a look at the deploy script.",
        "The staging server for deploys is called heron.",
        "Deploys need a ticket.",
        "Deploys of the docs are made by Ann.",
    ),
    "de": (
        "auf welchen Testserver gehen die Auslieferungen",
        "Ich sehe mir das Skript an.",
        "Der Testserver der Auslieferungen heißt Reiher.",
        "Auslieferungen brauchen ein Ticket.",
        "Auslieferungen der Doku macht Anna.",
    ),
    "es": (
        "a qué servidor de pruebas van los despliegues",
        "Voy a mirar el script.",
        "El servidor de pruebas de los despliegues se llama garza.",
        "Los despliegues necesitan un ticket.",
        "Los despliegues de la documentación los hace Ana.",
    ),
    "fr": (
        "sur quel serveur de recette vont les déploiements",
        "Je regarde le script.",
        "Le serveur de recette des déploiements s'appelle héron.",
        "Les déploiements demandent un ticket.",
        "Les déploiements de la documentation sont faits par Anne.",
    ),
    "zh": (
        "我们的部署到哪个预发布服务器",
        "我看一下脚本。",
        "我们的部署到预发布服务器,它叫苍鹭。",
        "部署需要工单。",
        "文档的部署由小安负责。",
    ),
}


@pytest.fixture(params=STORES)
def store(request, clock):
    """A store in a language, with unrelated memories around; the question and the answer."""
    question, reply, answer, *others = STORES[request.param]
    with memory(now=clock, embedder="none") as mind:
        mind.remember_many(
            [{"text": f"Remark {n} about garden plants, row {n % 7}."} for n in range(40)],
            space=SPACE,
        )
        kept = mind.remember(answer, space=SPACE)
        mind.remember_many([{"text": text} for text in others], space=SPACE)
        mind.settle()
        yield mind, question, reply, kept


def waiting(companion):
    assert companion.wait(120)
    return [id for block in companion.conversation.slot for id in block.ids]


def user(text):
    return {"role": "user", "content": text}


def agent(text):
    return {"role": "assistant", "content": text}


@pytest.mark.proves("A2")
def test_an_answer_does_not_push_out_the_right_block(store, clock):
    """Half a minute after a question the agent answers: the block for the question stays."""
    mind, question, reply, kept = store
    with mind.companion(f"{SPACE}/s1") as companion:
        companion.heed([user(question)])
        first = waiting(companion)
        clock.tick(45)
        companion.heed([user(question), agent(reply)])

        assert kept.id in first
        assert waiting(companion) == first
        assert kept.id in companion.turn([user(question), agent(reply)]).ids


@pytest.mark.proves("A54")
def test_asking_again_brings_nothing_in_place_of_what_was_told(store, clock):
    """The same question within 45 minutes: what was told is the answer, the rest is none."""
    mind, question, reply, kept = store
    with mind.companion(f"{SPACE}/s1") as companion:
        told = companion.turn([user(question)]).ids
        assert waiting(companion) == []
        clock.tick(600)
        companion.turn([user(question), agent(reply), user(question)])

        assert kept.id in told
        assert waiting(companion) == []


@pytest.mark.proves("A43")
def test_words_are_not_searched_again_until_the_user_speaks(clock, monkeypatch):
    """However long tools run; what the user says again is looked for again."""
    looked = []
    monkeypatch.setattr(
        prepare_block, "search_memories", lambda _, query: looked.append(query.text) or []
    )
    with memory(now=clock, embedder="none") as mind, mind.companion(f"{SPACE}/s1") as companion:
        talk = [user("run the tests of the parser")]
        for n in range(6):
            companion.heed(talk)
            assert companion.wait(120)
            clock.tick(40)
            talk.append({"role": "tool", "content": f"line {n}"})
        assert looked == ["run the tests of the parser"]
        companion.heed([*talk, user("run the tests of the parser")])
        assert companion.wait(120)

    assert len(looked) == 2


def test_what_a_tool_calls_up_comes_beside_what_waits(clock):
    """A pattern that meets a tool's output adds to the block for the question."""
    with memory(now=clock, embedder="none") as mind:
        mind.remember_many([{"text": f"Remark {n} about plants."} for n in range(40)], space=SPACE)
        heron = mind.remember("The staging server for deploys is called heron.", space=SPACE)
        rule = mind.remember(
            "Ask Ann first.", space=SPACE, kind="learning", triggers=["re:ModuleNotFound"]
        )
        with mind.companion(f"{SPACE}/s1") as companion:
            talk = [user("which staging server do deploys go to")]
            companion.heed(talk)
            assert waiting(companion) == [heron.id]
            clock.tick(10)
            companion.heed([*talk, {"role": "tool", "content": "ModuleNotFoundError: zork"}])

            assert set(waiting(companion)) == {heron.id, rule.id}


def test_a_triggered_memory_takes_no_place():
    """A block has places for so many; what a pattern calls up comes beside them."""
    hits = [Hit(make_memory(f"note {n}"), 0.9, ("words 2.0",)) for n in range(4)]
    called = Hit(make_memory("rule"), 0.9, ("trigger x",))

    assert take_places([called, *hits], 2) == [called, *hits[:2]]
