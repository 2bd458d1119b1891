"""Single questions to a language model, played by a real server on loopback; without a useful
answer there is None.
"""

import pytest

from reverie.consolidation import model_advice
from reverie.consolidation.sleep_run import SleepRequest
from reverie.core.errors import ModelAway
from reverie.reconciliation import model_requests
from reverie.testing import SPACE, make_event, make_memory, memory
from reverie.text.host_messages import HostMessage
from tests.support.scripted import Status, scripted

OLD, NEW = (
    make_memory("Staging listens on port 80."),
    make_memory("Staging now listens on port 8443."),
)
SAID = [
    HostMessage("user", "Where is staging?", 0),
    HostMessage("assistant", "It is called heron.", 1),
]
EVENT = make_event("session_end", session="s1", seq=7)


def merged(work, one, other):
    return model_advice.make_text_merger(work.llm, SPACE)(one, other)


def related(work):
    return model_advice.make_relation_judge(work.llm)(OLD, NEW)


def counts(mind):
    return {task: dict(outcomes) for task, outcomes in mind.llm.day().outcomes.items()}


QUESTIONS = {
    "reconcile": (
        lambda work: model_requests.ask_pair_opinion(work, EVENT, OLD, NEW),
        '{"relation": "updates", "confidence": 0.9, "why": "now"}',
        ("updates", 0.9, "now"),
        None,
    ),
    "relate": (
        related,
        '{"relation": "relates_to", "confidence": 0.6}',
        ("relates_to", 0.6, ""),
        None,
    ),
    "merge": (
        lambda work: merged(work, "Port 80.", "Host heron7."),
        '{"text": "Port 80, host heron7."}',
        "Port 80, host heron7.",
        "",
    ),
    "name": (
        lambda work: model_advice.ask_group_name(work.llm, ["a", "b"], SPACE),
        '{"name": "Staging"}',
        "staging",
        None,
    ),
}


@pytest.mark.parametrize("task", QUESTIONS)
@pytest.mark.proves("A80", "A86", "B25", "B32")
def test_a_question_and_its_answer(task, clock):
    """One call each, counted under its own name."""
    question, answer, found, _ = QUESTIONS[task]
    with scripted(answer) as script, memory(now=clock, llm=script.openai) as mind:
        assert found == question(mind.work)
        assert {task: {"ok": 1}} == counts(mind)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "Sure!",
        "{}",
        '{"relation": "delete", "text": "Port 80.", "name": "; rm -rf"}',
        '{"text": "Port 80 or 81, host heron7."}',
        Status(400),
    ],
)
@pytest.mark.parametrize("task", QUESTIONS)
@pytest.mark.proves("CC-34", "CC-71")
def test_without_a_useful_answer_nothing_is_known(task, bad, clock):
    """Malformed, empty, hostile, rejected: the same as no model."""
    question, _, _, nothing = QUESTIONS[task]
    with scripted(bad) as script, memory(now=clock, llm=script.openai) as mind:
        assert nothing == question(mind.work)


@pytest.mark.parametrize("away", [Status(500), Status(401), Status(429)])
@pytest.mark.parametrize("task", QUESTIONS)
@pytest.mark.proves("CC-63")
def test_a_question_about_an_event_waits_for_the_model(task, away, clock):
    """A question about an event waits; any other is as without a model."""
    question, _, _, nothing = QUESTIONS[task]
    with scripted(away) as script, memory(now=clock, llm=script.openai) as mind:
        if task == "reconcile":
            with pytest.raises(ModelAway, match="waits"):
                question(mind.work)
        else:
            assert nothing == question(mind.work)


@pytest.mark.proves("B82")
def test_gaps_are_reviewed(clock):
    """What the session itself answers becomes a note that rests on its messages."""
    answer = '{"keep": [{"text": "Staging is called heron.", "kind": "entity", "from": 1}]}'
    with scripted(answer) as script, memory(now=clock, llm=script.openai) as mind:
        found = model_requests.ask_open_questions(mind.work, EVENT, ["where is staging?"], SAID)
        assert found and ["Staging is called heron."] == [item.text for item in found.items]
        assert None is model_requests.ask_open_questions(mind.work, EVENT, [], SAID)


def test_without_a_model_questions_have_no_answer(mind):
    """Without a model every question has no answer, and nothing is imported for it."""
    assert [None] * 2 == [
        model_requests.ask_pair_opinion(mind.work, EVENT, OLD, NEW),
        model_requests.ask_open_questions(mind.work, EVENT, ["q"], SAID),
    ]
    request = SleepRequest(("merge",))
    assert model_advice.with_model_advice(mind.work, request) is request
