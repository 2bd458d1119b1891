"""A passage that an agent was given and then used rises a little; the log alone tells of it."""

import pytest

from reverie.core.model import SAID, Event
from reverie.transcripts.passage_uses import uses_passage
from reverie.transcripts.transcript_indexing import index_conversations
from tests.support.helpers import open_mind

ASK = "where do the nightly orchard exports of the warehouse go?"
HERON, EGRET = (
    f"The nightly orchard exports of the warehouse go to the {place}."
    for place in ("heron bucket, encrypted by vaultkeeper", "egret folder, compressed by squeezer")
)
ANSWER = "They land in the heron bucket, and vaultkeeper encrypted them."
ANSWERS = {"s1": ANSWER, "s2": "They land in the egret folder; squeezer compressed them."}


def hear(mind, text, session):
    mind.learn([{"role": "assistant", "content": text}], space="me/demo", session=session)


@pytest.fixture
def talked(mind):
    """A mind that has heard two answers to one question, of which the newer one stands first."""
    hear(mind, HERON, "s1")
    hear(mind, EGRET, "s2")
    mind.settle()
    return mind


def ask_and_answer(mind, answer, session="s9"):
    """A conversation in which the agent is given both passages and says this."""
    said = [{"role": "user", "content": ASK}]
    with mind.companion(space=f"me/demo/{session}", session=session) as companion:
        block = companion.turn(said)
        companion.wait(120)
        said += [{"role": "assistant", "content": answer}, {"role": "user", "content": "thanks"}]
        companion.turn(said)
        companion.wait(120)
    mind.settle()
    return block


def recalled(mind):
    hits = mind.recall(ASK, space="me/demo", kinds=["said"])
    return {hit.memory.session: hit for hit in hits if hit.memory.session in {"s1", "s2"}}


def uses_of(mind):
    index = mind.context.store.transcripts
    keys = [found.key for found in index.conversation("me/demo", "s1", 0, 9)]
    return [found.uses for found in index.passages_by_key(keys)]


def test_a_passage_that_an_agent_used_scores_higher_than_one_that_it_left(talked):
    before = recalled(talked)
    block = ask_and_answer(talked, ANSWER)
    assert "heron" in block.text
    assert "egret" in block.text
    after = recalled(talked)
    assert after["s1"].score > before["s1"].score
    assert after["s2"].score == before["s2"].score
    assert "used 1 time" in after["s1"].why
    assert not any(reason.startswith("used") for reason in after["s2"].why)
    assert after["s1"].memory.provenance == SAID


@pytest.mark.words_only
def test_a_used_passage_goes_before_one_that_fits_as_well(talked):
    first, second = recalled(talked).items()
    assert first[1].score == second[1].score
    ask_and_answer(talked, ANSWERS[second[0]])
    assert next(iter(recalled(talked))) == second[0]


@pytest.mark.parametrize("answer", ["I do not know, sorry.", ASK, "The nightly warehouse exports?"])
def test_an_answer_without_what_only_the_passage_says_is_no_use(talked, answer):
    ask_and_answer(talked, answer)
    assert uses_of(talked) == [0]


def test_an_index_that_is_built_anew_counts_the_same_uses_for_the_same_ids(talked):
    for session in ("s8", "s9"):
        ask_and_answer(talked, ANSWER, session)
    index = talked.context.store.transcripts
    before = {hit.memory.id: hit.why for hit in recalled(talked).values()}
    assert uses_of(talked) == [2]
    index.clear()
    talked.settle()
    assert {hit.memory.id: hit.why for hit in recalled(talked).values()} == before
    assert uses_of(talked) == [2]
    assert index.verify() == ""


@pytest.mark.parametrize("most", [1, 2, 3])
def test_uses_are_the_same_whatever_the_steps_in_which_the_log_is_read(talked, most):
    ask_and_answer(talked, ANSWER)
    talked.context.store.transcripts.clear()
    while index_conversations(talked.work, most):
        pass
    assert uses_of(talked) == [1]


def test_another_process_sees_the_uses_and_finds_the_same_where_both_read(tmp_path):
    with open_mind(tmp_path) as one, open_mind(tmp_path) as other:
        for session, text in (("s1", HERON), ("s2", EGRET)):
            hear(one, text, session)
        one.settle()
        ask_and_answer(one, ANSWER)
        assert uses_of(other) == uses_of(one) == [1]
        one.context.store.transcripts.clear()
        assert index_conversations(one.work, 1)
        while index_conversations(other.work, 2) or index_conversations(one.work, 1):
            pass
        assert uses_of(other) == uses_of(one) == [1]
        assert other.context.store.transcripts.verify() == ""


def test_an_answer_that_is_erased_is_no_use_any_more(talked):
    ask_and_answer(talked, ANSWER)
    assert uses_of(talked) == [1]
    memory = talked.remember(ANSWER.rstrip("."), space="me/demo")
    talked.data.purge([memory.id])
    talked.settle()
    assert uses_of(talked) == [0]
    assert talked.context.store.transcripts.verify() == ""


@pytest.mark.parametrize("most", [1, 200])
def test_a_text_in_the_place_of_one_that_was_used_begins_without_uses(talked, most):
    ask_and_answer(talked, ANSWER)
    store = talked.context.store
    payload = {"messages": [{"role": "assistant", "text": EGRET}], "first": 0}
    store.append([Event("turn", "me/demo", talked.work.now, "s1", payload)])
    talked.settle()
    assert uses_of(talked) == [0]
    store.transcripts.clear()
    while index_conversations(talked.work, most):
        pass
    assert uses_of(talked) == [0]


@pytest.mark.parametrize(
    ("answer", "passage", "heard", "is_use"),
    [
        ("It is heron.", "the staging server is heron", "which staging server?", True),
        ("It is heron.", "the staging server is heron", "is heron the staging server?", False),
        ("Ask the harbour office.", "heron, egret, stork and crane nest there", "", False),
        ("Only herons, if any.", "heron, egret, stork and crane nest there", "", False),
        ("用黑鹭服务器部署", "预发布环境用黑鹭服务器", "部署到哪里?", True),
        ("", "the staging server is heron", "", False),
    ],
)
def test_a_use_holds_enough_of_what_only_the_passage_says(answer, passage, heard, is_use):
    assert uses_passage(answer, passage, [heard]) is is_use
