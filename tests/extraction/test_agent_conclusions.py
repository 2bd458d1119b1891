"""What an agent concluded is kept where the user or a command bears it out, and only then."""

import json

import pytest

from reverie.extraction.rule_extraction import extract_lessons

CAUSE = "The root cause was that the pool is closed before the last query runs."


def call(command):
    return ("assistant", f"[Bash {json.dumps({'command': command})}]")


def concluded(messages):
    return [one for one in extract_lessons(messages).lessons if one.rule == "concluded"]


@pytest.mark.parametrize(
    "answer",
    ["yes, that was it", "works now, thanks!", "fixed!", "that fixed it. Now the docs please"],
)
def test_a_cause_that_the_user_confirms_is_kept_with_the_evidence(answer):
    messages = [("user", "why do the tests hang?"), ("assistant", CAUSE), ("user", answer)]
    (one,) = concluded(messages)
    assert (one.text, one.provenance, one.kind) == (CAUSE, "inferred", "learning")
    assert (one.first, one.last) == (1, 2)
    assert answer[:5] in one.evidence


@pytest.mark.parametrize(
    ("cause", "answer"),
    [
        ("Die Ursache war ein veralteter Cache im Proxy.", "ja, das war es"),
        ("La causa era una caché obsoleta en el proxy.", "ya funciona, gracias"),
        ("La cause était un cache périmé dans le proxy.", "oui c'était ça"),
        ("根本原因是代理里的缓存过期了。", "终于好了，太棒了"),
        ("根本原因はプロキシの古いキャッシュでした。", "直りました、ありがとう"),
        ("근본 원인은 프록시의 오래된 캐시였습니다.", "이제 잘 돼요, 감사합니다"),
    ],
)
def test_so_it_is_in_other_languages(cause, answer):
    (one,) = concluded([("assistant", cause), ("user", answer)])
    assert one.text.strip("。.") == cause.strip("。.")


@pytest.mark.parametrize(
    "answer",
    [
        "still hangs",
        "no",
        "it works now but the other test fails",
        "why?",
        "go on with the docs",
        "make sure that it works",
        "what does it do when it works?",
    ],
)
def test_an_answer_that_confirms_nothing_keeps_nothing(answer):
    assert not concluded([("assistant", CAUSE), ("user", answer)])


@pytest.mark.parametrize(
    "said",
    [
        "The root cause might be the pool.",
        "Let me look for the root cause of this.",
        "I closed the pool after the last query.",
        "Is the root cause that the pool is closed?",
    ],
)
def test_a_guess_or_report_is_no_conclusion(said):
    assert not concluded([("assistant", said), ("user", "works now")])


def test_the_last_of_several_causes_is_kept():
    first = "The root cause was that the cache is stale."
    messages = [("assistant", first), ("assistant", CAUSE), ("user", "yes that was it")]
    assert [one.text for one in concluded(messages)] == [CAUSE]


def test_an_order_to_fix_it_lies_between_a_cause_and_its_confirmation():
    messages = [
        ("assistant", CAUSE),
        ("user", "ok, do it"),
        ("assistant", "I moved the call behind the last query."),
        ("user", "works now"),
    ]
    assert [one.last for one in concluded(messages)] == [3]


def test_a_cause_that_a_command_bears_out_is_kept():
    messages = [
        ("user", "the tests fail"),
        call("pytest -q tests/db"),
        ("tool", "FAILED tests/db/test_pool.py::test_last - PoolClosed"),
        ("assistant", CAUSE),
        call("pytest -q tests/db"),
        ("tool", "12 passed in 0.31s"),
    ]
    (one,) = concluded(messages)
    assert (one.first, one.last) == (3, 5)
    assert "pytest -q tests/db" in one.evidence


def test_a_command_that_fails_again_or_never_failed_bears_nothing_out():
    run = call("pytest -q tests/db")
    fails, passes = ("tool", "FAILED tests/db - PoolClosed"), ("tool", "12 passed in 0.31s")
    assert not concluded([run, fails, ("assistant", CAUSE), run, fails])
    assert not concluded([("assistant", CAUSE), run, passes])


@pytest.mark.words_only
def test_it_is_kept_as_the_agents_word_with_the_messages_that_it_rests_on(mind):
    said = [("user", "why do the tests hang at night?"), ("assistant", CAUSE)]
    said.append(("user", "yes, that was it"))
    mind.learn(
        [{"role": role, "content": text} for role, text in said], space="me/demo", session="s1"
    )
    (one,) = mind.browse(space="me/demo", kinds=["learning"])
    assert (one.speaker, one.provenance, one.messages, one.strength) == (
        "assistant",
        "inferred",
        (1, 2),
        2,
    )
    assert "yes, that was it" in one.details["evidence"]


@pytest.mark.words_only
def test_a_conversation_of_turns_keeps_it_too(mind):
    said = [
        ("user", "the nightly tests of the pool hang since the upgrade of the driver, why is that"),
        ("assistant", CAUSE + " The driver used to wait for it, and has stopped doing so."),
        ("user", "yes, that was it"),
    ]
    messages = [{"role": role, "content": text} for role, text in said]
    with mind.companion("me/demo/s1", session="s1") as companion:
        for upto in (1, 3):
            companion.turn(messages[:upto])
            assert companion.wait(120)
    mind.record("session_end", {}, space="me/demo/s1", session="s1")
    mind.settle()
    found = mind.browse(space="me/demo/s1", kinds=["learning"])
    assert [(one.text, one.messages) for one in found] == [(CAUSE, (1, 2))]
